"""
Legal and regulatory text: articles, points and sub-points as boundaries and as names.

Whether a text is of this kind is read from the text itself: articles (`Статья 23`,
`23-бап`, `Article 23`, `§ 5`) that count up and are divided into points, stand in chapters
or are referred to; or a document of numbered clauses (`1.1.`, `1.2.`, `2.1.`) from one end
to the other. A blog's numbered list, a series of posts or a price list is neither.

A point is written `2`, a sub-point `2/4)`, `4)` where the article has no points, and a
dotted one as it stands: `23.2.1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from indexer.chunk import structure
from indexer.chunk.blocks import Block, Kind
from indexer.chunk.numbering import Outline

AUTO, ALWAYS, NEVER = "auto", "always", "never"

_MANY_ARTICLES = 5
# Of five: points, chapters, references, headings that are numbers alone, many articles. One
# more where the word is "section", which manuals and courses are divided into as well.
_FEWEST_SIGNS = 2
_CHAPTERS = (structure.SECTION, structure.CHAPTER)
_BARE = re.compile(r"[^\W\d_]*\.?\s*№?\s*\S+|§\s*\S+")
_FEWEST_CLAUSES = 5
_CLAUSE_SHARE = 0.6  # of the text, that clauses must make up
_CLAUSE_LENGTH = 60  # characters of a middling clause: a sentence, not a row of a price list
_RUNNING = 0.7  # of neighbouring numbers, that must count up
_LONGEST_NAME = 120
_CLAUSE = re.compile(r"[*_\s]*(\d{1,3}(?:\.\d{1,3}){1,4})\.?[*_]*\s+\S")
_NAME = re.compile(r"[*_\s]*(\d{1,3})[.)][*_]*\s+(\S.*)")
_FIRST_POINT = re.compile(r"[*_(]*1[.)]")
_NEAR = 3  # blocks after an article's heading that its first point is among
_ENDS = (".", ";", ":", ",", "!", "?")
# How such texts refer to their own parts, and what they say of themselves.
_REFERENCE = re.compile(
    r"\b(?:настоящ(?:ей|его|ему|ими?|ем|ая|ие)\s+(?:стать|конституц|кодекс|закон|глав|раздел|правил|положени|договор)"
    r"|(?:пункт|подпункт|част|стать|абзац)\w{0,4}\s+\d|осы\s+(?:бап|конституция|заң|кодекс)|\d-(?:бап|тармақ)"
    r"|(?:this|that)\s+(?:article|section|act|regulation|directive|constitution|law|agreement)|(?:paragraph|article|section)s?\s+\(?\d"
    r"|pursuant\s+to|hereof|herein|shall\b|absatz\s+\d|gemäß\s+§)",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """
    Where a block stands. `article` and `point` are empty outside of any.

    `opens`: it begins an article or a point, a chunk of its own; `divides`: it begins a
    sub-point, where its point may be cut. `parent`: the headings above the article.
    """

    article: str = ""
    point: str = ""
    opens: bool = False
    divides: bool = False
    parent: str = ""


NOWHERE = Place()


def is_legal(text: str, blocks: Sequence[Block]) -> bool:
    """Whether the text is divided as laws and regulations are."""
    articles = _articles(blocks)
    if articles:
        return _has_articles(text, blocks, articles)
    return _has_clauses(text, blocks)


def places(text: str, blocks: Sequence[Block]) -> tuple[list[Block], list[Place]]:
    """
    The blocks of a legal text with the levels of its divisions, and where each stands.

    Headings of clauses that are written as items (`1. General provisions`) become headings.
    """
    reader = _Reader(text, blocks)
    found = [reader.read(number, block) for number, block in enumerate(blocks)]
    return [block for block, _ in found], [place for _, place in found]


def _articles(blocks: Sequence[Block]) -> dict[int, str]:
    """Index of a heading → article number. Where there are no articles, `§` is one."""
    found: dict[int, dict[int, str]] = {structure.ARTICLE: {}, structure.PARAGRAPH: {}}
    for index, block in enumerate(blocks):
        if block.kind is Kind.HEADING:
            level, number = structure.division(block.label)
            if level in found and number:
                found[level][index] = number
    articles = found[structure.ARTICLE] or found[structure.PARAGRAPH]
    return {index: number for index, number in articles.items() if not _is_entry(blocks, articles, index)}


def _is_entry(blocks: Sequence[Block], articles: dict[int, str], index: int) -> bool:
    """Whether an article is one of a table of contents: no body here, but the same number once more."""
    followed = index + 1 < len(blocks) and blocks[index + 1].kind is not Kind.HEADING
    return not followed and sum(number == articles[index] for number in articles.values()) > 1


def _has_articles(text: str, blocks: Sequence[Block], articles: dict[int, str]) -> bool:
    """Whether articles count up and enough speaks for their being those of a law."""
    labels = [blocks[index].label.strip("*_# ") for index in articles]
    signs = (
        any(_is_first_point(text, blocks, index) for index in articles),
        any(_is_chapter(block) for block in blocks),
        _refers(text, blocks),
        all(_BARE.fullmatch(label) for label in labels),
        len(articles) >= _MANY_ARTICLES,
    )
    fewest = _FEWEST_SIGNS + any(label.lower().startswith("section") for label in labels)
    if sum(signs) < fewest:
        return False
    if len(articles) == 1:
        before = blocks[: next(iter(articles))]
        divided = signs[0] or signs[1]
        return divided and all(_is_chapter(block) for block in before if block.kind is Kind.HEADING)
    numbers = [int("".join(takewhile(str.isdecimal, number)) or 0) for number in articles.values()]
    rising = [after >= before for before, after in pairwise(numbers)]
    return len(set(articles.values())) > 1 and sum(rising) >= _RUNNING * len(rising)


def _is_chapter(block: Block) -> bool:
    """Whether a heading is a division above articles: a section, a part, a chapter."""
    return block.kind is Kind.HEADING and structure.division(block.label)[0] in _CHAPTERS


def _refers(text: str, blocks: Sequence[Block]) -> bool:
    """Whether the text under the headings refers to articles, points or itself."""
    return any(
        _REFERENCE.search(text, block.start, block.end) for block in blocks if block.kind is not Kind.HEADING
    )


def _is_first_point(text: str, blocks: Sequence[Block], heading: int) -> bool:
    """Whether points follow the heading: `1.`, `1)` or `(1)`."""
    return any(
        block.kind in (Kind.ITEM, Kind.TEXT) and _FIRST_POINT.match(text, block.start, block.end)
        for block in blocks[heading + 1 : heading + 1 + _NEAR]
    )


def _has_clauses(text: str, blocks: Sequence[Block]) -> bool:
    """Whether numbered clauses of two levels count up through most of the text, in sentences."""
    numbers: list[tuple[int, ...]] = []
    lengths: list[int] = []
    total = inside = 0
    for block in blocks:
        total += block.end - block.start
        clause = _clause(text, block)
        if clause:
            numbers.append(clause)
            lengths.append(block.end - block.start)
        if numbers and block.kind is not Kind.TABLE:
            inside += block.end - block.start
    if len(numbers) < _FEWEST_CLAUSES or inside < _CLAUSE_SHARE * total:
        return False
    if sorted(lengths)[len(lengths) // 2] < _CLAUSE_LENGTH or not _refers(text, blocks):
        return False
    rising = sum(before < after for before, after in pairwise(numbers))
    chapters = {number[0] for number in numbers}
    share = sum(lengths) / max(inside, 1)
    return rising >= _RUNNING * (len(numbers) - 1) and len(chapters) > 1 and share >= _CLAUSE_SHARE / 2


def _clause(text: str, block: Block) -> tuple[int, ...]:
    if block.kind not in (Kind.ITEM, Kind.TEXT):
        return ()
    match = _CLAUSE.match(text, block.start, block.end)
    return tuple(map(int, match[1].split("."))) if match else ()


class _Reader:
    """Walks the blocks and keeps the article and the outline of its points."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self.text = text
        self.blocks = blocks
        self.articles = _articles(blocks)
        self.by_clauses = not self.articles
        self.article = ""
        self.marks = 0  # of markdown, in the open article's heading
        self.outline = Outline()
        self.indent: int | None = None  # of the article's first point
        self.announced = False  # the text before ended in a colon: what follows is one sentence

    def read(self, index: int, block: Block) -> tuple[Block, Place]:
        """One block and where it stands."""
        if block.kind is Kind.HEADING:
            return self._heading(index, block)
        if self.by_clauses and (heading := self._clause_heading(index, block)):
            return self._heading(index, heading)
        if not (self.article or self.by_clauses):
            return block, NOWHERE
        if block.kind in (Kind.ITEM, Kind.TEXT):
            return block, self._point(block)
        return block, Place(self.article, self.outline.label)

    def _heading(self, index: int, block: Block) -> tuple[Block, Place]:
        level, _ = structure.division(block.label)
        number = self.articles.get(index, "")
        if number:
            self.article, self.marks = number, block.level
            self._restart(block.label)
            return block._replace(level=structure.ARTICLE), Place(number, opens=True)
        if level in (structure.ARTICLE, structure.PARAGRAPH) and not self.by_clauses:
            self.article = ""
            return block, NOWHERE
        inside = self.article and not level and block.level > self.marks
        if inside:
            return block._replace(level=structure.BOLD), Place(self.article, self.outline.label)
        self.article = ""
        self._restart(block.label)
        return block._replace(level=level or block.level), NOWHERE

    def _restart(self, label: str) -> None:
        self.outline = Outline()
        self.indent = None
        self.announced = label.rstrip("*_ ").endswith(":")

    def _clause_heading(self, index: int, block: Block) -> Block | None:
        """An item that only names the clauses after it, as a heading."""
        if block.kind not in (Kind.ITEM, Kind.TEXT) or block.end - block.start > _LONGEST_NAME:
            return None
        body = self.text[block.start : block.end]
        name = _NAME.fullmatch(body)
        following = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
        if name is None or following is None or body.rstrip("*_ ").endswith(_ENDS):
            return None
        clause = _clause(self.text, following)
        if not clause or clause[0] != int(name[1]):
            return None
        return block._replace(kind=Kind.HEADING, level=structure.CHAPTER, label=body.strip("*_ "))

    def _point(self, block: Block) -> Place:
        body = self.text[block.start : block.end]
        announced, self.announced = self.announced, body.rstrip("*_ ").endswith(":")
        before = self.outline.depth
        if self.indent is None and block.kind is Kind.ITEM:
            self.indent = block.level
        inside = self.indent is not None and block.level > self.indent
        if not self.outline.read(body, announced=announced, inside=inside):
            self.announced = self.announced or (announced and before == self.outline.depth == 0)
            return Place(self.article, self.outline.label)
        own = self.outline.is_own
        return Place(self.article, self.outline.label, opens=own, divides=not own)


def cover(found: Sequence[Place]) -> tuple[str, str, tuple[str, ...], str]:
    """
    Article, point, all points and parent of a chunk over these places.

    The point is the deepest that holds all of the chunk; the points are those that any of
    it belongs to, with those they are part of.
    """
    one = found[0]
    if any((place.article, place.parent) != (one.article, one.parent) for place in found):
        return "", "", (), ""
    labels = list(dict.fromkeys(place.point for place in found))
    if not one.article and not any(labels):
        return "", "", (), ""
    points = dict.fromkeys(part for label in labels for part in _lineage(label))
    shared = [set(_lineage(label)) for label in labels]
    common = [part for part in points if all(part in lineage for lineage in shared)]
    return one.article, common[-1] if common else "", tuple(points), one.parent


def _lineage(label: str) -> Iterator[str]:
    """`2/4)/а)` → `2`, `2/4)`, `2/4)/а)`; `23.2.1` → `23.2`, `23.2.1`."""
    parts = label.split("/") if label else []
    dotted = parts[0].split(".") if parts else []
    for depth in range(2, len(dotted)):
        yield ".".join(dotted[:depth])
    for depth in range(1, len(parts) + 1):
        yield "/".join(parts[:depth])
