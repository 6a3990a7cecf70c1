"""
Words of the languages that questions come in: data files in `words/`, one a language.

A project may add its own file (`[policy] vocabulary`), whose tables `[ru.routes]` and the
like are joined to these. Nothing here knows any site.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from indexer.errors import Misconfigured

LANGUAGES = ("ru", "kk", "en")
_TOKEN = re.compile(r"[^\W_]+")


LONGEST = 4000  # characters read of a question, or of a turn before it: what a messenger sends at once


def read_of(question: str) -> str:
    """What is read of a question: all of it, or its first words where it is over `LONGEST` characters."""
    question = question.strip()
    start = question[:LONGEST]
    if start == question or start[-1].isspace() or question[LONGEST].isspace():
        return start.rstrip()
    return start.rsplit(None, 1)[0]  # not half a word


def tokens(text: str) -> list[str]:
    """Lower case, ё as е, runs of letters and digits."""
    return _TOKEN.findall(_folded(text))


def _folded(text: str) -> str:
    return text.lower().replace("ё", "е")


_ALIKE = str.maketrans("ABCEHKMOPTXaceopxy", "АВСЕНКМОРТХасеорху")
_MIXED = re.compile(r"[^\W\d_]+")


def unmixed(text: str) -> str:
    """Latin letters that look like the Cyrillic ones of the same word, as those: `cт` → `ст`."""

    def spelled(match: re.Match[str]) -> str:
        word = match[0].translate(_ALIKE)
        one_script = all("\u0400" <= letter <= "\u04ff" for letter in word)
        return word if one_script and any("\u0400" <= letter <= "\u04ff" for letter in match[0]) else match[0]

    return _MIXED.sub(spelled, text)


class Phrases:
    """Words and phrases to be looked for; `*` at a word's end stands for any ending."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.phrases = tuple(dict.fromkeys(_folded(phrase) for phrase in phrases if phrase))

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        if not self.phrases:
            return None
        longest = sorted(self.phrases, key=len, reverse=True)
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(_expression, longest))})(?![^\W_])")

    def find(self, text: str) -> list[str]:
        """What of `text` (any case) is one of the phrases, in order."""
        if self._pattern is None:
            return []
        return [match[0] for match in self._pattern.finditer(_folded(text))]

    def cut(self, text: str) -> str:
        """`text` without them; its case is kept."""
        if self._pattern is None:
            return text
        folded = _folded(text)
        if len(folded) != len(text):
            return self._pattern.sub(" ", folded)
        parts, at = [], 0
        for match in self._pattern.finditer(folded):
            parts.append(text[at : match.start()])
            at = match.end()
        return " ".join((*parts, text[at:]))

    def __contains__(self, word: str) -> bool:
        return self._pattern is not None and self._pattern.fullmatch(word) is not None


def _expression(phrase: str) -> str:
    words = (
        re.escape(word[:-1]) + r"[^\W_]*" if word.endswith("*") else re.escape(word)
        for word in phrase.split()
    )
    return r"[\W_]+".join(words)


class Words:
    """The vocabulary of one language."""

    def __init__(self, language: str, data: Mapping[str, Any]) -> None:
        self.language = language
        self.agglutinative = bool(data.get("agglutinative"))
        self.letters = frozenset(data["letters"])
        self.markers = frozenset(data["markers"])
        self.frame = Phrases(data["frame"])
        self.pronouns = Phrases(data["pronouns"])
        self.here = Phrases(data["here"])
        self.opening = Phrases(data["opening"])
        self.linking = Phrases(data["linking"])
        self.orders = Phrases(data["orders"])
        self.courtesy: Mapping[str, list[str]] = data["courtesy"]
        self.generic = tuple(data.get("generic", ()))
        self.routes = {name: Phrases(phrases) for name, phrases in data["routes"].items()}
        kinds = data["kinds"]
        self.enumerable = Phrases(kinds["enumerable"])
        self.enumerating = Phrases(kinds["enumerating"])
        self.quantity = Phrases(kinds["quantity"])
        self.counting = Phrases(kinds["counting"])
        self.asking = tuple(kinds["asking"])
        self.joining = tuple(kinds["joining"])
        self.subordinating = frozenset(kinds["subordinating"])
        self.topics = tuple(kinds["topics"])
        self.numerals = Phrases(kinds["numerals"])
        self.prefixes = tuple(kinds["prefixes"])
        self.wants = {kind: Phrases(phrases) for kind, phrases in data["wants"].items()}
        self.expand: Mapping[str, Any] = data["expand"]
        self.layers = {name: Phrases(phrases) for name, phrases in data["layers"].items()}
        self.reference: Mapping[str, list[str]] = data["reference"]
        self.ordinals: Mapping[str, int] = data["ordinals"]
        self.tens: Mapping[str, int] = data["tens"]
        self.latin: Mapping[str, str] = data.get("latin", {})


class Vocabulary:
    """All languages, with what a project adds."""

    def __init__(self, more: Mapping[str, Any]) -> None:
        self.languages = {
            name: Words(name, _joined(_shipped(name), more.get(name, {}))) for name in LANGUAGES
        }

    def __getitem__(self, language: str) -> Words:
        return self.languages.get(language) or self.languages["en"]

    def without_orders(self, text: str) -> str:
        """`text` without orders to a model in any of the languages: their "previous" is no edition."""
        for words in self.languages.values():
            text = words.orders.cut(text)
        return text

    @cached_property
    def _courtesies(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """What a polite question begins with, and what it ends with behind a mark."""
        every = list(self.languages.values())
        begins, ends, opening = (
            "|".join(map(_expression, sorted(map(_folded, phrases), key=len, reverse=True)))
            for phrases in (
                [phrase for words in every for phrase in words.courtesy["begins"]],
                [phrase for words in every for phrase in words.courtesy["ends"]],
                [phrase for words in every for phrase in words.opening.phrases],
            )
        )
        first = rf"[\W_]*(?:(?:{opening})[\W_]+)?(?:(?:{begins})(?![^\W_])|(?:{ends})(?=\s*[.,!;:\n]))[\W_]*"
        return re.compile(first), re.compile(rf"(?<=[.,!?;:)\n])\s*(?:{ends})[\W_]*$")

    def without_courtesy(self, text: str) -> str:
        """`text` without greetings, thanks and "could you tell me"; all of it if it is nothing else."""
        folded = _folded(text)
        if len(folded) != len(text):
            return text
        begins, ends = self._courtesies
        start = 0
        while match := begins.match(folded, start):
            start = match.end()
        end = len(text)
        while match := ends.search(folded, start, end):
            end = match.start()
        rest = text[start:end].strip()
        return rest if _TOKEN.search(rest) else text

    def detect(self, text: str, *, default: str = "") -> str:
        """
        The language of a question: by its letters, then its small words; `default` in doubt.

        The letters that only one of the languages has count most; Kazakh in Latin letters is known by them.
        """
        words = [word for word in tokens(text) if not word.isdigit()]
        scores: dict[str, float] = {}
        for name, own in self.languages.items():
            others = frozenset().union(
                *(other.letters for key, other in self.languages.items() if key != name)
            )
            latin = frozenset("".join(own.latin)) - frozenset("abcdefghijklmnopqrstuvwxyz")
            shared = bool(own.letters & others)  # a script that only one language has proves little
            special = (own.letters - others if shared else frozenset()) | latin
            score = 0.0
            for word in words:
                letters = set(word)
                if letters & special:
                    score += 2
                elif word in own.markers:
                    score += 1.5
                elif letters <= own.letters:
                    score += 0.5 if own.letters - letters else 0.0
            scores[name] = score
        best = max(scores.values(), default=0.0)
        found = [name for name, score in scores.items() if score == best and best > 0]
        if default in found or (not found and default):
            return default
        return found[0] if found else default

    def in_cyrillic(self, text: str, language: str) -> str:
        """Latin letters of a language that is written in both, as its Cyrillic ones; else `text`."""
        table = self[language].latin
        latin = sum(letter.isalpha() and letter.lower() in "".join(table) for letter in text)
        if not table or latin < sum(letter.isalpha() for letter in text) / 2:
            return text
        pattern = re.compile("|".join(map(re.escape, sorted(table, key=len, reverse=True))))
        return pattern.sub(lambda match: table[match[0]], text.lower())


@cache
def _shipped(language: str) -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "words" / f"{language}.toml").read_text("utf-8"))


def _joined(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(base)
    for key, value in more.items():
        old = joined.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            joined[key] = _joined(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            joined[key] = [*old, *value]
        elif old is None or isinstance(old, type(value)):
            joined[key] = value
        else:
            raise Misconfigured(f"the vocabulary's {key} must be of the kind of {old!r:.60}")
    return joined


def _checked(path: str, more: dict[str, Any]) -> dict[str, Any]:
    """Raises `Misconfigured` for a table or key that no rule would read."""
    for language, tables in more.items():
        if language not in LANGUAGES or not isinstance(tables, dict):
            raise Misconfigured(
                f"[policy] vocabulary {path}: {language} is no table of a language ({', '.join(LANGUAGES)}); "
                "words stand in tables such as [ru.routes]"
            )
        unknown = [key for key in tables if key not in _shipped("en") and key not in _shipped(language)]
        if unknown:
            raise Misconfigured(
                f"[policy] vocabulary {path}: {language} has no {', '.join(unknown)}; "
                f"there are {', '.join(_shipped(language))}"
            )
    return more


@cache
def load(path: str = "") -> Vocabulary:
    """The shipped vocabulary with the project's file, if there is one. Raises `Misconfigured`."""
    if not path:
        return Vocabulary({})
    try:
        return Vocabulary(_checked(path, tomllib.loads(Path(path).read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"cannot read [policy] vocabulary {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"[policy] vocabulary {path} is not valid TOML: {error}") from None
