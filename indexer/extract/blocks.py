"""
One walk over the parsed body: the page as a list of blocks in reading order.

A block is what a browser shows as one line box: a paragraph, heading, list item, table.
A frame is an element that blocks stand in; a block keeps its innermost one, and frames
know the range of blocks inside them. The walk keeps its own stack: nesting has no limit.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from indexer.extract import hidden, tables
from indexer.extract.markup import BY_ROLE, BY_TAG, HEADINGS, INLINE, LEAVES, LISTS, SKIPPED, Inside
from indexer.extract.text import count_words, squeeze, visible

_MAX_BLOCKS = 20_000
_MAX_CONTACTS = 200
_GUTTER = re.compile(
    r"(?:^| )(?:lineno|linenos|linenums|gutter|line-numbers?|line-numbers-rows|rouge-gutter)(?: |$)"
)


class Frame:
    """An element that breaks lines, with the range `first:last` of blocks inside it."""

    __slots__ = ("children", "depth", "first", "inside", "last", "level", "names", "parent", "shape", "tag")

    def __init__(self, tag: str, parent: Frame | None, names: str, inside: int) -> None:
        self.tag = tag
        self.parent = parent
        self.names = names  # class, id and role
        self.inside = inside
        self.depth: int = parent.depth + 1 if parent else 0
        self.level: int = parent.level if parent else 0  # list nesting
        self.shape = tag + "." + names
        self.children: dict[str, int] = {}  # shape of children → how many
        self.first = self.last = 0


class Block:
    """
    One line box. `kind`: p, h, li, pre, table, dt, dd, summary, caption, button, option.

    `words`, `linked`: all words, and those in links. `level`: of a heading 1-6; of a list
    item its nesting from 1. `number`: of an ordered item. `rows`: a table's cells.
    """

    __slots__ = (
        "frame", "header", "inner", "kind", "level", "linked", "links", "number", "rows", "text", "words",
    )  # fmt: skip

    def __init__(self, kind: str, text: str, frame: Frame) -> None:
        self.kind = kind
        self.text = text
        self.frame = frame
        self.words = count_words(text)
        self.linked = 0
        self.links = 0
        self.level = 0
        self.number = 0
        self.header = 0
        self.rows: list[list[str]] | None = None
        self.inner = ""


class Walk:
    """The state of one walk. `blocks` and `frames` are its result; `unseen` what CSS hides for good."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.frames: list[Frame] = []
        self.unseen: list[str] = []
        self.contacts: list[str] = []  # targets of tel: and mailto: links
        self._openers: frozenset[str] | None = None
        self._frame = Frame("body", None, "", 0)
        self.frames.append(self._frame)
        self._parts: list[str] = []
        self._linked: list[str] = []
        self._links = 0
        self._in_link = 0
        self._inner = ""
        self._leaf: Frame | None = None
        self._pre = 0
        self._counters: list[int] = []
        self._bulleted: set[int] = set()

    def run(self, body: LexborNode) -> None:
        """Read everything in *body*."""
        self._body = body
        opened: list[tuple[LexborNode, str, Frame | None]] = []
        node: LexborNode | None = body.child
        while node is not None and len(self.blocks) < _MAX_BLOCKS:
            tag = node.tag or "-"
            if tag == "-text":
                self._text(node.text_content or "")
            elif tag[0] != "-" and tag not in SKIPPED:
                child = node.child
                if tag == "br":
                    self._parts.append("\n" if self._leaf is None else " ")
                elif (child is not None or tag == "hr") and self._enter(node, tag):
                    opened.append((node, tag, self._frame))
                    if child is not None:
                        node = child
                        continue
                    self._leave(*opened.pop()[1:])
            following = node.next
            while following is None and opened:
                node, tag, frame = opened.pop()
                self._leave(tag, frame)
                following = node.next
            node = following
        self._flush()
        while opened:
            self._leave(*opened.pop()[1:])
        for frame in self.frames[:1]:
            frame.last = len(self.blocks)

    # -- texts

    def _text(self, text: str) -> None:
        if not text.isspace():
            self._parts.append(text)
            if self._in_link:
                self._linked.append(text)
        elif self._parts:
            self._parts.append(text if self._pre else " ")

    def _flush(self) -> None:
        parts = self._parts
        if not parts:
            return
        raw = visible("".join(parts))
        parts.clear()
        linked, self._linked = self._linked, []
        links, self._links = self._links, 0
        inner, self._inner = self._inner, ""
        if self._pre:
            text = raw.strip("\n").rstrip()
        elif "\n" in raw:
            text = _lines(raw)
        else:
            text = squeeze(raw)
        if not text:
            return
        block = self._make(text)
        block.linked = count_words(" ".join(linked)) if linked else 0
        block.links = links
        block.inner = inner
        self.blocks.append(block)

    def _make(self, text: str) -> Block:
        frame: Frame | None = self._leaf or self._frame
        assert frame is not None
        own = frame
        if self._pre:
            return Block("pre", text, own)
        steps = 0
        while frame is not None and steps < 4:
            tag = frame.tag
            if tag in HEADINGS:
                block = Block("h", squeeze(text), own)
                block.level = HEADINGS[tag]
                return block
            if tag == "li":
                return self._item(text, own, frame)
            if tag in ("dt", "dd", "summary", "caption", "button", "option", "figcaption"):
                return Block("caption" if tag == "figcaption" else tag, text, own)
            if frame.parent is None or tag in ("td", "th", "table", "ul", "ol", "section", "article"):
                break
            frame = frame.parent
            steps += 1
        return Block("p", text, own)

    def _item(self, text: str, own: Frame, item: Frame) -> Block:
        if id(item) in self._bulleted:
            block = Block("p", text, own)
        else:
            self._bulleted.add(id(item))
            block = Block("li", text, own)
            block.number = self._counters[-1] if self._counters else 0
        block.level = item.level
        return block

    # -- elements

    def _enter(self, node: LexborNode, tag: str) -> bool:
        """Whether to read inside. Opens a frame for what breaks the line."""
        attributes = node.attributes
        if tag in INLINE:
            return self._enter_inline(node, tag, attributes)
        parent = self._frame
        names = _names(attributes)
        if names and _GUTTER.search(names):
            return False
        inside = parent.inside | BY_TAG.get(tag, 0)
        if attributes:
            role = attributes.get("role")
            if role:
                inside |= BY_ROLE.get(role, 0)
            if attributes.get("aria-hidden") == "true":
                inside |= Inside.ARIA_HIDDEN
            concealed = hidden.how(attributes)
            if concealed and not self._opens(node, attributes, names, concealed):
                return False
            if concealed:
                inside |= Inside.HIDDEN
        if tag == "noscript" and count_words(node.text(separator=" ")) < 40:  # noqa: PLR2004
            return False
        if self._leaf is None:
            self._flush()
        elif self._parts:
            self._parts.append(" ")
        frame = Frame(tag, parent, names, inside | (Inside.LINK if self._in_link else 0))
        shape = frame.shape
        parent.children[shape] = parent.children.get(shape, 0) + 1
        frame.first = len(self.blocks)
        self._frame = frame
        self.frames.append(frame)
        return self._special(node, tag, frame)

    def _special(self, node: LexborNode, tag: str, frame: Frame) -> bool:
        if tag == "table" and not self._pre and self._leaf is None:
            rows = tables.read_rows(node)
            if tables.holds_data(node, rows):
                self._table(rows, frame)
                self._leave(tag, frame)
                return False
        if tag in LISTS:
            frame.level += 1
            start = node.attributes.get("start") or "1"
            ordered = tag == "ol" and len(start) < 9  # noqa: PLR2004
            self._counters.append(
                int(start) if ordered and start.isascii() and start.isdigit() else int(ordered)
            )
        elif tag == "pre" or tag in ("listing", "xmp", "plaintext"):
            self._pre += 1
        if self._leaf is None and tag in LEAVES and (tag != "button" or not _has_heading(node)):
            self._leaf = frame
        return True

    def _enter_inline(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> bool:
        if attributes:
            names = _names(attributes)
            if "style" in attributes or "hidden" in attributes:
                concealed = hidden.how(attributes)
                if concealed and not self._opens(node, attributes, names, concealed):
                    return False
            if names:
                if hidden.for_screen_readers(names) or _GUTTER.search(names):
                    return False
                if len(self._inner) < 200:  # noqa: PLR2004
                    self._inner += " " + names
                if tag == "span" and self._parts and not self._pre and _is_cell(node, attributes):
                    self._parts.append(" ")
        if tag == "a":
            self._in_link += 1
            self._links += 1
            target = attributes.get("href") or ""
            if target[:4] in ("tel:", "mail") and len(self.contacts) < _MAX_CONTACTS:
                self.contacts.append(target)
        return True

    def _opens(self, node: LexborNode, attributes: dict[str, str | None], names: str, concealed: str) -> bool:
        """Whether a hidden element is content that waits for a click; if not, its text is noted."""
        if concealed != hidden.GONE:
            if self._frame.inside & Inside.HIDDEN:
                return True
            if self._openers is None:
                self._openers = hidden.controlled(self._body)
            if hidden.openable(node, attributes, names, self._openers):
                return True
        text = squeeze(visible(hidden.readable(node)))
        if text:
            self.unseen.append(text)
        return False

    def _leave(self, tag: str, frame: Frame | None) -> None:
        if tag in INLINE:
            if tag == "a":
                self._in_link -= 1
            return
        assert frame is not None
        if self._leaf is None or self._leaf is frame:
            self._flush()
        elif self._parts:
            self._parts.append(" ")
        if self._leaf is frame:
            self._leaf = None
        if tag in LISTS and self._counters:
            self._counters.pop()
        elif tag == "li":
            if self._counters and self._counters[-1]:
                self._counters[-1] += 1
        elif tag in ("pre", "listing", "xmp", "plaintext"):
            self._pre -= 1
        frame.last = len(self.blocks)
        self._frame = frame.parent or frame

    def _table(self, rows: list[list[LexborNode]], frame: Frame) -> None:
        grid, header, linked = tables.to_grid(rows)
        if not grid:
            return
        block = Block("table", "\n".join(" ".join(filter(None, line)) for line in grid), frame)
        block.rows = grid
        block.header = header
        size = len(block.text) or 1
        block.linked = min(block.words, round(block.words * linked / size))
        self.blocks.append(block)


def _names(attributes: dict[str, str | None]) -> str:
    """Class, id and role in one string."""
    found = attributes.get("class") or ""
    identity = attributes.get("id")
    if identity:
        found = f"{found} #{identity}"
    role = attributes.get("role")
    return f"{found} @{role}" if role else found


def _lines(raw: str) -> str:
    lines = [" ".join(line.split()) for line in raw.split("\n")]
    return "\n".join(filter(None, lines))


def _has_heading(node: LexborNode) -> bool:
    return node.css_first("h1,h2,h3,h4,h5,h6,p,ul") is not None


def _is_cell(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """A span that style sheets set apart from the span before it: name and price in one row."""
    before = node.prev
    if before is None or before.tag != "span":
        return False
    parent = node.parent
    if parent is None or parent.tag in ("p", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6"):
        return False
    other = before.attributes.get("class")
    own = attributes.get("class")
    return bool(own and other and own != other)
