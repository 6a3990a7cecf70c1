"""Tables: cut between rows, the header repeated as context."""

from __future__ import annotations

import re

from indexer.chunk.blocks import Block, is_delimiter, lines_of
from indexer.chunk.cuts import Gap, Part

_BLANKS = re.compile(r"[ \t]+")
_DASHES = re.compile(r"-{4,}")


def row_parts(text: str, block: Block, *, limit: int) -> tuple[list[Part], str]:
    """
    The rows of a table, and its header as context for those who start below it.

    The header, its delimiter and the first row are one part, unless they are over `limit`.
    The context is the header and the delimiter in compact form; empty if the table has
    none, or if it alone is over `limit`.
    """
    rows = lines_of(text, block)
    if len(rows) < 2 or not is_delimiter(text[rows[1][0] : rows[1][1]].strip()):  # noqa: PLR2004 - no header
        return [Part(start, end, Gap.ROW) for start, end in rows], ""
    header = [_BLANKS.sub(" ", text[start:end].strip()) for start, end in rows[:2]]
    context = _DASHES.sub("---", "\n".join(header))
    head_end, body = rows[1][1], rows[2:]
    if body and body[0][1] - block.start <= limit:
        head_end, body = body[0][1], body[1:]
        first_gap = Gap.ROW
    else:
        first_gap = Gap.GLUE
    parts = [Part(block.start, head_end, Gap.ROW)]
    parts += [Part(start, end, Gap.ROW if number else first_gap) for number, (start, end) in enumerate(body)]
    return parts, context if len(context) <= limit else ""
