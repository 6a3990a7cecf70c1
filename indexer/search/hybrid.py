"""
Hybrid search: two legs of a constant depth, fused, ties broken by id. By default the fusion
is DBSF, with the keyword leg weighed by how much of the question it covers.

Everything that decides the order is computed here and not by the engine, so that it is
the same on every store: engines order equal scores at random, and a fused score depends
on how deep the legs are (hence a depth that does not depend on the limit).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Payload
from indexer.errors import Misconfigured, Permanent
from indexer.hits import Hit, Leg
from indexer.ports import Ranked, Reader, Sparse, Where
from indexer.search.arrange import Place, by_page, in_one_language
from indexer.search.explain import matches, spellings
from indexer.search.fusion import Fused, fuse, normalised, reciprocal
from indexer.search.generic import Generic
from indexer.search.legs import Coverage, nearest, words_of
from indexer.search.rerank import Scores, reordered
from indexer.search.vocabulary import read_of
from indexer.settings import Search

if TYPE_CHECKING:
    from indexer.ports import Vector

HYBRID, DENSE, BM25 = MODES = ("hybrid", "dense", "bm25")
DBSF, WEIGHTED, RRF = FUSIONS = ("dbsf", "weighted", "rrf")
FOREIGN = 0.5  # a keyword leg of less weight: hardly any question in the texts' language, most in another
BATCH = 64  # questions in one call of the model and of the engine

Analyze = Callable[[str], list[str]]
Ranking = list[tuple[str, float]]  # id and score, best first


class Extras(Struct, frozen=True, kw_only=True):
    """
    What an answer may have besides. `explain`: the terms that the keyword leg matched.

    `group`: hits are pages, with up to so many chunks each; 0: hits are chunks. `language`:
    which of some languages a question is in; with it, no page comes in two languages.
    `rerank`: scores of question and texts, or `None`; asked in mode `hybrid` only. `generic`:
    used where the keyword leg covers so little of a question that it is in another language.
    """

    explain: bool = False
    group: int = 0
    language: Callable[[str, Collection[str]], str] | None = None
    rerank: Scores | None = None
    generic: Generic | None = None


class _Asked(Struct):
    """A question, prepared for its legs, and what they found."""

    text: str
    terms: list[str]
    vector: Vector | None = None
    words: Sparse | None = None
    dense: Ranked = Ranked()
    bm25: Ranked = Ranked()
    fused: Fused | None = None


def search(
    reader: Reader,
    question: str,
    *,
    analyze: Analyze,
    embed_query: Callable[[str], Vector] | None,
    mode: str = HYBRID,
    limit: int = 10,
    settings: Search,
) -> list[Hit]:
    """
    Hits for one question, best first.

    `analyze`: the analyzer that the reader's snapshot names. `embed_query` may be `None`
    in mode `bm25`. A hit's score is the fused one, or the leg's own in the other modes.
    Raises `Misconfigured` for a blank question, an unknown mode, or a vector that does
    not fit the index.
    """
    embed_queries = None
    if embed_query is not None:

        def embed_queries(questions: Sequence[str]) -> list[Vector]:
            return [embed_query(question) for question in questions]

    return search_many(
        reader,
        [question],
        analyze=analyze,
        embed_queries=embed_queries,
        mode=mode,
        limit=limit,
        settings=settings,
    )[0]


def search_many(  # noqa: PLR0913 - what is asked, by which means, and how the answer is to look
    reader: Reader,
    questions: Sequence[str],
    *,
    analyze: Analyze,
    embed_queries: Callable[[Sequence[str]], Sequence[Vector]] | None,
    mode: str = HYBRID,
    limit: int = 10,
    settings: Search,
    where: Where | None = None,
    extras: Extras = Extras(),  # noqa: B008 - frozen
) -> list[list[Hit]]:
    """
    Hits for each question, as `search` gives them; questions are embedded and asked in batches.

    Of a long one its first words are read (`read_of`).

    `where`: a filter of the engine's query; what it excludes is in no leg.
    """
    if mode not in MODES:
        raise Misconfigured(f"there is no search mode {mode!r}; use {', '.join(MODES)}")
    if limit < 1:
        raise Misconfigured(f"the limit must be at least 1, not {limit}")
    if mode != BM25 and embed_queries is None:
        raise Misconfigured(f"mode {mode} needs an embedding model; configure one, or use --mode bm25")
    if any(not question.strip() for question in questions):
        raise Misconfigured("the question is empty; ask something")
    job = _Search(reader, analyze, embed_queries if mode != BM25 else None, mode, limit, settings)
    job.where, job.extras = where, extras
    rest = map(read_of, questions)
    return [hits for batch in iter(lambda: list(islice(rest, BATCH)), []) for hits in job.answer(batch)]


class _Search:
    """One call of `search_many`."""

    def __init__(
        self,
        reader: Reader,
        analyze: Analyze,
        embed: Callable[[Sequence[str]], Sequence[Vector]] | None,
        mode: str,
        limit: int,
        settings: Search,
    ) -> None:
        self.reader = reader
        self.analyze = analyze
        self.embed = embed
        self.mode = mode
        self.limit = limit
        self.settings = settings
        self.where: Where | None = None
        self.extras = Extras()
        self.coverage = Coverage.of(reader)

    def answer(self, questions: list[str]) -> Iterator[list[Hit]]:
        asked = self._prepare(questions)
        self._ask(asked)
        ranked = [self._rank(one, weight) for one, weight in self._weighed(asked)]
        first = None if self.extras.group else self._depth
        payloads = self.reader.payloads(sorted({name for ranking in ranked for name, _ in ranking[:first]}))
        for one, ranking in zip(asked, ranked, strict=True):
            yield self._hits(one, *self._arranged(one, ranking, payloads))

    @property
    def _depth(self) -> int:
        """How many of a ranking may come to be shown."""
        return max(self.limit, self.settings.rerank_depth) if self._rerank else self.limit

    @property
    def _rerank(self) -> Scores | None:
        return self.extras.rerank if self.mode == HYBRID else None

    def _arranged(
        self, one: _Asked, ranking: Ranking, known: dict[str, Payload]
    ) -> tuple[list[tuple[Place, list[Place]]], dict[str, Payload]]:
        """What is shown, each with further chunks of its page, and the payloads of it all."""
        extras, limit, depth = self.extras, self.limit, self._depth
        language = extras.language
        several = language and any(known[name].translation_group for name, _ in ranking[:depth])
        if not several and not extras.group:
            ranking = ranking[:depth]
        places = [Place(name, score) for name, score in ranking]
        if language and several:
            known = known | self.reader.payloads([name for name, _ in ranking if name not in known])
            places = in_one_language(places, known, language_of=partial(language, one.text))
        if self._rerank:
            first = self.settings.rerank_depth
            places = reordered(one.text, places, known, rerank=self._rerank, depth=first)
        if extras.group:
            return by_page(places, known, size=extras.group)[:limit], known
        return [(place, []) for place in places[:limit]], known

    def _prepare(self, questions: list[str]) -> list[_Asked]:
        asked = [_Asked(text=question, terms=self.analyze(question)) for question in questions]
        if self.embed is not None:
            vectors = self.embed(questions)
            for one, vector in zip(asked, vectors, strict=True):
                _check(vector, self.reader)
                one.vector = vector
        if self.mode != DENSE:
            for one in asked:
                one.words = words_of(one.terms, self.reader.snapshot)
        return asked

    def _ask(self, asked: list[_Asked]) -> None:
        """Both legs of all questions in one call of the engine."""
        depth = self.settings.prefetch if self.mode == HYBRID else max(self.limit, self.settings.prefetch)
        queries: list[Vector | Sparse] = [one.vector for one in asked if one.vector is not None]
        queries += [one.words for one in asked if one.words is not None]
        found = iter(nearest(self.reader, queries, depth, self.where))
        for one in asked:
            if one.vector is not None:
                one.dense = next(found)
        for one in asked:
            if one.words is not None:
                one.bm25 = next(found)

    def _rank(self, one: _Asked, weights: tuple[float, float]) -> Ranking:
        """All that was found, best first, ties by id."""
        if self.mode != HYBRID:
            leg = one.dense if self.mode == DENSE else one.bm25
            return list(zip(leg.ids, leg.scores, strict=True))
        by = reciprocal if self.settings.fusion == RRF else normalised
        one.fused = fuse((one.dense, one.bm25), weights, normalise=by)
        ordered = sorted([(-score, name) for name, score in one.fused.scores.items()])
        return [(name, -negative) for negative, name in ordered]

    def _weighed(self, asked: list[_Asked]) -> Iterator[tuple[_Asked, tuple[float, float]]]:
        """Each question with the weights of its legs."""
        settings = self.settings
        if settings.fusion == DBSF and settings.coverage_gate and self.mode == HYBRID:
            weights = list(self._gated(asked))
            self._ask_again(
                [one for one, (_, weight) in zip(asked, weights, strict=True) if weight < FOREIGN]
            )
            yield from zip(asked, weights, strict=True)
            return
        dense = settings.dense_weight if settings.fusion == WEIGHTED else None
        for one in asked:
            yield one, (1.0, 1.0) if dense is None else (dense, 1 - dense)

    def _ask_again(self, foreign: Sequence[_Asked]) -> None:
        """The dense leg of questions in other words than the index, without what all questions share."""
        generic = self.extras.generic
        if generic is None:
            return
        changed: list[tuple[_Asked, Vector]] = []
        for one in foreign:
            vector = generic.without(one.text, one.vector) if one.vector is not None else None
            if vector is not None:
                changed.append((one, vector))
        found = nearest(self.reader, [vector for _, vector in changed], self.settings.prefetch, self.where)
        for (one, _), leg in zip(changed, found, strict=True):
            one.dense = leg

    def _gated(self, asked: list[_Asked]) -> Iterator[tuple[float, float]]:
        """The keyword leg weighs 1 from a coverage of `coverage_gate` on, less below, 0 without hits."""
        best = sorted({one.bm25.ids[0] for one in asked if one.bm25.ids})
        terms = self.reader.terms(best) if best else {}
        for one in asked:
            covered = self.coverage(one.terms, terms[one.bm25.ids[0]].indices) if one.bm25.ids else 0.0
            yield 1.0, min(1.0, covered / self.settings.coverage_gate)

    def _hits(
        self, one: _Asked, shown: Sequence[tuple[Place, list[Place]]], payloads: Mapping[str, Payload]
    ) -> list[Hit]:
        fused = one.fused or Fused({}, ([], []), (None, None))
        names = {place.id for best, others in shown for place in (best, *others)}
        dense = _legs(names, one.dense, fused.parts[0], fused.weights[0])
        bm25 = _legs(names, one.bm25, fused.parts[1], fused.weights[1])
        if self.extras.explain:
            bm25 = self._matched(one, bm25, payloads)

        def hit(place: Place) -> Hit:
            return hit_of(place, payloads[place.id], dense.get(place.id), bm25.get(place.id))

        return [
            replace(hit(best), others=tuple(map(hit, others))) if others else hit(best)
            for best, others in shown
        ]

    def _matched(
        self, one: _Asked, legs: Mapping[str, Leg], payloads: Mapping[str, Payload]
    ) -> dict[str, Leg]:
        """The same views with the terms that were matched."""
        vectors = self.reader.terms(list(legs))
        asked = spellings(one.text, self.analyze)
        told = {}
        for name, leg in legs.items():
            found = matches(
                one.terms,
                asked,
                payload=payloads[name],
                vector=vectors[name],
                snapshot=self.reader.snapshot,
                analyze=self.analyze,
            )
            told[name] = replace(leg, matches=found)
        return told


def _legs(
    names: Collection[str], found: Ranked, parts: Sequence[float], weight: float | None
) -> dict[str, Leg]:
    """How a leg sees those of `names` that it found; `parts` are the normalised scores, if there are any."""
    return {
        name: Leg(
            rank=place + 1,
            score=found.scores[place],
            normalised=parts[place] if parts else None,
            weight=weight,
        )
        for place, name in enumerate(found.ids)
        if name in names
    }


def hit_of(place: Place, payload: Payload, dense: Leg | None, bm25: Leg | None) -> Hit:
    """A point's payload as a hit."""
    return Hit(
        id=place.id,
        score=place.score,
        instead_of=place.instead_of,
        rerank=place.rerank,
        translation_group=payload.translation_group,
        url=payload.url,
        title=payload.title,
        topic=payload.topic,
        text=payload.text,
        context=payload.context,
        language=payload.language,
        article=payload.article,
        point=payload.point,
        points=payload.points,
        parent=payload.parent,
        dense=dense,
        bm25=bm25,
        dataset=payload.dataset,
        layer=payload.layer,
        edition=payload.edition,
        status=payload.status,
        effective_date=payload.effective_date,
        deprecated=payload.deprecated,
    )


def _check(vector: Vector, reader: Reader) -> None:
    manifest = reader.manifest
    if vector.shape != (manifest.dimension,):
        raise Misconfigured(
            f"the question's vector has {vector.size} dimensions, the index was made with {manifest.model} "
            f"({manifest.dimension}); configure that model, or rebuild the index with --from-phase embed"
        )
    square = float(vector @ vector)
    if not 0 < square < float("inf"):
        raise Permanent(f"{manifest.model} gave no usable vector for the question (zero, NaN or infinite)")
