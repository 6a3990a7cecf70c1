"""
Cards: parts of a page built alike, each about one thing.

A card may begin with its price, date or badge and name its thing only then. Read line by
line, that price would belong to the thing before. So the name comes first; a card whose
name cannot be told is one paragraph, which nothing cuts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from indexer.extract import phrases
from indexer.extract.blocks import PARTS, Block, Frame
from indexer.money import names_money

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALIKE = 3  # parts of one shape beside each other that are cards
_MOST = 12  # lines of a card
_STEPS = 8  # elements between a line and its card
_BEFORE = 4  # lines that may stand before the name …
_SHORT = 6  # … each of so many words
_LONGEST = 25  # words of a name that its class calls so
_GLUED = 60  # words of a card that is one paragraph
_DIGIT = re.compile(r"\d")
_DATE = 1 << phrases.NAMES.index("byline")
_HEADS = frozenset(("h", "summary"))
_NAME = re.compile(r"(?:^|[\s_-])(?:name|title|heading|headline|caption)(?:$|[\s_-])", re.IGNORECASE)
_NOT_ITS = re.compile(r"sub-?(?:name|title|head)|author|user|nick|seller|brand|shop", re.IGNORECASE)
_TIME = re.compile(r"\d{1,2}[:.]\d{2}\b")


def enclose(links: Sequence[Frame], frames: Sequence[Frame], blocks: Sequence[Block]) -> None:
    """Put the links that hold several lines around what stands in them. *frames*: outer ones first."""
    if not links:
        return
    starts: dict[int, list[Frame]] = defaultdict(list)
    for frame in frames:
        starts[id(frame.parent)].append(frame)
    for link in links:
        for frame in starts[id(link.parent)]:
            if link.first <= frame.first and frame.last <= link.last and frame is not link:
                frame.parent = link
        for block in blocks[link.first : link.last]:
            if block.frame is link.parent:
                block.frame = link
    for frame in frames:
        if frame.parent is not None:
            frame.depth = frame.parent.depth + 1


def with_moments(blocks: Sequence[Block], keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """*keep* and the lines that say when, of kept cards: without its own an event would have the next one's."""
    told = [
        at for at in np.flatnonzero(~keep).tolist() if blocks[at].words <= _SHORT and _says_when(blocks[at])
    ]
    if not told:
        return keep
    out = keep.copy()
    for first, last, _ in _cards(blocks):
        own = [at for at in told[bisect_left(told, first) : bisect_left(told, last)] if not out[at]]
        if own and keep[first:last].any():
            priced = any(names_money(block.text) for block in blocks[first:last])
            out[[at for at in own if priced or _TIME.search(blocks[at].text)]] = True
    return out


def _says_when(block: Block) -> bool:
    if _TIME.search(block.text):
        return True
    if block.says < 0:
        block.says = phrases.kinds_of(phrases.tokens_of(block.text))
    return bool(block.says & _DATE) and _DIGIT.search(block.text) is not None


def arranged(blocks: Sequence[Block]) -> list[Block]:
    """*blocks*, each card beginning with its name; one that has none is one paragraph, where its first line is a value."""
    out = list(blocks)
    for first, last, frame in _cards(blocks):
        card = [block for block in out[first:last] if block is not _NOTHING]
        at = _name_in(card)
        if at:
            name = card[at] if card[at].kind in _HEADS else Block("summary", card[at].text, frame)
            card = [name, *card[:at], *card[at + 1 :]]
        elif at is None and _is_value(card[0]) and _may_be_one(card):
            card = [_one(card)]
        out[first:last] = card + [_NOTHING] * (last - first - len(card))
    return [block for block in out if block is not _NOTHING]


def _cards(blocks: Sequence[Block]) -> list[tuple[int, int, Frame]]:
    """The range of each card, smaller ones first: a card may be a part of another."""
    spans: dict[int, list[int]] = {}
    found: dict[tuple[int, str], list[Frame]] = defaultdict(list)
    for at, block in enumerate(blocks):
        frame: Frame | None = block.frame
        for _ in range(_STEPS):
            if frame is None:
                break
            if id(frame) not in spans:
                spans[id(frame)] = [at, at]
                if frame.tag in PARTS or frame.tag == "li":
                    found[id(frame.parent), frame.shape].append(frame)
            spans[id(frame)][1] = at + 1
            frame = frame.parent
    cards = [
        (first, last, frame)
        for alike in found.values()
        if len(alike) >= _ALIKE
        for frame, (first, last) in ((frame, spans[id(frame)]) for frame in alike)
        if 1 < last - first <= _MOST
    ]
    return sorted(cards, key=lambda card: card[1] - card[0])


def _name_in(card: Sequence[Block]) -> int | None:
    """Which line is the card's name: its only heading, or the one whose class says so; `None` if none is."""
    heads = [at for at, block in enumerate(card) if block.kind in _HEADS]
    if heads:
        at = heads[0]
    else:
        at = next((at for at, block in enumerate(card) if _is_called_name(block)), -1)
        if at < 0:
            return None
    before = card[:at]
    may = len(before) <= _BEFORE and all(block.kind in ("p", "li", "button") for block in before)
    return at if may and all(block.words <= _SHORT for block in before) else 0


def _is_called_name(block: Block) -> bool:
    names = f"{block.inner} {block.frame.names}"
    return (
        block.kind == "p"
        and 0 < block.words <= _LONGEST
        and _NAME.search(names) is not None
        and _NOT_ITS.search(names) is None
        and not names_money(block.text)
    )


def _is_value(block: Block) -> bool:
    """Whether a line is a price, a moment, a share: nothing that names what a card is about."""
    return block.words <= _SHORT and (names_money(block.text) or _TIME.search(block.text) is not None)


def _may_be_one(card: Sequence[Block]) -> bool:
    plain = all(block.kind == "p" and "\n" not in block.text for block in card)
    return plain and sum(block.words for block in card) <= _GLUED


def _one(card: Sequence[Block]) -> Block:
    one = Block("p", "\n".join(block.text for block in card), card[0].frame)
    one.linked = sum(block.linked for block in card)
    one.links = sum(block.links for block in card)
    return one


_NOTHING = Block("p", "", Frame("body", None, "", 0, 0))
