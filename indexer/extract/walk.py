"""One walk over the parsed body makes its blocks. It keeps its own stack: nesting has no limit."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from indexer.contacts import says_contact
from indexer.extract import choices, hidden, inline, phrases, styles, tables, tabs
from indexer.extract.blocks import Block, Frame
from indexer.extract.markup import BY_ROLE, BY_TAG, HEADINGS, INLINE, LEAVES, LISTS, SKIPPED, VERBATIM, Inside
from indexer.extract.text import count_words, squeeze, visible

Attributes = dict[str, str | None]

_HIDDEN, _LINK, _ARIA_HIDDEN = Inside.HIDDEN.value, Inside.LINK.value, Inside.ARIA_HIDDEN.value
MAX_BLOCKS = 100_000
_MAX_CONTACTS = 200
_MAX_NAMES = 200  # characters of class names kept for a line
_NOSCRIPT_WORDS = 40  # less is "please enable JavaScript"
_NEAR = 8  # pieces of text looked back at
_ITEM_STEPS = 4  # elements between a list item and its text
_GUTTER = re.compile(
    r"(?:^| )(?:lineno|linenos|linenums|gutter|line-numbers?|line-numbers-rows|rouge-gutter)(?: |$)"
)
# a text of Chinese or Thai has no spaces either, and is none
_ADDRESS = re.compile(r"(?:https?:)?//\S+|[!-~]{120,}|data:\S+")
_KIND_BY_TAG = {"dt": "dt", "dd": "dd", "summary": "summary", "caption": "caption", "figcaption": "caption",
                "button": "button", "option": "option"}  # fmt: skip
_CLOSED_BY = frozenset(("td", "th", "table", "ul", "ol", "section", "article"))


class Walk:
    """
    `blocks` and `frames` are the result; `unseen`: what CSS hides for good; `contacts`: tel: and mailto: targets.

    `labels`: panels and what their tabs say. `cards`: links that hold lines of their own.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.frames: list[Frame] = []
        self.unseen: list[str] = []
        self.contacts: list[str] = []
        self.cards: list[Frame] = []
        self.labels: list[tuple[Frame, str]] = []
        self._tabs = tabs.Tabs()
        self._opened: list[Frame] = []  # links around what is being read
        self._openers: frozenset[str] | None = None
        self._frame = Frame("body", None, "", 0, 0)
        self.frames.append(self._frame)
        self._parts: list[str] = []  # of the line being read
        self._linked: list[str] = []
        self._links = 0
        self._inner = ""
        self._in_link = 0
        self._in_pre = 0
        self.cut = False  # the rest of the page was not read
        self._leaf: Frame | None = None  # the element that makes one line of all it holds
        self._counters: list[int] = []  # next numbers of the open lists, 0 if unordered
        self._marks: list[str] = []  # `type` of the open lists
        self._bulleted: set[int] = set()
        self._named: dict[str, tuple[bool, bool]] = {}

    def run(self, body: LexborNode) -> None:
        """Read everything in *body*."""
        self._body = body
        self._sheet = styles.Sheet(body.parent or body)
        opened: list[tuple[LexborNode, str, Frame]] = []
        node: LexborNode | None = body.child
        while node is not None and len(self.blocks) < MAX_BLOCKS:
            tag = node.tag or "-"
            if tag == "-text":
                self._text(node.text_content or "")
            elif tag == "br":
                self._parts.append("\n" if self._leaf is None else " ")
            elif tag in inline.SETS_APART and not self._in_pre:
                self._set_apart(node, tag)
            elif tag[0] != "-" and tag not in SKIPPED:
                child = node.child
                if (child is not None or tag == "hr") and self._enter(node, tag):
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
        self.cut = node is not None
        self._flush()
        while opened:
            self._leave(*opened.pop()[1:])
        self.frames[0].last = len(self.blocks)
        del self._body, self._sheet  # and with them the tree

    # -- texts

    def _text(self, text: str) -> None:
        if not text.isspace():
            self._parts.append(text)
            if self._in_link:
                self._linked.append(text)
        elif self._parts:
            self._parts.append(text if self._in_pre else " ")

    def _set_apart(self, node: LexborNode, tag: str) -> None:
        """A picture or a control within a line: a space, or what a field that cannot be changed says."""
        said = choices.fixed_value(node) if tag == "input" else ""
        if said and self._shows(node, tag):
            self._parts.append(f" {said} ")
        elif self._parts:
            option = tag == "input" and choices.begins_option(node, "".join(self._parts[-_NEAR:]))
            self._parts.append(" / " if option else " ")

    def _flush(self) -> None:
        """End the line being read."""
        parts = self._parts
        if not parts:
            return
        raw = visible("".join(parts))
        parts.clear()
        linked, self._linked = self._linked, []
        links, self._links = self._links, 0
        inner, self._inner = self._inner, ""
        if self._in_pre:
            text = raw.strip("\n").rstrip()
        elif "\n" in raw:
            text = "\n".join(filter(None, (" ".join(line.split()) for line in raw.split("\n"))))
        else:
            text = squeeze(raw)
        if not text or (not self._in_pre and _ADDRESS.fullmatch(text)):
            return
        block = self._block(text)
        block.linked = count_words(" ".join(linked)) if linked else 0
        block.links = links
        block.inner = inner
        self.blocks.append(block)

    def _block(self, text: str) -> Block:
        frame = own = self._leaf or self._frame
        if self._in_pre:
            return Block("pre", text, own)
        for _ in range(_ITEM_STEPS):
            tag = frame.tag
            if tag in HEADINGS:
                block = Block("h", squeeze(text), own)
                block.level = HEADINGS[tag]
                return block
            if tag == "li":
                return self._item(text, own, frame)
            if tag in _KIND_BY_TAG:
                return Block(_KIND_BY_TAG[tag], text, own)
            if frame.parent is None or tag in _CLOSED_BY:
                break
            frame = frame.parent
        return Block("p", text, own)

    def _item(self, text: str, own: Frame, item: Frame) -> Block:
        """A list item, or what follows its first line."""
        block = Block("p" if id(item) in self._bulleted else "li", text, own)
        if block.kind == "li":
            self._bulleted.add(id(item))
            block.number = self._counters[-1] if self._counters else 0
            block.mark = inline.list_mark(block.number, self._marks[-1]) if block.number else ""
        block.level = item.level
        return block

    # -- elements

    def _enter(self, node: LexborNode, tag: str) -> bool:
        """Whether to read inside. Opens a frame for what breaks the line."""
        attributes = node.attributes
        names = _names(attributes) if attributes else ""
        if names and self._is_unread(names, tag):
            return False
        if attributes:
            self._tabs.note(node, attributes, self._frame)
        concealed = hidden.how(attributes, self._sheet, tag) if attributes else styles.SEEN
        if concealed and not self._opens(node, attributes, names, concealed):
            return False
        if tag in INLINE:
            return self._enter_inline(node, tag, attributes, names)
        if _is_idle(node, tag, attributes):
            return False
        inside = self._frame.inside
        if tag != "form" or node.css_first("main,article,h1") is None:  # a page-wide form says nothing
            inside |= BY_TAG.get(tag, 0)
        if concealed == styles.CLOSED:
            inside |= _HIDDEN
        if self._in_link:
            inside |= _LINK
        if attributes:
            role = attributes.get("role")
            if role:
                inside |= BY_ROLE.get(role, 0)
            if attributes.get("aria-hidden") == "true":
                inside |= _ARIA_HIDDEN
            if tag == "button" and ("aria-expanded" in attributes or "aria-controls" in attributes):
                tag = "summary"
        if self._leaf is None:
            self._flush()
        elif self._parts:
            self._parts.append(" ")
        self._frame = frame = Frame(tag, self._frame, names, inside, len(self.blocks))
        self.frames.append(frame)
        if attributes and (label := self._tabs.label_of(attributes)):
            self.labels.append((frame, label))
        return self._enter_special(node, tag, frame)

    def _enter_special(self, node: LexborNode, tag: str, frame: Frame) -> bool:
        if tag == "table" and not self._in_pre and self._leaf is None:
            rows = tables.read_rows(node)
            if tables.holds_data(node, rows):
                self._table(rows, frame, tables.caption(node, self._shows))
                self._leave(tag, frame)
                return False
        elif tag in LISTS:
            frame.level += 1
            attributes = node.attributes
            first = _ordinal(attributes.get("start")) or 1
            self._counters.append(first if tag == "ol" else 0)
            self._marks.append(attributes.get("type") or "1")
        elif tag == "li" and self._counters and self._counters[-1]:
            self._counters[-1] = _ordinal(node.attributes.get("value")) or self._counters[-1]
        elif tag in VERBATIM:
            self._in_pre += 1
        if self._leaf is None and tag in LEAVES and not (tag in ("button", "summary") and _is_card(node)):
            self._leaf = frame
        return True

    def _enter_inline(self, node: LexborNode, tag: str, attributes: Attributes, names: str) -> bool:
        if names and len(self._inner) < _MAX_NAMES:
            self._inner += " " + names
        if self._parts and not self._in_pre:
            if inline.is_apart(node, tag, names):
                self._parts.append(" ")
            elif tag == "sup":
                self._parts.append(inline.raised(node, self._parts[-1]))
        if tag in inline.STRUCK and not self._in_pre:
            self._parts.append(inline.OPEN_STRUCK)
        if tag == "a":
            if self._leaf is None and inline.is_card(node):
                self._flush()
            self._in_link += 1
            self._links += 1
            self._open_card(names)
            target = attributes.get("href") or ""
            if target[:4] in ("tel:", "mail") and len(self.contacts) < _MAX_CONTACTS:
                self.contacts.append(target)
        return True

    def _open_card(self, names: str) -> None:
        """A link may be a card. It is no frame of the judges, who know frames of other elements."""
        begun = any(not part.isspace() for part in self._parts)  # a line that is not of the link
        card = Frame("a", None, names, self._frame.inside | _LINK, len(self.blocks) + begun)
        card.parent, card.depth, card.level = self._frame, self._frame.depth + 1, self._frame.level
        self._opened.append(card)

    def _close_card(self) -> None:
        card = self._opened.pop()
        if len(self.blocks) > card.first and card.parent is self._frame:
            self._flush()
            card.last = len(self.blocks)
            if card.last - card.first > 1:
                self.cards.append(card)

    def _is_unread(self, names: str, tag: str) -> bool:
        """Whether names say: numbers of code lines, or (within a line) words for screen readers only."""
        known = self._named.get(names)
        if known is None:
            known = self._named[names] = (_GUTTER.search(names) is not None, hidden.for_screen_readers(names))
        return known[0] or (known[1] and tag in INLINE)

    def _shows(self, node: LexborNode, tag: str) -> bool:
        """Whether to read an element inside a cell."""
        attributes = node.attributes
        names = _names(attributes)
        if names and self._is_unread(names, tag):
            return False
        concealed = hidden.how(attributes, self._sheet, tag)
        return not concealed or self._opens(node, attributes, names, concealed)

    def _opens(self, node: LexborNode, attributes: Attributes, names: str, concealed: str) -> bool:
        """Whether a hidden element is content that waits for a click; if not, its text is noted."""
        if concealed == styles.FADED:
            if hidden.appears(node, attributes):
                return True
        elif concealed == styles.CLOSED:
            if self._frame.inside & _HIDDEN:
                return True
            if self._openers is None:
                self._openers = hidden.controlled(self._body)
            if hidden.openable(node, attributes, names, self._openers):
                return True
        if concealed in (styles.FAINT, styles.CLOSED):
            veiled = concealed == styles.CLOSED
            if hidden.undone(node, attributes, self._sheet, veiled=veiled):
                return True
        text = squeeze(visible(hidden.readable(node)))
        if text:
            self.unseen.append(text)
        return False

    def _leave(self, tag: str, frame: Frame) -> None:
        if tag in INLINE:
            if tag == "a":
                self._in_link -= 1
                self._close_card()
            elif tag in inline.STRUCK and not self._in_pre:
                self._parts.append(inline.CLOSE_STRUCK)
            return
        if self._leaf is None or self._leaf is frame:
            self._flush()
        elif self._parts:
            self._parts.append(" ")
        if self._leaf is frame:
            self._leaf = None
        if tag in LISTS:
            self._counters.pop()
            self._marks.pop()
        elif tag == "li":
            if self._counters and self._counters[-1]:
                self._counters[-1] += 1
        elif tag in VERBATIM:
            self._in_pre -= 1
        frame.last = len(self.blocks)
        self._frame = frame.parent or frame

    def _table(self, rows: list[list[LexborNode]], frame: Frame, caption: str) -> None:
        """One block a row; reader and judge take the rows of a frame together."""
        if caption:
            self.blocks.append(Block("caption", caption, frame))
        for line in tables.to_lines(rows, self._shows):
            row = Frame("tr", frame, line.names, frame.inside, len(self.blocks))
            self.frames.append(row)
            block = Block("row", line.text(), row)
            block.cells = line.cells
            block.level = int(line.header)
            block.section = line.section
            block.number = len(line.cells)
            block.linked = min(block.words, round(block.words * line.linked / (len(block.text) or 1)))
            self.blocks.append(block)
            row.last = len(self.blocks)


def _ordinal(value: str | None) -> int:
    """The number that a list or an item is given; 0 if none is."""
    return int(value) if value and re.fullmatch(r"\d{1,8}", value, re.ASCII) else 0


def _names(attributes: Attributes) -> str:
    """Class, id and role in one string."""
    found = attributes.get("class") or ""
    identity = attributes.get("id")
    if identity:
        found = f"{found} #{identity}"
    role = attributes.get("role")
    if role:
        found = f"{found} @{role}"
    if "readcrumb" in (attributes.get("aria-label") or "") or "BreadcrumbList" in (
        attributes.get("itemtype") or ""
    ):
        found += " breadcrumb"
    return found


def _is_card(button: LexborNode) -> bool:
    """Whether a button wraps a heading or paragraphs: then its lines are blocks of their own."""
    return button.css_first("h1,h2,h3,h4,h5,h6,p,ul") is not None and button.css_first("p,ul") is not None


def _is_idle(node: LexborNode, tag: str, attributes: Attributes) -> bool:
    """Whether an element that may hold content does not: a request to switch scripts on, a choice that says nothing."""
    if tag == "noscript":
        text = node.text(separator=" ")
        return count_words(text) < _NOSCRIPT_WORDS and not says_contact(squeeze(text))
    if tag == "option":
        return "disabled" in attributes or phrases.is_placeholder(squeeze(node.text() or ""))
    return tag == "select" and choices.is_setting(node)
