"""Distribution-based score fusion (DBSF), computed as Qdrant does: no clamping, sample deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from indexer.ports import Scored

ALONE = 0.5  # the normalised score where a list has one result, or no spread


def dbsf(legs: Sequence[Sequence[Scored]], weights: Sequence[float]) -> dict[str, float]:
    """
    Fused score by id: the weighted sum of each leg's normalised scores, 0 where a leg lacks the id.

    With weights of 1 this is Qdrant's `Fusion.DBSF`.
    """
    fused: dict[str, float] = {}
    for leg, weight in zip(legs, weights, strict=True):
        for scored, score in zip(leg, normalised([scored.score for scored in leg]), strict=True):
            fused[scored.id] = fused.get(scored.id, 0.0) + weight * score
    return fused


def normalised(scores: Sequence[float]) -> list[float]:
    """(s − (μ − 3σ)) / 6σ: the mean becomes 0.5, three deviations above it 1; the best may exceed 1."""
    count = len(scores)
    if count < 2:  # noqa: PLR2004 - a deviation needs two values
        return [ALONE] * count
    mean = math.fsum(scores) / count
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (count - 1))
    if deviation == 0:
        return [ALONE] * count
    low = mean - 3 * deviation
    return [(score - low) / (6 * deviation) for score in scores]
