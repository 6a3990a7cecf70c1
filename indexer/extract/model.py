"""
The learnt judge of blocks: an ensemble of oblivious trees, kept as readable JSON beside this file.

Every level of an oblivious tree asks one question of all blocks (`feature > border`); the
answers, as bits, name the leaf. So a whole page is judged with four array operations
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

_ROWS = 2048  # blocks judged at a time: bounds memory


class Ensemble(Struct, frozen=True, kw_only=True):
    """
    `features`, `borders`: depth per tree, all trees in a row. `leaves`: 2**depth per tree,
    log-odds. `names`: the columns it was trained on.
    """

    names: tuple[str, ...]
    depth: int
    bias: float
    features: tuple[int, ...]
    borders: tuple[float, ...]
    leaves: tuple[float, ...]


class Weights(Struct, frozen=True, kw_only=True):
    """The file: `hints` maps words of class names to log-odds of standing on content."""

    hints: dict[str, float]
    blocks: Ensemble


class Judge:
    """An ensemble as arrays."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.names = ensemble.names
        self._depth = ensemble.depth
        self._bias = ensemble.bias
        self._features = np.array(ensemble.features, dtype=np.intp)
        self._borders = np.array(ensemble.borders, dtype=np.float32)
        self._leaves = np.array(ensemble.leaves, dtype=np.float32)
        self._trees = len(ensemble.features) // ensemble.depth
        self._powers = (1 << np.arange(ensemble.depth)).astype(np.int32)
        self._starts = np.arange(self._trees, dtype=np.int32) << ensemble.depth

    def probabilities(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """For each row of *matrix* (blocks, features) the share of its words that is content, 0 to 1."""
        parts = [self._odds(matrix[k : k + _ROWS]) for k in range(0, len(matrix), _ROWS)]
        odds: Any = np.concatenate(parts) if parts else np.zeros(0)
        return 1.0 / (1.0 + np.exp(-odds))  # type: ignore[no-any-return]

    def _odds(self, matrix: NDArray[np.float32]) -> Any:
        answers = matrix[:, self._features] > self._borders
        leaf = answers.reshape(len(matrix), self._trees, self._depth) @ self._powers + self._starts
        return self._leaves[leaf].sum(axis=1, dtype=np.float64) + self._bias


@lru_cache(maxsize=1)
def load() -> tuple[Judge, dict[str, float]]:
    """The judge and the hints of this version."""
    raw = (files("indexer.extract") / "weights.json").read_bytes()
    weights = msgspec.json.decode(raw, type=Weights)
    return Judge(weights.blocks), weights.hints
