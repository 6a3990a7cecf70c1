"""Tables: cut between rows, header and section repeated as context."""

from __future__ import annotations

import re

from indexer.chunk.blocks import Block, is_delimiter, lines_of
from indexer.chunk.cuts import Gap, Part

_BLANKS = re.compile(r"[ \t]+")
_DASHES = re.compile(r"-{4,}")


_SECTION = re.compile(r"\|\s*\*\*[^|]+\*\*\s*\|[|\s]*")


def row_parts(text: str, block: Block, *, limit: int) -> tuple[list[Part], list[str]]:
    """
    The rows of a table, and for each what a chunk that starts there also needs: header and section.

    The header, its delimiter and the first row are one part, unless they are over `limit`. A
    section is a row of one bold cell: it holds for the rows below, to the next one, and is not
    cut from the first of them. The context is header, delimiter and section in compact form;
    empty if the table has none, without what would bring it over `limit`.
    """
    rows = lines_of(text, block)
    if len(rows) < 2 or not is_delimiter(text[rows[1][0] : rows[1][1]].strip()):  # noqa: PLR2004 - no header
        return [Part(start, end, Gap.ROW) for start, end in rows], [""] * len(rows)
    header = _fitting(
        _DASHES.sub("---", "\n".join(_compact(text[start:end]) for start, end in rows[:2])), limit
    )
    head_end, body = rows[1][1], rows[2:]
    glued, section = True, ""
    if body and body[0][1] - block.start <= limit:
        (start, head_end), body = body[0], body[1:]
        section = _section(text[start:head_end])
        glued = bool(section)
    parts, contexts = [Part(block.start, head_end, Gap.ROW)], [""]
    for start, end in body:
        named = _section(text[start:end])
        parts.append(Part(start, end, Gap.GLUE if glued else Gap.ITEM if named else Gap.ROW))
        above = section if glued or not named else ""  # of a section that stands in another
        contexts.append(_fitting("\n".join(filter(None, (header, above))), limit) or header)
        if named:
            section = "\n".join(filter(None, (above, named)))
        glued = bool(named)
    return parts, contexts


def _section(row: str) -> str:
    """The row in compact form if it names those below; else empty."""
    row = row.strip()
    return _compact(row) if _SECTION.fullmatch(row) else ""


def _compact(row: str) -> str:
    return _BLANKS.sub(" ", row.strip())


def _fitting(context: str, limit: int) -> str:
    return context if len(context) <= limit else ""
