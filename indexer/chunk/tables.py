"""
Tables: cut between rows; who reads a row also needs the header, the section and what announces the table.

A row that leaves no room for that is cut between its cells: each part with the header of its own
columns and the name of its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from indexer.chunk.blocks import Block, is_delimiter, lines_of
from indexer.chunk.cuts import Gap
from indexer.chunk.spans import trim
from indexer.chunk.tokens import estimate

_BLANKS = re.compile(r"[ \t]+")
_DASHES = re.compile(r"-{4,}")
_SECTION = re.compile(r"\|\s*\*\*[^|]+\*\*\s*\|[|\s]*")
_CELL = re.compile(r"(?:[^|\\]|\\.)*")
_LONGEST_NAME = 100  # characters of a row's first cell that names it
CONTEXT = 0.75  # of the room, at most


class Row(NamedTuple):
    """
    `text[start:end]`: rows of a table, or cells of one.

    `context`: what a chunk that starts with it also needs; `inner`: one that starts within it.
    `apart`: no chunk goes on from before into it.
    """

    start: int
    end: int
    gap: int
    context: str = ""
    inner: str = ""
    apart: bool = False


class Room(NamedTuple):
    """What a chunk holds: characters, and tokens without its topic."""

    characters: int
    tokens: int

    def holds(self, context: str, text: str) -> bool:
        """Whether both fit together, and the context leaves the text its share."""
        size = len(context) + 1 + len(text)
        if size > self.characters or len(context) > CONTEXT * self.characters:
            return False
        if size <= self.tokens // 2:  # no text has more tokens than characters
            return True
        needed = estimate(context)
        return needed <= CONTEXT * self.tokens and needed + estimate(text) <= self.tokens


def row_parts(text: str, block: Block, *, room: Room, lead: str = "") -> list[Row]:
    """
    The rows of a table, each with what a chunk that starts there also needs.

    The header, its delimiter and the first row are one part, if there is room. A section is a
    row of one bold cell: it holds for the rows below, to the next one, and is not cut from
    the first of them. The context is `lead`, header, delimiter and section in compact form.
    """
    lines = lines_of(text, block)
    if len(lines) < 2 or not is_delimiter(text[lines[1][0] : lines[1][1]].strip()):  # noqa: PLR2004 - no header
        return [Row(start, end, Gap.ROW) for start, end in lines]
    table = _Table(text, room, lead, *(text[start:end] for start, end in lines[:2]))
    head_end, body = lines[1][1], lines[2:]
    glued, section = True, ""
    if body and room.holds("", text[block.start : body[0][1]]):
        (start, head_end), body = body[0], body[1:]
        section = _section(text[start:head_end])
        glued = bool(section)
    rows = [Row(block.start, head_end, Gap.ROW)]
    for start, end in body:
        named = _section(text[start:end])
        above = section if glued or not named else ""  # of a section that stands in another
        gap = Gap.GLUE if glued else Gap.ITEM if named else Gap.ROW
        rows += table.row(start, end, gap, above, apart=rows[-1].apart)
        if named:
            section = "\n".join(filter(None, (above, named)))
        glued = bool(named)
    return rows


class _Table:
    def __init__(self, text: str, room: Room, lead: str, header: str, delimiter: str) -> None:
        self._text = text
        self._room = room
        self._lead = lead
        self._header = [_compact(header[start:end]) for start, end in _cells(header)]
        self._whole = f"{_compact(header)}\n{_DASHES.sub('---', _compact(delimiter))}"

    def row(self, start: int, end: int, gap: int, section: str, *, apart: bool) -> Iterator[Row]:
        """The row in one part, if there is room for all that it needs; or cut between its cells."""
        row = self._text[start:end]
        for needed in ((self._lead, self._whole, section), (self._whole, section), (self._whole,)):
            context = "\n".join(filter(None, needed))
            if self._room.holds(context, row):
                yield Row(start, end, gap, context, context, apart)
                return
        cells = _cells(row)
        if len(cells) != len(self._header):
            context = self._whole if self._room.holds(self._whole, "") else ""
            yield Row(start, end, gap, context, context, apart)
            return
        name = _compact(row[slice(*cells[0])])
        for first, last in self._groups(row, cells, name):
            begin = start + cells[first][0] if first else start
            stop = start + cells[last][0] if last < len(cells) else end
            yield Row(
                *trim(self._text, begin, stop),
                gap,
                self._context(first, last, name if first else ""),
                self._context(first, last, name),
                apart or first > 0,
            )

    def _groups(self, row: str, cells: list[tuple[int, int]], name: str) -> list[tuple[int, int]]:
        """Ranges of cells for which there is room, as even as may be; the first cell is not alone."""

        def fits(first: int, last: int) -> bool:
            part = row[cells[first][0] : cells[last - 1][1]]
            return self._room.holds(self._context(first, last, name), part)

        count = len(cells)
        groups: list[tuple[int, int]] = []
        first = 0
        while first < count:
            last = min(first + (1 if first else 2), count)
            while last < count and fits(first, last + 1):
                last += 1
            groups.append((first, last))
            first = last
        size = -(-count // len(groups))
        even = [(first, min(first + size, count)) for first in range(0, count, size)]
        return even if size > 1 and all(fits(*group) for group in even) else groups

    def _context(self, first: int, last: int, name: str) -> str:
        """The header of columns; of later ones with the first column's, and the row's name."""
        header = self._header[:last] if first == 0 else [self._header[0], *self._header[first:last]]
        named = f"| {name} |" if 0 < len(name) <= _LONGEST_NAME else ""
        return "\n".join(filter(None, (_joined(header), named)))


def _cells(row: str) -> list[tuple[int, int]]:
    """The spans of a row's cells, bars left out."""
    begin = len(row) - len(row.lstrip())
    begin += row[begin : begin + 1] == "|"
    spans: list[tuple[int, int]] = []
    end = len(row.rstrip())
    while begin < end:
        found = _CELL.match(row, begin, end)
        stop = found.end() if found else end
        spans.append((begin, stop))
        begin = stop + 1
    return spans


def _joined(cells: list[str]) -> str:
    """A header of these cells and its delimiter."""
    return f"| {' | '.join(cells)} |\n| {' | '.join(['---'] * len(cells))} |"


def _section(row: str) -> str:
    """The row in compact form if it names those below; else empty."""
    row = row.strip()
    return _compact(row) if _SECTION.fullmatch(row) else ""


def _compact(row: str) -> str:
    return _BLANKS.sub(" ", row.strip())
