"""Credentials go to their exact origin and no other, cookies by their own rules besides."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.adapters.http import HttpFetch
from indexer.adapters.http_private import Credentials
from indexer.artifacts import Sources
from indexer.errors import Misconfigured
from indexer.pipeline.credentials import private_origins
from indexer.private import read_private
from indexer.settings import Crawl
from tests.support.web import Site

HOME = "https://portal.example.com"


def _private(tmp_path, *lines, **variables):
    path = ""
    if lines:
        path = str(tmp_path / "cookies.txt")
        (tmp_path / "cookies.txt").write_text("\n".join(lines), encoding="utf-8")
    auth = "LOGIN" if "LOGIN" in variables else ""
    return read_private(
        auth_env=auth,
        headers_env=[name for name in variables if name != "LOGIN"],
        cookies_file=path,
        lookup=lambda name: variables[name],
    )


def _cookie(credentials, url, given=""):
    return dict(credentials.headers(url, given)).get(b"Cookie", b"").decode()


@pytest.mark.parametrize(
    "url",
    [
        "http://portal.example.com/",
        "https://portal.example.com:8443/",
        "https://example.com/",
        "https://www.portal.example.com/",
        "https://portal.example.com.evil.test/",
        "https://evil.test/https://portal.example.com/",
        "https://portal.example.co/",
    ],
)
def test_no_other_scheme_port_or_host_gets_a_header(tmp_path, url):
    credentials = Credentials(_private(tmp_path, LOGIN="user:password"), [HOME])
    assert credentials.headers(url) == []
    assert credentials.headers(HOME + "/page") == [(b"Authorization", b"Basic dXNlcjpwYXNzd29yZA==")]


@given(st.from_regex(r"https?://[a-z.]{1,20}(:[0-9]{1,4})?/[a-z]{0,5}", fullmatch=True))
def test_whatever_the_address_only_the_origin_itself_gets_them(url):
    private = read_private(
        auth_env="A", headers_env=["B"], cookies_file="", lookup={"A": "u:p", "B": "X: y"}.get
    )
    got = Credentials(private, ["https://a.b"]).headers(url)
    assert bool(got) == url.startswith("https://a.b/")


def test_cookies_keep_their_domain_path_and_secure_within_the_projects_hosts(tmp_path):
    private = _private(
        tmp_path,
        "# Netscape HTTP Cookie File",
        "portal.example.com\tFALSE\t/\tFALSE\t0\town\t1",
        ".example.com\tTRUE\t/\tFALSE\t4102444800\twide\t2",
        "example.com\tTRUE\t/docs\tFALSE\t0\tdocs\t3",
        "#HttpOnly_portal.example.com\tFALSE\t/\tTRUE\t0\ttls\t4",
        "portal.example.com\tFALSE\t/\tFALSE\t1000\told\t5",
        "other.example.com\tFALSE\t/\tFALSE\t0\tother\t6",
        "example.com\tFALSE\t/\tFALSE\t0\tparent\t7",
    )
    credentials = Credentials(private, [HOME])
    assert set(_cookie(credentials, HOME + "/").split("; ")) == {"own=1", "wide=2", "tls=4"}
    assert set(_cookie(credentials, HOME + "/docs/a").split("; ")) == {"own=1", "wide=2", "tls=4", "docs=3"}
    assert set(_cookie(credentials, "http://portal.example.com/").split("; ")) == {"own=1", "wide=2"}
    assert _cookie(credentials, "https://other.example.com/") == ""
    assert _cookie(credentials, "https://portal.example.com:8443/") == ""


def test_cookies_that_the_site_sets_on_the_way_win_by_name(tmp_path):
    private = _private(tmp_path, "portal.example.com\tFALSE\t/\tFALSE\t0\tsid\told", C="Cookie: lang=ru")
    assert _cookie(Credentials(private, [HOME]), HOME + "/", "sid=new") == "sid=new; lang=ru"
    assert _cookie(Credentials(), HOME + "/", "sid=new") == "sid=new"


def test_a_page_that_shows_a_visitor_his_token_is_read_without_it(tmp_path):
    credentials = Credentials(_private(tmp_path, T="X-Token: 0123456789abcdef"), [HOME])
    body = b"<p>Your token is 0123456789abcdef.</p>"
    assert credentials.scrub(HOME + "/", body) == b"<p>Your token is ***.</p>"
    assert credentials.scrub("https://other.test/", body) == body


def test_no_value_stands_in_a_repr(tmp_path):
    private = _private(tmp_path, "h.test\tFALSE\t/\tFALSE\t0\tsid\tcookievalue", LOGIN="user:password")
    assert "password" not in repr(private) + repr(Credentials(private, [HOME]))
    assert {"user:password", "password", "dXNlcjpwYXNzd29yZA==", "cookievalue"} <= set(private.secrets())


def test_the_origins_are_those_of_the_sources_or_some_of_them():
    sources = Sources(
        crawl=("https://A.test:443/x",), urls=("http://b.test/",), sitemaps=("https://a.test/s.xml",)
    )
    assert private_origins(sources, Crawl()) == ["https://a.test", "http://b.test"]
    assert private_origins(sources, Crawl(private_origins=("http://B.test",))) == ["http://b.test"]
    with pytest.raises(Misconfigured, match="no origin of the project"):
        private_origins(sources, Crawl(private_origins=("https://b.test",)))


def test_a_redirect_to_another_port_or_host_takes_nothing_along_and_back_home_they_are_sent_again():
    async def main(start):
        allowed = (home.host, away.host)
        crawl = Crawl(delay=0.0, retries=0, allow_private=allowed)
        private = read_private(
            auth_env="A", headers_env=[], cookies_file="", lookup={"A": "user:pw"}.__getitem__
        )
        fetch = HttpFetch(crawl, credentials=Credentials(private, [home.origin]))
        try:
            return await fetch(start)
        finally:
            await fetch.aclose()

    with Site() as home, Site() as away:
        home.page("/start", status=302, headers={"Location": away.url("/through"), "Set-Cookie": "sid=1"})
        away.page("/through", status=302, headers={"Location": home.url("/end"), "Set-Cookie": "away=1"})
        home.page("/end", "<p>Here")
        assert asyncio.run(main(home.url("/start"))).body == b"<p>Here"
        assert [request.headers.get("authorization", "") for request in home.log] == [
            "Basic dXNlcjpwdw=="
        ] * 2
        assert "authorization" not in away.log[0].headers
        assert "cookie" not in away.log[0].headers
        assert home.log[1].headers["cookie"] == "sid=1"
