"""The fetcher against a real server: deadlines, retries, redirects, politeness."""

import asyncio
import gzip
import itertools
import threading
import time
from email.utils import formatdate

import pytest

from indexer.adapters.http import HttpFetch
from indexer.artifacts import Reason
from indexer.crawl.politeness import DOWN_AFTER
from indexer.errors import IndexerError, Permanent, Retryable
from indexer.ports import Validators
from indexer.settings import Crawl
from tests.support.web import Reply, Site


@pytest.fixture
def site():
    with Site({"/": "<p>Hello"}) as site:
        yield site


def _crawl(*sites, **settings):
    return Crawl(
        **{
            "delay": 0.0,
            "retries": 0,
            "timeout": 2.0,
            "allow_private": tuple(site.host for site in sites),
            **settings,
        }
    )


def _fetch(site, *paths, calls=None, **settings):
    """Fetch paths one after the other with one client; an error stands for the response it prevented."""

    async def main():
        fetch = HttpFetch(_crawl(site, **settings))
        answers = []
        for path in paths or ("/",):
            try:
                answers.append(await fetch(site.url(path), **(calls or {})))
            except IndexerError as error:
                answers.append(error)
        await fetch.aclose()
        return answers

    return asyncio.run(main())


def test_a_page_comes_with_its_headers_over_one_connection(site):
    first, second = _fetch(site, "/", "/")
    assert (first.status, first.body, first.final_url) == (200, b"<p>Hello", site.url("/"))
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert second.body == first.body
    assert site.connections == 1
    sent = site.log[0].headers
    assert sent["accept-encoding"] == "gzip, deflate, br, zstd"
    assert sent["user-agent"].startswith("indexer/")
    assert "cookie" not in sent


def test_validators_make_the_request_conditional(site):
    (first,) = _fetch(site)
    validators = Validators(etag=first.headers["etag"], last_modified=first.headers["last-modified"])
    (again,) = _fetch(site, calls={"validators": validators})
    assert (again.status, again.body) == (304, b"")


def test_a_kept_connection_that_the_server_closed_is_replaced_without_a_retry(site):
    site.page("/bye", "x", headers={"Connection": "close"})
    site.route("/quiet", lambda request: Reply("x"))
    answers = _fetch(site, "/bye", "/", "/quiet", "/")
    assert [answer.status for answer in answers] == [200] * 4


def test_bodies_are_decoded_and_limited(site):
    site.page("/packed", gzip.compress(b"<p>" + b"x" * 5000), headers={"Content-Encoding": "gzip"})
    site.page("/bomb", gzip.compress(b"\0" * (4 << 20)), headers={"Content-Encoding": "gzip"})
    site.page("/long", b"x" * (2 << 20))
    packed, bomb, long = _fetch(site, "/packed", "/bomb", "/long", max_body_mb=1.0)
    assert packed.body == b"<p>" + b"x" * 5000
    assert (bomb.reason, long.reason) == (Reason.TOO_LARGE, Reason.TOO_LARGE)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("drop", Reason.UNREACHABLE),
        ("garbage", Reason.BAD_RESPONSE),
        ("truncate", Reason.BAD_RESPONSE),
        ("hang", Reason.TIMEOUT),
        ("stall", Reason.TIMEOUT),
    ],
)
def test_a_broken_exchange_is_a_passing_failure_and_the_run_goes_on(site, kind, reason):
    site.page("/bad", b"x" * 1000)
    site.fault("/bad", kind)
    bad, good = _fetch(site, "/bad", "/", timeout=0.3)
    assert isinstance(bad, Retryable)
    assert bad.reason == reason
    assert good.status == 200


def test_a_slow_drip_meets_the_total_deadline_and_is_not_tried_again(site):
    site.page("/drip", b"x" * 1000)
    site.fault("/drip", "drip", seconds=0.05)
    started = time.monotonic()
    (error,) = _fetch(site, "/drip", timeout=0.5, total_timeout=0.6, retries=3)
    assert error.reason == Reason.TIMEOUT
    assert time.monotonic() - started < 2
    assert len(site.hits("/drip")) == 1


def test_nobody_listens_is_a_passing_failure(site):
    host = site.host
    site.close()
    (error,) = _fetch(site)
    assert isinstance(error, Retryable)
    assert error.reason == Reason.UNREACHABLE
    assert host


def test_passing_statuses_are_tried_again_and_others_are_not(site):
    site.fault("/", "status", status=503, times=2)
    site.page("/gone", status=404)
    site.page("/never", status=501)
    ok, gone, never = _fetch(site, "/", "/gone", "/never", retries=3)
    assert (ok.status, gone.status, never.status) == (200, 404, 501)
    assert [len(site.hits(path)) for path in ("/", "/gone", "/never")] == [3, 1, 1]


def test_a_cut_body_is_tried_again(site):
    site.page("/page", b"x" * 1000)
    site.fault("/page", "truncate", times=1)
    (answer,) = _fetch(site, "/page", retries=1)
    assert answer.body == b"x" * 1000


def test_after_the_last_try_the_status_is_the_answer(site):
    site.page("/", "no", status=500)
    (answer,) = _fetch(site, retries=1)
    assert answer.status == 500
    assert len(site.hits("/")) == 2


@pytest.mark.parametrize("form", ["1", "date"])
def test_retry_after_is_waited_for_in_both_forms(site, form):
    value = form if form == "1" else formatdate(time.time() + 2, usegmt=True)
    site.fault("/", "status", status=429, times=1, headers={"Retry-After": value})
    (answer,) = _fetch(site, retries=1)
    first, second = site.hits("/")
    assert answer.status == 200
    assert second.time - first.time > 0.9


def test_a_retry_after_beyond_the_cap_is_given_up_at_once(site):
    site.page("/", "later", status=503, headers={"Retry-After": "86400"})
    started = time.monotonic()
    (answer,) = _fetch(site, retries=3, max_retry_after=5.0)
    assert answer.status == 503
    assert len(site.hits("/")) == 1
    assert time.monotonic() - started < 2


def test_an_overloaded_host_is_left_alone_and_others_are_not(site):
    with Site({f"/{n}": "x" for n in range(6)}) as other:
        site.fault("/", "status", status=429, times=1, headers={"Retry-After": "1"})

        async def main():
            fetch = HttpFetch(_crawl(site, other, retries=1))
            await asyncio.gather(fetch(site.url("/")), *(fetch(other.url(f"/{n}")) for n in range(6)))
            await fetch.aclose()

        asyncio.run(main())
        refused, again = site.hits("/")
        assert again.time - refused.time > 0.9
        assert max(request.time for request in other.log) - refused.time < 0.8


def _together(site, count, **settings):
    async def main():
        fetch = HttpFetch(_crawl(site, **settings))
        for path, delay in settings.pop("pace", {}).items():
            fetch.pace(site.url(path), delay)
        await asyncio.gather(*(fetch(site.url(f"/p{n}")) for n in range(count)))
        await fetch.aclose()

    asyncio.run(main())


def test_no_more_requests_are_active_at_one_host_than_configured(site):
    active, peak, lock = 0, 0, threading.Lock()

    def busy(request):
        nonlocal active, peak
        with lock:
            active += 1
            peak = max(peak, active)
        time.sleep(0.03)
        with lock:
            active -= 1
        return Reply("x")

    site.fallback(busy)
    _together(site, 20, concurrency=3)
    assert peak == 3


def test_starts_keep_the_delay(site):
    site.fallback(lambda request: Reply("x"))
    _together(site, 6, delay=0.1, concurrency=4)
    times = sorted(request.time for request in site.log)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert times[-1] - times[0] > 0.45
    assert sum(gap < 0.05 for gap in gaps) <= 1


def test_a_client_that_was_busy_does_not_make_up_for_lost_time(site):
    site.fallback(lambda request: Reply("x"))

    async def main():
        fetch = HttpFetch(_crawl(site, delay=0.2, concurrency=4))

        async def busy():
            await asyncio.sleep(0.05)
            time.sleep(0.6)  # noqa: ASYNC251 - nothing else runs meanwhile

        await asyncio.gather(busy(), *(fetch(site.url(f"/p{n}")) for n in range(4)))
        await fetch.aclose()

    asyncio.run(main())
    times = sorted(request.time for request in site.log)
    assert times[-1] - times[0] > 0.9, "0.65, then two more delays; a burst would end at 0.65"


def test_the_crawl_delay_is_kept_up_to_its_cap(site):
    site.fallback(lambda request: Reply("x"))

    async def main():
        fetch = HttpFetch(_crawl(site, max_crawl_delay=0.2))
        fetch.pace(site.url("/"), 30.0)
        await asyncio.gather(*(fetch(site.url(f"/p{n}")) for n in range(3)))
        await fetch.aclose()

    asyncio.run(main())
    times = sorted(request.time for request in site.log)
    assert 0.35 < times[-1] - times[0] < 2


def test_redirects_are_followed_hop_by_hop_and_each_is_asked_for(site):
    site.page("/a", status=301, headers={"Location": "/новое место#x"})
    site.page(
        "/%D0%BD%D0%BE%D0%B2%D0%BE%D0%B5%20%D0%BC%D0%B5%D1%81%D1%82%D0%BE",
        status=307,
        headers={"Location": "/"},
    )
    asked = []

    async def allow(url):
        asked.append(url)
        return ""

    (answer,) = _fetch(site, "/a", calls={"allow": allow})
    assert (answer.url, answer.final_url, answer.status) == (site.url("/a"), site.url("/"), 200)
    assert answer.hops == (site.url("/a"), asked[0])
    assert asked[-1] == site.url("/")


def test_a_refused_hop_is_not_requested(site):
    site.page("/a", status=302, headers={"Location": "/b"})

    async def allow(url):
        return Reason.OUT_OF_SCOPE

    (error,) = _fetch(site, "/a", calls={"allow": allow})
    assert isinstance(error, Permanent)
    assert error.reason == Reason.OUT_OF_SCOPE
    assert site.paths() == ["/a"]


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://2130706433:{port}/",
     "http://0x7f000001:{port}/", "http://127.1:{port}/", "http://0177.0.0.1:{port}/", "http://0.0.0.0:{port}/", "http://127.0.0.1.:{port}/",
     "http:\\\\127.0.0.1:{port}\\", "http://{host}@127.0.0.1:{port}/", "file:///etc/passwd", "data:text/html,x", "ftp://127.0.0.1/"],
)  # fmt: skip
def test_no_spelling_of_a_redirect_reaches_another_private_address(site, target):
    with Site({"/": "secret"}) as canary:
        site.page("/a", status=302, headers={"Location": target.format(port=canary.port, host=site.host)})
        (error,) = _fetch(site, "/a")
        assert isinstance(error, Permanent)
        assert error.reason in (Reason.FORBIDDEN_ADDRESS, Reason.BAD_URL)
        assert canary.log == []


@pytest.mark.parametrize(
    ("location", "reason"),
    [("/a", Reason.TOO_MANY_REDIRECTS), ("", Reason.BAD_RESPONSE), ("http://[::1/", Reason.BAD_URL)],
)
def test_a_redirect_to_itself_to_nowhere_or_to_nonsense_is_final(site, location, reason):
    site.page("/a", status=301, headers={"Location": location})
    (error,) = _fetch(site, "/a")
    assert isinstance(error, Permanent)
    assert error.reason == reason
    assert len(site.hits("/a")) <= 2


def test_an_endless_chain_ends(site):
    site.fallback(lambda request: Reply(status=302, headers={"Location": request.path + "x"}))
    (error,) = _fetch(site, "/a", max_redirects=5)
    assert error.reason == Reason.TOO_MANY_REDIRECTS
    assert len(site.log) <= 7


def test_a_cookie_that_a_redirect_sets_opens_the_page(site):
    def page(request):
        if "seen=1" in request.headers.get("cookie", ""):
            return Reply("<p>inside")
        return Reply(status=302, headers={"Location": "/page", "Set-Cookie": "seen=1; Path=/"})

    site.route("/page", page)
    first, again = _fetch(site, "/page", "/page")
    assert first.body == again.body == b"<p>inside"
    assert len(site.hits("/page")) == 3


def test_too_many_headers_are_no_answer(site):
    site.page("/", "x", headers={f"X-{number}": "1" for number in range(300)})
    (error,) = _fetch(site)
    assert error.reason == Reason.BAD_RESPONSE


def test_credentials_in_a_url_are_neither_sent_nor_shown(site):
    site.page("/a", status=302, headers={"Location": f"http://user:TOPSECRET@{site.host}/b"})
    site.page("/b", status=302, headers={"Location": "/b"})
    (error,) = _fetch(site, "/a")
    assert "TOPSECRET" not in str(error)
    assert all("authorization" not in request.headers for request in site.log)


def test_a_host_that_never_answers_is_not_asked_for_ever(site, monkeypatch):
    monkeypatch.setattr("indexer.crawl.politeness.PATIENCE", 0.0)
    monkeypatch.setattr("indexer.crawl.politeness._MAX_PAUSE", 0.0)
    site.fault("*", "drop")
    answers = _fetch(site, *(f"/{number}" for number in range(30)))
    assert {answer.reason for answer in answers} == {Reason.UNREACHABLE}
    assert len(site.log) == DOWN_AFTER
