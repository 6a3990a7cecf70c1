"""
Whether what was found answers: how much of the question's subject one place of a text holds.

A word is held if the text has one of the same stem, or one that begins alike (for
languages without a stemmer). Words weigh by IDF, so that one that no text has weighs most.
A question for a number needs one; a name of several words must stand as a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import ceil

from indexer.artifacts import Bm25Snapshot
from indexer.contacts import tells
from indexer.search.vocabulary import Words, tokens

SUFFICIENT, WEAK, EMPTY = "sufficient", "weak", "empty"
_SHORTEST = 4  # letters that two words must begin with alike …
_ROOT = 3  # letters of the shortest word that another may begin with
_STEM = 6  # letters of a stem that another may begin with
_ALIKE = 0.7  # … and share of the longer one
_NAME = re.compile(r"(?<![^\W_])[A-ZА-ЯЁӘҒҚҢӨҰҮҺІ][^\W\d_]+(?:[\s-]+[A-ZА-ЯЁӘҒҚҢӨҰҮҺІ][^\W\d_]+)+")


class Matcher:
    """Compares questions with texts of one index. `analyze`: its analyzer."""

    def __init__(self, analyze: Callable[[str], list[str]], snapshot: Bm25Snapshot) -> None:
        self._analyze = analyze
        self._snapshot = snapshot
        self._weights: dict[str, float] = {}

    def text(self, parts: Iterable[str]) -> Text:
        """A text to be asked."""
        return Text(" ".join(parts), self.stem)

    def stem(self, word: str) -> str:
        """The index's term for a word."""
        return next(iter(self._analyze(word)), word)

    def weight(self, word: str) -> float:
        """Its IDF, or that of words that begin alike; a word that no text has weighs as the rarest."""
        if word not in self._weights:
            idf = self._snapshot.idf
            found = idf.get(self.stem(word))
            if found is None:
                found = min((idf[term] for term in idf if alike(word, term)), default=self._rarest)
            self._weights[word] = found
        return self._weights[word]

    def unknown(self, subject: Sequence[str]) -> list[str]:
        """The words of a subject that no text has, in any form."""
        idf = self._snapshot.idf
        return [
            word
            for word in subject
            if self.stem(word) not in idf and not any(alike(word, term) for term in idf)
        ]

    def coverage(self, subject: Sequence[str], text: Text, wants: Mapping[str, str] | None = None) -> float:
        """
        Share (0 to 1) of the weight of `subject` that the text holds; 1 if there is none.

        A word of `wants` is held too by a text that tells what it wants, `phone` by a number;
        the subject's other words are then to be held for themselves.
        """
        wanted = wants or {}
        held = {word for word in subject if text.has(word) or (word in wanted and text.tells(wanted[word]))}
        others = [word for word in subject if word not in wanted]
        covered = self._covered(held, subject)
        return min(covered, self._covered(held, others)) if others else covered

    def _covered(self, held: Collection[str], subject: Sequence[str]) -> float:
        total = sum(map(self.weight, subject))
        return sum(self.weight(word) for word in subject if word in held) / total if total else 1.0

    def share(self, words: Sequence[str], subject: Sequence[str]) -> float:
        """The weight of some words of a subject, beside that of all."""
        return self._covered(words, subject) if any(map(self.weight, subject)) else 0.0

    @cached_property
    def _rarest(self) -> float:
        return max(self._snapshot.idf.values(), default=1.0)


class Text:
    """A text and its words."""

    def __init__(self, written: str, stem: Callable[[str], str]) -> None:
        self._written = written
        self._words = tokens(written)
        self._stem = stem
        self._told: dict[str, bool] = {}

    @cached_property
    def _stems(self) -> list[str]:
        return [self._stem(word) for word in self._words]

    @cached_property
    def _known(self) -> set[str]:
        return set(self._stems)

    @cached_property
    def _distinct(self) -> dict[str, str]:
        """Each word and its stem."""
        return dict(zip(self._words, self._stems, strict=True))

    def has(self, word: str) -> bool:
        """Whether the text holds the word in some form."""
        stem = self._stem(word)
        return stem in self._known or any(
            alike(word, other) or akin(stem, known) for other, known in self._distinct.items()
        )

    def tells(self, kind: str) -> bool:
        """Whether the text holds a phone, an e-mail address, a street or opening hours."""
        if kind not in self._told:
            self._told[kind] = tells(self._written, kind)
        return self._told[kind]

    def has_root(self, word: str) -> bool:
        """Whether a word of the text is the beginning of this one: `жыл` of `жылға`."""
        return any(len(other) >= _ROOT and word.startswith(other) for other in self._distinct)

    def has_name(self, words: Sequence[str]) -> bool:
        """Whether the words stand side by side, in this order."""
        stems = [self._stem(word) for word in words]
        length = len(stems)
        return any(
            all(a == b or alike(a, b) for a, b in zip(stems, self._stems[at : at + length], strict=True))
            for at in range(len(self._stems) - length + 1)
        )

    def has_number(self, words: Words) -> bool:
        """Whether a number stands in it, in figures or in words."""
        return any(word.isdigit() or word in words.numerals for word in self._words)


def alike(one: str, other: str) -> bool:
    """Whether two words begin alike for most of their length."""
    one, other = one.replace("і", "и"), other.replace("і", "и")  # one letter in Latin script
    longest = max(len(one), len(other))
    needed = max(_SHORTEST, ceil(_ALIKE * longest))
    return len(one) >= needed and len(other) >= needed and one[:needed] == other[:needed]


def akin(one: str, other: str) -> bool:
    """Whether one stem begins with the other: `form`, `formation`."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _STEM and long.startswith(short) and len(long) - len(short) <= _SHORTEST


def names_in(question: str) -> list[list[str]]:
    """Names of several capitalised words, but for one that opens the sentence with its first word."""
    found = []
    for match in _NAME.finditer(question):
        words = tokens(match[0])
        if not question[: match.start()].strip():
            words = words[1:]
        if len(words) > 1:
            found.append(words)
    return found


def counted(question: str, words: Words) -> str:
    """What a question for a number counts: the word after `how many`, `which`; empty if none is."""
    all_tokens = tokens(question)
    phrases = sorted(set(words.quantity.find(question)), key=len, reverse=True)
    for phrase in phrases:
        parts = tokens(phrase)
        for at in range(len(all_tokens) - len(parts) + 1):
            if all_tokens[at : at + len(parts)] == parts:
                if len(parts) > 1 and parts[-1] not in words.frame and parts[-1] not in words.counting:
                    return parts[-1]
                following = all_tokens[at + len(parts) : at + len(parts) + 1]
                named = following and following[0] not in words.frame and following[0] not in words.counting
                return following[0] if named else ""
    return ""
