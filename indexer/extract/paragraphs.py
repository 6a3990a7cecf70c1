"""
Lines on pages → markdown: paragraphs, headings, lists, tables, words made whole.

Lines become paragraphs, what is larger or bolder than the text is a heading, rows of as
many cells are a table, and a word that was torn at a line's end is one again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from indexer.extract.lines import Line, rows_of, without_running_heads

_HYPHENS = "-\u00ad\u2010\u2011"
_BULLET = re.compile("^[•●▪■◦‣∙·○□➢➤❖\uf0b7\uf0a7\uf0d8–—-]\\s+")
_NUMBERED = re.compile(r"^(?:\d{1,3}(?:\.\d{1,3}){0,4}[.)]|[a-zа-я]\)|\(\d{1,3}\))\s", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…:;][\"»”’)\]]*$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_TAIL = re.compile(r"^[^\W\d_]+")
_PARTICLES = frozenset(("то", "либо", "нибудь", "таки", "ка"))
_SAME = 0.06  # difference of sizes that nobody sees
_LARGER = 1.12  # than the text: a heading
_NEXT_LINE = 1.35  # times the usual distance of lines: still the same paragraph
_NEXT_COLUMN = 3.0  # times the usual distance, or upwards: another column
_MAX_HEADING = 200
_MAX_BOLD_HEADING = 120
_LEVELS = 4
_SHORT = 0.65  # of the usual line: a paragraph's last
_STUB = 0.3  # of the usual line: a line of its own, whatever follows
_TABLE_ROWS = 3  # rows of as many cells make a table


def to_markdown(pages: list[list[Line]]) -> tuple[str, str]:
    """Markdown of pages of lines, and what may serve as title: the largest heading, else the first line."""
    pages = [rows_of(page) for page in without_running_heads(pages)]
    _set_levels(pages)
    lines = [line for page in pages for line in page]
    words = _whole_words(lines)
    leading = _leading(pages)
    blocks = list(_blocks(pages, leading))
    text = "\n\n".join(filter(None, (_block(block, words) for block in blocks)))
    return text, _title_of(blocks, words)


def _whole_words(lines: list[Line]) -> frozenset[str]:
    """The words of a document, without the halves of those torn at a line's end."""
    words: set[str] = set()
    torn = False
    for line in lines:
        found = [word.lower() for word in _WORD.findall(line.text)]
        after, torn = torn, line.text[-1] in _HYPHENS
        words.update(found[int(after) : len(found) - int(torn)])
    return frozenset(words)


# ── headings and paragraphs ─────────────────────────────────────────────────────────────


def _set_levels(pages: list[list[Line]]) -> None:
    """Mark headings: lines larger than the text by rank of their size, then bold ones that stand apart."""
    weights: Counter[float] = Counter()
    bold: Counter[bool] = Counter()
    for page in pages:
        for line in page:
            weights[round(line.size * 2) / 2] += len(line.text)
            bold[line.bold] += len(line.text)
    body = weights.most_common(1)[0][0] if weights else 1.0
    large = sorted({_half(line) for page in pages for line in page if _is_large(line, body)}, reverse=True)
    ranks = {size: min(rank, _LEVELS) for rank, size in enumerate(large, 1)}
    lowest = min(max(ranks.values(), default=0) + 1, _LEVELS + 1)
    for page in pages:
        for number, line in enumerate(page):
            if _is_large(line, body):
                line.level = ranks[_half(line)]
            elif bold[False] > bold[True] and _stands_apart(page, number):
                line.level = lowest


def _half(line: Line) -> float:
    return round(line.size * 2) / 2


def _is_large(line: Line, body: float) -> bool:
    return (
        line.size > _LARGER * body
        and len(line.cells) == 1
        and len(line.text) <= _MAX_HEADING
        and sum(character.isalpha() for character in line.text) > 1
    )


def _stands_apart(page: list[Line], number: int) -> bool:
    line = page[number]
    if not line.bold or len(line.cells) > 1 or len(line.text) > _MAX_BOLD_HEADING or line.text[-1] in ".,;":
        return False
    if not any(character.isalpha() for character in line.text):
        return False
    above = page[number - 1] if number else None
    below = page[number + 1] if number + 1 < len(page) else None
    if above is not None and 0 < above.y - line.y < 1.5 * line.size and not above.level:
        return False
    return below is not None and not below.bold


def _leading(pages: list[list[Line]]) -> float:
    """The usual distance of lines, in sizes."""
    gaps = [
        (above.y - line.y) / line.size
        for page in pages
        for above, line in pairwise(page)
        if 0.8 < (above.y - line.y) / line.size < 2.2 and not line.level and len(line.cells) == 1
    ]
    return median(gaps) if gaps else 1.2


def _blocks(pages: list[list[Line]], leading: float) -> Iterator[list[list[Line]]]:
    """Blocks of paragraphs of lines: paragraphs of a block stand close together."""
    usual = _usual_lengths(pages)
    block: list[list[Line]] = []
    before: Line | None = None
    for page in pages:
        fresh = True
        for line in page:
            how = "apart" if before is None else _relation(before, line, leading, usual, fresh=fresh)
            if how == "joined":
                block[-1].append(line)
            elif how == "close":
                block.append([line])
            else:
                if block:
                    yield block
                block = [[line]]
            before, fresh = line, False
    if block:
        yield block


def _usual_lengths(pages: list[list[Line]]) -> dict[int, float]:
    """By size of text: how many characters a full line has (nine of ten are not longer)."""
    lengths: dict[int, list[int]] = {}
    for page in pages:
        for line in page:
            lengths.setdefault(round(line.size), []).append(len(line.text))
    return {size: sorted(found)[len(found) * 9 // 10] for size, found in lengths.items()}


def _relation(before: Line, line: Line, leading: float, usual: dict[int, float], *, fresh: bool) -> str:
    """`joined`: of one paragraph; `close`: of one block; `apart`. `fresh`: the first line of a page."""
    row = len(line.cells) > 1
    if row or len(before.cells) > 1:
        return "close" if row and len(before.cells) > 1 else "apart"
    if before.level != line.level or abs(before.size - line.size) > _SAME * line.size:
        return "apart"
    ended = bool(_SENTENCE_END.search(before.text))
    goes_on = line.text[:1].islower() or before.text[-1:] in _HYPHENS
    gap = (before.y - line.y) / (leading * line.size)
    if fresh or not 0 < gap < _NEXT_COLUMN:
        return "joined" if goes_on and not ended and not line.level else "apart"
    if gap > _NEXT_LINE or line.level:
        return "apart" if gap > _NEXT_LINE else "joined"
    return _next_line(before, line, usual.get(round(before.size), 1), ended=ended, goes_on=goes_on)


def _next_line(before: Line, line: Line, usual: float, *, ended: bool, goes_on: bool) -> str:
    """What a line is to the one right above it."""
    if _BULLET.match(line.text) or _NUMBERED.match(line.text):
        return "close"
    if ended and line.x > before.x + 0.8 * line.size and not _BULLET.match(before.text):
        return "apart"
    full = len(before.text) / usual
    return "close" if full < _STUB or (full < _SHORT and not goes_on) else "joined"


# ── text ────────────────────────────────────────────────────────────────────────────────


def _block(block: list[list[Line]], words: frozenset[str]) -> str:
    first = block[0][0]
    if first.level:
        return "#" * first.level + " " + _paragraph(block[0], words)
    if len(first.cells) > 1:
        return _table([line for paragraph in block for line in paragraph])
    texts = (_paragraph(paragraph, words) for paragraph in block)
    return "\n".join(_BULLET.sub("- ", text) for text in texts)


def _table(rows: list[Line]) -> str:
    """Rows of as many cells as a table, others as lines."""
    cells = [[cell.rstrip(_HYPHENS[1:]).replace("|", "\\|") for cell in row.cells] for row in rows]
    width = Counter(len(row) for row in cells).most_common(1)[0][0]
    if len(rows) < _TABLE_ROWS or any(len(row) > width for row in cells):
        return "\n".join(" | ".join(row) for row in cells)
    starts = next(row.starts for row in rows if len(row.cells) == width)
    full = [
        row if len(row) == width else _spread(row, line.starts, starts)
        for row, line in zip(cells, rows, strict=True)
    ]
    lines = [full[0], ["---"] * width, *full[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def _spread(cells: list[str], places: list[float], starts: list[float]) -> list[str]:
    """A row with fewer cells: each under the column that begins nearest to it."""
    row = [""] * len(starts)
    for text, place in zip(cells, places, strict=True):
        column = min(range(len(starts)), key=lambda n: abs(starts[n] - place))
        row[column] = f"{row[column]} {text}".strip()
    return row


def _paragraph(lines: list[Line], words: frozenset[str]) -> str:
    text = ""
    for line in lines:
        text = _joined(text, line.text, words) if text else line.text
    return text.replace("\u00ad", "")


def _joined(text: str, more: str, words: frozenset[str]) -> str:
    """Two lines of a paragraph as one; a word torn between them is made whole."""
    if text[-1] == "\u00ad":
        return text[:-1] + more
    if text[-1] not in _HYPHENS or len(text) < 2 or not text[-2].isalpha():
        return f"{text} {more}"
    head, tail = text[:-1].rsplit(maxsplit=1)[-1].lower(), _TAIL.match(more)
    if tail is None or not more[0].islower():
        return text + more
    head = (_WORD.findall(head) or [head])[-1]
    end = tail.group(0).lower()
    compound = f"{head}-{end}" in words or end in _PARTICLES or head == "кое"
    halves = len(head) > 2 and len(end) > 2 and head in words and end in words
    if head + end not in words and (compound or halves):
        return text + more
    return text[:-1] + more


def _title_of(blocks: list[list[list[Line]]], words: frozenset[str]) -> str:
    headings = [block[0] for block in blocks[:20] if block[0][0].level]
    if headings:
        return _paragraph(min(headings, key=lambda lines: lines[0].level), words)
    first = _paragraph(blocks[0][0], words) if blocks else ""
    return first if len(first) <= _MAX_HEADING else ""
