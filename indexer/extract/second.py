"""
A second opinion on articles: trafilatura.

An article is its running text, and what the first judge half believes around it is mostly
teasers, captions and bylines. So where a page declares itself an article and a part of the
kept text is in doubt, trafilatura decides on that part. Elsewhere recall wins and nobody is
asked: trafilatura costs more than all the rest.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.extract import mend
from indexer.extract.blocks import Block, Frame
from indexer.extract.page import PageFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SURE = 0.85  # the first judge's probability beyond which nobody is asked
_DOUBT = 0.05  # share of the kept words that must be in doubt
_LIKELY = 0.5  # of the bar; so much is enough where trafilatura agrees
_COVERED, _SHARE, _LEAST = 0.3, 0.15, 20  # of the sure words, of the kept ones, words: less, and it failed
_TEASERS = 10  # <article> elements; the page is a list of them,
_MAIN = 4  # unless one is so many times longer than the next
_LINKED = 0.5  # share of words in links; without such an article the page is a list
_RUNNING, _LONG = 0.2, 20  # an article has so much of its words in paragraphs of so many words
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
    running = keep & (words >= _LONG) & np.array([b.kind == "p" for b in blocks])
    if words[running].sum() < _RUNNING * words[keep].sum():
        return False
    return not _is_list(blocks, keep, words) and bool(
        words[keep & (probabilities < _SURE)].sum() > _DOUBT * max(words[keep].sum(), 1.0)
    )


def _is_list(blocks: list[Block], keep: Any, words: Any) -> bool:
    """Whether what is kept is a list of articles, whatever the page declares."""
    sizes: dict[int, float] = {}
    for block, kept, size in zip(blocks, keep, words, strict=True):
        frame = _article_of(block) if kept else None
        if frame is not None:
            sizes[id(frame)] = sizes.get(id(frame), 0.0) + size
    longest = sorted(sizes.values(), reverse=True)[:2]
    if longest and longest[0] >= _MAIN * sum(longest[1:]):
        return False
    linked = sum(min(b.linked, b.words) for b, kept in zip(blocks, keep, strict=True) if kept)
    return len(sizes) >= _TEASERS or bool(linked > _LINKED * words[keep].sum())


def _article_of(block: Block) -> Frame | None:
    frame: Frame | None = block.frame
    while frame is not None and frame.tag != "article":
        frame = frame.parent
    return frame


def confirm(
    blocks: list[Block], probabilities: Any, keep: NDArray[np.bool_], bar: float, html: str
) -> NDArray[np.bool_]:
    """*keep* without the doubtful blocks that trafilatura leaves out, with the likely ones that it takes."""
    text = _extract(html)
    likely = keep | (probabilities > bar * _LIKELY)
    found = np.array([bool(k) and _stands_in(b.text, text) for b, k in zip(blocks, likely, strict=True)])
    sure = keep & ((probabilities >= _SURE) | np.array([b.kind in ("row", "pre") for b in blocks]))
    words = np.array([b.words for b in blocks], dtype=np.float64)
    if words[found].sum() < max(_COVERED * words[sure].sum(), _SHARE * words[keep].sum(), _LEAST):
        return keep
    kept = found | sure
    titles = keep & np.array([b.kind in ("h", "summary", "dt") for b in blocks])
    kept[:-1] |= titles[:-1] & kept[1:]  # what stands right under a heading keeps it: an answer its question
    return mend.whole_tables(blocks, kept)


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
