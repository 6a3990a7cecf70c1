"""Registration: idempotent, authenticated, retried, clear; the token is never shown."""

from __future__ import annotations

import json

import pytest

from indexer.adapters.bot import HttpBot
from indexer.errors import Misconfigured, Permanent, Retryable
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
