"""Tables: which hold data and which only place things; cells in their grid, spans resolved."""

from __future__ import annotations

from collections.abc import Callable

from selectolax.lexbor import LexborNode

from indexer.extract import choices, hidden, inline
from indexer.extract.markup import INLINE, SKIPPED
from indexer.extract.text import squeeze, visible

_MAX_COLUMNS = 60
_MAX_SPAN = 1000  # rowspan="65534" is a way to say "to the end"
_LAYOUT_CELL = 600  # characters; a longer cell is a column of a page, not a datum
_BETWEEN = " / "  # items and rows inside a cell
_CONTROLS = frozenset(("a", "button", "input"))
_MARK = 4  # words that a mark says at most
_NEAR = 20  # pieces of text looked back at to see whether something stands before
Shows = Callable[[LexborNode, str], bool]  # (element, tag)
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
    headed = _is_headed(rows)
    for row in rows:
        for cell in row:
            size, block = _measure(cell)
            if size > _LAYOUT_CELL and not headed:
                return False
            blocks += block
    cells = sum(widths)
    if any(cell.tag == "th" for row in rows for cell in row):
        return blocks * 4 <= cells
    if any(_holds_table(cell) for row in rows for cell in row):
        return False
    usual = max(set(widths), key=widths.count)
    return usual >= 2 and widths.count(usual) * 2 >= len(rows) and blocks * 8 <= cells


def _is_headed(rows: list[list[LexborNode]]) -> bool:
    """Whether the first row names at least two columns; then a long cell is a long datum."""
    first = rows[0]
    parent = first[0].parent
    group = parent.parent if parent is not None else None
    heads = all(cell.tag == "th" for cell in first) or (group is not None and group.tag == "thead")
    sizes = [_measure(cell)[0] for cell in first]
    return heads and sum(size > 0 for size in sizes) > 1 and max(sizes) <= _LAYOUT_CELL


def _holds_table(cell: LexborNode) -> bool:
    """Whether a table stands in a cell that has rows and columns of its own."""
    inner = cell.css_first("table")
    return inner is not None and _has_columns(read_rows(inner))


def _has_columns(rows: list[list[LexborNode]]) -> bool:
    """Whether at least two rows have at least two cells."""
    return sum(len(row) > 1 for row in rows) > 1


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


def caption(table: LexborNode, shows: Shows) -> str:
    """The text of the table's own caption."""
    node = table.child
    while node is not None:
        if node.tag == "caption":
            return cell_text(node, shows)[0]
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


class _Cell:
    """Reads one cell as one line."""

    def __init__(self, shows: Shows) -> None:
        self.parts: list[str] = []
        self.pictured: list[str] = []  # what pictures show, for a cell without text
        self.linked = 0  # characters in links
        self._links = 0
        self._shows = shows

    def text(self, text: str) -> None:
        self.parts.append(text)
        self.linked += len(text.strip()) if self._links else 0

    def enter(self, node: LexborNode, tag: str) -> bool:
        """Whether to read inside an element."""
        attributes = node.attributes
        if attributes or tag == "svg":
            self._picture(node, tag, attributes)
        if tag in inline.SETS_APART:
            self.parts.append(" ")
            if tag == "input" and (said := choices.fixed_value(node)) and self._shows(node, tag):
                self.parts.append(f"{said} ")
        if tag in SKIPPED or (attributes and not self._shows(node, tag)):
            return False
        if tag == "br" or tag not in INLINE:
            rows = tag in ("li", "tr") and "".join(self.parts[-_NEAR:]).strip()
            self.parts.append(_BETWEEN if rows else " ")
        elif self.parts:
            if inline.is_apart(node, tag, attributes.get("class") or ""):
                self.parts.append(" ")
            elif tag == "sup":
                self.parts.append(inline.raised(node, self.parts[-1]))
        if tag in inline.STRUCK:
            self.parts.append(inline.OPEN_STRUCK)
        self._links += tag == "a"
        return True

    def _picture(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        """What a mark shows, or says to who does not see it: a tick that means yes."""
        if tag in ("img", "svg") or not (node.text() or "").strip():
            drawn = node.css_first("title") if tag == "svg" else None
            said = attributes.get("aria-label") or attributes.get("alt") or attributes.get("title")
            said = said or (drawn.text() if drawn is not None else "") or ""
            short = tag == "img" or (tag not in _CONTROLS and len(said.split()) <= _MARK)
            if said and short and self._shows(node, tag):
                self.pictured.append(said)
        elif hidden.for_screen_readers(attributes.get("class") or ""):
            self.pictured.append(node.text() or "")

    def leave(self, tag: str) -> None:
        self._links -= tag == "a"
        if tag in inline.STRUCK:
            self.parts.append(inline.CLOSE_STRUCK)
        elif tag not in INLINE:
            self.parts.append(" ")


def cell_text(cell: LexborNode, shows: Shows) -> tuple[str, int]:
    """
    One line of the cell's text, and how many of its characters are links.

    *shows*: whether an element with attributes is to be read. Items of a list and rows of a
    table inside are set apart by a stroke.
    """
    reading = _Cell(shows)
    opened: list[tuple[LexborNode, str]] = []
    node = cell.child
    while node is not None:
        tag = node.tag or "-"
        if tag == "-text":
            reading.text(node.text_content or "")
        elif tag[0] != "-" and reading.enter(node, tag):
            if node.child is not None:
                opened.append((node, tag))
                node = node.child
                continue
            reading.leave(tag)
        while node is not None and node.next is None:
            node, tag = opened.pop() if opened else (None, "")
            if node is not None:
                reading.leave(tag)
        if node is not None:
            node = node.next
    text = squeeze(visible("".join(reading.parts)))
    return text or squeeze(visible(" ".join(reading.pictured))), reading.linked


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(int(value), _MAX_SPAN) if value.isascii() and value.isdigit() and value != "0" else 1


class Line:
    """
    A table row: texts by column, whether it heads the table, its class names, characters in links.

    `spread`: the columns that a heading over several ones is repeated in. `section`: it names the
    rows that follow.
    """

    __slots__ = ("cells", "header", "linked", "names", "section", "spread")

    def __init__(self, *, header: bool, names: str) -> None:
        self.cells: list[str] = []
        self.header = header
        self.names = names
        self.linked = 0
        self.section = False
        self.spread: set[int] = set()

    def text(self) -> str:
        """What the row says, each text once."""
        return " ".join(cell for k, cell in enumerate(self.cells) if cell and k not in self.spread)


def to_lines(rows: list[list[LexborNode]], shows: Shows) -> list[Line]:
    """
    The rows of a data table, all of one length.

    A cell over several rows is repeated in each, since every row is read alone; a heading
    over several columns heads each of them, and a value over several headings is that of each.
    A row's name, and a row that names a group of rows, is written once, with empty cells after it.
    """
    lines: list[Line] = []
    carried: dict[int, tuple[str, int]] = {}  # column → (text, rows left)
    heading = True
    for row in rows:
        parent = row[0].parent
        names = (parent.attributes.get("class") or "") if parent is not None else ""
        across = len(row) == 1 and _span(row[0], "colspan") > 1  # names the table, or a group of its rows
        heading = heading and not (lines and across) and all(cell.tag == "th" for cell in row)
        line = Line(header=heading, names=names)
        heads = bool(lines) and (lines[0].header or all(lines[0].cells)) and (not across or bool(carried))
        spread = (heading or not lines) and not across
        _fill(line, row, carried, shows, spread=spread, values=heads)
        line.section = bool(lines) and not heading and (across or _is_bold(row[0])) and _is_lone(line)
        lines.append(line)
    return _without_empty(lines)


def _is_lone(line: Line) -> bool:
    """Whether a row says something in its first column alone."""
    return bool(line.cells[0]) and not any(line.cells[1:])


def _is_bold(cell: LexborNode) -> bool:
    """Whether a cell is a heading, or all of its text is bold."""
    bold = cell.css_first("b,strong")
    return cell.tag == "th" or (bold is not None and squeeze(bold.text()) == squeeze(cell.text()))


def _fill(
    line: Line,
    row: list[LexborNode],
    carried: dict[int, tuple[str, int]],
    shows: Shows,
    *,
    spread: bool,
    values: bool,
) -> None:
    """Write the cells of a row; *spread*: repeat all over several columns, *values*: all but the row's name."""
    cells = line.cells
    for cell in row:
        _carry(cells, carried)
        text, linked = cell_text(cell, shows)
        line.linked += linked
        down = _span(cell, "rowspan")
        repeat = spread or (values and bool(cells))
        for k in range(min(_span(cell, "colspan"), _MAX_COLUMNS)):
            shown = text if repeat or not k else ""
            if k and shown:
                line.spread.add(len(cells))
            if down > 1:
                carried[len(cells)] = (shown, down - 1)
            cells.append(shown)
    _carry(cells, carried)


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
    """Drop rows and columns without any text of their own."""
    width = max((len(line.cells) for line in lines), default=0)
    for line in lines:
        line.cells.extend([""] * (width - len(line.cells)))
    used = [k for k in range(width) if any(line.cells[k] and k not in line.spread for line in lines)]
    kept = [line for line in lines if any(line.cells)]
    for line in kept:
        line.cells = [line.cells[k] for k in used]
        line.spread = {at for at, k in enumerate(used) if k in line.spread}
    return kept
