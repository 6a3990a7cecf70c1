"""
Finding a model's first words in the text they were copied from.

Both are reduced to what survives copying: letters and digits in lower case, without
accents (so ё is е), everything else one space. Quotes, dashes, ellipses, case, white space
and markdown marks then no longer differ. The reduced text is made once per window, with
the offset each character came from; after that a search is `str.find`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import regex
from msgspec import Struct

from indexer.chunk.answer import Section

_WORD = regex.compile(r"[\p{L}\p{N}\p{M}\p{Cf}]+")
# Scripts that are written without spaces: a word may begin anywhere.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")
_PREFIXES = (6, 4)  # words that are enough where the rest was not copied well
_SHORTEST_PREFIX = 12
_SHORTEST = 3
_SHORT = 24  # so few characters may also occur in passing: the start of a line is preferred
_LINE_TRIES = 50
_OPENERS = "「『（《〈【“‘«([*_"
_LONGEST_STEP = 40  # how far a cut moves back to the start of its word
_FEWEST_CHARACTERS = 10  # of a window for each section that is looked for


class Boundary(Struct, frozen=True):
    """A section starts at `text[position]`. `topic` may be empty."""

    position: int
    topic: str


def locate(text: str, start: int, end: int, sections: Sequence[Section]) -> list[Boundary]:
    """
    Where the sections start in `text[start:end]`: ascending, each place once.

    Each is searched after the one before. What is not found there is taken from elsewhere
    in the window if it occurs there exactly once: the model lost the order, not the words.
    """
    hay = _Haystack(text, start, end)
    topics: dict[int, str] = {}  # index into the reduced text → topic
    missed: dict[str, str] = {}
    after = 1
    for section in sections[: max(end - start, 1) // _FEWEST_CHARACTERS + 1]:
        needle = reduce(section.starts)
        if len(needle) < _SHORTEST or needle in missed or not any(map(str.isalpha, needle)):
            continue
        found = hay.find_anchor(needle, after)
        if found < 0:
            missed[needle] = section.topic
        else:
            topics[found] = section.topic
            after = found + 1
    for needle, topic in missed.items():
        found = hay.find(needle, 1)
        if found >= 0 and found not in topics and hay.find(needle, found + 1) < 0:
            topics[found] = topic
    return [Boundary(hay.position(index), topics[index]) for index in sorted(topics)]


def reduce(words: str) -> str:
    """The reduced form of a few words."""
    return " ".join(filter(None, (_reduce(match.group(), 0)[0] for match in _WORD.finditer(words))))


class _Haystack:
    """The reduced text of a window; `offsets[i]` is where `reduced[i]` came from."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.start = start
        pieces = [" "]
        self.offsets = [start]
        for match in _WORD.finditer(text, start, end):
            reduced, offsets = _reduce(match.group(), match.start())
            if reduced:
                pieces += (reduced, " ")
                self.offsets += (*offsets, match.end())
        self.reduced = "".join(pieces)

    def find(self, needle: str, after: int) -> int:
        """The index of the first word at or after `after` where `needle` starts; -1 if there is none."""
        found = self.reduced.find(" " + needle, after - 1)
        if found >= 0:
            return found + 1
        return self.reduced.find(needle, after) if _UNSPACED.match(needle) else -1

    def find_anchor(self, needle: str, after: int) -> int:
        """As `find`; a short needle rather where a line starts, a long one also by its first words."""
        found = self.find(needle, after)
        if found >= 0:
            return self._at_line_start(needle, found) if len(needle) < _SHORT else found
        words = needle.split(" ")
        prefixes = [" ".join(words[:count]) for count in _PREFIXES if count < len(words)]
        places = (self.find(prefix, after) for prefix in prefixes if len(prefix) >= _SHORTEST_PREFIX)
        return next((place for place in places if place >= 0), -1)

    def position(self, index: int) -> int:
        """The offset in the text of the word at `index`, with what is written against it."""
        at = self.offsets[index]
        if _UNSPACED.match(self.text, at):
            while at > self.start and self.text[at - 1] in _OPENERS:
                at -= 1
            return at
        step = at
        while step > self.start and at - step < _LONGEST_STEP:
            if self.text[step - 1].isspace():
                return step
            step -= 1
        return step if step == self.start else at

    def _at_line_start(self, needle: str, found: int) -> int:
        at = found
        for _ in range(_LINE_TRIES):
            if at < 0 or self._starts_line(at):
                break
            at = self.find(needle, at + 1)
        return at if at >= 0 and self._starts_line(at) else found

    def _starts_line(self, index: int) -> bool:
        between = self.text[self.offsets[index - 1] : self.offsets[index]]
        return index == 1 or "\n" in between or "\r" in between


def _reduce(word: str, offset: int) -> tuple[str, Sequence[int]]:
    """A word in lower case without accents and invisible characters, and where each character came from."""
    lower = word.lower()
    if len(lower) == len(word) and (lower.isascii() or _is_plain(lower)):
        return lower, range(offset, offset + len(lower))
    letters: list[str] = []
    offsets: list[int] = []
    for at, letter in enumerate(word, offset):
        for part in unicodedata.normalize("NFKD", letter.lower()):
            if unicodedata.category(part)[0] in "LN":
                letters.append(part)
                offsets.append(at)
    return "".join(letters), offsets


def _is_plain(word: str) -> bool:
    """Whether nothing in the word decomposes or is dropped."""
    return word.isalnum() and unicodedata.is_normalized("NFKD", word)
