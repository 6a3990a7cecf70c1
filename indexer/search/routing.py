"""
What kind of question it is, by rules over a vocabulary; every decision says which words made it.

    exact_lookup · comparison · historical · sensitive · mixed_topic · simple_explanation ·
    broad · ordinary, in this order of precedence

An edition is known by the years in the names of its datasets: a year that only deprecated
datasets have asks for those.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from indexer.artifacts import Dataset
from indexer.search.references import Reference, references, without_references
from indexer.search.vocabulary import Phrases, Vocabulary, Words, tokens, unmixed

EXACT, COMPARISON, HISTORICAL, SENSITIVE = "exact_lookup", "comparison", "historical", "sensitive"
MIXED, SIMPLE, BROAD, ORDINARY = "mixed_topic", "simple_explanation", "broad", "ordinary"
ROUTES = (EXACT, COMPARISON, HISTORICAL, SENSITIVE, MIXED, SIMPLE, BROAD, ORDINARY)

_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_FEW = 3  # subject words of a question that a pronoun makes depend on what was said before
_NEAR = 3  # words between "which" and what is enumerated
_LIST = 3  # items that make a list of topics


class Why(Struct, frozen=True):
    """One rule that held, and the words of the question that made it hold."""

    rule: str
    words: tuple[str, ...]


class Question(Struct, frozen=True, kw_only=True):
    """
    A question, understood.

    `topic`: without what only says how to answer; `subject`: its words that name something;
    `aspects`: its parts, where they are to be answered apart; `here`: it speaks of "this
    article"; `dependent`: it cannot be understood alone; `wants`: its words that any address, phone,
    mail or opening hours answer, each with that kind; `refined`: a model chose its route, which lowers
    no bar.
    """

    text: str
    language: str
    route: str
    why: tuple[Why, ...]
    topic: str
    subject: tuple[str, ...]
    references: tuple[Reference, ...] = ()
    aspects: tuple[str, ...] = ()
    wants: Mapping[str, str] = {}
    here: bool = False
    dependent: bool = False
    quantity: bool = False
    status: bool = False
    refined: bool = False
    layers: tuple[str, ...] = ()


class Router:
    """Understands questions to one project. `language`: of a question that does not show its own."""

    def __init__(self, vocabulary: Vocabulary, datasets: Sequence[Dataset], *, language: str = "") -> None:
        self.vocabulary = vocabulary
        self.language = language
        self.names = Phrases(sorted({one.layer for one in datasets if one.layer}))
        old, new = (
            years(one for one in datasets if one.deprecated),
            years(one for one in datasets if not one.deprecated),
        )
        self.old, self.new = old - new, new - old

    def read(self, text: str) -> Question:
        """The question without regard to what was said before, and without its courtesies."""
        text = self.vocabulary.without_courtesy(text)
        language = self.vocabulary.detect(text, default=self.language)
        words = self.vocabulary[language]
        spelled = self.vocabulary.in_cyrillic(unmixed(text), language)
        order = [words, *(other for other in self.vocabulary.languages.values() if other is not words)]
        refs = tuple(references(spelled, order))
        here = bool(words.here.find(spelled))
        asked = self.vocabulary.without_orders(spelled)
        found = {name: phrases.find(asked) for name, phrases in words.routes.items()}
        found[SENSITIVE] += _prefixed(words).findall(spelled) if words.prefixes else []
        plain = without_references(spelled, order) if refs else spelled
        topic = self._topic(plain, words, found)
        subject = self.subject(topic, words)
        layers = tuple(name for name, phrases in words.layers.items() if phrases.find(spelled))
        told = layers or self.names.find(spelled)
        aspects = _aspects(topic, words, self)
        why = [*self._named(spelled, refs, found, here=here), *_rules(spelled, words, found, aspects, layers)]
        route = next((name for name in ROUTES if any(one.rule == name for one in why)), ORDINARY)
        pronouns = words.pronouns.find(spelled)
        begins = tokens(spelled)[:1]
        leaning = found[SENSITIVE] or told or (begins and begins[0] in words.opening)
        return Question(
            text=text,
            language=language,
            route=route,
            why=tuple(why) or (Why(ORDINARY, ()),),
            topic=topic,
            subject=subject,
            references=refs,
            aspects=aspects if route == MIXED else (),
            here=here and not any(one.article for one in refs),
            dependent=not any(one.article for one in refs)
            and (
                here
                or not subject
                or (bool(pronouns) and len(subject) <= _FEW)
                or (bool(leaning) and len(subject) <= 1)
            ),
            quantity=bool(words.quantity.find(spelled)),
            wants={
                word: kind
                for kind, phrases in words.wants.items()
                for phrase in phrases.find(spelled)
                for word in tokens(phrase)
            },
            status=bool(found.get("status")) and bool(self._editions(spelled)),
            layers=layers,
        )

    def subject(self, text: str, words: Words) -> tuple[str, ...]:
        """The words that name something, in order, without repeats."""
        frame = (words.frame, words.pronouns, self.names)
        named = [
            token
            for token in tokens(text)
            if not token.isdigit() and len(token) > 1 and not any(token in phrases for phrases in frame)
        ]
        return tuple(dict.fromkeys(named))

    def _topic(self, text: str, words: Words, found: Mapping[str, list[str]]) -> str:
        """Without years of editions, and without what says how to answer."""
        for year in (self.old | self.new) & set(_YEAR.findall(text)):
            text = text.replace(year, " ")
        for name in (COMPARISON, HISTORICAL, SIMPLE, SENSITIVE, BROAD):
            if found.get(name):
                text = words.routes[name].cut(text)
        for phrases in words.layers.values():
            text = phrases.cut(text)
        if words.prefixes:
            text = _prefixed(words).sub("", text)
        return " ".join(text.split()).strip(" ,:;–—-")

    def _editions(self, text: str) -> tuple[list[str], list[str]] | None:
        years = set(_YEAR.findall(text))
        old, new = sorted(years & self.old), sorted(years & self.new)
        return (old, new) if old or new else None

    def _named(
        self, text: str, refs: Collection[Reference], found: Mapping[str, list[str]], *, here: bool
    ) -> list[Why]:
        """Rules about what is named: a place in a text, an edition."""
        why = []
        old, new = self._editions(text) or ([], [])
        compared = found[COMPARISON] if self.old or not refs else []
        if compared or (old and new):
            why.append(Why(COMPARISON, (*compared, *old, *new)))
        elif old or found[HISTORICAL]:
            why.append(Why(HISTORICAL, (*found[HISTORICAL], *old)))
        placed = [one for one in refs if one.article or here or "." in one.point]
        if placed and not why:
            why.append(
                Why(EXACT, tuple(" ".join(filter(None, (one.article, *one.labels[:1]))) for one in placed))
            )
        return why


def _rules(
    text: str, words: Words, found: Mapping[str, list[str]], aspects: Sequence[str], layers: Sequence[str]
) -> list[Why]:
    """Rules about how the answer is wanted."""
    why = []
    if found[SENSITIVE]:
        why.append(Why(SENSITIVE, tuple(found[SENSITIVE])))
    if len(aspects) > 1:
        why.append(Why(MIXED, tuple(aspects)))
    if found[SIMPLE] or layers:
        why.append(Why(SIMPLE, (*found[SIMPLE], *layers)))
    listed = [*found[BROAD], *_enumerated(text, words)]
    if listed:
        why.append(Why(BROAD, tuple(listed)))
    if found.get("status"):
        why.append(Why("status", tuple(found["status"])))
    return why


def _enumerated(text: str, words: Words) -> list[str]:
    """`какие … права`: a word that asks for many, near one that there are many of."""
    all_tokens = tokens(text)
    for index, token in enumerate(all_tokens):
        if token in words.enumerating:
            near = [other for other in all_tokens[index + 1 : index + 1 + _NEAR] if other in words.enumerable]
            if near:
                return [token, near[0]]
    return []


def _aspects(topic: str, words: Words, router: Any) -> tuple[str, ...]:
    """The parts of a question that asks for several things: by its question words, or a list of topics."""
    asking = "|".join(map(re.escape, sorted(words.asking, key=len, reverse=True)))
    joining = "|".join(map(re.escape, sorted(words.joining, key=len, reverse=True)))
    free = "|".join(map(re.escape, (word for word in words.asking if word not in words.subordinating)))
    after_comma = rf"[,;]\s*(?=(?:{free})(?![^\W_]))|" if free else ""  # not ", that", ", how"
    parts = re.split(
        rf"{after_comma}(?:,\s*|\s+)(?:{joining})\s+(?=(?:{asking})(?![^\W_]))", topic, flags=re.IGNORECASE
    )
    own = [part.strip(" ?!.,") for part in parts]
    if len(own) > 1 and all(
        router.subject(part, words) and not (index and words.pronouns.find(words.linking.cut(part)))
        for index, part in enumerate(own)
    ):
        return tuple(own)
    if words.topics:
        names = "|".join(map(re.escape, sorted(words.topics, key=len, reverse=True)))
        match = re.search(rf"(?<![^\W_])(?:{names})\s+(.+)$", topic, re.IGNORECASE)
        items = re.split(rf"\s*[,;]\s*|\s+(?:{joining})\s+", match[1].strip(" ?!.")) if match else []
        if len(items) >= _LIST and all(router.subject(item, words) for item in items):
            return tuple(items)
    return ()


def _prefixed(words: Words) -> re.Pattern[str]:
    """Prefixes that judge: `super-`, `pseudo-` before a longer word."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(words.prefixes)})(?=[^\W\d_]{{5}})", re.IGNORECASE)


def years(datasets: Iterable[Dataset]) -> frozenset[str]:
    """Years of editions: in names, editions and dates of datasets."""
    return frozenset(
        year
        for one in datasets
        for year in _YEAR.findall(f"{one.dataset} {one.edition} {one.effective_date}".replace("_", " "))
    )


def years_in(text: str) -> frozenset[str]:
    """The years that a text names."""
    return frozenset(_YEAR.findall(text))
