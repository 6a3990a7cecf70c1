"""
Two ranked lists into one: by distribution of scores (DBSF), or by ranks alone (RRF).

DBSF is computed as Qdrant does: no clamping, sample deviation. RRF is Cormack, Clarke &
Büttcher 2009 with their k = 60; it knows nothing of how far a hit stands out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from indexer.ports import Ranked

ALONE = 0.5  # the normalised score where a list has one result, or no spread
RRF_K = 60

Normalise = Callable[[Sequence[float]], list[float]]


class Fused(Struct, frozen=True):
    """`scores`: fused, by id. `parts`: each leg's normalised scores. `weights`: of the legs."""

    scores: dict[str, float]
    parts: tuple[list[float], ...]
    weights: tuple[float | None, ...]


def fuse(legs: Sequence[Ranked], weights: Sequence[float], *, normalise: Normalise) -> Fused:
    """
    Fused score by id: the weighted sum of each leg's normalised scores, 0 where a leg lacks the id.

    Each leg is best first.
    """
    fused: dict[str, float] = {}
    before = fused.get
    parts = []
    for leg, weight in zip(legs, weights, strict=True):
        part = normalise(leg.scores)
        fused |= {name: before(name, 0.0) + weight * score for name, score in zip(leg.ids, part, strict=True)}
        parts.append(part)
    return Fused(fused, tuple(parts), tuple(weights))


def dbsf(legs: Sequence[Ranked], weights: Sequence[float]) -> dict[str, float]:
    """Fused score by id. With weights of 1 this is Qdrant's `Fusion.DBSF`."""
    return fuse(legs, weights, normalise=normalised).scores


def rrf(legs: Sequence[Ranked]) -> dict[str, float]:
    """Fused score by id: the sum of 1 / (60 + rank), ranks from 1."""
    return fuse(legs, [1.0] * len(legs), normalise=reciprocal).scores


def normalised(scores: Sequence[float]) -> list[float]:
    """(s − (μ − 3σ)) / 6σ: the mean becomes 0.5, three deviations above it 1; the best may exceed 1."""
    count = len(scores)
    if count < 2:  # noqa: PLR2004 - a deviation needs two values
        return [ALONE] * count
    mean = math.fsum(scores) / count
    deviation = math.dist(scores, [mean] * count) / math.sqrt(count - 1)
    if deviation == 0:
        return [ALONE] * count
    low, spread = mean - 3 * deviation, 6 * deviation
    return [(score - low) / spread for score in scores]


def reciprocal(scores: Sequence[float]) -> list[float]:
    """1 / (60 + rank) of scores that are best first: what they are does not count."""
    return [1 / (RRF_K + rank) for rank in range(1, len(scores) + 1)]
