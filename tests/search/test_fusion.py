"""Our DBSF is Qdrant's."""

from __future__ import annotations

import math
import statistics
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.ports import Ranked
from indexer.search.fusion import dbsf, normalised

SCORES = st.lists(st.floats(-100, 100, width=32), max_size=30)


@given(SCORES)
def test_normalised_scores_follow_the_definition(scores: list[float]) -> None:
    """Mean 0.5, sample deviation 1/6, order kept; 0.5 where there is nothing to compare."""
    found = normalised(scores)

    assert len(found) == len(scores)
    if len(set(scores)) < 2:
        assert set(found) <= {0.5}
    elif statistics.stdev(scores) > 1e-3:
        assert statistics.fmean(found) == pytest.approx(0.5)
        assert statistics.stdev(found) == pytest.approx(1 / 6)
        assert sorted(found) == [one for _, one in sorted(zip(scores, found, strict=True))]


def test_scores_are_not_clamped() -> None:
    """A hit far above the rest gets more than 1: that is how it stays first."""
    assert max(normalised([10.0] + [1.0] * 99)) > 1


def test_absent_is_zero_and_weights_scale() -> None:
    """Two results of a list get 0.618 and 0.382 whatever their gap; a leg's weight scales its part."""
    dense = Ranked(["a", "b"], [0.9, 0.8])
    bm25 = Ranked(["b"], [7.0])
    high, low = 0.5 + math.sqrt(0.5) / 6, 0.5 - math.sqrt(0.5) / 6

    assert dbsf([dense, bm25], [1.0, 1.0]) == pytest.approx({"a": high, "b": low + 0.5})
    assert dbsf([dense, bm25], [1.0, 0.0]) == pytest.approx({"a": high, "b": low})
    assert dbsf([Ranked(), bm25], [1.0, 0.5]) == pytest.approx({"b": 0.25})
    assert dbsf([Ranked(), Ranked()], [1.0, 1.0]) == {}


def _engine_fusion(folder: Path, legs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Qdrant's own `Fusion.DBSF` over two legs with exactly these scores (dot products)."""
    import qdrant_edge as engine

    vectors = {
        name: engine.EdgeVectorParams(size=1, distance=engine.Distance.Dot) for name in ("one", "other")
    }
    shard = engine.EdgeShard.create(str(folder), engine.EdgeConfig(vectors=vectors))
    points = []
    for name in dict.fromkeys(key for leg in legs for key in leg):
        held = {key: [leg[name]] for key, leg in zip(vectors, legs, strict=True) if name in leg}
        points.append(engine.Point(name, held, {}))
    shard.update(engine.UpdateOperation.upsert_points(points))
    prefetches = [
        engine.Prefetch(limit=200, query=engine.Query.Nearest([1.0], using=name)) for name in vectors
    ]
    request = engine.QueryRequest(limit=400, prefetches=prefetches, query=engine.Fusion.Dbsf())
    found = {str(point.id): point.score for point in shard.query(request)}
    shard.close()
    return found


@pytest.mark.parametrize("shared", [0, 1, 40])
@pytest.mark.parametrize("size", [1, 2, 3, 60])
def test_without_the_gate_it_is_the_engines_own_fusion(tmp_path: Path, size: int, shared: int) -> None:
    """On the same two lists Qdrant's `Fusion.DBSF` gives the same score for every id."""
    names = [str(uuid.UUID(int=number + 1)) for number in range(2 * size)]
    one = {name: math.sin(n * 12.9898) for n, name in enumerate(names[:size])}
    start = max(0, size - shared)
    other = {name: 9 + 5 * math.cos(n * 78.233) for n, name in enumerate(names[start : start + size])}
    (tmp_path / "shard").mkdir()
    theirs = _engine_fusion(tmp_path / "shard", [one, other])
    legs = [Ranked(list(leg), list(leg.values())) for leg in (one, other)]

    assert theirs == pytest.approx(dbsf(legs, [1.0, 1.0]), abs=2e-6)


def test_equal_scores_give_what_the_engine_gives(tmp_path: Path) -> None:
    """A list without spread is 0.5 for all, there and here."""
    names = [str(uuid.UUID(int=number + 1)) for number in range(7)]
    leg = dict.fromkeys(names, 0.1)
    (tmp_path / "shard").mkdir()
    theirs = _engine_fusion(tmp_path / "shard", [leg, leg])

    assert theirs == dbsf([Ranked(names, [0.1] * len(names))] * 2, [1.0, 1.0])
    assert set(theirs.values()) == {1.0}
