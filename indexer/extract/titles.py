"""
Lines that name what follows although no heading element says so: of cards, accordions, tabs.

Without a name of its own a card's text would be about whatever heading stands before the
grid. A name is short, stands first in a part of the page that has more to say, and either
its class says what it is, or the parts beside it are built in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from indexer.extract import phrases
from indexer.extract.blocks import PARTS, Block, Frame

_LONGEST = 12  # words of a name
_TELLS = 5  # words that make a text of what a name names
_ALIKE, _ALIKE_NAMELESS = 2, 3  # parts built alike, with class names and without any
_SHARE = 0.6  # of the parts beside each other
_DEEPEST = 6
_LARGEST = 100  # blocks of a card; a larger part is a page
_NAMED = re.compile(
    r"(?:^|[\s_-])(?:title|heading|headline|question|faq-?q|accordion[_-]*(?:button|header|head|trigger|toggle|label)"
    r"|(?:card|panel|item|toggle|collapse)[_-]*(?:header|head|name|label|title))(?:$|[\s_-])",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"comment|repl(?:y|ies)|message|author|user|byline|meta|date|time|testimonial|review|menu|crumb|footer|price|cost|address"
    r"|phone|contact|tag|badge|label|sub-?title|button|btn",
    re.IGNORECASE,
)
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_DATE = 1 << phrases.NAMES.index("byline")
_HEADS = frozenset(("h", "summary", "dt"))


def named(blocks: Sequence[Block], labels: Sequence[tuple[Frame, str]]) -> list[Block]:
    """*blocks*, those that are names as headings. *labels*: panels and what their tabs say."""
    out = list(blocks)
    for at, part in _names(blocks):
        out[at] = _heading(blocks[at].text, part)
    return _with_labels(out, labels) if labels else out


def _heading(text: str, part: Frame) -> Block:
    return Block("summary", text.rstrip(": "), part)


def _names(blocks: Sequence[Block]) -> Iterator[tuple[int, Frame]]:
    """(index of a name, the part of the page that it names)."""
    spans = _Spans(blocks)
    found: list[tuple[int, Frame, bool]] = []
    for at, block in enumerate(blocks):
        if block.kind == "p" and _is_declared(block):
            yield at, block.frame.parent or block.frame
        if not _may_name(block):
            continue
        says = _NAMED.search(block.inner + " " + block.frame.names) is not None
        part = spans.part_of(at)
        if part is not None and _NO_NAME.search(block.inner + " " + part.names) is None:
            found.append((at, part, says))
        elif says and spans.leads(at):
            found.append((at, block.frame.parent or block.frame, says))
    alike = Counter((id(part.parent), part.tag) for _, part, _ in found)
    for at, part, says in found:
        beside = alike[id(part.parent), part.tag]
        least = _ALIKE if part.names else _ALIKE_NAMELESS
        if says or (beside >= least and beside >= _SHARE * spans.children(part)):
            yield at, part


def _is_declared(block: Block) -> bool:
    """Whether an element around the line has the role of a heading."""
    return any("@heading" in frame.names for frame in (block.frame, block.frame.parent) if frame is not None)


def _may_name(block: Block) -> bool:
    text = block.text
    if block.kind not in ("p", "button") or block.words > _LONGEST or "\n" in text or text[-1] in ".!,;…":
        return False
    letters, digits = len(_LETTER.findall(text)), len(_DIGIT.findall(text))
    if (
        letters < 2
        or digits > letters
        or _NO_NAME.search(block.inner + " " + block.frame.names.partition("#")[0])
    ):
        return _NAMED.search(block.inner + " " + block.frame.names) is not None and letters > digits
    return not (digits and phrases.kinds_of(phrases.tokens_of(text)) & _DATE)


class _Spans:
    """Which blocks stand in which elements: `range of indices` of each, by its identity."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self.spans: dict[int, tuple[int, int]] = {}
        self._children: Counter[tuple[int, str]] = Counter()
        opened: list[Frame] = []  # the elements around the last block, outermost first
        for at, block in enumerate(blocks):
            entered: list[Frame] = []
            frame: Frame | None = block.frame
            while frame is not None and id(frame) not in self.spans:
                entered.append(frame)
                self.spans[id(frame)] = (at, len(blocks))
                self._children[id(frame.parent), frame.tag] += 1
                frame = frame.parent
            while opened and opened[-1] is not frame:
                self._close(opened.pop(), at)
            opened += reversed(entered)
        for frame in opened:
            self._close(frame, len(blocks))

    def _close(self, frame: Frame, at: int) -> None:
        self.spans[id(frame)] = (self.spans[id(frame)][0], at)

    def children(self, part: Frame) -> int:
        """How many elements like *part* stand beside it, itself among them."""
        return self._children[id(part.parent), part.tag]

    def part_of(self, at: int) -> Frame | None:
        """The innermost element that begins with a block and has more to say, without headings of its own."""
        frame: Frame | None = self._blocks[at].frame
        for _ in range(_DEEPEST):
            if frame is None or frame.tag not in (*PARTS, "p", "span", "header"):
                return None
            first, last = self.spans[id(frame)]
            if first != at:
                return None
            if last > at + _LARGEST:
                return None
            if last > at + 1:
                return frame if frame.tag in PARTS and self._tells(at + 1, last) else None
            frame = frame.parent
        return None

    def leads(self, at: int) -> bool:
        """Whether a text follows in the element beside the block's own."""
        if at + 1 >= len(self._blocks):
            return False
        frame, following = self._blocks[at].frame, self._blocks[at + 1].frame
        near: Frame | None = following
        while near is not None and near.depth > frame.depth:
            near = near.parent
        return (
            near is not None
            and near.parent is frame.parent
            and near is not frame
            and self._tells(at + 1, at + 2)
        )

    def _tells(self, first: int, last: int) -> bool:
        inside = self._blocks[first:last]
        told = (sum if len(inside) > 1 else max)(b.words for b in inside)
        return told >= _TELLS and not any(b.kind in _HEADS for b in inside)


def _with_labels(blocks: list[Block], labels: Sequence[tuple[Frame, str]]) -> list[Block]:
    """Each panel under the label of its tab; the labels that stood beside each other are gone."""
    spans = _Spans(blocks).spans
    heads: dict[int, Block] = {}
    moved: set[str] = set()
    levels: dict[int, int] = {}
    for frame, label in labels:
        span = spans.get(id(frame))
        if span is None or blocks[span[0]].text == label:
            continue
        first, last = span
        if first and blocks[first - 1].text == label:
            if blocks[first - 1].kind not in _HEADS:
                blocks[first - 1] = _heading(label, frame)
            continue
        rank = next((b.level for b in reversed(blocks[:first]) if b.kind == "h"), 1)
        level = levels.setdefault(id(frame.parent), min(rank + 1, 6))
        head = heads[first] = Block("h", label, frame)
        head.level = level
        moved.add(label)
        _lower(blocks, first, last, level)
    panels = [spans[id(frame)] for frame, _ in labels if id(frame) in spans]
    start = min((first for first, _ in panels), default=0)
    out: list[Block] = []
    for at, block in enumerate(blocks):
        if at in heads:
            out.append(heads[at])
        if not (at < start and block.text in moved and block.kind != "h"):
            out.append(block)
    return out


def _lower(blocks: list[Block], first: int, last: int, level: int) -> None:
    """Headings in a panel stand below its label."""
    highest = min((b.level for b in blocks[first:last] if b.kind == "h"), default=9)
    for at in range(first, last):
        block = blocks[at]
        if block.kind == "h" and highest <= level:
            blocks[at] = lowered = Block("h", block.text, block.frame)
            lowered.level = min(block.level + level - highest + 1, 6)
