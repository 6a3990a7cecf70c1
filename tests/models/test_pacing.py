"""Several requests at a time to one server, and no more of them than it allows."""

from __future__ import annotations

import contextlib
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from indexer.adapters.attempts import Patience
from indexer.adapters.pacing import Pace, seconds_of
from indexer.adapters.vector_cache import SqliteVectorCache
from indexer.artifacts import Chunk, ChunkedPage, EmbeddedPage
from indexer.phases.embed import embed
from tests.support.model_api import ModelApi
from tests.support.models import Clock, embedding_chain


def pages(number: int) -> list[ChunkedPage]:
    return [
        ChunkedPage(
            signature="s",
            url=f"https://firm.example/{i}",
            title="Firm",
            language="en",
            mode="paragraph",
            chunks=(Chunk(ordinal=0, topic="Prices", text=f"text {i}", start=0, end=6),),
        )
        for i in range(number)
    ]


class Hurry(Clock):
    """A clock that runs fifty times as fast."""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / 50)

    def patience(self) -> Patience:
        return Patience(sleep=self.sleep, now=lambda: 50 * time.monotonic(), jitter=lambda: 0.5)


def embedded(tmp_path: Path, api: ModelApi, mode: str, number: int, **models: int) -> tuple[int, int]:
    """(vectors, requests refused) of `number` pages, one text a request."""
    model = embedding_chain(api.base_url("emb", mode), models={"batch_items": 1, **models}, clock=Hurry())
    with closing(SqliteVectorCache(tmp_path / "v.db")) as cache:
        results, _, _ = embed(pages(number), model=model, cache=cache)
    refused = [call for call in api.calls("emb") if call.status == 429]
    return sum(isinstance(result, EmbeddedPage) for result in results), len(refused)


def test_a_limit_that_the_server_states_is_kept_to(tmp_path: Path) -> None:
    with ModelApi(per_minute=3000) as api:
        vectors, refused = embedded(tmp_path, api, "stated", 190, concurrency=8)
    assert vectors == 190
    assert refused == 0


def test_a_server_that_is_asked_too_much_is_asked_less(tmp_path: Path) -> None:
    with ModelApi() as api:
        vectors, refused = embedded(tmp_path, api, "narrow", 60, concurrency=8)
    assert vectors == 60
    assert refused < 60


def test_after_too_many_one_request_goes_first_and_then_half_of_what_was_too_many() -> None:
    clock = Clock()
    pace = Pace(sleep=clock.sleep, now=lambda: sum(clock.slept))
    with contextlib.ExitStack() as together:
        for _ in range(4):
            pace.answered({})
            together.enter_context(pace.request(lambda: 0))
        for _ in range(4):
            pace.hold(5.0)
    entered, leave = threading.Semaphore(0), threading.Event()

    def ask() -> None:
        with pace.request(lambda: 0):
            entered.release()
            leave.wait(10)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert entered.acquire(timeout=10)
        assert not entered.acquire(timeout=0.05)
        assert clock.slept == [5.0]
        pace.answered({})
        assert entered.acquire(timeout=5)
        pace.answered({})
        assert not entered.acquire(timeout=0.05)
    finally:
        leave.set()
        for thread in threads:
            thread.join(10)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6m0s", 360), ("20ms", 0.02), ("1h2m", 3720), ("2m59.56s", 179.56), ("7", 7), ("soon", 0), ("", 0)],
)
def test_times_as_servers_write_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


def test_a_limit_of_a_day_is_not_spread_over_it() -> None:
    pace = Pace()
    pace.answered({"x-ratelimit-limit-tokens": "100000", "x-ratelimit-reset-tokens": "1h2m"})
    assert pace.share(80_000) == 80_000
    pace.answered({"x-ratelimit-limit-tokens": "100000", "x-ratelimit-reset-tokens": "6s"})
    assert pace.share(80_000) == 5_000
    assert Pace(tokens=20_000).share(80_000) == 1_000
