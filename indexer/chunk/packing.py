"""
Units become pieces: sections apart, long ones cut where it hurts least, short ones together.

A section is packed on its own: within the limit it stays whole, over it it is cut at the
best gap, as late as the limit allows. Then neighbouring small sections are put together,
rather with what they belong to than with the next topic. Linear in the number of units: a
look ahead is over units that end up in this piece or in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from indexer.chunk.cuts import Gap
from indexer.chunk.units import Unit

# No piece is shorter than this part of the limit if another cut can be had. Measured: worth
# three points of recall at equal context over cutting near the middle, because better gaps
# come into reach.
_SHORTEST = 0.25
_TINY = 0.25  # of a small section: so short that it says nothing alone


_BETWEEN = 1  # character between a context and its text
_UNBALANCED, _GLUED = -1, -2  # what such cuts count for


class Sizes(Struct, frozen=True, kw_only=True):
    """
    In characters. No piece is over `limit`, and none is together with its context, unless a
    single unit leaves no room for that. A section of `small` or more stands alone.
    """

    limit: int
    small: int


class Piece(Struct, frozen=True):
    """`units[first:last]`."""

    first: int
    last: int


def pack(units: Sequence[Unit], first: int, last: int, *, limit: int) -> Iterator[Piece]:
    """Cut `units[first:last]` into pieces within the limit."""
    apart = (at for at in range(first + 1, last) if units[at].apart)
    for start, end in pairwise([first, *apart, last]):
        at = start
        while at < end:
            cut = _best_cut(units, at, end, limit=limit)
            yield Piece(at, cut)
            at = cut


def _best_cut(units: Sequence[Unit], first: int, last: int, *, limit: int) -> int:
    """The index of the unit to cut before: the last of the best gaps, else the last that is not glued."""
    start, end = units[first].start, units[last - 1].end
    limit = _room(units[first], limit)
    if end - start <= limit:
        return last
    shortest = limit * _SHORTEST
    best, best_gap = first + 1, _GLUED
    for index in range(first + 1, last):
        size = units[index - 1].end - start
        if size > limit:
            break
        balanced = size >= shortest and end - units[index].start >= shortest
        gap = units[index].gap if balanced else _UNBALANCED
        gap = gap if units[index].gap > Gap.GLUE else _GLUED
        if gap >= best_gap:
            best, best_gap = index, gap
    return best


def by_sections(units: Sequence[Unit], levels: Sequence[int], *, sizes: Sizes) -> list[Piece]:
    """Pack all units: section by section, then the small ones together. `levels`: of the sections."""
    starts = [index for index, unit in enumerate(units) if unit.gap > Gap.HEADING or index == 0]
    pieces = [
        piece
        for first, last in pairwise([*starts, len(units)])
        for piece in pack(units, first, last, limit=sizes.limit)
    ]
    return _Merging(units, levels, sizes).merge(pieces)


class _Merging(Struct, frozen=True):
    """Puts small neighbouring sections together."""

    units: Sequence[Unit]
    levels: Sequence[int]
    sizes: Sizes

    def merge(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces, small ones joined with the next or, failing that, with the one before."""
        out: list[Piece] = []
        for piece in pieces:
            if out and self._goes_on(out[-1], piece):
                out[-1] = Piece(out[-1].first, piece.last)
            else:
                self._settle(out)
                out.append(piece)
        self._settle(out)
        self._close(out)
        return out

    def _goes_on(self, current: Piece, piece: Piece) -> bool:
        """
        Whether `current` is small, and `piece` begins a section that it may go with.

        A section below it may be of any length; one beside it must be small, too, unless
        `current` is so short that it says nothing alone.
        """
        first, begins = self.units[current.first], self.units[piece.first]
        if begins.gap <= Gap.HEADING or begins.gap > first.gap > Gap.HEADING:  # no section, or one above
            return False
        size, small = self._size(current), self.sizes.small
        if size >= small or not self._fit(current, piece):
            return False
        own = self.levels[self.units[current.last - 1].section]
        below = self.levels[begins.section] > own and (first.gap > Gap.HEADING or current.first == 0)
        both_small = first.gap > Gap.HEADING and self._size(piece) < small
        return below or both_small or size < small * _TINY

    def _settle(self, out: list[Piece]) -> None:
        """A small piece that nothing joined goes to the one before, if that is beside or above."""
        if len(out) > 1 and self._size(out[-1]) < self.sizes.small:
            before, small = out[-2:]
            level, own = self.units[before.first].gap, self.units[small.first].gap
            if own <= max(level, Gap.HEADING) and self._fit(before, small):
                out[-2:] = [Piece(before.first, small.last)]

    def _close(self, out: list[Piece]) -> None:
        """A heading at the end of the text has nothing to head: it goes to the piece before."""
        if len(out) > 1 and all(self.units[at].names for at in range(out[-1].first, out[-1].last)):
            before, last = out[-2:]
            together = self.units[last.last - 1].end - self.units[before.first].start
            if together <= _room(self.units[before.first], self.sizes.limit):
                out[-2:] = [Piece(before.first, last.last)]

    def _fit(self, current: Piece, piece: Piece) -> bool:
        """Whether two pieces are within the limit together, and neither stands alone."""
        first = self.units[current.first]
        together = self.units[piece.last - 1].end - first.start
        alone = self.units[piece.first].apart or _alone(self.units, current) or _alone(self.units, piece)
        return together <= _room(first, self.sizes.limit) and not alone

    def _size(self, piece: Piece) -> int:
        return self.units[piece.last - 1].end - self.units[piece.first].start


def _alone(units: Sequence[Unit], piece: Piece) -> bool:
    """Whether the piece opens with headings of which one stands alone."""
    for index in range(piece.first, piece.last):
        unit = units[index]
        if unit.alone:
            return True
        if index > piece.first and unit.gap != Gap.GLUE:
            return False
    return False


def _room(unit: Unit, limit: int) -> int:
    """What the text of a piece that starts with `unit` may have, so that its context fits beside it."""
    return limit - len(unit.context) - _BETWEEN if unit.context else limit
