"""What every vector store does: the same tests on each engine."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from indexer.adapters.generations import MANIFEST
from indexer.errors import Busy, IndexerError, Misconfigured, Permanent
from indexer.ports import Sparse, Where
from indexer.search.hybrid import words_of
from tests.stores.engine import Engine
from tests.stores.points import (
    DIMENSION,
    NEW,
    OLD,
    build,
    generation,
    manifest_of,
    name_of,
    payload_of,
    points_of,
    snapshot_of,
    texts_in,
)


def test_an_empty_store_has_nothing(engine: Engine) -> None:
    """Before the first publication there is no manifest, no reader and no generation."""
    store = engine.open()

    assert store.current() is None
    assert store.reader() is None
    assert store.generations() == []
    assert store.gc(2) == []


def test_a_published_generation_is_served_with_its_manifest_and_snapshot(engine: Engine) -> None:
    """Another handle reads exactly what was published."""
    manifest = build(engine.open(), generation("1"), OLD)
    other = engine.open()
    reader = other.reader()

    assert reader is not None
    assert other.current() == manifest == reader.manifest
    assert reader.snapshot == snapshot_of(OLD)
    assert reader.count() == len(OLD)
    assert other.generations() == [generation("1")]
    reader.close()
    assert texts_in(other) == set(OLD)


def test_nothing_is_visible_before_publication(engine: Engine) -> None:
    """A generation that is being built, or sealed, is seen by nobody."""
    build(engine.open(), generation("1"), OLD)
    store = engine.open()
    building = store.begin(generation("2"), DIMENSION)
    building.upsert(points_of(NEW))
    assert texts_in(engine.open()) == set(OLD)
    building.seal(len(NEW))
    assert texts_in(engine.open()) == set(OLD)
    assert engine.open().generations() == [generation("1")]

    store.publish(manifest_of(store, generation("2"), NEW), snapshot_of(NEW))

    assert texts_in(engine.open()) == set(NEW)
    assert engine.open().generations() == [generation("1"), generation("2")]


def test_an_open_reader_keeps_its_generation(engine: Engine) -> None:
    """What a reader sees does not change under it, even if newer generations are published."""
    build(engine.open(), generation("1"), OLD)
    reader = engine.open().reader()
    assert reader is not None
    for number in (2, 3, 4):
        build(engine.open(), generation(str(number)), NEW)
    removed = engine.open().gc(1)

    assert generation("1") not in removed
    (found,) = reader.nearest([np.ones(DIMENSION, dtype=np.float32)], 10)
    assert {payload.text for payload in reader.payloads(found.ids).values()} == set(OLD)
    assert reader.snapshot == snapshot_of(OLD)
    reader.close()
    assert engine.open().gc(1) == [generation("1")]
    assert texts_in(engine.open()) == set(NEW)


def test_both_legs_score_as_documented(engine: Engine) -> None:
    """The dense leg scores by cosine, the sparse one by Σ qtf · IDF · weight; ids are strings."""
    build(engine.open(), generation("1"), OLD)
    reader = engine.open().reader()
    assert reader is not None
    points = points_of(OLD)
    vector = np.array([1.0, 0.5, 0.0, 0.0], dtype=np.float32)
    words = words_of(["red", "дверь", "дверь"], reader.snapshot)
    assert words is not None
    dense, bm25 = reader.nearest([vector, words], 10)
    reader.close()

    def cosine(point: tuple[float, ...]) -> float:
        return float(np.dot(vector, point) / np.linalg.norm(vector) / np.linalg.norm(point))

    assert dense.ids == [name_of(text, n) for n, text in enumerate(OLD)][:3]
    assert dense.scores == pytest.approx([cosine(p.dense) for p in points], abs=1e-5)
    snapshot = snapshot_of(OLD)
    asked = {snapshot.vocab["red"]: snapshot.idf["red"], snapshot.vocab["дверь"]: 2 * snapshot.idf["дверь"]}
    expected = {
        point.id: math.fsum(
            asked.get(index, 0) * value for index, value in zip(point.indices, point.values, strict=True)
        )
        for point in points
    }
    assert dict(zip(bm25.ids, bm25.scores, strict=True)) == pytest.approx(expected, abs=1e-5)


def test_queries_of_one_call_are_independent(engine: Engine) -> None:
    """A batch answers in order, whatever the mix of kinds; the limit holds for each."""
    build(engine.open(), generation("1"), NEW)
    reader = engine.open().reader()
    assert reader is not None
    axes = list(np.eye(DIMENSION, dtype=np.float32))
    words = Sparse(indices=(reader.snapshot.vocab["red"],), values=(1.0,))
    answers = reader.nearest([axes[0], words, axes[3], axes[1]], 2)
    reader.close()

    assert [len(answer.ids) for answer in answers] == [2, 1, 2, 2]
    assert [answer.ids[0] for answer in answers] == [name_of(NEW[n], n) for n in (0, 2, 3, 1)]


def test_payloads_and_terms_come_back_as_they_went_in(engine: Engine) -> None:
    """Every payload field and the BM25 vectors survive the store, for the asked ids only."""
    build(engine.open(), generation("1"), OLD)
    reader = engine.open().reader()
    assert reader is not None
    points = points_of(OLD)
    some = [points[2].id, points[0].id]

    assert reader.payloads(some) == {points[n].id: payload_of(OLD[n], n) for n in (0, 2)}
    terms = reader.terms(some)
    assert {name: found.indices for name, found in terms.items()} == {
        points[n].id: points[n].indices for n in (0, 2)
    }
    for number in (0, 2):
        assert terms[points[number].id].values == pytest.approx(points[number].values, rel=1e-6)
    assert reader.payloads([]) == {}
    reader.close()


def test_repeating_an_upsert_changes_nothing(engine: Engine) -> None:
    """Points of known ids are replaced, so that a retried batch is harmless."""
    store = engine.open()
    building = store.begin(generation("1"), DIMENSION)
    for _ in range(3):
        building.upsert(points_of(OLD))
    building.upsert([])
    building.seal(len(OLD))
    store.publish(manifest_of(store, generation("1"), OLD), snapshot_of(OLD))

    assert texts_in(engine.open()) == set(OLD)


def test_a_wrong_count_is_not_sealed(engine: Engine) -> None:
    """A generation with fewer points than expected is refused, and the old one stays."""
    build(engine.open(), generation("1"), OLD)
    store = engine.open()
    building = store.begin(generation("2"), DIMENSION)
    building.upsert(points_of(NEW))
    with pytest.raises(Permanent, match=r"holds 4 points instead of 5.*old index stays"):
        building.seal(len(NEW) + 1)
    with pytest.raises(IndexerError, match="not complete"):
        store.publish(manifest_of(store, generation("2"), NEW), snapshot_of(NEW))

    assert texts_in(engine.open()) == set(OLD)


def test_an_abandoned_generation_leaves_nothing(engine: Engine) -> None:
    """After `abandon` the next writer can begin, and the name is free again."""
    build(engine.open(), generation("1"), OLD)
    store = engine.open()
    building = store.begin(generation("2"), DIMENSION)
    building.upsert(points_of(NEW))
    building.abandon()
    building.abandon()

    assert engine.open().generations() == [generation("1")]
    build(engine.open(), generation("2"), NEW)
    building.abandon()  # late: the generation of this name is another's and published
    assert texts_in(engine.open()) == set(NEW)


def test_one_writer_at_a_time(engine: Engine) -> None:
    """While a generation is unpublished, nobody else begins, publishes, cleans or drops."""
    build(engine.open(), generation("1"), OLD)
    building = engine.open().begin(generation("2"), DIMENSION)
    other = engine.open()
    for attempt in (lambda: other.begin(generation("3"), DIMENSION), lambda: other.gc(1), other.drop):
        with pytest.raises(Busy, match="another run is writing"):
            attempt()
    building.abandon()

    other.begin(generation("3"), DIMENSION).abandon()
    assert texts_in(other) == set(OLD)


def test_what_a_dead_writer_left_is_removed_by_the_next(engine: Engine) -> None:
    """Generations that were begun or sealed but never published do not pile up."""
    build(engine.open(), generation("1"), OLD)
    dead = engine.open()
    building = dead.begin(generation("2"), DIMENSION)
    building.upsert(points_of(NEW))
    building.seal(len(NEW))
    dead._generations.release()  # as the kernel does when the process dies
    build(engine.open(), generation("3"), NEW)

    assert engine.open().generations() == [generation("1"), generation("3")]
    assert sorted(path.name for path in engine.folder.glob("gen-*")) == [
        f"gen-{generation('1')}",
        f"gen-{generation('3')}",
    ]


def test_gc_keeps_the_current_and_the_newest_others(engine: Engine) -> None:
    """`keep` counts the current generation; the oldest go first."""
    for number in range(1, 5):
        build(engine.open(), generation(str(number)), OLD if number % 2 else NEW)

    assert engine.open().gc(3) == [generation("1")]
    assert engine.open().gc(2) == [generation("2")]
    assert engine.open().gc(2) == []
    assert engine.open().generations() == [generation("3"), generation("4")]
    assert texts_in(engine.open()) == set(NEW)


def test_an_earlier_generation_can_be_restored(engine: Engine) -> None:
    """Rollback publishes an old generation again; gc then keeps it, as it is current."""
    first = build(engine.open(), generation("1"), OLD)
    build(engine.open(), generation("2"), NEW)

    assert engine.open().restore(generation("1")) == first
    assert engine.open().current() == first
    assert texts_in(engine.open()) == set(OLD)
    assert engine.open().gc(1) == [generation("2")]
    assert texts_in(engine.open()) == set(OLD)
    with pytest.raises(Misconfigured, match=r"no generation .* there are"):
        engine.open().restore(generation("2"))


def test_drop_removes_everything(engine: Engine) -> None:
    """A dropped store is as one that never was, and can be filled again."""
    build(engine.open(), generation("1"), OLD)
    build(engine.open(), generation("2"), NEW)
    engine.open().drop()

    assert engine.open().current() is None
    assert engine.open().generations() == []
    assert not engine.folder.exists()
    engine.open().drop()
    build(engine.open(), generation("1"), OLD)
    assert texts_in(engine.open()) == set(OLD)


def test_a_point_of_another_dimension_is_refused(engine: Engine) -> None:
    """The engine's own check is the last one: the old index stays."""
    build(engine.open(), generation("1"), OLD)
    building = engine.open().begin(generation("2"), DIMENSION)
    with pytest.raises(IndexerError, match="dim"):
        building.upsert(points_of(NEW, dimension=DIMENSION + 1))
    building.abandon()

    assert texts_in(engine.open()) == set(OLD)


def test_a_damaged_manifest_is_named_and_can_be_rebuilt(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """`current` is then `None`, so that the next run rebuilds; a reader says what to do."""
    build(engine.open(), generation("1"), OLD)
    path = engine.folder / f"gen-{generation('1')}" / MANIFEST
    path.write_bytes(path.read_bytes()[:40])

    assert engine.open().current() is None
    assert str(path) in caplog.text
    with pytest.raises(IndexerError, match=r"damaged.*--from-phase index --force"):
        engine.open().reader()
    build(engine.open(), generation("2"), NEW)
    assert texts_in(engine.open()) == set(NEW)


def test_a_newer_manifest_is_refused(engine: Engine) -> None:
    """An index of a newer indexer is neither read nor replaced by accident."""
    build(engine.open(), generation("1"), OLD)
    path = engine.folder / f"gen-{generation('1')}" / MANIFEST
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), "schema": 99}))

    for attempt in (engine.open().current, engine.open().reader):
        with pytest.raises(Misconfigured, match="newer indexer"):
            attempt()


def test_a_generation_name_is_no_path(engine: Engine) -> None:
    """A name that would leave the folder is refused."""
    with pytest.raises(IndexerError, match="no name"):
        engine.open().begin("../x", DIMENSION)
    engine.open().begin(generation("1"), DIMENSION).abandon()


def test_a_filter_is_part_of_the_query_and_takes_no_place(engine: Engine) -> None:
    """Whatever is excluded is in no leg, however near it is; `select` gives all that is admitted."""
    texts = [f"дверь номер {number}" for number in range(12)]
    points = [
        msgspec.structs.replace(
            point,
            payload=msgspec.structs.replace(
                point.payload,
                layer=("norm", "faq", "old")[number % 3],
                deprecated=number % 3 == 2,
                points=("1", f"1/{number})"),
            ),
        )
        for number, point in enumerate(points_of(texts))
    ]
    store = engine.open()
    building = store.begin(generation("1"), DIMENSION)
    building.upsert(points)
    building.seal(len(points))
    store.publish(manifest_of(store, generation("1"), texts), snapshot_of(texts))
    reader = store.reader()
    assert reader is not None
    vector = np.ones(DIMENSION, dtype=np.float32)
    words = words_of(["дверь"], reader.snapshot)
    assert words is not None

    def named(numbers: range) -> set[str]:
        return {points[number].id for number in numbers}

    either = Where(fields={"layer": ("norm", "faq"), "deprecated": (False,)})
    for found in reader.nearest([vector, words], 8, either):
        assert set(found.ids) == named(range(0, 12, 3)) | named(range(1, 12, 3))
    old = Where(fields={"deprecated": (True,)})
    assert reader.select(old, 100) == sorted(named(range(2, 12, 3)))
    assert len(reader.select(old, 2)) == 2
    both = Where(fields={"points": ("1/3)", "1/4)"), "layer": ("norm",)})
    assert reader.select(both, 100) == [points[3].id]
    assert reader.select(Where(fields={"layer": ("none",)}), 100) == []
    reader.close()
