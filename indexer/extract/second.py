"""
A second opinion on articles: trafilatura.

An article's gold is its running text, and what the first judge half believes around it is
mostly teasers, captions and bylines. So where a page declares itself an article and a part
of the kept text is in doubt, that part must stand in trafilatura's extract too. Elsewhere
recall wins and nobody is asked: trafilatura costs more than all the rest.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.extract.blocks import Block
from indexer.extract.page import PageFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SURE = 0.85  # the first judge's probability beyond which nobody is asked
_DOUBT = 0.05  # share of the kept words that must be in doubt
_COVERED = 0.3  # share of the kept words that trafilatura must find, or it failed on this page
_MAX_DEPTH = 200  # libxml2 and trafilatura recurse
_MAX_SIZE = 3_000_000  # characters
_SHINGLE = 3
_TOKEN = re.compile(r"\w+")


def is_doubtful(blocks: list[Block], probabilities: Any, keep: Any, facts: PageFacts, html: str) -> bool:
    """Whether a second opinion is worth its cost."""
    if (
        not facts.declares_article()
        or len(html) > _MAX_SIZE
        or max(b.frame.depth for b in blocks) > _MAX_DEPTH
    ):
        return False
    words = np.array([b.words for b in blocks], dtype=np.float64)
    return bool(words[keep & (probabilities < _SURE)].sum() > _DOUBT * max(words[keep].sum(), 1.0))


def confirm(blocks: list[Block], probabilities: Any, keep: NDArray[np.bool_], html: str) -> NDArray[np.bool_]:
    """*keep* without the doubtful blocks that trafilatura leaves out."""
    text = _extract(html)
    found: NDArray[np.bool_] = np.array(
        [_stands_in(b.text, text) if k else False for b, k in zip(blocks, keep, strict=True)]
    )
    words = np.array([b.words for b in blocks], dtype=np.float64)
    if words[found].sum() < _COVERED * words[keep].sum():
        return keep
    sure: NDArray[np.bool_] = probabilities >= _SURE
    return keep & (found | sure)


class _Text:
    """trafilatura's text, for asking whether a block stands in it."""

    def __init__(self, text: str) -> None:
        tokens = _TOKEN.findall(text.lower())
        self.flat = " " + " ".join(tokens) + " "
        self.shingles = {tuple(tokens[k : k + _SHINGLE]) for k in range(len(tokens) - _SHINGLE + 1)}


def _extract(html: str) -> _Text:
    from trafilatura import extract

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    try:
        return _Text(extract(html, fast=True, include_comments=False) or "")
    except Exception:  # noqa: BLE001 - an opinion less, not a page less
        return _Text("")


def _stands_in(block: str, text: _Text) -> bool:
    """Whether at least half of the block's words do; a short block as a whole."""
    tokens = _TOKEN.findall(block.lower())
    if len(tokens) <= _SHINGLE:
        return " " + " ".join(tokens) + " " in text.flat
    covered = [False] * len(tokens)
    for k in range(len(tokens) - _SHINGLE + 1):
        if tuple(tokens[k : k + _SHINGLE]) in text.shingles:
            covered[k : k + _SHINGLE] = [True] * _SHINGLE
    return 2 * sum(covered) >= len(tokens)
