"""
The learnt judges: ensembles of oblivious trees, kept as readable JSON beside this file.

Every level of an oblivious tree asks one question of all rows (`feature > border`); the
answers, as bits, name the leaf. So a whole page is judged with a few array operations
(Prokhorenkova et al., CatBoost, 2018). `scripts/train_extract.py` makes the file.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 1024  # judged at a time: bounds memory


class Ensemble(Struct, frozen=True, kw_only=True):
    """
    `names`: the columns it was trained on. `features`, `borders`: one per level, all trees
    in a row. `leaves`: 2**depth × outputs per tree. `bias`: one per output.
    """

    names: tuple[str, ...]
    depth: int
    bias: tuple[float, ...]
    features: tuple[int, ...]
    borders: tuple[float, ...]
    leaves: tuple[float, ...]


class Weights(Struct, frozen=True, kw_only=True):
    """The file. `hints` maps words of class names to log-odds of standing on content."""

    hints: dict[str, float]
    blocks: Ensemble
    bars: Ensemble


class Judge:
    """An ensemble as arrays."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.names = ensemble.names
        depth = ensemble.depth
        trees = len(ensemble.features) // depth
        self._bias = np.array(ensemble.bias)
        self._shape = (trees, depth)
        self._features = np.array(ensemble.features, dtype=np.intp)
        self._borders = np.array(ensemble.borders, dtype=np.float32)
        self._leaves = np.array(ensemble.leaves, dtype=np.float32).reshape(trees << depth, len(self._bias))
        self._powers = (1 << np.arange(depth)).astype(np.int32)
        self._starts = np.arange(trees, dtype=np.int32) << depth

    def scores(self, matrix: NDArray[np.float32]) -> Any:
        """One row of outputs for each row of *matrix* (rows, features)."""
        parts = [self._part(matrix[k : k + _ROWS]) for k in range(0, len(matrix), _ROWS)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self._bias)))

    def _part(self, matrix: NDArray[np.float32]) -> Any:
        answers = matrix[:, self._features] > self._borders
        leaf = answers.reshape(len(matrix), *self._shape) @ self._powers + self._starts
        return self._leaves[leaf].sum(axis=1, dtype=np.float64) + self._bias


class Judges:
    """All that the file holds, ready for use."""

    def __init__(self, weights: Weights) -> None:
        self.hints = weights.hints
        self.blocks = Judge(weights.blocks)
        self.bars = Judge(weights.bars)


@lru_cache(maxsize=1)
def load() -> Judges:
    """The judges of this version."""
    raw = (files("indexer.extract") / "weights.json").read_bytes()
    return Judges(msgspec.json.decode(raw, type=Weights))
