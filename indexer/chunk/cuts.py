"""
Where a span that is too long may be cut: sentences, lines, clauses, spaces, characters.

Sentences of scripts with spaces end in `.!?…`, of others in `。！？।` and the like; Thai and
Khmer put spaces where others put stops. Where nothing of that exists, the cut falls
between two user-perceived characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import regex

from indexer.chunk.spans import JOINER, grapheme_cut, joins, trim


class Gap(IntEnum):
    """How good a cut is at a place: the higher, the better. Headings add their level to `HEADING`."""

    GLUE = 0  # what follows belongs to what precedes
    CHARACTER = 5
    NO_BREAK = 8  # at a space that is meant to hold together
    WORD = 10
    CLAUSE = 15  # after a comma, or between the cells of a table row
    LINE = 20
    WEAK_SENTENCE = 25  # a stop, but the next word is in lower case
    SENTENCE = 30
    SENTENCE_LINE = 40  # a stop at the end of a line
    ROW = 45
    ITEM = 50
    BLOCK = 60
    QUESTION = 65
    RULE = 70
    HEADING = 80


class Part(NamedTuple):
    """`text[start:end]`, and how good a cut before it is."""

    start: int
    end: int
    gap: int


_CLOSERS = "\"'»”’)\\]*_`"
_STOP = re.compile(
    rf"(?<![.!?…])[.!?…]+[{_CLOSERS}]*(?=\s)|[。！？｡।॥։۔؟።။។]+[」』）”’»\"')]*|(?=[\r\n])(?<![\r\n])"
)
_SPACE = re.compile(r"\s*")
_WORD_BEFORE = re.compile(r"[^\W\d_]*\Z")
_NUMBERING = re.compile(r"(?:\A|[\r\n])\s*\d{1,3}\Z")
# Abbreviations that are followed by the rest of their sentence. Single letters need no list.
_ABBREVIATIONS = re.compile(
    r"гг|ул|пр|просп|пер|стр|рис|табл|гл|ст|тел|моб|доб|каб|эт|корп|обл|им|проф|акад|см|ср|др|напр|mr|"
    r"mrs|ms|dr|prof|st|vs|no|nos|vol|fig|figs|eq|ed|eds|inc|ltd|co|jr|sr|approx|dept|est|al|cf|bzw|"
    r"usw|nr|str|abs"
)
_LOOK_BACK = 16

# Places for a cut inside a sentence; each is searched backwards in the window. U+00A0 and
# its kin hold together what belongs together ("5 000"), until nothing else is left.
_BREAKING = r"[^\S\u00a0\u2007\u202f]|\u200b"
_INSIDE = tuple(
    (gap, regex.compile(rf"(?r){pattern}"))
    for gap, pattern in (
        (Gap.CLAUSE, rf"(?<=[,;:–—|])(?:{_BREAKING})|(?<=[、，；：])(?!{JOINER})"),
        (Gap.WORD, rf"(?<!\d)(?:{_BREAKING})|(?:{_BREAKING})(?!\d)"),
        (Gap.NO_BREAK, r"[\s\u200b]"),
    )
)
# A sentence over the limit is divided this fine, so that the packing has places to choose from.
_GRAINS = 4


def parts(text: str, start: int, end: int, *, limit: int) -> list[Part]:
    """
    `text[start:end]` as sentences, each at most `limit` characters.

    The first part's gap is `GLUE`: what lies before it is the caller's to judge.
    """
    out: list[Part] = []
    at, gap = start, int(Gap.GLUE)
    for stop, then, kind in _stops(text, start, end):
        _add(out, text, at, stop, gap, limit)
        at, gap = then, int(kind)
    _add(out, text, at, end, gap, limit)
    return out


def _add(out: list[Part], text: str, start: int, end: int, gap: int, limit: int) -> None:
    start, end = trim(text, start, end)
    if start == end:
        return
    for piece_start, piece_end, inner in _pieces(text, start, end, limit):
        out.append(Part(piece_start, piece_end, gap if piece_start == start else inner))


def _stops(text: str, start: int, end: int) -> Iterator[tuple[int, int, Gap]]:
    """(end of a sentence or line, start of the next, how good a cut) inside the span."""
    for match in _STOP.finditer(text, start, end):
        space = _SPACE.match(text, match.end(), end)
        assert space is not None
        then = space.end()
        if not start < then < end or (then == match.end() and joins(text, then)):
            continue
        line = "\n" in space.group() or "\r" in space.group()
        if not match.group():
            kind = Gap.SENTENCE_LINE if _ends_sentence(text, start, match.start()) else Gap.LINE
        elif match.group()[0] == "." and _is_abbreviation(text, start, match.start()):
            continue
        elif line:
            continue  # the end of the line is a match of its own
        else:
            kind = Gap.WEAK_SENTENCE if text[then].islower() else Gap.SENTENCE
        yield match.end(), then, kind


def _ends_sentence(text: str, start: int, end: int) -> bool:
    tail = text[max(start, end - _LOOK_BACK) : end].rstrip().rstrip("\"'»”’)]*_`」』）")
    return tail.endswith((".", "!", "?", "…", "。", "！", "？", ":", ";", "؟", "।"))


def _is_abbreviation(text: str, start: int, dot: int) -> bool:
    before = text[max(start, dot - _LOOK_BACK) : dot]
    found = _WORD_BEFORE.search(before)
    word = found.group().lower() if found else ""
    return (
        len(word) == 1 or _ABBREVIATIONS.fullmatch(word) is not None or _NUMBERING.search(before) is not None
    )


def _pieces(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """A sentence whole, or in pieces of a fraction of `limit`; (start, end, gap before)."""
    gap = int(Gap.WORD)
    grain = limit // _GRAINS if end - start > limit else limit
    while end - start > grain:
        cut, next_gap = _cut_inside(text, start, start + grain, min(start + limit, end))
        stop = trim(text, start, cut)[1]
        if stop > start:
            yield start, stop, gap
        start, gap = trim(text, cut, end)[0], next_gap
    if start < end:
        yield start, end, gap


def _cut_inside(text: str, start: int, stop: int, limit: int) -> tuple[int, int]:
    """The best place in the second half of the window, and how good it is."""
    half = start + (stop - start) // 2
    for gap, pattern in _INSIDE:
        found = pattern.search(text, half, stop)
        if found is not None and found.end() > start:
            return found.end(), gap
    return grapheme_cut(text, start, stop, limit=limit), Gap.CHARACTER
