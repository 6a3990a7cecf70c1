"""
How sure a mean over questions is: percentile bootstrap (Efron & Tibshirani 1993, chapter 13).

Questions are drawn with replacement; the 2.5th and 97.5th percentile of the means bound the
interval. Two indexes are compared on the same questions, so it is their differences
that are drawn (Sakai 2006: paired bootstrap). The seed is fixed: the same scores give
the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

DRAWS = 2000
LEVEL = 0.95
_SEED = 20_240_601

Interval = tuple[float, float]


def interval(values: Sequence[float]) -> Interval:
    """Lower and upper bound of the mean at `LEVEL`; of a single value, that value twice."""
    import numpy as np

    column = np.asarray(values, dtype=np.float64)
    if len(column) < 2:  # noqa: PLR2004 - nothing to draw from
        return (float(column[0]), float(column[0])) if len(column) else (0.0, 0.0)
    chance = np.random.default_rng(_SEED)
    means = np.empty(DRAWS)
    for draw in range(DRAWS):  # one at a time: memory does not grow with the questions
        means[draw] = column[chance.integers(0, len(column), len(column))].mean()
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)


def difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, Interval]:
    """Mean of `after - before`, question by question, and its interval."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    return math.fsum(gains) / len(gains), interval(gains)


def verdict(bounds: Interval) -> str:
    """`better` or `worse` if the whole interval of a difference lies on one side of 0, else `same`."""
    low, high = bounds
    return "better" if low > 0 else "worse" if high < 0 else "same"
