"""
Which blocks are the page's own text.

One judge gives each block the probability that it is content; another, who sees how these
probabilities spread over the page, sets the bar: low where everything is doubtful (a
listing made of links), high where one article stands out from its surroundings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.extract import features, mend, model
from indexer.extract.blocks import Block, Frame
from indexer.extract.page import PageFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Probabilities = NDArray[np.float64]

BARS = (0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
_BINS = (0.0, 0.08, 0.16, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.001)
_PAGE = tuple(k for k, name in enumerate(features.NAMES) if name.startswith("page_"))
_LINKED = features.NAMES.index("linked")
BAR_NAMES = (
    *(features.NAMES[k] for k in _PAGE),
    *(f"share_{b}" for b in _BINS[:-1]), *(f"above_{b}" for b in _BINS[-2:-7:-1]),
    "content", "content_share", "best_f", "best_bar", "long_share", "linked_kept", "linked_doubtful", "kept_share",
    "kept_words", "kept_long", "mean_kept", "changes",
)  # fmt: skip
_STRICTER = 1.3  # without favor_recall
_PRICES, _PRICED = 5, 0.4  # on a page with so many cards that name a price, the bar is at most so high
_NOTHING = 0.12  # where no block is likelier than this, a page is the shell of an application or a menu


class Verdict:
    """For each block its probability and whether it is kept; the bar between them."""

    __slots__ = ("bar", "keep", "probabilities")

    def __init__(self, probabilities: Probabilities, keep: Mask, bar: float) -> None:
        self.probabilities = probabilities
        self.keep = keep
        self.bar = bar


def judge(blocks: list[Block], frames: list[Frame], facts: PageFacts, *, favor_recall: bool) -> Verdict:
    """Judge all blocks of a page."""
    if not blocks:
        return Verdict(np.zeros(0), np.zeros(0, dtype=np.bool_), 0.0)
    judges = model.load()
    matrix = features.describe(blocks, frames, facts, judges.hints)
    words = np.array([b.words for b in blocks], dtype=np.float64)
    groups = mend.Groups(blocks)
    probabilities = mend.level(groups, 1 / (1 + np.exp(-judges.blocks.scores(matrix)[:, 0])), words)
    spread = describe_spread(matrix, probabilities, words)
    bar = BARS[int(np.argmax(judges.bars.scores(spread[None, :])[0]))]
    if bar > _PRICED and not facts.declares_article() and groups.count_prices() >= _PRICES:
        probabilities = np.where(groups.silent, probabilities, probabilities * _PRICED / bar)
        bar = _PRICED  # but not for what stands in a footer or the like
    if not favor_recall:
        bar = min(bar * _STRICTER, 0.85)
    keep = mend.complete(groups, probabilities, bar, strict=facts.declares_article())
    if not keep.any() and probabilities.max() >= _NOTHING:
        keep = best_set(probabilities, words)
    return Verdict(probabilities, keep, bar)


def describe_spread(matrix: Any, probabilities: Probabilities, words: Any) -> Any:
    """What the second judge sees: float32 vector, one value for each of BAR_NAMES."""
    sizes = words + 0.1
    total = sizes.sum()
    content = max(float((probabilities * sizes).sum()), 0.1)
    linked = matrix[:, _LINKED]
    long = (words >= features.LONG) & (linked < features.MANY_LINKS)
    spread = np.histogram(probabilities, bins=_BINS, weights=sizes)[0]
    order = np.argsort(-probabilities, kind="stable")
    expected = 2 * np.cumsum((probabilities * sizes)[order]) / (np.cumsum(sizes[order]) + content)
    best = int(expected.argmax())
    kept = probabilities > 0.4
    doubtful = probabilities > 0.2
    rest = (
        np.log1p(content), content / total, expected[best], probabilities[order][best],
        (probabilities * sizes * long).sum() / content, _mean(linked, sizes, kept), _mean(linked, sizes, doubtful),
        kept.mean(), np.log1p(sizes[kept].sum()), np.log1p(sizes[long & kept].sum()), _mean(words, sizes, kept),
        np.abs(np.diff(kept.astype(np.int8))).sum() / len(kept),
    )  # fmt: skip
    above = np.cumsum((spread * np.arange(len(spread)))[::-1])[:5] / max(content, 1.0)
    return np.concatenate([matrix[0, list(_PAGE)], spread / total, above, rest]).astype(np.float32)


def _mean(values: Any, weights: Any, mask: Any) -> float:
    return float(np.average(values[mask], weights=weights[mask])) if mask.any() else 0.0


def best_set(probabilities: Probabilities, words: Any) -> Mask:
    """
    The blocks with the best expected F1: with blocks in falling order of probability p and
    sizes w, the prefix that maximises 2·Σpw / (Σw + Σ_all pw) (Lewis, 1995).
    """
    keep = np.zeros(len(probabilities), dtype=np.bool_)
    order = np.argsort(-probabilities, kind="stable")
    sizes = np.maximum(words[order], 0.5)
    gain = np.cumsum(probabilities[order] * sizes)
    keep[order[: int(np.argmax(2 * gain / (np.cumsum(sizes) + gain[-1]))) + 1]] = True
    return keep
