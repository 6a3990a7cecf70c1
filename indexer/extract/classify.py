"""
Which blocks are the page's own text.

Each block gets the probability that it is content. Kept is the set of blocks with the best
expected F-measure: with blocks in falling order of probability p and sizes w, the prefix
that maximises (1+β²)·Σpw / (Σw + β²·Σ_all pw) (Lewis, 1995). So the bar sinks on pages
where nothing is certain, and β > 1 weighs recall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.extract import features, model
from indexer.extract.blocks import Block, Frame
from indexer.extract.page import PageFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray


def judge(blocks: list[Block], frames: list[Frame], facts: PageFacts) -> NDArray[np.float64]:
    """The probability of each block to be content."""
    ensemble, hints = model.load()
    return ensemble.probabilities(features.describe(blocks, frames, facts, hints))


def best_set(probabilities: Any, words: Any, *, beta: float) -> NDArray[np.bool_]:
    """The blocks to keep: a mask of the same length."""
    keep = np.zeros(len(probabilities), dtype=np.bool_)
    if not len(keep):
        return keep
    order = np.argsort(-probabilities, kind="stable")
    sizes = np.maximum(words[order], 0.5)
    gain = np.cumsum(probabilities[order] * sizes)
    recall = beta * beta
    expected = (1 + recall) * gain / (np.cumsum(sizes) + recall * gain[-1] + 1e-9)
    keep[order[: int(np.argmax(expected)) + 1]] = True
    return keep
