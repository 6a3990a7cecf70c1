"""What only a server has: passing failures, limits, keys, other users. Over HTTP, against the double."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.adapters import qdrant_requests
from indexer.adapters.qdrant import QdrantStore
from indexer.adapters.qdrant_server import FIRST_TRIES, LONGEST_DELAY, TRIES
from indexer.errors import IndexerError, Misconfigured, Permanent, Retryable
from indexer.ids import collection_name
from indexer.settings import Store
from tests.stores.points import DIMENSION, NEW, OLD, build, generation, points_of, texts_in
from tests.stores.qdrant_double import Fault, QdrantDouble

PROJECT = "Кафе Ромашка"
KEY = "INDEXER_TEST_STORE_KEY"


@pytest.fixture
def slept() -> list[float]:
    """Seconds that the store would have waited, one by one."""
    return []


@pytest.fixture
def open_store(double: QdrantDouble, tmp_path: Path, slept: list[float]) -> Callable[..., QdrantStore]:
    def opened(**settings: Any) -> QdrantStore:
        chosen = Store(**{"url": double.url, "api_key_env": KEY, **settings})
        return QdrantStore(PROJECT, settings=chosen, folder=tmp_path, sleep=slept.append)

    return opened


@pytest.fixture
def store(open_store: Callable[..., QdrantStore]) -> QdrantStore:
    return open_store()


def once(double: QdrantDouble, fault: Fault, *, number: int) -> None:
    """Let the request of that number (from now, from 1) go wrong."""
    left = number

    def chosen(method: str, path: str) -> Fault | None:
        nonlocal left
        left -= 1
        return fault if left == 0 else None

    double.fault = chosen


@pytest.mark.parametrize(
    "fault", [Fault(503, apply=True), Fault(0), Fault(0, apply=True)], ids=["503-done", "drop", "drop-done"]
)
def test_any_one_failure_is_survived(
    open_store: Callable[..., QdrantStore], double: QdrantDouble, slept: list[float], fault: Fault
) -> None:
    """
    Whichever request fails once, whether it was done or not, the run comes to the same end.

    A request that was done and whose answer was lost is repeated without harm.
    """
    build(open_store(), generation("1"), OLD)
    double.log.clear()
    build(open_store(), generation("2"), NEW)
    requests = len(double.log)
    assert requests > 8
    for number in range(1, requests + 1):
        once(double, fault, number=number)
        slept.clear()
        build(open_store(), generation(str(number + 2)), OLD if number % 2 else NEW)
        assert len(slept) >= 1
        double.fault = lambda method, path: None
        assert texts_in(open_store()) == set(OLD if number % 2 else NEW)


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Fault(500), 0.5),
        (Fault(429, headers={"Retry-After": "7"}), 7),
        (Fault(429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), 0.5),
        (Fault(429), 0.5),
        (Fault(503, headers={"Retry-After": "3"}), 3),
        (Fault(502, body="<html>Bad Gateway</html>", headers={"Content-Type": "text/html"}), 0.5),
        (Fault(429, headers={"Retry-After": "3600"}), LONGEST_DELAY),
    ],
    ids=["500", "429", "429-date", "429-bare", "503", "502-html", "429-hour"],
)
def test_a_passing_failure_is_waited_out(
    store: QdrantStore, double: QdrantDouble, slept: list[float], fault: Fault, wait: float
) -> None:
    """The wait is what Retry-After asks for, at most a minute, else half a second; plus a little at random."""
    once(double, fault, number=1)

    assert store.current() is None
    assert slept == [pytest.approx(wait * 1.05, rel=0.05)]


def test_a_server_that_keeps_failing_is_given_up(
    store: QdrantStore, double: QdrantDouble, slept: list[float]
) -> None:
    """After the last try the error says what failed; the waits grow, and the old index stays."""
    build(store, generation("1"), OLD)
    building = store.begin(generation("2"), DIMENSION)
    double.fault = lambda method, path: Fault(500) if path.endswith("/points") else None
    with pytest.raises(
        Retryable, match=r"failed to take points into .* \(status 500: Service internal error"
    ):
        building.upsert(points_of(NEW))
    double.fault = lambda method, path: None
    building.abandon()

    assert len(slept) == TRIES - 1
    assert all(1.5 * first < second < 2.5 * first for first, second in itertools.pairwise(slept))
    assert texts_in(store) == set(OLD)


def test_a_request_over_the_limit_is_sent_in_halves(
    store: QdrantStore, double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """413, or 400 in Qdrant's words, halves the batch until it fits."""
    texts = tuple(f"дверь {number}" for number in range(50))
    double.limit = 8_000
    build(store, generation("1"), texts)

    assert texts_in(store) == set(texts)
    assert max(double.upserts) < 50
    assert sum(double.upserts) == 50


def test_a_point_over_the_limit_is_an_error(store: QdrantStore, double: QdrantDouble) -> None:
    """A single point that cannot be sent ends the build with the server's words."""
    building = store.begin(generation("1"), DIMENSION)
    double.fault = lambda method, path: Fault(413, body="too big") if path.endswith("/points") else None
    with pytest.raises(Permanent, match="takes no request of this size: too big"):
        building.upsert(points_of(OLD))
    double.fault = lambda method, path: None
    building.abandon()


def test_batches_are_bounded_by_count_and_bytes(
    store: QdrantStore, double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request holds more than 128 points, nor much more than the byte budget."""
    texts = tuple(f"дверь {number}" for number in range(300))
    build(store, generation("1"), texts)
    assert double.upserts == [128, 128, 44]

    double.upserts.clear()
    monkeypatch.setattr(qdrant_requests, "BATCH_BYTES", 3_000)
    build(store, generation("2"), texts)
    assert len(double.upserts) > 20
    assert sum(double.upserts) == 300


def test_a_slow_server_is_waited_for(store: QdrantStore, double: QdrantDouble, slept: list[float]) -> None:
    """`wait_timeout` is no success: the batch is sent again. `acknowledged` is counted at the end."""
    waiting = {"result": {"operation_id": 1, "status": "wait_timeout"}, "status": "ok", "time": 0.0}
    taken = {"result": {"operation_id": 1, "status": "acknowledged"}, "status": "ok", "time": 0.0}
    few = {"result": {"count": 1}, "status": "ok", "time": 0.0}
    answers = {
        "points": [Fault(200, result=waiting, apply=True), Fault(200, result=taken, apply=True)],
        "count": [Fault(200, result=few), Fault(200, result=few)],
    }

    def chosen(method: str, path: str) -> Fault | None:
        queue = answers.get(path.rpartition("/")[2], [])
        return queue.pop(0) if queue and method != "GET" else None

    double.fault = chosen
    build(store, generation("1"), OLD)

    assert double.upserts == [3, 3]
    assert len(slept) == 3
    assert texts_in(store) == set(OLD)


def test_a_late_answer_is_asked_for_again(
    open_store: Callable[..., QdrantStore], double: QdrantDouble, slept: list[float]
) -> None:
    """After `store.timeout` a request is repeated, though the server may have done it meanwhile."""
    store = open_store(timeout=1)
    building = store.begin(generation("1"), DIMENSION)
    once(double, Fault(200, apply=True, delay=1.5), number=1)
    building.upsert(points_of(OLD))
    building.seal(len(OLD))
    building.abandon()

    assert double.upserts == [3, 3]
    assert len(slept) == 1


def test_a_collection_that_vanishes_ends_the_build(store: QdrantStore, double: QdrantDouble) -> None:
    """If someone removes the new collection meanwhile, nothing is published."""
    build(store, generation("1"), OLD)
    building = store.begin(generation("2"), DIMENSION)
    double.engine.delete_collection(store.collection(generation("2")))
    with pytest.raises(Permanent, match=r"status 404\): Not found: Collection"):
        building.upsert(points_of(NEW))
    building.abandon()

    assert texts_in(store) == set(OLD)


def test_the_key_is_sent_and_never_shown(
    double: QdrantDouble, open_store: Callable[..., QdrantStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing or wrong key names its variable; the value is in no message."""
    double.api_key = "s3cret"
    with pytest.raises(Misconfigured, match=f"refuses the API key: {KEY} is not set"):
        open_store().current()
    monkeypatch.setenv(KEY, "wr0ng")
    with pytest.raises(Misconfigured, match=f"refuses the API key: {KEY} is wrong") as caught:
        open_store().current()
    assert "wr0ng" not in str(caught.value)
    monkeypatch.setenv(KEY, "s3cret")
    assert open_store().current() is None


def test_an_unreachable_server_is_said_soon(
    open_store: Callable[..., QdrantStore], slept: list[float]
) -> None:
    """Nobody listens: two tries, then the URL and what to do, without the password in it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    absent = open_store(url=f"http://me:hush@127.0.0.1:{port}")
    with pytest.raises(
        Retryable, match=rf"http://127.0.0.1:{port} cannot be reached .* \[store\] url"
    ) as caught:
        absent.current()

    assert "hush" not in str(caught.value)
    assert len(slept) == FIRST_TRIES - 1


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [("<html>hello</html>", 200, "text/html"), ("<html>no</html>", 404, "text/html")],
)
def test_another_kind_of_server_is_recognised(
    store: QdrantStore, double: QdrantDouble, body: str, status: int, kind: str
) -> None:
    """A web server behind the URL is said to be no Qdrant."""
    double.fault = lambda method, path: Fault(status, body=body, headers={"Content-Type": kind})
    with pytest.raises(Misconfigured, match="no Qdrant server"):
        store.current()


def test_an_old_server_is_refused(store: QdrantStore, double: QdrantDouble) -> None:
    """A version without what we need is named before anything is written."""
    double.version = "1.9.7"
    with pytest.raises(Misconfigured, match=r"version 1.9.7; 1.10 or newer"):
        store.begin(generation("1"), DIMENSION)
    assert double.names() == set()


def test_names_are_valid_whatever_the_project_is_called(store: QdrantStore, double: QdrantDouble) -> None:
    """A Cyrillic project gets an ASCII alias before a collection of its own."""
    build(store, generation("1"), OLD)
    (alias,) = double.aliases()

    assert re.fullmatch(r"kafe-romashka-[0-9a-f]{8}", alias)
    assert (
        double.aliases()[alias] == collection_name(PROJECT, generation("1")) == f"{alias}__g{generation('1')}"
    )


def test_the_swap_is_one_request(store: QdrantStore, double: QdrantDouble) -> None:
    """The alias goes from the old to the new collection in one call of the server."""
    build(store, generation("1"), OLD)
    double.log.clear()
    build(store, generation("2"), NEW)

    assert [path for _, path in double.log].count("/collections/aliases") == 1


def test_collections_of_others_are_never_touched(
    store: QdrantStore, double: QdrantDouble, tmp_path: Path
) -> None:
    """Another machine with the same project and server: its generations survive our cleaning."""
    elsewhere = QdrantStore(PROJECT, settings=Store(url=double.url), folder=tmp_path / "other")
    build(elsewhere, generation("1"), OLD)
    theirs = elsewhere.begin(generation("2"), DIMENSION)
    build(store, generation("3"), NEW)
    store.gc(1)

    assert {store.collection(generation(str(n))) for n in (1, 2, 3)} == double.names()
    assert texts_in(store) == set(NEW)
    with pytest.raises(IndexerError, match="was not published from this folder"):
        elsewhere.reader()
    theirs.abandon()
    assert {store.collection(generation(str(n))) for n in (1, 3)} == double.names()


def test_an_alias_of_someone_else_is_left_alone(store: QdrantStore, double: QdrantDouble) -> None:
    """If the alias names a foreign collection, a person has to decide."""
    from qdrant_client import models

    double.engine.create_collection("precious", vectors_config={})
    alias = store.collection("").removesuffix("__g")
    operation = models.CreateAlias(collection_name="precious", alias_name=alias)
    double.engine.update_collection_aliases([models.CreateAliasOperation(create_alias=operation)])
    with pytest.raises(Misconfigured, match="names precious, no index of ours"):
        store.begin(generation("1"), DIMENSION)


def test_abandon_on_a_dead_server_lets_go(store: QdrantStore, double: QdrantDouble) -> None:
    """If the collection cannot be removed now, the next run does it."""
    building = store.begin(generation("1"), DIMENSION)
    double.fault = lambda method, path: Fault(503)
    building.abandon()
    assert double.names() == {store.collection(generation("1"))}
    double.fault = lambda method, path: None
    build(store, generation("2"), NEW)

    assert double.names() == {store.collection(generation("2"))}


def test_any_one_failure_is_survived_over_grpc(
    open_store: Callable[..., QdrantStore], double: QdrantDouble, grpc_settings: Store
) -> None:
    """Over gRPC too, whichever call fails once, done or not, the run comes to the same end."""
    settings = {"prefer_grpc": True, "grpc_port": grpc_settings.grpc_port}
    build(open_store(**settings), generation("1"), OLD)
    for number in range(1, 20):
        double.log.clear()
        once(double, Fault(503 if number % 3 else 500, apply=number % 2 == 0), number=number)
        build(open_store(**settings), generation(str(number + 1)), OLD if number % 2 else NEW)
        double.fault = lambda method, path: None
        assert {method for method, _ in double.log} == {"GRPC"}
        assert texts_in(open_store(**settings)) == set(OLD if number % 2 else NEW)


def test_errors_over_grpc_read_as_those_over_http(
    open_store: Callable[..., QdrantStore],
    double: QdrantDouble,
    grpc_settings: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Key, limit, missing collection and refusal have the same kinds and say the same."""
    settings = {"prefer_grpc": True, "grpc_port": grpc_settings.grpc_port}
    double.api_key = "s3cret"
    with pytest.raises(Misconfigured, match=f"refuses the API key: {KEY} is not set"):
        open_store(**settings).current()
    monkeypatch.setenv(KEY, "s3cret")
    store = open_store(**settings)
    building = store.begin(generation("1"), DIMENSION)
    too_large = "grpc: Received message larger than max (5 vs. 4)"
    double.fault = lambda method, path: Fault(400, body=too_large) if path == "Upsert" else None
    with pytest.raises(Permanent, match="takes no request of this size"):
        building.upsert(points_of(OLD))
    double.fault = lambda method, path: None
    double.engine.delete_collection(store.collection(generation("1")))
    with pytest.raises(Permanent, match=r"refused to take points .* \(NOT_FOUND\)"):
        building.upsert(points_of(OLD))
    building.abandon()
