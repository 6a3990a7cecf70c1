"""
A DOCX file opened with care: its parts within limits, its styles and its numbering.

Parts are parsed without DTD, entities and network; no part and no sum of parts may unpack
to more than `MAX_UNPACKED`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from indexer.artifacts import Reason
from indexer.errors import Permanent
from indexer.extract.text import squeeze, visible

MAX_UNPACKED = 48 * 1024 * 1024
MAX_PARTS = 10_000
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_MAIN = re.compile(r"^/?([^/]+/)?document\d*\.xml$", re.IGNORECASE)
_HEADING = re.compile(r"^(?:heading|заголовок)\s*([1-9])$", re.IGNORECASE)
_DEPTH = 9  # levels of numbering
_LETTERS = {
    "lowerLetter": "abcdefghijklmnopqrstuvwxyz", "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщэюя", "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ",
}  # fmt: skip
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


class Package:
    """The parts of a DOCX. Raises `Permanent` with `encrypted` or `damaged`."""

    def __init__(self, body: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise _damaged(str(error)) from None
        names = self._zip.namelist()
        if len(names) > MAX_PARTS:
            raise _damaged(f"it has {len(names)} parts")
        self._names = frozenset(names)
        self._left = MAX_UNPACKED
        main = [name for name in sorted(names) if _MAIN.match(name)]
        if not main:
            raise _damaged("it has no document part")
        self._main = "word/document.xml" if "word/document.xml" in self._names else main[0]

    def body(self) -> Any:
        """The element that holds the document's blocks."""
        body = self._parse(self._main).find(f"{W}body")
        if body is None:
            raise _damaged("it has no body")
        for alternate in list(body.iter(f"{MC}AlternateContent")):
            _choose(alternate)
        return body

    def part(self, name: str, tag: str) -> list[Any]:
        """Elements of a part beside the document; none if there is no such part."""
        path = self._main.rpartition("/")[0] + "/" + name if "/" in self._main else name
        return list(self._parse(path).iter(tag)) if path in self._names else []

    def core(self) -> dict[str, str]:
        """Core properties by name: `title`, `created`, `modified` …"""
        if "docProps/core.xml" not in self._names:
            return {}
        return {
            child.tag.rpartition("}")[2]: squeeze(visible(child.text or ""))
            for child in self._parse("docProps/core.xml")
            if isinstance(child.tag, str)
        }

    def _parse(self, name: str) -> Any:
        from lxml import etree

        data = self._read(name)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        try:
            root = etree.fromstring(data.replace(_STRICT, W[1:-1].encode()), parser)
        except etree.XMLSyntaxError as error:
            raise _damaged(f"{name}: {error}") from None
        if root.getroottree().docinfo.doctype:
            raise _damaged(f"{name} has a document type declaration, which no DOCX needs")
        return root

    def _read(self, name: str) -> bytes:
        try:
            with self._zip.open(name) as part:
                data = part.read(self._left + 1)
        except RuntimeError as error:  # how zipfile says that it needs a password
            raise Permanent(f"the DOCX asks for a password: {error}", reason=Reason.ENCRYPTED) from None
        except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
            raise _damaged(f"{name}: {error}") from None
        self._left -= len(data)
        if self._left < 0:
            raise _damaged(f"it unpacks to more than {MAX_UNPACKED >> 20} MB")
        return data


def _choose(alternate: Any) -> None:
    """Of ways in which the same is said, leave the first that says something."""
    texts = [child for child in alternate if next(child.iter(f"{W}t"), None) is not None]
    for child in list(alternate):
        if not texts or child is not texts[0]:
            alternate.remove(child)


def _damaged(why: str) -> Permanent:
    return Permanent(f"the DOCX cannot be opened: {why}"[:300], reason=Reason.DAMAGED)


def attribute(element: Any, name: str) -> str:
    """A `w:` attribute; empty if it has none."""
    return str(element.get(f"{W}{name}") or "")


class Style(Struct, frozen=True, kw_only=True):
    """What a paragraph style means. `level`: of a heading; `contents`: a line of a table of contents."""

    level: int = 0
    title: bool = False
    contents: bool = False
    number: str = ""
    depth: str = ""


def styles_of(package: Package) -> dict[str, Style]:
    """Paragraph styles by id, with what they inherit."""
    raw = {attribute(style, "styleId"): style for style in package.part("styles.xml", f"{W}style")}
    known: dict[str, Style] = {}
    for start in raw:
        chain: list[str] = []
        name = start
        while name in raw and name not in known and name not in chain:
            chain.append(name)
            name = _child(raw[name], f"{W}basedOn")
        parent = known.get(name, Style())
        for link in reversed(chain):
            known[link] = parent = _style(raw[link], parent)
    return known


def _style(element: Any, parent: Style) -> Style:
    name = _child(element, f"{W}name").strip().lower()
    heading = _HEADING.match(name)
    outline = _child(element, f"{W}pPr/{W}outlineLvl")
    level = int(heading.group(1)) if heading else int(outline) + 1 if outline.isdigit() else parent.level
    return Style(
        level=level if level <= _DEPTH else 0,
        title=name in ("title", "название") or parent.title,
        contents=name.startswith(("toc ", "table of figures")) or parent.contents,
        number=_child(element, f"{W}pPr/{W}numPr/{W}numId") or parent.number,
        depth=_child(element, f"{W}pPr/{W}numPr/{W}ilvl") or parent.depth,
    )


def _child(element: Any, path: str) -> str:
    child = element.find(path)
    return attribute(child, "val") if child is not None else ""


class _Level(Struct, frozen=True):
    form: str
    text: str
    start: int


class Numbering:
    """List numbers as Word counts them."""

    def __init__(self, package: Package) -> None:
        abstract = {
            attribute(found, "abstractNumId"): dict(_levels(found))
            for found in package.part("numbering.xml", f"{W}abstractNum")
        }
        self._lists: dict[str, tuple[str, dict[int, _Level]]] = {}
        for num in package.part("numbering.xml", f"{W}num"):
            origin = _child(num, f"{W}abstractNumId")
            levels = dict(abstract.get(origin, {}))
            changed = False
            for override in num.findall(f"{W}lvlOverride"):
                for level, what in _levels(override):
                    levels[level], changed = what, True
                changed = changed or override.find(f"{W}startOverride") is not None
            name = attribute(num, "numId")
            self._lists[name] = (name if changed else f"abstract {origin}", levels)
        self._counts: dict[str, list[int]] = {}

    def label(self, number: str, depth: int) -> str:
        """The next label of a list at a depth from 0: `-`, `3.`, `2.1.`, `a)`; empty for none."""
        key, levels = self._lists.get(number, (number, {}))
        depth = min(max(depth, 0), _DEPTH - 1)
        level = levels.get(depth, _Level("bullet", "", 1))
        counts = self._counts.setdefault(key, [0] * _DEPTH)
        for above in range(depth):  # a level that was never counted is at its start
            counts[above] = counts[above] or levels.get(above, level).start
        counts[depth] = counts[depth] + 1 if counts[depth] else level.start
        counts[depth + 1 :] = [0] * (_DEPTH - depth - 1)
        if level.form == "bullet":
            return "-"
        if level.form == "none":
            return ""

        def shown(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            return _formatted(counts[place], levels.get(place, level).form)

        return squeeze(visible(re.sub("%([1-9])", shown, level.text)))


def _levels(parent: Any) -> Iterator[tuple[int, _Level]]:
    for found in parent.findall(f"{W}lvl"):
        depth, start = attribute(found, "ilvl"), _child(found, f"{W}start")
        if depth.isdigit():
            form = _child(found, f"{W}numFmt") or "decimal"
            text = _child(found, f"{W}lvlText") or f"%{int(depth) + 1}."
            yield int(depth), _Level(form, text, int(start) if start.isdigit() else 1)


def _formatted(count: int, form: str) -> str:
    letters = _LETTERS.get(form)
    if letters:
        return letters[(count - 1) % len(letters)] * ((count - 1) // len(letters) + 1) if count else ""
    if form in ("lowerRoman", "upperRoman") and count < 4000:
        text = ""
        for value, sign in _ROMAN:
            text += sign * (count // value)
            count %= value
        return text.upper() if form == "upperRoman" else text
    return f"{count:02d}" if form == "decimalZero" else str(count)
