"""
The outline of numbered points: `1.`, `1)`, `(1)`, `а)`, `(a)`, `(iv)`, `п. 2`, `23.2.1`.

A mark goes on with the list that it continues, or begins a list inside the open point;
one that fits neither is text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MARK = re.compile(
    r"(?:[-*+•–—]\s+)?[*_(\s]*?"
    r"(?:(?P<word>подпункт|пункт|пп\.|п\.|para(?:graph)?\.?|clause)\s*(?P<named>\d{1,3}(?:\.\d{1,3})*)[.):,]?"
    r"|(?P<dotted>\d{1,3}(?:\.\d{1,3}){1,4})[.)]?"
    r"|\((?P<inner>\d{1,3}(?:-\d{1,2})?|[^\W\d_]|[ivx]{2,5})\)"
    r"|(?P<number>\d{1,3}(?:-\d{1,2})?)(?P<close>[.)])"
    r"|(?P<letter>[^\W\d_]|[ivx]{2,5})\))[*_]*(?=\s)",
    re.IGNORECASE,
)
_RUSSIAN = "абвгдеёжзийклмнопрстуфхцчшщэюя"
_KAZAKH = "аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщ"
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")
_LATEST_START = 3  # the number that a list may begin with: what is before may have been repealed
_WIDEST_GAP, _WIDEST_GAP_OF_LETTERS = 10, 3  # marks that may be missing in a list
_WORDS = {"пункт": "п", "подпункт": "пп"}


class Mark(NamedTuple):
    """`style`: which marks are of one list; `label`: as the point is called; `order`: its place."""

    style: str
    label: str
    order: tuple[int, ...]


class _Open(NamedTuple):
    mark: Mark
    own: bool  # a provision of its own, not a part of a sentence


class Outline:
    """The open points of an article, outermost first."""

    def __init__(self) -> None:
        self._open: list[_Open] = []

    @property
    def depth(self) -> int:
        """How many points are open inside each other."""
        return len(self._open)

    @property
    def label(self) -> str:
        """The path of the open point; empty if none is."""
        labels: list[str] = []
        for mark, _ in self._open:
            labels = [mark.label] if mark.style == "dotted" else [*labels, mark.label]
        return "/".join(labels)

    @property
    def is_own(self) -> bool:
        """Whether the open point is a provision of its own: the outermost, and not part of a sentence."""
        return bool(self._open) and self._open[-1].own

    def read(self, body: str, *, announced: bool, inside: bool = False) -> bool:
        """
        Whether a block begins a point, which is then the open one.

        `announced`: after a colon. `inside`: set further in than the points, so that `1.` is a sub-point.
        """
        for mark in _set_in(marks(body)) if inside else marks(body):
            level = self._continued(mark)
            if level is not None:
                own = self._open[level].own
                self._open[level:] = [_Open(mark, own)]
                return True
            if self._begins(mark):
                self._begin(mark, announced=announced)
                return True
        return False

    def _continued(self, mark: Mark) -> int | None:
        """The level whose list `mark` goes on with: the innermost that fits."""
        if mark.style == "dotted":
            return next(
                (level for level, (other, _) in enumerate(self._open) if other.style == "dotted"), None
            )
        for level in range(len(self._open) - 1, -1, -1):
            other = self._open[level].mark
            gap = _WIDEST_GAP if "1" in mark.style else _WIDEST_GAP_OF_LETTERS
            if other.style == mark.style and other.order < mark.order < (other.order[0] + gap + 1,):
                return level
        return None

    def _begins(self, mark: Mark) -> bool:
        if mark.style == "dotted":
            return True
        again = any(other.style == mark.style for other, _ in self._open)
        return mark.order[0] <= (1 if again else _LATEST_START)

    def _begin(self, mark: Mark, *, announced: bool) -> None:
        for level, (other, own) in enumerate(self._open):
            if other.style == mark.style:  # a second list of the same kind, in the same point
                self._open[level:] = [_Open(mark, own)]
                return
        if mark.style == "dotted":
            self._open.clear()
        self._open.append(_Open(mark, own=not self._open and not announced))


def marks(body: str) -> list[Mark]:
    """The ways to read what a block begins with as the mark of a point; none: it is text."""
    match = _MARK.match(body)
    if match is None:
        return []
    dotted = match["dotted"] or match["named"] or ""
    if "." in dotted:
        return [Mark("dotted", dotted, tuple(map(int, dotted.split("."))))]
    number = match["number"] or match["named"] or ""
    if number:
        close = "" if match["named"] or match["close"] == "." else ")"
        word = (match["word"] or "").lower().rstrip(".")
        style = f"1{_WORDS.get(word, word)}{match['close'] or ''}"
        return [Mark(style, number + close, _numbers(number))]
    inner, letter = (match["inner"] or "").lower(), (match["letter"] or "").lower()
    if inner and inner[0].isdigit():
        return [Mark("(1)", f"{inner})", _numbers(inner))]
    return _letters(inner or letter, style="(a)" if inner else "a)")


def _set_in(found: list[Mark]) -> list[Mark]:
    return [Mark("1.+", f"{one.label})", one.order) if one.style == "1." else one for one in found]


def _numbers(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split("-")))


def _letters(letter: str, *, style: str) -> list[Mark]:
    found = [
        Mark(style + name, f"{letter})", (alphabet.index(letter) + 1,))
        for name, alphabet in (("r", _RUSSIAN), ("k", _KAZAKH), ("l", _LATIN))
        if len(letter) == 1 and letter in alphabet
    ]
    if letter in _ROMAN:
        found.append(Mark(f"{style}i", f"{letter})", (_ROMAN.index(letter) + 1,)))
    return found
