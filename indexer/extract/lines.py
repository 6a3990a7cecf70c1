"""
Pieces of text on a page → lines, rows of cells, and no running heads.

What is printed says by its place what it is: beside each other on one height stand words
of a line or cells of a row, and what repeats at the edge of every page is no text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from indexer.extract.text import squeeze, visible

_WIDE, _NARROW = frozenset("mwMWШЩЖМФЮшщжмфю@%—…"), frozenset("iljtfrI.,:;'|!()[]- ")
_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_LEADERS = re.compile(r"(?:\.\s?|·\s?|_){5,}")
_NUMBER = re.compile(r"(?<![\w.,])(\d{1,5})(?![\w,]|\.\d)")
_EDGE = 3  # lines at the top and bottom of a page that may be running heads
_PLACE = 3.0  # points: lines so near to each other on two pages stand at the same height
_MAX_CELL_LINES = 8
_CELL_LINE = 1.3  # sizes between lines of a cell


class Piece(Struct, frozen=True):
    """A run of text in one font. `x` along the line, `y` up the page, both in points as `size`."""

    text: str
    x: float
    y: float
    size: float
    bold: bool
    fixed: bool = False  # all characters are equally wide


class Line(Struct):
    """One line, or one row of cells: then `cells` has more than one. `level`: of a heading, else 0."""

    text: str
    x: float
    y: float
    size: float
    bold: bool = False
    width: float = 0.0
    cells: list[str] = []
    starts: list[float] = []
    level: int = 0


def join_pieces(pieces: list[Piece]) -> Line:
    """Pieces side by side as a line; a gap that no space would leave begins a cell."""
    size = Counter[float]()
    weight = bold = 0
    cells: list[str] = [""]
    starts = [pieces[0].x]
    end = pieces[0].x
    for piece in pieces:
        length = len(piece.text.strip())
        size[round(piece.size, 1)] += length
        weight += length
        bold += length * piece.bold
        spaced = piece.text[:1].isspace() or cells[-1][-1:].isspace()
        if length and spaced and cells[-1].strip() and _is_gap(piece.x - end, end - starts[-1], piece.size):
            cells.append("")
            starts.append(piece.x)
        cells[-1] += piece.text
        end = max(end, piece.x + _width(piece))
    first = max(pieces, key=lambda piece: len(piece.text))
    texts = [_clean(cell) for cell in cells]
    kept = [(text, start) for text, start in zip(texts, starts, strict=True) if text]
    return Line(
        text=" ".join(text for text, _ in kept),
        x=pieces[0].x,
        y=first.y,
        size=size.most_common(1)[0][0] or 1.0,
        bold=weight > 0 and bold >= 0.9 * weight,  # a full stop may be in another font
        width=end - pieces[0].x,
        cells=[text for text, _ in kept],
        starts=[start for _, start in kept],
    )


def _is_gap(gap: float, width: float, size: float) -> bool:
    """Whether a gap behind text of about this width is none between words."""
    return gap > max(0.9 * size, 0.25 * width)


def _width(piece: Piece) -> float:
    """About how wide a piece is: the parser does not tell."""
    if piece.fixed:
        return 0.6 * piece.size * len(piece.text)
    units = sum(
        0.85 if c in _WIDE else 0.3 if c in _NARROW else 0.68 if c.isupper() else 0.5 for c in piece.text
    )
    return units * piece.size


def _clean(text: str) -> str:
    """Visible characters on one line; a soft hyphen at the end stays, it tells where a word was torn."""
    text = _LEADERS.sub(" … ", text.translate(_LIGATURES)).rstrip()
    torn = text.endswith("\u00ad")
    return squeeze(visible(text)) + ("\u00ad" if torn else "")


# ── what surrounds the text ─────────────────────────────────────────────────────────────


def without_running_heads(pages: list[list[Line]]) -> list[list[Line]]:
    """
    Pages without the lines at their edges that repeat from page to page.

    The same words at the same height: on most pages, or on some at a place where most pages
    have something. A number may be among them if it counts the pages.
    """
    filled = sum(1 for page in pages if page)
    said: Counter[tuple[str, int]] = Counter()
    places: Counter[int] = Counter()
    for number, page in enumerate(pages):
        edge = list(_edge(page))
        said.update({(key, place) for line in edge for key in _keys(line, number) for place in _places(line)})
        places.update({place for line in edge[:1] + edge[-1:] for place in _places(line)})
    most, few = max(2, 0.6 * filled), max(3, 0.05 * filled)

    def runs(line: Line, number: int) -> bool:
        place = _places(line)[1]
        often = [(said[key, place], 2 if "#" in key else few) for key in _keys(line, number)]
        return any(times >= most or (times >= least and places[place] >= most) for times, least in often)

    out = []
    for number, page in enumerate(pages):
        gone = {id(line) for line in _edge(page) if runs(line, number)}
        out.append([line for line in page if id(line) not in gone])
    return out if 2 * _amount(out) >= _amount(pages) else pages  # pages that are all alike


def _amount(pages: list[list[Line]]) -> int:
    return sum(len(line.text) for page in pages for line in page)


def _edge(page: list[Line]) -> Iterator[Line]:
    """The lines nearest to the top, then those nearest to the bottom, the outermost first and last."""
    ordered = sorted(page, key=lambda line: -line.y)
    count = max(1, min(_EDGE, len(page) // 4))
    yield from ordered[:count]
    yield from ordered[max(count, len(ordered) - count) :]


def _keys(line: Line, number: int) -> set[str]:
    """
    The words, and the words with their first or last number told from that of the page.

    It may stand there more than once; on the last page, how many pages there are is the same.
    """
    text = line.text.lower()
    parts = _NUMBER.split(text)  # every second one is a number
    keys = {text}
    for value in {*parts[1:2], *parts[-2::2][:1]} if len(parts) > 1 else ():
        told = f"#{int(value) - number}"
        counted = [told if index % 2 and part == value else part for index, part in enumerate(parts)]
        keys.add("".join(counted))
        keys.add("".join([*counted[:-2], *parts[-2:]]))
    return keys


def _places(line: Line) -> tuple[int, ...]:
    """The height at which a line stands, and those that are as good as the same."""
    place = int(line.y // _PLACE)
    return place - 1, place, place + 1


# ── side by side ────────────────────────────────────────────────────────────────────────


def rows_of(page: list[Line]) -> list[Line]:
    """Cells that were written one after the other, each from its top, put together as rows."""
    out: list[Line] = []
    row: list[list[Line]] = []  # cells of the row at hand, each of lines

    def close() -> None:
        if len(row) > 1:
            out.append(_as_row(row))
        else:
            out.extend(line for cell in row for line in cell)
        row.clear()

    for line in page:
        if not row or not _near(row[-1][-1], line):
            close()
            row.append([line])
        elif line.y >= row[-1][-1].y - 0.3 * line.size:  # beside, not below
            start = next(
                (n for n, first in enumerate(row[0]) if abs(first.y - line.y) < 0.5 * line.size), None
            )
            if start is None or len(row[0]) - start > _MAX_CELL_LINES or line.x <= _right(row[-1]):
                close()
                row.append([line])
            else:
                out.extend(row[0][:start])
                row[0] = row[0][start:]
                row.append([line])
        else:
            row[-1].append(line)
            if len(row) > 1 and abs(line.x - row[-1][0].x) > line.size:
                row[-1].pop()
                close()
                row.append([line])
    close()
    return _rows_of_tables(_with_tops(out))


def _rows_of_tables(lines: list[Line]) -> list[Line]:
    """Lines of two cells that stand alone are lines: a wide gap happens."""
    for number, line in enumerate(lines):
        around = lines[max(0, number - 1) : number] + lines[number + 1 : number + 2]
        if len(line.cells) == 2 and not any(_aligned(line, other) for other in around):
            line.cells, line.starts = [line.text], line.starts[:1]
    return lines


def _aligned(line: Line, other: Line) -> bool:
    """Whether two rows are near and have a column in common behind the first."""
    if abs(other.y - line.y) > 4 * line.size:
        return False
    return any(abs(mine - theirs) < 2 * line.size for mine in line.starts[1:] for theirs in other.starts[1:])


def _with_tops(lines: list[Line]) -> list[Line]:
    """Rows whose cells are centred: what stands close above the first cell is its beginning."""
    out: list[Line] = []
    for line in lines:
        top = out[-1] if out and len(line.cells) > 1 and len(out[-1].cells) == 1 else None
        if top is not None and abs(top.x - line.starts[0]) < line.size and top.text[-1] not in ".:":
            gap, above = top.y - line.y, (out[-2].y - top.y) if len(out) > 1 else 0.0
            if (
                0 < gap < _CELL_LINE * line.size
                and not 0 < above < 1.2 * gap
                and abs(top.size - line.size) < 1
            ):
                line.cells[0] = f"{out.pop().text} {line.cells[0]}"
                line.text = " ".join(line.cells)
        out.append(line)
    return out


def _near(before: Line, line: Line) -> bool:
    """Whether a line can belong to the row of the one before: neither far below nor a page above."""
    return -_MAX_CELL_LINES * 1.5 * line.size < before.y - line.y < 2 * line.size


def _right(cell: list[Line]) -> float:
    return max(line.x + 0.8 * line.width for line in cell)


def _as_row(row: list[list[Line]]) -> Line:
    first = row[0][0]
    cells: list[str] = []
    starts: list[float] = []
    for cell in row:
        texts = [part for line in cell[1:] for part in (line.text,)]
        cells += [*cell[0].cells[:-1], " ".join([cell[0].cells[-1], *texts])]
        starts += cell[0].starts
    return Line(
        text=" ".join(cells), x=first.x, y=min(cell[-1].y for cell in row), size=first.size, bold=first.bold,
        width=row[-1][0].x + row[-1][0].width - first.x, cells=cells, starts=starts,
    )  # fmt: skip
