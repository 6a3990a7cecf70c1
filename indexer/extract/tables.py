"""Tables: which hold data and which only place things; cells in their grid, spans resolved."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from indexer.extract.markup import INLINE, SKIPPED
from indexer.extract.text import squeeze, visible

_MAX_COLUMNS = 60
_MAX_SPAN = 1000  # rowspan="65534" is a way to say "to the end"
_LAYOUT_CELL = 600  # characters; a longer cell is a column of a page, not a datum
_BLOCKS_IN_CELL = frozenset(
    ["h1", "h2", "h3", "h4", "h5", "h6", "form", "article", "section", "nav", "table", "blockquote", "pre"]
)


def read_rows(table: LexborNode) -> list[list[LexborNode]]:
    """The cells of *table*'s own rows, not of tables inside it. Iterative: nesting has no limit."""
    rows = []
    for row in _own_rows(table):
        cells, node = [], row.child
        while node is not None:
            if node.tag in ("td", "th"):
                cells.append(node)
            node = node.next
        if cells:
            rows.append(cells)
    return rows


def _own_rows(table: LexborNode) -> list[LexborNode]:
    rows: list[LexborNode] = []
    feet: list[LexborNode] = []
    group = table.child
    while group is not None:
        if group.tag in ("tbody", "thead", "tfoot"):
            row = group.child
            while row is not None:
                if row.tag == "tr":
                    (feet if group.tag == "tfoot" else rows).append(row)
                row = row.next
        elif group.tag == "tr":
            rows.append(group)
        group = group.next
    return rows + feet


def holds_data(table: LexborNode, rows: list[list[LexborNode]]) -> bool:
    """Whether reading by rows makes sense: at least two columns, short cells, one shape."""
    attributes = table.attributes
    if attributes.get("role") in ("presentation", "none") or not rows:
        return False
    widths = _widths(rows)
    if max(widths) < 2 or max(widths) > _MAX_COLUMNS or len(rows) < 2:
        return False
    blocks = 0
    for row in rows:
        for cell in row:
            size, block = _measure(cell)
            if size > _LAYOUT_CELL:
                return False
            blocks += block
    cells = sum(widths)
    if any(cell.tag == "th" for row in rows for cell in row):
        return blocks * 4 <= cells
    usual = max(set(widths), key=widths.count)
    return usual >= 2 and widths.count(usual) * 2 >= len(rows) and blocks * 8 <= cells


def _widths(rows: list[list[LexborNode]]) -> list[int]:
    """How many columns each row fills, with those that cells above span."""
    widths = []
    spanning: list[tuple[int, int]] = []  # (columns, rows left)
    for row in rows:
        width = sum(columns for columns, _ in spanning)
        spanning = [(columns, left - 1) for columns, left in spanning if left > 1]
        for cell in row:
            columns = min(_span(cell, "colspan"), _MAX_COLUMNS)
            width += columns
            down = _span(cell, "rowspan")
            if down > 1:
                spanning.append((columns, down - 1))
        widths.append(width)
    return widths


def caption(table: LexborNode) -> str:
    """The text of the table's own caption."""
    node = table.child
    while node is not None:
        if node.tag == "caption":
            return cell_text(node)[0]
        node = node.next
    return ""


def _measure(cell: LexborNode) -> tuple[int, bool]:
    """Length of the cell's text (capped) and whether it is built of page blocks."""
    size, block = 0, False
    for node in cell.traverse(include_text=True):
        tag = node.tag
        if tag == "-text":
            if node.parent is not None and node.parent.tag in SKIPPED:
                continue
            size += len((node.text_content or "").strip())
            if size > _LAYOUT_CELL:
                break
        elif tag in _BLOCKS_IN_CELL:
            block = True
    return size, block


def cell_text(cell: LexborNode) -> tuple[str, int]:
    """One line of the cell's text, and how many of its characters are links."""
    parts: list[str] = []
    linked = links = 0
    opened: list[LexborNode] = []
    node = cell.child
    while node is not None:
        tag = node.tag
        if tag == "-text":
            text = node.text_content or ""
            parts.append(text)
            linked += len(text.strip()) if links else 0
        elif tag is not None and tag[0] != "-" and tag not in SKIPPED and "hidden" not in node.attributes:
            if tag == "br" or tag not in INLINE:
                parts.append(" / " if tag == "li" and parts and "".join(parts).strip() else " ")
            links += tag == "a"
            if node.child is not None:
                opened.append(node)
                node = node.child
                continue
            links -= tag == "a"
        while node is not None and node.next is None:
            node = opened.pop() if opened else None
            if node is not None:
                links -= node.tag == "a"
                if node.tag not in INLINE:
                    parts.append(" ")
        if node is not None:
            node = node.next
    return squeeze(visible("".join(parts))), linked


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(int(value), _MAX_SPAN) if value.isascii() and value.isdigit() and value != "0" else 1


class Line:
    """A table row: texts by column, whether it heads the table, its class names, characters in links."""

    __slots__ = ("cells", "header", "linked", "names")

    def __init__(self, cells: list[str], *, header: bool, names: str, linked: int) -> None:
        self.cells = cells
        self.header = header
        self.names = names
        self.linked = linked


def to_lines(rows: list[list[LexborNode]]) -> list[Line]:
    """
    The rows of a data table, all of one length.

    A cell over several rows is repeated in each, since every row is read alone; a cell
    over several columns is written once, with empty cells after it.
    """
    lines: list[Line] = []
    carried: dict[int, tuple[str, int]] = {}  # column → (text, rows left)
    heading = True
    for row in rows:
        cells: list[str] = []
        linked = 0
        for cell in row:
            _carry(cells, carried)
            text, inside = cell_text(cell)
            linked += inside
            down = _span(cell, "rowspan")
            for k in range(min(_span(cell, "colspan"), _MAX_COLUMNS)):
                shown = "" if k else text
                if down > 1:
                    carried[len(cells)] = (shown, down - 1)
                cells.append(shown)
        _carry(cells, carried)
        parent = row[0].parent
        names = (parent.attributes.get("class") or "") if parent is not None else ""
        # one cell over all columns, below the first row
        titles_group = bool(lines) and len(row) == 1 and len(cells) > 1
        heading = heading and not titles_group and all(cell.tag == "th" for cell in row)
        lines.append(Line(cells, header=heading, names=names, linked=linked))
    return _without_empty(lines)


def _carry(line: list[str], carried: dict[int, tuple[str, int]]) -> None:
    """Fill the columns that a cell above spans."""
    while len(line) in carried:
        column = len(line)
        text, left = carried[column]
        line.append(text)
        if left > 1:
            carried[column] = (text, left - 1)
        else:
            del carried[column]


def _without_empty(lines: list[Line]) -> list[Line]:
    """Drop rows and columns without any text."""
    width = max((len(line.cells) for line in lines), default=0)
    for line in lines:
        line.cells.extend([""] * (width - len(line.cells)))
    used = [k for k in range(width) if any(line.cells[k] for line in lines)]
    kept = [line for line in lines if any(line.cells)]
    for line in kept:
        line.cells = [line.cells[k] for k in used]
    return kept
