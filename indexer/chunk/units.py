"""
Units: what is not torn, how good a cut before it is, and what a reader needs who starts there.

Headings open sections and stay with what follows, as do questions and lead-ins that end
in a colon. A table row, a list item and fenced code are one unit unless they alone exceed
the limit; text is one unit if it fits together with its heading, else its sentences are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from indexer.chunk import legal, structure
from indexer.chunk.blocks import Block, Kind, is_paragraph_break, lines_of, scan
from indexer.chunk.cuts import Gap, parts
from indexer.chunk.legal import NOWHERE, Place
from indexer.chunk.spans import trim
from indexer.chunk.tables import Room, row_parts
from indexer.chunk.topics import SEPARATOR, label_of

_LONGEST_QUESTION = 300
_LONGEST_LEAD_IN = 300
_MARKS = "*_`\"'»”’)] \t"
_ASKED = re.compile(r"(?:q|question|в|вопрос|сұрақ)\s*\d{0,3}\s*[:.)]\s*\S", re.IGNORECASE)
_LEVELS = 16  # more than any heading level
_DEEPEST = 4  # indents beyond it are as good as each other
_POINT_LEVEL = 12  # below all headings
_CAPTION = 160  # characters of a line that names the table after it
_TOPIC = 80  # tokens left for a topic and a model's marks
_LED = frozenset((Kind.ITEM, Kind.TABLE, Kind.CODE))


class Unit(NamedTuple):
    """
    `text[start:end]`. `gap`: how good a cut before it is. `section`: index into the paths.

    `whole`: a boundary inside moves to its start. `context`: what a chunk that starts here
    needs besides. `alone`: opens a section that is not put together with others.
    `names`: a heading. `apart`: nothing before it is in the same chunk.
    """

    start: int
    end: int
    gap: int
    section: int
    whole: bool = False
    context: str = ""
    alone: bool = False
    names: bool = False
    apart: bool = False


class Layout(Struct, frozen=True, kw_only=True):
    """
    A text taken apart. `paths[section]`: the headings that a section is under, its own last;
    `levels[section]`: the level of its own, 0 before the first; `places[section]`: the
    article and the point, each a section of its own in a `legal` text.
    """

    text: str
    units: list[Unit]
    paths: list[tuple[str, ...]]
    levels: list[int]
    places: list[Place]
    legal: bool


def lay_out(text: str, *, limit: int, max_tokens: int, mode: str = legal.AUTO) -> Layout:
    """
    All units of `text`, each at most `limit` characters, in order.

    `max_tokens`: of a chunk, which only rows of tables and their headers are measured by here.
    `mode`: whether articles and points are looked for (`legal.AUTO`: if the text is of that kind).
    """
    blocks = scan(text)
    is_legal = mode == legal.ALWAYS or (mode == legal.AUTO and legal.is_legal(text, blocks))
    builder = _Builder(text, limit, max_tokens)
    if is_legal:
        blocks, places = legal.places(text, scan(text, legal=True))
        builder.legal = True
    else:
        places = [NOWHERE] * len(blocks)
    for block, following, place in zip(blocks, [*blocks[1:], None], places, strict=False):
        builder.add(block, following, place)
    return Layout(
        text=text,
        units=builder.units,
        paths=builder.paths,
        levels=builder.levels,
        places=builder.places,
        legal=is_legal,
    )


def heading_gap(level: int) -> int:
    """How good a cut before a heading of `level` is."""
    return Gap.HEADING + _LEVELS - level


def is_question(body: str) -> bool:
    """Whether a block of text asks something that the next block answers."""
    if len(body) > _LONGEST_QUESTION:
        return False
    asked = "\n" not in body and _ASKED.match(body.lstrip(_MARKS)) is not None
    return asked or body.rstrip(_MARKS).endswith(("?", "？", "؟", "՞"))


def _depth(place: Place) -> int:
    return place.point.count("/") + 1 if place.point else 0


def _leads(body: str, following: Block | None) -> bool:
    """Whether a block of text announces the list, table or code after it."""
    if following is None or following.kind not in _LED or len(body) > _LONGEST_LEAD_IN:
        return False
    if following.kind is Kind.TABLE and len(body) <= _CAPTION and "\n" not in body and body[-1] not in ".!;…":
        return True
    return body.rstrip(_MARKS).endswith((":", "："))


class _Builder:
    """Turns blocks into units, one by one."""

    def __init__(self, text: str, limit: int, max_tokens: int) -> None:
        self.text = text
        self.limit = limit
        self.room = Room(limit, max_tokens - _TOPIC)
        self.units: list[Unit] = []
        self.paths: list[tuple[str, ...]] = [()]
        self.levels = [0]
        self.places = [NOWHERE]
        self.legal = False
        self.parent = ""  # the headings above the open article
        self.announcements: dict[int, str] = {}  # depth of a point → the line that announces those inside
        self.stack: list[tuple[int, str]] = []  # (level, label) of the open headings
        self.glued = -1  # where that which holds on to the next block starts; -1: nothing does
        self.question = ""  # the question that the next block answers
        self.lead_in = ""  # the line that announced the open list
        self.previous: Kind | None = None
        self.readers: dict[Kind, Callable[[Block], None]] = {
            Kind.ITEM: self._item,
            Kind.TABLE: self._table,
            Kind.CODE: self._code,
        }

    def add(self, block: Block, following: Block | None, place: Place = NOWHERE) -> None:
        """Append the units of `block`."""
        if block.kind is Kind.HEADING:
            self._heading(block, place)
        elif place.opens or place.divides:
            self._point(block, place)
        elif block.kind is Kind.TEXT:
            self._text(block, following)
        elif block.kind is Kind.RULE:
            self._rule(block, following)
        else:
            self.readers[block.kind](block)
        self.previous = block.kind

    def _heading(self, block: Block, place: Place) -> None:
        below = self.previous is Kind.HEADING and self.stack[-1][0] < block.level
        while self.stack and self.stack[-1][0] >= block.level:
            self.stack.pop()
        self.stack.append((block.level, label_of(block.label)))
        self.paths.append(tuple(label for _, label in self.stack if label))
        self.levels.append(block.level)
        if place.opens or not place.article:
            self.parent = SEPARATOR.join(self.paths[-1][:-1] if place.opens else self.paths[-1])
            self.announcements = {}
        self.places.append(place._replace(parent=self.parent))
        first = len(self.units)
        self._append(block.start, block.end, Gap.GLUE if below else heading_gap(block.level))
        label = block.label.rstrip(_MARKS)
        asks = structure.asks(label) if self.legal else structure.stands_alone(block.level, label)
        if place.opens or asks:
            self.units[first] = self.units[first]._replace(alone=True)
        self.units[first:] = [unit._replace(names=True) for unit in self.units[first:]]
        self._hold(self.glued if below else block.start)

    def _point(self, block: Block, place: Place) -> None:
        """A point or a sub-point, which what is indented or written under it belongs to."""
        body = self.text[block.start : block.end]
        self.paths.append(self.paths[-1])
        self.levels.append(_POINT_LEVEL)
        self.places.append(place._replace(parent=self.parent))
        depth = _depth(place)
        announced = [line for at, line in sorted(self.announcements.items()) if at < depth]
        context = "" if place.opens else "\n".join(announced)
        if len(context) > self.limit // 4:
            context = announced[-1] if len(announced[-1]) <= self.limit // 4 else ""
        gap = self._after_glue(heading_gap(_POINT_LEVEL) if place.opens else Gap.QUESTION)
        first = len(self.units)
        self._append(block.start, block.end, gap, whole=True, context=context, inner=context)
        if place.opens:
            self.units[first] = self.units[first]._replace(alone=True)
        self._announce(depth, body)
        self._hold(-1)

    def _announce(self, depth: int, body: str) -> None:
        """Remember a line that ends in a colon for the sub-points after it."""
        self.announcements = {at: line for at, line in self.announcements.items() if at < depth}
        if body.rstrip(_MARKS).endswith(":") and len(body) <= _LONGEST_LEAD_IN:
            self.announcements[depth] = body

    def _text(self, block: Block, following: Block | None) -> None:
        body = self.text[block.start : block.end]
        if self.legal:
            self._announce(_depth(self.places[-1]), body)
        asks, leads = is_question(body), _leads(body, following)
        glued = self.glued >= 0 and not (asks and self.question)
        gap = Gap.GLUE if glued else Gap.QUESTION if asks else Gap.BLOCK
        start = self.glued if glued else block.start
        apart = block.end - start > self.limit
        self._append(block.start, block.end, gap, apart=apart, inner=self.question if glued else "")
        self._hold(
            start if asks or leads else -1, question=body if asks else "", lead_in=body if leads else ""
        )

    def _item(self, block: Block) -> None:
        gap = self._after_glue(Gap.ITEM - min(block.level // 2, _DEEPEST))
        self._append(block.start, block.end, gap, whole=True, context=self.lead_in, inner=self.lead_in)
        self._hold(-1, lead_in=self.lead_in)

    def _rule(self, block: Block, following: Block | None) -> None:
        """What a rule sets apart from a section is no more about its heading, but about the one above."""
        gap = self._after_glue(Gap.RULE)
        goes_on = following is not None and following.kind not in (Kind.HEADING, Kind.RULE)
        if goes_on and gap and not self.legal and self.stack and self.stack[-1][0] > 1:
            gap = heading_gap(self.stack.pop()[0])
            self.paths.append(tuple(label for _, label in self.stack if label))
            self.levels.append(self.stack[-1][0] if self.stack else 0)
            self.places.append(self.places[-1])
        self._append(block.start, block.end, gap)
        self._hold(block.start)

    def _table(self, block: Block) -> None:
        gap = self._after_glue(Gap.ITEM if self.previous is Kind.TEXT else Gap.BLOCK)
        first, *rows = row_parts(self.text, block, room=self.room, lead=self.lead_in)
        self._append(first.start, first.end, gap, whole=True)
        for row in rows:
            at = len(self.units)
            self._append(row.start, row.end, row.gap, whole=True, context=row.context, inner=row.inner)
            if row.apart:
                self.units[at] = self.units[at]._replace(apart=True)
        self._hold(-1)

    def _code(self, block: Block) -> None:
        """Fenced code: whole if it fits, else its lines."""
        gap = self._after_glue(Gap.BLOCK)
        if block.end - block.start <= self.limit:
            self._append(block.start, block.end, gap, whole=True)
        else:
            self._code_lines(block, gap)
        self._hold(-1)

    def _code_lines(self, block: Block, gap: int) -> None:
        previous = block.start
        for line in lines_of(self.text, block):
            start, end = trim(self.text, *line)
            if start == end:
                continue
            if start > block.start:
                gap = Gap.SENTENCE_LINE if is_paragraph_break(self.text, previous, start) else Gap.LINE
            self._append(start, end, gap, whole=True)
            previous = end

    def _after_glue(self, gap: int) -> int:
        return Gap.GLUE if self.glued >= 0 else gap

    def _hold(self, start: int, *, question: str = "", lead_in: str = "") -> None:
        """Say what the next block belongs to; `start` -1: to nothing."""
        self.glued, self.question, self.lead_in = start, question, lead_in

    def _append(
        self,
        start: int,
        end: int,
        gap: int,
        *,
        whole: bool = False,
        apart: bool = False,
        context: str = "",
        inner: str = "",
    ) -> None:
        """One unit; or, if it is over the limit or taken `apart`, its sentences, with `inner` as context."""
        section = len(self.paths) - 1
        if end - start <= self.limit and not apart:
            self.units.append(Unit(start, end, gap, section, whole, context))
            return
        first, *rest = parts(self.text, start, end, limit=self.limit)
        self.units.append(Unit(first.start, first.end, gap, section, context=context))
        self.units += [Unit(part.start, part.end, part.gap, section, context=inner) for part in rest]
