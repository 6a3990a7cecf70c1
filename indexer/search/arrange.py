"""A ranking as its reader wants it: each page in one language, and the chunks of a page together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from indexer.artifacts import Payload

LanguageOf = Callable[[Collection[str]], str]


class Place(Struct, frozen=True):
    """
    One place of a ranking. `instead_of`: the URL of the translation that was found there.

    `rerank`: the score of a reranker, if it was asked.
    """

    id: str
    score: float
    instead_of: str = ""
    rerank: float | None = None


def in_one_language(
    ranking: Sequence[Place], payloads: Mapping[str, Payload], *, language_of: LanguageOf
) -> list[Place]:
    """
    The ranking without translations of what is in it: of pages that are each other in another
    language, the asker's stays, or the one that was found first.

    What was found first keeps its place: there stands the best chunk of the page that stays.
    `language_of`: which of some languages the asker's is; empty if none.
    """
    versions: dict[str, dict[str, list[Place]]] = {}
    for place in ranking:
        payload = payloads[place.id]
        if payload.translation_group:
            group = versions.setdefault(payload.translation_group, {})
            group.setdefault(payload.language, []).append(place)
    several = {name: group for name, group in versions.items() if len(group) > 1}
    if not several:
        return list(ranking)
    wanted = {those: language_of(those) for those in {frozenset(group) for group in several.values()}}
    left = {name: _Version(group, wanted[frozenset(group)]) for name, group in several.items()}
    kept = []
    for place in ranking:
        payload = payloads[place.id]
        version = left.get(payload.translation_group)
        if version is None:
            kept.append(place)
        elif payload.language == version.language:
            kept += version.own()
        else:
            kept += version.instead_of(place, payload.url)
    return kept


class _Version:
    """The language of a page that stays; its chunks come in their own order, none twice."""

    def __init__(self, group: Mapping[str, Sequence[Place]], wanted: str) -> None:
        self.language = wanted if wanted in group else next(iter(group))
        self._places = group[self.language]
        self._met = self._kept = self._dropped = 0

    def own(self) -> Sequence[Place]:
        """The next place of this language, unless it stands further up already."""
        self._met += 1
        if self._met <= self._kept:
            return ()
        self._kept += 1
        return (self._places[self._met - 1],)

    def instead_of(self, place: Place, url: str) -> Sequence[Place]:
        """What stands in the place of a translation, unless its page stands further up already."""
        self._dropped += 1
        if self._dropped <= self._kept or self._kept == len(self._places):
            return ()
        self._kept += 1
        return (Place(self._places[self._kept - 1].id, place.score, url),)


def by_page(
    ranking: Sequence[Place], payloads: Mapping[str, Payload], *, size: int
) -> list[tuple[Place, list[Place]]]:
    """The best chunk of each page, in the order of the ranking, with up to `size` - 1 further ones."""
    pages: dict[str, list[Place]] = {}
    for place in ranking:
        pages.setdefault(payloads[place.id].url, []).append(place)
    return [(places[0], places[1:size]) for places in pages.values()]
