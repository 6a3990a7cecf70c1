"""
DOCX → markdown: headings, numbered clauses and lists, tables, notes.

WordprocessingML is read directly: its numbering, merged cells, content fields and tracked
changes carry meaning that converters drop. `docx_package` opens the file and guards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.artifacts import Extracted, Reason
from indexer.errors import Permanent
from indexer.extract.docx_package import MC, Numbering, Package, Style, W, attribute, styles_of
from indexer.extract.metadata import guess_language
from indexer.extract.text import squeeze, visible

_THROUGH = frozenset(  # elements that only wrap
    [f"{MC}{name}" for name in ("AlternateContent", "Choice", "Fallback")]
    + [
        f"{W}{name}"
        for name in (
            "ins",
            "moveTo",
            "hyperlink",
            "smartTag",
            "sdt",
            "sdtContent",
            "customXml",
            "fldSimple",
            "dir",
            "bdo",
        )
    ]
)
_MAX_TITLE = 300
_MAX_FIRST_LINE = 150
_MAX_NOTES = 2000


def read_docx(body: bytes, *, max_pages: int, max_characters: int) -> Extracted:
    """
    Title, dates and markdown of a DOCX. A page of `max_pages` counts as 4,000 characters.

    Raises `Permanent` with `encrypted`, `damaged` or `no-text`.
    """
    package = Package(body)
    writer = _Writer(package, limit=min(max_characters, 4000 * max_pages))
    writer.blocks(package.body())
    writer.footnotes(package)
    text = writer.text()
    if not any(character.isalnum() for character in text):
        raise Permanent("the DOCX has no text: images, or nothing", reason=Reason.NO_TEXT)
    core = package.core()
    first = text.partition("\n")[0]
    fallback = writer.title or writer.heading or (first if len(first) <= _MAX_FIRST_LINE else "")
    declared = core.get("title", "")
    return Extracted(
        title=(declared if any(c.isalpha() for c in declared) else fallback)[:_MAX_TITLE],
        text=text,
        language=guess_language(text),
        published=core.get("created", ""),
        modified=core.get("modified", ""),
        extractor="docx",
        notes=(f"only its first {writer.limit} characters were read",) if writer.full else (),
    )


class _Writer:
    """Turns blocks into markdown, counting list numbers on the way."""

    def __init__(self, package: Package, *, limit: int) -> None:
        self.title = ""
        self.heading = ""
        self.limit = limit
        self._styles = styles_of(package)
        self._numbering = Numbering(package)
        self._out: list[tuple[str, str]] = []  # kind and text
        self._size = 0
        self._notes: list[tuple[str, str]] = []

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self._size >= self.limit

    def text(self) -> str:
        """The markdown: list items close together, all else apart."""
        parts: list[str] = []
        before = ""
        for kind, block in self._out:
            parts += ("\n" if kind == before == "item" else "\n\n", block)
            before = kind
        return "".join(parts[1:])

    def blocks(self, parent: Any) -> None:
        """Paragraphs and tables below an element, in order."""
        for element in parent:
            if self.full:
                return
            if element.tag == f"{W}p":
                self._paragraph(element)
            elif element.tag == f"{W}tbl":
                self._table(element)
            elif element.tag in _THROUGH and not _is_contents(element):
                self.blocks(element)

    def footnotes(self, package: Package) -> None:
        """The notes that the text refers to, at its end."""
        texts: dict[tuple[str, str], str] = {}
        for kind in ("footnote", "endnote"):
            for note in package.part(f"{kind}s.xml", f"{W}{kind}"):
                texts[kind, attribute(note, "id")] = squeeze(
                    " ".join(self._inline(p) for p in note.iter(f"{W}p"))
                )
        for number, key in enumerate(self._notes[:_MAX_NOTES], 1):
            if texts.get(key):
                self._add("item", f"[{number}] {texts[key]}")

    def _add(self, kind: str, text: str) -> None:
        self._out.append((kind, text))
        self._size += len(text)

    def _paragraph(self, element: Any) -> None:
        properties = element.find(f"{W}pPr")
        style = self._styles.get(_value(properties, "pStyle"), Style())
        if style.contents:
            return
        label, depth = self._label(properties, style)
        text = "\n".join(filter(None, (squeeze(visible(line)) for line in self._inline(element).split("\n"))))
        level = style.level or _outline(properties)
        if text and (level or style.title):
            line = squeeze(f"{'' if label == '-' else label} {text}")
            self.title = self.title or (line if style.title else "")
            self.heading = self.heading or line
            self._add("heading", f"{'#' * min(level or 1, 6)} {line}")
        elif text and label:
            indent = "  " * depth if label == "-" or label.rstrip(".)").isalnum() else ""
            self._add("item", f"{indent}{label} {text}")
        elif text:
            self._add("paragraph", text)
        for box in _boxes(element):
            self.blocks(box)

    def _label(self, properties: Any, style: Style) -> tuple[str, int]:
        """What the numbering puts before a paragraph (`-` for a bullet), and how deep it is."""
        own = properties.find(f"{W}numPr") if properties is not None else None
        number = _value(own, "numId") or style.number
        depth = _value(own, "ilvl") or style.depth
        if not number or number == "0":
            return "", 0
        level = int(depth) if depth.isdigit() else 0
        return self._numbering.label(number, level), level

    def _inline(self, element: Any) -> str:
        """The visible text of a paragraph: without deletions, field codes and hidden runs."""
        parts: list[str] = []
        for child in element:
            if child.tag == f"{W}r":
                parts += self._run(child)
            elif child.tag in _THROUGH:
                parts.append(self._inline(child))
        return "".join(parts)

    def _run(self, run: Any) -> Iterator[str]:
        properties = run.find(f"{W}rPr")
        vanish = properties.find(f"{W}vanish") if properties is not None else None
        if vanish is not None and attribute(vanish, "val") not in ("0", "false"):
            return
        for part in run:
            name = part.tag.removeprefix(W) if isinstance(part.tag, str) else ""
            if name == "t":
                yield part.text or ""
            elif name in ("tab", "ptab"):
                yield " "
            elif name in ("br", "cr"):
                yield " " if attribute(part, "type") in ("page", "column") else "\n"
            elif name == "noBreakHyphen":
                yield "-"
            elif name in ("footnoteReference", "endnoteReference"):
                self._notes.append((name.removesuffix("Reference"), attribute(part, "id")))
                yield f"[{len(self._notes)}]"

    def _table(self, table: Any) -> None:
        """A markdown table; a merged cell's text stands in each row that it spans. One column is a layout."""
        rows: list[list[str]] = []
        above: dict[int, str] = {}
        for row in _rows(table):
            cells: list[str] = []
            for cell in _cells(row):
                properties = cell.find(f"{W}tcPr")
                span = _value(properties, "gridSpan")
                merge = properties.find(f"{W}vMerge") if properties is not None else None
                continues = merge is not None and attribute(merge, "val") != "restart"
                text = above.get(len(cells), "") if continues else self._cell(cell)
                above[len(cells)] = text
                cells += [text, *[""] * (min(int(span), 64) - 1 if span.isdigit() else 0)]
            if any(cells):
                rows.append(cells)
        width = max((len(row) for row in rows), default=0)
        if width < 2 or len(rows) < 2:
            for element in _cells_of(table):
                self.blocks(element)
            return
        full = [[cell.replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in rows]
        lines = [full[0], ["---"] * width, *full[1:]]
        self._add("table", "\n".join("| " + " | ".join(row) + " |" for row in lines))

    def _cell(self, cell: Any) -> str:
        return squeeze(visible(" ".join(self._inline(paragraph) for paragraph in cell.iter(f"{W}p"))))


def _value(parent: Any, name: str) -> str:
    child = parent.find(f"{W}{name}") if parent is not None else None
    return attribute(child, "val") if child is not None else ""


def _outline(properties: Any) -> int:
    level = _value(properties, "outlineLvl")
    return int(level) + 1 if level.isdigit() and int(level) < 9 else 0


def _rows(table: Any) -> Iterator[Any]:
    for child in table:
        if child.tag == f"{W}tr":
            yield child
        elif child.tag in _THROUGH:
            yield from _rows(child)


def _cells(row: Any) -> Iterator[Any]:
    for child in row:
        if child.tag == f"{W}tc":
            yield child
        elif child.tag in _THROUGH:
            yield from _cells(child)


def _cells_of(table: Any) -> Iterator[Any]:
    for row in _rows(table):
        yield from _cells(row)


def _is_contents(element: Any) -> bool:
    """Whether a field is a generated table of contents."""
    gallery = element.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return gallery is not None and "contents" in attribute(gallery, "val").lower()


def _boxes(paragraph: Any) -> Iterator[Any]:
    """Text boxes that hang on a paragraph; those within a box come with it."""
    for box in paragraph.iter(f"{W}txbxContent"):
        if next(box.iterancestors(f"{W}p"), None) is paragraph:
            yield box
