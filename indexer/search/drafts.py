"""
Questions that a page seems to answer, drafted for a person to accept.

From what the page itself asks (headings and lines that end in a question mark), from its
headings, and from the rows of its price tables. A draft says where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from indexer.money import names_money

_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_MARKS = re.compile(r"[*_`]+|^[-+>\s]+|^\d+[.)]\s+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_RULE = re.compile(r"^[\s|:-]+$")
_MOST_WORDS = 25
_LEAST_LETTERS = 6
_PRICE = {"ru": "Сколько стоит: {}?", "kk": "{}: бағасы қанша?", "uk": "Скільки коштує: {}?"}
_PRICE_ELSE = "How much is: {}?"


class Draft(Struct, frozen=True, kw_only=True):
    """A question; `origin`: `question`, `heading` or `price`, the most certain first."""

    question: str
    origin: str


def drafts(text: str, *, title: str = "", language: str = "") -> Iterator[Draft]:
    """Drafts from a page's markdown, in its order; a question may come more than once."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or not line.strip():
            continue
        heading = _HEADING.match(line)
        plain = _plain(heading.group(1) if heading else line)
        if plain.endswith("?") and _is_short(plain):
            yield Draft(question=plain, origin="question")
        elif heading and _is_short(plain) and plain.casefold() != title.casefold():
            yield Draft(question=f"{title}: {plain}" if title else plain, origin="heading")
        elif line.lstrip().startswith("|") and not _RULE.match(line):
            yield from _priced(line, language)


def _priced(row: str, language: str) -> Iterator[Draft]:
    cells = [_plain(cell) for cell in row.strip().strip("|").split("|")]
    if len(cells) > 1 and _is_short(cells[0]) and any(names_money(cell) for cell in cells[1:]):
        yield Draft(question=_PRICE.get(language, _PRICE_ELSE).format(cells[0]), origin="price")


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", text)).split())


def _is_short(text: str) -> bool:
    return len(text.split()) <= _MOST_WORDS and sum(map(str.isalpha, text)) >= _LEAST_LETTERS
