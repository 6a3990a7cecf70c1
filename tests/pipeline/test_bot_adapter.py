"""Registration: idempotent, authenticated, retried, clear; the token is never shown."""

from __future__ import annotations

import hmac
import json

import pytest

from indexer.adapters.bot import HttpBot
from indexer.errors import Misconfigured, Permanent, Retryable
from indexer.settings import secret
from tests.support.web import Reply, Site

ID = "6f1c2f0a-0000-4000-8000-000000000001"
PATH = f"/api/register-project/{ID}"


def _bot(url, retries=2):
    return HttpBot(url, token="top-secret-token", timeout=2, retries=retries, sleep=lambda _: None)


def test_the_manifest_is_posted_with_the_token():
    with Site() as site:
        seen = []
        site.route(PATH, lambda request: seen.append(request) or Reply(body="{}"))
        _bot(site.url("/")).register(ID, {"collection": "кафе"})

    (request,) = seen
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert request.method == "POST"
    assert headers["authorization"] == "Bearer top-secret-token"
    assert json.loads(request.body) == {"collection": "кафе"}


def test_a_bot_that_is_busy_is_asked_again():
    with Site() as site:
        answers = iter([503, 429, 200])
        site.route(PATH, lambda _request: Reply(body="busy", status=next(answers)))
        _bot(site.url("/")).register(ID, {})
        assert len(site.paths()) == 3


def test_a_bot_that_refuses_is_asked_once_and_the_token_is_not_repeated():
    with Site() as site:
        site.route(PATH, lambda _request: Reply(body="bad token top-secret-token", status=401))
        with pytest.raises(Permanent, match="401") as caught:
            _bot(site.url("/")).register(ID, {})
        assert len(site.paths()) == 1
    assert "top-secret" not in str(caught.value)
    assert "check the token" in str(caught.value)


def test_a_bot_that_is_down_is_said_to_be_down():
    with Site() as site:
        url = site.url("/")
    with pytest.raises(Retryable, match="does not answer"):
        _bot(url, retries=1).register(ID, {})


@pytest.mark.parametrize("url", ["bot.example.com", "ftp://bot.example.com", "http://", ""])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(Misconfigured):
        _bot(url)


def _headers(request):
    return {name.lower(): value for name, value in request.headers.items()}


def test_a_signature_covers_time_and_body_and_retries_have_one_idempotency_key():
    with Site() as site:
        seen = []
        answers = iter([503, 200, 200, 200])
        site.route(PATH, lambda request: seen.append(request) or Reply(status=next(answers)))
        clock = iter([1000.0, 2000.0, 3000.0, 4000.0]).__next__
        bot = HttpBot(
            site.url("/"), token="t", secret="s3cret", timeout=2, retries=2, sleep=lambda _: None, clock=clock
        )
        bot.register(ID, {"generation": "A"})
        bot.register(ID, {"generation": "A"})
        bot.register(ID, {"generation": "B"})
    first, second, third, other = (_headers(request) for request in seen)
    for request, when in zip(seen, ("1000", "2000", "3000", "4000"), strict=True):
        signed = hmac.new(b"s3cret", when.encode() + b"." + request.body, "sha256").hexdigest()
        assert _headers(request)["x-indexer-timestamp"] == when
        assert _headers(request)["x-indexer-signature"] == f"v1={signed}"
    assert first["idempotency-key"] == second["idempotency-key"] == third["idempotency-key"]
    assert other["idempotency-key"] != first["idempotency-key"]


def test_without_a_secret_nothing_is_signed():
    with Site() as site:
        seen = []
        site.route(PATH, lambda request: seen.append(request) or Reply())
        _bot(site.url("/")).register(ID, {})
    assert "x-indexer-signature" not in _headers(seen[0])


def test_a_bot_that_says_when_is_asked_then():
    waited = []
    with Site() as site:
        answers = iter([Reply(status=429, headers={"Retry-After": "7"}), Reply(status=503), Reply()])
        site.route(PATH, lambda _request: next(answers))
        HttpBot(site.url("/"), token="", timeout=2, retries=2, sleep=waited.append).register(ID, {})
    assert waited[0] == 7
    assert 0 < waited[1] <= 10


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply('{"generation": "G1"}'), (True, True, "G1")),
        (Reply('{"manifest": {"generation": "G2"}}'), (True, True, "G2")),
        (Reply("<p>hello"), (True, True, "")),
        (Reply('["G1"]'), (True, True, "")),
        (Reply(status=404), (False, True, "")),
        (Reply(status=405), (True, False, "")),
    ],
)
def test_what_a_bot_serves_is_what_it_says(reply, expected):
    with Site() as site:
        site.route(PATH, lambda _request: reply)
        served = _bot(site.url("/")).check(ID)
    assert (served.known, served.tells, served.generation) == expected


def test_a_bot_that_refuses_to_tell_or_is_down_is_an_error():
    with Site() as site:
        site.route(PATH, lambda _request: Reply("no top-secret-token", status=403))
        with pytest.raises(Permanent, match="check the token") as caught:
            _bot(site.url("/")).check(ID)
        assert "top-secret" not in str(caught.value)
        url = site.url("/")
    with pytest.raises(Retryable, match="does not answer"):
        _bot(url).check(ID)


def test_a_secret_may_stand_in_a_file(tmp_path):
    (tmp_path / "token").write_text(" from-a-file\n")
    environ = {"TOKEN_FILE": str(tmp_path / "token")}
    assert secret("TOKEN", environ) == "from-a-file"
    assert secret("TOKEN", environ | {"TOKEN": "from-the-environment"}) == "from-the-environment"
    assert secret("", {"_FILE": "/nowhere"}) == ""
    with pytest.raises(Misconfigured, match="TOKEN_FILE"):
        secret("TOKEN", {"TOKEN_FILE": str(tmp_path / "nowhere")})
