"""Generations with known content."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from indexer.artifacts import Bm25Snapshot, Manifest, Payload, Point
from indexer.index.analysis import analyzer
from indexer.index.bm25 import Statistics, Weights
from indexer.ports import VectorStore

WORDS = analyzer("plain")
DIMENSION = 4
OLD = ("красная дверь", "синяя дверь", "red door, red wall")
NEW = ("зелёная дверь", "blue window", "red door", "красное окно")


def generation(name: str) -> str:
    """A name as ULIDs are: 26 characters that sort by age."""
    return name.rjust(26, "0")


def snapshot_of(texts: Sequence[str]) -> Bm25Snapshot:
    statistics = Statistics(WORDS)
    for text in texts:
        statistics.add(text)
    return statistics.snapshot(k1=1.5, b=0.75)


def points_of(texts: Sequence[str], *, dimension: int = DIMENSION) -> list[Point]:
    """One point per text; the vector of number i is nearest to axis i (of `dimension`)."""
    weights = Weights(snapshot_of(texts), WORDS)
    points = []
    for number, text in enumerate(texts):
        indices, values = weights.vector(text)
        dense = [0.1] * dimension
        dense[number % dimension] = 1.0 + number / 100
        points.append(
            Point(
                id=name_of(text, number),
                dense=tuple(dense),
                indices=indices,
                values=values,
                payload=payload_of(text, number),
            )
        )
    return points


def name_of(text: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{text} {number}"))


def payload_of(text: str, number: int) -> Payload:
    return Payload(
        url=f"https://example.org/{number}",
        doc_id=f"{number:032x}",
        title="Двери",
        topic=f"Часть {number}",
        text=text,
        context="",
        language="ru",
        ordinal=number,
    )


def manifest_of(
    store: VectorStore, name: str, texts: Sequence[str], *, dimension: int = DIMENSION
) -> Manifest:
    snapshot = snapshot_of(texts)
    return Manifest(
        generation=name,
        collection=store.collection(name),
        signature=f"signature of {name}",
        project_id=str(uuid.UUID(int=1)),
        project="Кафе",
        language="ru",
        model="test-model",
        dimension=dimension,
        query_prefix="",
        passage_prefix="",
        dense_vector="dense",
        sparse_vector="bm25",
        analyzer=snapshot.analyzer,
        analyzer_version=snapshot.analyzer_version,
        k1=snapshot.k1,
        b=snapshot.b,
        avg_dl=snapshot.avg_dl,
        pages=len(texts),
        points=len(texts),
    )


def build(store: VectorStore, name: str, texts: Sequence[str]) -> Manifest:
    """Build, seal and publish a generation of `texts`."""
    building = store.begin(name, DIMENSION)
    building.upsert(points_of(texts))
    building.seal(len(texts))
    manifest = manifest_of(store, name, texts)
    store.publish(manifest, snapshot_of(texts))
    return manifest


def texts_in(store: VectorStore) -> set[str]:
    """All texts of the published generation, found by both legs; empty if none is published."""
    import numpy as np

    from indexer.search.hybrid import words_of

    reader = store.reader()
    if reader is None:
        return set()
    try:
        every = words_of(list(reader.snapshot.vocab), reader.snapshot)
        assert every is not None
        vector = np.ones(reader.manifest.dimension, dtype=np.float32)
        dense, words = reader.nearest([vector, every], 1000)
        assert set(dense.ids) == set(words.ids)
        assert len(dense.ids) == reader.count() == reader.manifest.points
        return {payload.text for payload in reader.payloads(dense.ids).values()}
    finally:
        reader.close()
