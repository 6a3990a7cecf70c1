"""
The page as a list of blocks in reading order, each in its frames.

A block is what a browser shows as one line box: a paragraph, heading, list item, table row.
A frame is an element that blocks stand in; a block keeps its innermost one, and frames
know the range of blocks inside them.
"""

from __future__ import annotations

from indexer.extract.text import count_words

KINDS = ("p", "h", "li", "pre", "row", "dt", "dd", "summary", "caption", "button", "option")
PARTS = frozenset(("div", "section", "article", "a", "aside", "figure", "fieldset"))  # what a card is made of


class Frame:
    """
    An element that breaks lines, with the range `first:last` of blocks inside it.

    `names`: its class, id and role. `inside`: `markup.Inside` of it and all around it.
    `level`: how many lists it stands in. `children`: shape of child frames → how many.
    """

    __slots__ = ("children", "depth", "first", "inside", "last", "level", "names", "parent", "shape", "tag")

    def __init__(self, tag: str, parent: Frame | None, names: str, inside: int, first: int) -> None:
        self.tag = tag
        self.parent = parent
        self.names = names
        self.inside = inside
        self.depth: int = parent.depth + 1 if parent else 0
        self.level: int = parent.level if parent else 0
        self.shape = tag + "." + names
        self.children: dict[str, int] = {}
        self.first = self.last = first
        if parent is not None:
            parent.children[self.shape] = parent.children.get(self.shape, 0) + 1

    def holds(self, block: Block) -> bool:
        """Whether *block* stands in this frame."""
        frame: Frame | None = block.frame
        while frame is not None and frame.depth > self.depth:
            frame = frame.parent
        return frame is self


class Block:
    """
    One line box; `kind` is one of KINDS.

    `words`, `linked`: all words, and those in links. `links`: how many links. `level`: of a
    heading 1-6; of a list item its nesting from 1; of a table row 1 if it is a header.
    `number`: of an ordered item, `mark`: as it is written; `number` of a row: its columns. `cells`: a row's texts. `inner`:
    class names of elements within the line. `says`: `phrases.kinds_of` a short text, -1 until
    somebody asks.
    """

    __slots__ = (
        "cells",
        "frame",
        "inner",
        "kind",
        "level",
        "linked",
        "links",
        "mark",
        "number",
        "says",
        "section",
        "text",
        "words",
    )

    def __init__(self, kind: str, text: str, frame: Frame) -> None:
        self.kind = kind
        self.text = text
        self.frame = frame
        self.words = count_words(text)
        self.linked = 0
        self.links = 0
        self.level = 0
        self.number = 0
        self.mark = ""
        self.cells: list[str] = []
        self.inner = ""
        self.says = -1
        self.section = False
