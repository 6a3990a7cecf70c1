"""A reranker puts hits in order, or is as if it were not there."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from indexer.adapters.rerank import open_rerank
from indexer.errors import Misconfigured, Retryable
from indexer.search.arrange import Place
from indexer.search.rerank import forgiving, reordered
from indexer.settings import Provider, Search, Settings
from tests.search.test_arrange import payload
from tests.support.rerank_api import RerankApi

TEXTS = ["дверь", "окно и окно", "окно"]


@pytest.fixture(scope="module")
def api() -> Iterator[RerankApi]:
    with RerankApi() as server:
        yield server


def opened(api: RerankApi, mode: str, *, timeout: float = 10.0):
    settings = Settings(
        search=Search(rerank="r/model-1", rerank_timeout=timeout),
        providers={"r": Provider(base_url=api.url(mode), api_key_env=("RERANK_KEYS",))},
    )
    rerank = open_rerank(settings)
    assert rerank is not None
    return rerank


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_KEYS", "secret-one,good")
    assert "RERANK_KEYS" in os.environ


@pytest.mark.parametrize("mode", ["ok", "list", "auth"])
def test_scores_come_back_in_the_order_of_the_texts(api: RerankApi, mode: str) -> None:
    """Whatever the order and the shape of the answer; a key that is refused is followed by the next."""
    rerank = opened(api, mode)

    assert rerank("окно", TEXTS) == [0.0, 2.0, 1.0]
    assert api.asked[-1] == {"model": "model-1", "query": "окно", "documents": TEXTS, "top_n": 3}
    assert mode != "auth" or api.keys[-2:] == ["secret-one", "good"] or api.keys[-1] == "good"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("limit", "HTTP 429"),
        ("down", "HTTP 500"),
        ("html", "not the JSON"),
        ("short", "2 results for 3 texts"),
        ("range", "indices"),
        ("twice", "indices"),
        ("nan", "without a score"),
        ("null", "without a score"),
        ("hang", "no answer within 0.3 s"),
        ("drip", "in time"),
    ],
)
def test_what_is_no_whole_answer_is_said_without_keys(api: RerankApi, mode: str, words: str) -> None:
    """Half an order would be a wrong one."""
    with pytest.raises(Retryable, match=words) as caught:
        opened(api, mode, timeout=0.3 if mode in ("hang", "drip") else 10)("окно", TEXTS)
    assert "secret-one" not in str(caught.value)
    assert "r/model-1" in str(caught.value)


def test_a_server_that_is_not_there_is_said(api: RerankApi) -> None:
    """Also an address that is none."""
    settings = Settings(
        search=Search(rerank="r/m"), providers={"r": Provider(base_url="http://127.0.0.1:1/v1")}
    )
    rerank = open_rerank(settings)
    assert rerank is not None
    with pytest.raises(Retryable, match="cannot be asked"):
        rerank("окно", TEXTS)
    assert open_rerank(Settings()) is None
    with pytest.raises(Misconfigured, match=r"search\.rerank names 'x/y'.*no provider"):
        open_rerank(Settings(search=Search(rerank="x/y")))


def test_the_first_hits_are_put_in_order_and_the_rest_stays() -> None:
    """Equal scores keep the order of search."""
    places = [Place(name, -float(n)) for n, name in enumerate("abcd")]
    payloads = {name: payload(name, "ru") for name in "abcd"}
    scores = {3: [1.0, 5.0, 1.0]}
    found = reordered("?", places, payloads, rerank=lambda _, texts: scores[len(texts)], depth=3)

    assert [(place.id, place.rerank) for place in found] == [("b", 5.0), ("a", 1.0), ("c", 1.0), ("d", None)]
    assert reordered("?", places, payloads, rerank=lambda *_: None, depth=3) == places
    assert reordered("?", [], {}, rerank=lambda *_: 1 / 0, depth=3) == []


def test_a_reranker_that_keeps_failing_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Three times in a row; each failure is a warning, and one success forgets them."""
    calls: list[str] = []

    class Flaky:
        model = "r/m"

        def __call__(self, question: str, texts):
            calls.append(question)
            if question == "bad":
                raise Retryable("the reranker r/m gave no order")
            return [1.0]

    rerank = forgiving(Flaky())
    with caplog.at_level(logging.WARNING, "indexer"):
        answers = [rerank(question, ["x"]) for question in ("bad", "bad", "ok", "bad", "bad", "bad", "ok")]
    assert answers == [None, None, [1.0], None, None, None, None]
    assert len(calls) == 6
    assert len(caplog.records) == 5
    assert "not asked again" in caplog.records[-1].message
