"""Why a text is cut where it is: for each chunk, what begins there and what ended the one before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from indexer.chunk.cuts import Gap
from indexer.chunk.packing import Piece
from indexer.chunk.semantic import Named
from indexer.chunk.units import Layout, Unit

_NAMES = (
    (Gap.HEADING, "before a heading"),
    (Gap.RULE, "at a rule"),
    (Gap.QUESTION, "before a question or a sub-point"),
    (Gap.BLOCK, "between paragraphs"),
    (Gap.ITEM - 4, "between list items"),
    (Gap.ROW, "between rows of a table"),
    (Gap.SENTENCE_LINE, "between sentences, at the end of a line"),
    (Gap.WEAK_SENTENCE, "between sentences"),
    (Gap.LINE, "at the end of a line"),
    (Gap.CLAUSE, "between clauses"),
    (Gap.NO_BREAK, "between words"),
    (Gap.GLUE + 1, "between characters: there is no better place"),
    (Gap.GLUE, "between what belongs together: it is too long"),
)
_ITEM_LEVELS = range(Gap.ITEM - 4, Gap.ITEM + 1)


def reasons(
    layout: Layout, units: Sequence[Unit], pieces: Sequence[Piece | Named], *, limit: int
) -> list[str]:
    """One reason for each piece: why it begins where it does."""
    told = ["the text begins"] if pieces else []
    ends = _section_ends(units)
    for before, piece in pairwise(pieces):
        begins = units[piece.first]
        topic = piece.topic if isinstance(piece, Named) else ""
        if topic and not (isinstance(before, Named) and before.topic == topic):
            told.append("the chat model begins a section here")
        elif begins.gap > Gap.HEADING:
            told.append(_section(layout, begins))
        else:
            rest = ends[before.first] - units[before.first].start
            over = (
                f"{rest:,} characters of one section are over {limit:,}"
                if rest > limit
                else "too many tokens"
            )
            told.append(f"{_place(begins.gap)}: {over}")
    return told


def _section_ends(units: Sequence[Unit]) -> list[int]:
    """For each unit, where its section ends."""
    ends = [unit.end for unit in units]
    for index in range(len(units) - 2, -1, -1):
        if units[index + 1].gap <= Gap.HEADING:
            ends[index] = ends[index + 1]
    return ends


def _section(layout: Layout, unit: Unit) -> str:
    place = layout.places[unit.section]
    if layout.legal and (place.article or place.point) and not unit.names:
        return f"point {place.point} begins"
    if layout.legal and place.article:
        return f"article {place.article} begins"
    path = layout.paths[unit.section]
    return f"a section begins: {path[-1]}" if path else "a section begins"


def _place(gap: int) -> str:
    if gap in _ITEM_LEVELS and gap != Gap.ROW:
        return "between list items"
    return next((name for least, name in _NAMES if gap >= least), _NAMES[-1][1])
