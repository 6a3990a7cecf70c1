"""
The last word on size: no chunk, with its context, is over the limit in characters or in tokens.

Pieces are packed by characters. One that has too many tokens for its length (scripts
without spaces, tables, codes), or no room for its context, is cut again: at the best places
for as many characters as the rest leaves room for, and again until it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from indexer.chunk.cuts import Gap, parts
from indexer.chunk.packing import pack
from indexer.chunk.semantic import Named
from indexer.chunk.tables import CONTEXT
from indexer.chunk.tokens import estimate
from indexer.chunk.units import Unit

_MARKS = 8  # tokens for what a model puts around a text
_LEAST = 8  # characters that are not cut again
_SHRINK = 0.95
_UNEVEN = 1.25  # how much longer than the mean a part may be, for a better place

Head = Callable[[Sequence[Unit], str], str]


def fit(
    text: str, units: Sequence[Unit], pieces: Sequence[Named], *, limit: int, max_tokens: int, head: Head
) -> tuple[list[Unit], list[Named]]:
    """
    Units and pieces within both limits.

    `head(units, topic)` is what is embedded before a piece of these units besides its context.
    """
    fitting = _Fitting(text, limit, max_tokens - _MARKS, head)
    out: list[Unit] = []
    cut: list[Named] = []
    for piece in pieces:
        for own in fitting.within(list(units[piece.first : piece.last]), piece.topic):
            cut.append(Named(len(out), len(out) + len(own), piece.topic))
            out += own
    return out, cut


class _Fitting:
    def __init__(self, text: str, limit: int, budget: int, head: Head) -> None:
        self.text = text
        self.limit = limit
        self.budget = budget
        self.head = head

    def within(self, own: list[Unit], topic: str) -> Iterator[list[Unit]]:
        """The units as one piece, or as several that fit."""
        start, end = own[0].start, own[-1].end
        context, size = own[0].context, end - start
        room, tokens = self.limit, self.budget - estimate(self.head(own, topic))
        tokens = max(tokens, self.budget // 2)  # a head that takes more is not the text's fault
        if context:
            needed = estimate(context)
            if max(len(context) / room, needed / tokens) > CONTEXT:
                own = [own[0]._replace(context=""), *own[1:]]
            else:
                room, tokens = room - len(context) - 1, tokens - needed
        has = self._cost(start, end, tokens)
        if (size <= room and has <= tokens) or size <= _LEAST:
            yield own
            return
        most = min(room, int(size * tokens / has * _SHRINK) if has > tokens else room, size - 1)
        count = -(-size // max(most, 1))
        limit = max(min(most, int(size / count * _UNEVEN)), _LEAST)
        divided = [part for unit in own for part in self._divided(unit, limit)]
        for piece in pack(divided, 0, len(divided), limit=limit):
            yield from self.within(divided[piece.first : piece.last], topic)

    def _cost(self, start: int, end: int, tokens: int) -> int:
        """Tokens of the slice; not counted where there are not even so many characters."""
        return end - start if end - start <= tokens // 2 else estimate(self.text[start:end])

    def _divided(self, unit: Unit, limit: int) -> Iterator[Unit]:
        if unit.end - unit.start <= limit:
            yield unit
            return
        first, *rest = parts(self.text, unit.start, unit.end, limit=limit)
        yield unit._replace(end=first.end)
        for part in rest:
            yield unit._replace(start=part.start, end=part.end, gap=max(part.gap, Gap.CHARACTER), alone=False)
