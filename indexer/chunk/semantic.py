"""
Sections as a chat model sees them, cut from the text itself.

A long text is asked in windows that end between units. The places named in the answers
are moved to where nothing is torn (before a heading, a question, a table row, an item);
a section over the limit is cut by the rules of paragraphs, a tiny one goes to its
neighbour. A window whose answer was of no use is cut by paragraphs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from indexer.chunk.anchors import Boundary
from indexer.chunk.cuts import Gap
from indexer.chunk.packing import Sizes, by_sections, pack
from indexer.chunk.spans import trim
from indexer.chunk.topics import LONGEST_TOPIC
from indexer.chunk.units import Layout, Unit

_TINY = 80  # characters: a section so short goes to its neighbour


class Window(Struct, frozen=True):
    """`text[start:end]`: what one question to the model is about."""

    start: int
    end: int


class Answered(Struct, frozen=True):
    """A window and the boundaries found in it; none: cut it by paragraphs."""

    window: Window
    boundaries: tuple[Boundary, ...] = ()


class Named(Struct, frozen=True):
    """`units[first:last]` with the model's topic; empty: there is none."""

    first: int
    last: int
    topic: str = ""


def windows(layout: Layout, *, size: int, span: Window | None = None) -> list[Window]:
    """The text (or `span` of it) in windows of at most `size` characters, or one unit if that is longer."""
    units = layout.units
    first = bisect_left(units, span.start, key=_start) if span else 0
    last = bisect_left(units, span.end, key=_start) if span else len(units)
    return [
        Window(units[piece.first].start, units[piece.last - 1].end)
        for piece in pack(units, first, last, limit=size)
    ]


def sections(layout: Layout, answers: Sequence[Answered], *, sizes: Sizes) -> tuple[list[Unit], list[Named]]:
    """
    The pieces that the answers divide the text into, within the limit.

    Returns the units, those divided that a boundary lies in, and the pieces as ranges of
    them. A section may go on over the end of a window.
    """
    topics = _places(layout, [boundary for answer in answers for boundary in answer.boundaries])
    units = list(_divided(layout, topics))
    index = {unit.start: number for number, unit in enumerate(units)}
    plain = [not answer.boundaries for answer in answers]
    borders = [
        answer.window.start
        for number, answer in enumerate(answers)
        if plain[number] or (number > 0 and plain[number - 1])
    ]
    starts = sorted({*topics, *borders, *(unit.start for unit in units[:1])})
    window_starts = [answer.window.start for answer in answers]
    whole: list[tuple[Named, bool]] = []
    for first, last in pairwise([*(index[start] for start in starts), len(units)]):
        start = units[first].start
        section = Named(first, last, topics.get(start, ""))
        whole.append((section, plain[max(bisect_right(window_starts, start) - 1, 0)]))
    pieces = [
        piece
        for section, is_plain in _without_tiny(units, whole)
        for piece in _within_limit(units, layout.levels, section, plain=is_plain, sizes=sizes)
    ]
    return units, pieces


def _places(layout: Layout, boundaries: Sequence[Boundary]) -> dict[int, str]:
    """Boundaries moved to where nothing is torn: place → topic, the first for each place."""
    topics: dict[int, str] = {}
    for boundary in boundaries:
        number = max(bisect_right(layout.units, boundary.position, key=_start) - 1, 0)
        unit = layout.units[number]
        if boundary.position >= unit.end and number + 1 < len(layout.units):
            number += 1
            unit = layout.units[number]
        place = boundary.position
        if unit.whole or not _says(layout.text, unit.start, place):
            while layout.units[number].gap == Gap.GLUE and number > 0:
                number -= 1
            place = layout.units[number].start
        if place not in topics or not topics[place]:
            topics[place] = boundary.topic
    return topics


def _divided(layout: Layout, places: Iterable[int]) -> Iterator[Unit]:
    """The units, cut at the places that lie inside one."""
    inside = deque(sorted(places))
    for unit in layout.units:
        rest = unit
        while inside and inside[0] < unit.end:
            place = inside.popleft()
            if place <= rest.start:
                continue
            end = trim(layout.text, rest.start, place)[1]
            yield rest._replace(end=end)
            rest = rest._replace(start=place, gap=int(Gap.SENTENCE), context="")
        yield rest


def _without_tiny(units: Sequence[Unit], whole: Sequence[tuple[Named, bool]]) -> list[tuple[Named, bool]]:
    """Tiny sections put together with the next one, the last with the one before."""
    out: list[tuple[Named, bool]] = []
    for number, (section, plain) in enumerate(whole):
        if out and not plain and not out[-1][1]:
            before = out[-1][0]
            last_tiny = number == len(whole) - 1 and _size(units, section) < _TINY
            if _size(units, before) < _TINY or last_tiny:
                topic = _both(before.topic, section.topic)
                out[-1] = Named(before.first, section.last, topic), False
                continue
        out.append((section, plain))
    return out


def _within_limit(
    units: Sequence[Unit], levels: Sequence[int], section: Named, *, plain: bool, sizes: Sizes
) -> Iterator[Named]:
    if plain:
        own = units[section.first : section.last]
        for piece in by_sections(own, levels, sizes=sizes):
            yield Named(section.first + piece.first, section.first + piece.last)
    else:
        for piece in pack(units, section.first, section.last, limit=sizes.limit):
            yield Named(piece.first, piece.last, section.topic)


def _start(unit: Unit) -> int:
    return unit.start


def _says(text: str, start: int, end: int) -> bool:
    """Whether there are letters in `text[start:end]`: more than a marker, a number or a mark."""
    return any(letter.isalpha() for letter in text[start:end])


def _both(first: str, second: str) -> str:
    joined = f"{first}; {second}"
    return joined if first and second and len(joined) <= LONGEST_TOPIC else second or first


def _size(units: Sequence[Unit], section: Named) -> int:
    return units[section.last - 1].end - units[section.first].start
