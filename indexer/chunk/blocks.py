"""
Markdown as blocks with offsets: headings, text, list items, tables, code, rules.

One pass over the lines, without looking back, so that any text takes linear time. Only
what matters for cutting is told apart; the rest is text. Lines end with LF, CRLF or CR.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from indexer.chunk import structure


class Kind(Enum):
    """What a block is. `ITEM` is one list item with what is indented under it."""

    HEADING = "heading"
    TEXT = "text"
    ITEM = "item"
    TABLE = "table"
    CODE = "code"
    RULE = "rule"


class Block(NamedTuple):
    """`text[start:end]` without outer white space. `level`: of a heading, or the indent of an item."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    label: str = ""


class Line(NamedTuple):
    """A line with something in it. `body` is `text[start:end]`; `gap`: a blank line lies before."""

    start: int
    end: int
    indent: int
    body: str
    gap: bool


_LINE = re.compile(r"[^\r\n]+")
_ONE_BREAK = frozenset(("", "\n", "\r\n", "\r"))
_BREAK = re.compile(r"\r\n|\r|\n")
_ITEM = re.compile(r"(?:[-*+•‣◦▪●–—]|\d{1,3}(?:\.\d{1,3}){0,3}[.)]|[^\W\d_]\))[ \t]+\S")
# In a legal text also `(a)`, `(1)`, `п. 2` and a dotted number without a stop.
_POINT = re.compile(
    r"[*_]*(?:\((?:\d{1,3}|[^\W\d_]|[ivx]{2,5})\)|(?:пп?\.|пункт|подпункт)\s*\d{1,3}[.):]?"
    r"|\d{1,3}(?:\.\d{1,3}){1,4}|\d{1,3}-\d{1,2}[.)]|[ivx]{2,5}\))[*_]*[ \t]+\S",
    re.IGNORECASE,
)
_STOPS = (".", "!", "?", ";", ":", "…")
_CLOSERS = "*_`\"'»”’)] "
_RULE_MARKS = frozenset("-*_")
_UNDERLINES = {"=": 1, "-": 2}
_MAX_LEVEL = 6
_MIN_MARKS = 3
_TAB = 4


def scan(text: str, *, legal: bool = False) -> list[Block]:
    """
    The blocks of `text` in order. Only white space lies outside of them.

    `legal`: more ways to number a point begin an item.
    """
    scanner = _Scanner(text, legal=legal)
    for line in _lines(text):
        scanner.read(line)
    scanner.close()
    return scanner.blocks


def lines_of(text: str, block: Block) -> list[tuple[int, int]]:
    """The spans of a block's lines; for a table, its rows."""
    return [match.span() for match in _LINE.finditer(text, block.start, block.end)]


def is_paragraph_break(text: str, start: int, end: int) -> bool:
    """Whether the white space `text[start:end]` holds a blank line."""
    return len(_BREAK.findall(text, start, end)) > 1


def is_delimiter(body: str) -> bool:
    """Whether a line is the `|---|:--:|` below a table's header."""
    return "|" in body and "-" in body and not body.strip("|:- \t")


def _lines(text: str) -> Iterator[Line]:
    previous, gap = 0, False
    for match in _LINE.finditer(text):
        start, end = match.span()
        raw = match.group()
        gap = gap or text[previous:start] not in _ONE_BREAK
        previous = end
        body = raw.strip()
        if not body:  # a line of white space is a blank line
            gap = True
            continue
        lead = len(raw) - len(raw.lstrip())
        indent = lead + (_TAB - 1) * raw.count("\t", 0, lead)
        yield Line(start + lead, start + lead + len(body), indent, body, gap)
        gap = False


class _Scanner:
    """Reads line by line and keeps the open block."""

    def __init__(self, text: str, *, legal: bool) -> None:
        self.blocks: list[Block] = []
        self.closers = _Closers(text)
        self.legal = legal
        self.kind: Kind | None = None
        self.first = self.before = self.last = Line(0, 0, 0, "", gap=False)  # of the open block
        self.fence = ""  # what closes the open code
        self.fence_in_item = False

    def read(self, line: Line) -> None:
        """Add one line."""
        body, mark = line.body, line.body[0]
        if self.fence:
            self._read_code(line)
        elif mark in "`~" and (fence := self._fence(line)):
            self._open_code(line, fence)
        elif mark == "#" and (level := _heading_level(body)):
            self._single(Kind.HEADING, line, level, body[level:].strip().rstrip("#").strip())
        elif mark in _UNDERLINES and self._is_underline(line):
            self._underline(line)
        elif mark in _RULE_MARKS and _is_rule(body):
            self._single(Kind.RULE, line)
        elif "|" in body and self._is_row(line):
            self._read_row(line)
        elif _ITEM.match(body) or (self.legal and _POINT.match(body)):
            self._open(Kind.ITEM, line)
        elif not self._is_amid(line) and (legal := structure.legal_heading(body)):
            self._single(Kind.HEADING, line, *legal)
        elif self._continues(line):
            self.before, self.last = self.last, line
        else:
            self._open(Kind.TEXT, line)

    def close(self) -> None:
        """End the open block."""
        if self.kind is None:
            return
        kind, level, label = self.kind, 0, ""
        if kind is Kind.ITEM:
            level = self.first.indent
        elif kind is Kind.TEXT and self.first is self.last:
            label = structure.bold_heading(self.first.body)
            if label:
                kind, level = Kind.HEADING, structure.BOLD
        self.blocks.append(Block(kind, self.first.start, self.last.end, level, label))
        self.kind = None

    def _open(self, kind: Kind, line: Line) -> None:
        self.close()
        self.kind, self.first, self.last = kind, line, line

    def _single(self, kind: Kind, line: Line, level: int = 0, label: str = "") -> None:
        self.close()
        self.blocks.append(Block(kind, line.start, line.end, level, label))

    def _continues(self, line: Line) -> bool:
        if self.kind is Kind.ITEM:
            return not line.gap or line.indent > self.first.indent
        return self.kind is Kind.TEXT and not line.gap

    def _is_amid(self, line: Line) -> bool:
        """Whether the line goes on with a sentence: "as set out in⏎Section 5.1." is no heading."""
        return self._continues(line) and not self.last.body.rstrip(_CLOSERS).endswith(_STOPS)

    # ── code ────────────────────────────────────────────────────────────────────────────

    def _fence(self, line: Line) -> str:
        """The fence that the line opens, if a later line closes it."""
        mark = line.body[0]
        rest = line.body.lstrip(mark)
        fence = line.body[: len(line.body) - len(rest)]
        if len(fence) < _MIN_MARKS or (mark == "`" and mark in rest):
            return ""
        return fence if self.closers.after(line.start, fence) else ""

    def _open_code(self, line: Line, fence: str) -> None:
        self.fence = fence
        self.fence_in_item = self.kind is Kind.ITEM and line.indent > self.first.indent
        if self.fence_in_item:
            self.last = line
        else:
            self._open(Kind.CODE, line)

    def _read_code(self, line: Line) -> None:
        self.last = line
        if line.body.startswith(self.fence) and not line.body.strip(self.fence[0]):
            self.fence = ""
            if not self.fence_in_item:
                self.close()

    # ── headings by underline, tables ───────────────────────────────────────────────────

    def _is_underline(self, line: Line) -> bool:
        one = self.kind is Kind.TEXT and self.first is self.last and not line.gap
        return one and len(line.body) >= _MIN_MARKS and not line.body.strip(line.body[0])

    def _underline(self, line: Line) -> None:
        title = self.first
        self.kind = None
        self.blocks.append(
            Block(Kind.HEADING, title.start, line.end, _UNDERLINES[line.body[0]], title.body.strip("*_ "))
        )

    def _is_row(self, line: Line) -> bool:
        if line.body[0] == "|" and line.body.count("|") > 1:
            return True
        if line.gap:
            return False
        return self.kind is Kind.TABLE or self._starts_table(line)

    def _starts_table(self, line: Line) -> bool:
        """Whether the line before, read as text, turns out to be a table's first row."""
        if self.kind is not Kind.TEXT or "|" not in self.last.body:
            return False
        bars = line.body.count(" | ")
        return is_delimiter(line.body) or (bars > 0 and bars == self.last.body.count(" | "))

    def _read_row(self, line: Line) -> None:
        if self.kind is Kind.TABLE and not line.gap:
            self.last = line
        elif not line.gap and self._starts_table(line):
            head = self.last
            if self.first is head:
                self.kind = None
            else:
                self.last = self.before
                self.close()
            self._open(Kind.TABLE, head)
            self.last = line
        else:
            self._open(Kind.TABLE, line)


class _Closers:
    """Lines that consist of a code fence alone: which fences will be closed."""

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self.longest: list[dict[str, int]] = []
        if "```" not in text and "~~~" not in text:
            return
        bare = [
            (line.start, line.body[0], len(line.body))
            for line in _lines(text)
            if line.body[0] in "`~" and len(line.body) >= _MIN_MARKS and not line.body.strip(line.body[0])
        ]
        longest = {"`": 0, "~": 0}
        for start, mark, length in reversed(bare):
            longest = {**longest, mark: max(longest[mark], length)}
            self.starts.append(start)
            self.longest.append(longest)
        self.starts.reverse()
        self.longest.reverse()

    def after(self, start: int, fence: str) -> bool:
        """Whether a line after the one at `start` closes `fence`."""
        at = bisect_right(self.starts, start)
        return at < len(self.starts) and self.longest[at][fence[0]] >= len(fence)


def _heading_level(body: str) -> int:
    """1 to 6 for `# …`, else 0 (`#tag`, seven marks, marks alone)."""
    rest = body.lstrip("#")
    level = len(body) - len(rest)
    return level if level <= _MAX_LEVEL and rest[:1] in {" ", "\t"} else 0


def _is_rule(body: str) -> bool:
    marks = body.replace(" ", "").replace("\t", "")
    return len(marks) >= _MIN_MARKS and not marks.strip(marks[0])
