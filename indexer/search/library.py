"""The published index as layers and places: what a source policy admits, found or looked up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Payload
from indexer.ports import Reader, Where
from indexer.search import hybrid
from indexer.search.arrange import Place
from indexer.search.generic import Generic
from indexer.search.rerank import Scores, reordered
from indexer.settings import Search

if TYPE_CHECKING:
    from indexer.ports import Vector

PLACES = 2000  # chunks of one look-up, at most
_RANKS = 5.0  # of reciprocal rank fusion: how soon a lower rank of one query yields to another's


class Piece(Struct, frozen=True, kw_only=True):
    """A chunk that was found. `role`, `aspect`: as in `context.Fragment`; `score`: higher is better."""

    id: str
    payload: Payload
    score: float = 0.0
    dense: float = 0.0
    role: str = "hit"
    aspect: int | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Dataset and article, or the page where there is no article."""
        return self.payload.dataset, self.payload.article or self.payload.url


class Shelf(Struct, frozen=True, kw_only=True):
    """What may be seen: layers and languages (`None`: all), and whether deprecated texts are among it."""

    layers: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    deprecated: bool | None = None

    def where(self, **fields: tuple[str, ...]) -> Where:
        """The filter of the engine's query, with more fields."""
        known: dict[str, tuple[str | bool, ...]] = dict(fields)
        if self.layers is not None:
            known["layer"] = self.layers
        if self.languages is not None:
            known["language"] = self.languages
        if self.deprecated is not None:
            known["deprecated"] = (self.deprecated,)
        return Where(fields=known)


class Library:
    """
    One open index. `embed_queries`: questions → unit vectors. `language`, `rerank`, `generic`:
    as in `hybrid.Extras`; what all queries found together is reranked once, by the first of them.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        analyze: Callable[[str], list[str]],
        embed_queries: Callable[[Sequence[str]], Sequence[Vector]],
        settings: Search,
        language: Callable[[str, Collection[str]], str] | None = None,
        generic: Generic | None = None,
        rerank: Scores | None = None,
    ) -> None:
        self.reader = reader
        self.analyze = analyze
        self._embed = embed_queries
        self._settings = settings
        self._rerank = rerank
        self._extras = hybrid.Extras(language=language, generic=generic)

    def find(
        self, queries: Sequence[str], shelf: Shelf, limit: int, **fields: tuple[str, ...]
    ) -> list[Piece]:
        """The best of all queries, each rank counting; ties by id."""
        asked = [query for query in dict.fromkeys(queries) if query.strip()]
        if not asked or shelf.layers == () or shelf.languages == ():
            return []
        depth = max(limit, self._settings.rerank_depth) if self._rerank else limit
        lists = hybrid.search_many(
            self.reader,
            asked,
            analyze=self.analyze,
            embed_queries=self._embed,
            limit=depth,
            settings=self._settings,
            where=shelf.where(**fields),
            extras=self._extras,
        )
        scores: dict[str, float] = {}
        dense: dict[str, float] = {}
        for hits in lists:
            for rank, hit in enumerate(hits):
                scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (_RANKS + rank)
                dense[hit.id] = max(dense.get(hit.id, 0.0), hit.dense.score if hit.dense else 0.0)
        best = sorted(scores, key=lambda name: (-scores[name], name))[:depth]
        payloads = self.reader.payloads(best)
        if self._rerank:
            places = [Place(name, scores[name]) for name in best]
            first = self._settings.rerank_depth
            ordered = reordered(asked[0], places, payloads, rerank=self._rerank, depth=first)
            best = [place.id for place in ordered][:limit]
        return [
            Piece(id=name, payload=payloads[name], score=scores[name], dense=dense[name]) for name in best
        ]

    def size(self, shelf: Shelf) -> int:
        """How many chunks stand on a shelf (`PLACES` at most)."""
        return len(self.reader.select(shelf.where(), PLACES))

    def at(self, shelf: Shelf, *, role: str, **fields: tuple[str, ...]) -> list[Piece]:
        """All chunks of these places, in the order of their pages."""
        if shelf.layers == () or shelf.languages == ():
            return []
        names = self.reader.select(shelf.where(**fields), PLACES)
        payloads = self.reader.payloads(names)
        pieces = [Piece(id=name, payload=payloads[name], role=role) for name in names]
        return sorted(pieces, key=lambda one: (one.payload.url, one.payload.ordinal))


def unique(pieces: Iterable[Piece]) -> list[Piece]:
    """Each chunk once for each aspect, the first time it comes."""
    found: dict[tuple[int | None, str], Piece] = {}
    for piece in pieces:
        found.setdefault((piece.aspect, piece.id), piece)
    return list(found.values())


def for_aspect(pieces: Iterable[Piece], aspect: int | None) -> list[Piece]:
    """The same for one part of the question."""
    return [replace(piece, aspect=aspect) for piece in pieces]
