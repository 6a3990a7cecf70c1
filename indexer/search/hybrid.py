"""
Hybrid search: two legs of a constant depth, the keyword leg weighed by how much of the
question it covers, fused by DBSF, ties broken by id.

Everything that decides the order is computed here and not by the engine, so that it is
the same on every store: engines order equal scores at random, and a fused score depends
on how deep the legs are (hence a depth that does not depend on the limit).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from indexer.artifacts import Bm25Snapshot, Hit, Leg, Payload
from indexer.errors import Misconfigured, Permanent
from indexer.ports import Reader, Scored, Sparse, Where
from indexer.search.fusion import dbsf
from indexer.settings import Search

if TYPE_CHECKING:
    from indexer.ports import Vector

HYBRID, DENSE, BM25 = MODES = ("hybrid", "dense", "bm25")
BATCH = 64  # questions in one call of the model and of the engine
SPARE = 16  # fetched beyond the depth, to see whether a tie crosses it
MOST = 10_000  # never fetched more, however many scores are equal

Analyze = Callable[[str], list[str]]


class _Asked(Struct):
    """A question, prepared for its legs, and what they found."""

    terms: list[str]
    vector: Vector | None = None
    words: Sparse | None = None
    dense: list[Scored] = []
    bm25: list[Scored] = []


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


def search_many(
    reader: Reader,
    questions: Sequence[str],
    *,
    analyze: Analyze,
    embed_queries: Callable[[Sequence[str]], Sequence[Vector]] | None,
    mode: str = HYBRID,
    limit: int = 10,
    settings: Search,
    where: Where | None = None,
) -> list[list[Hit]]:
    """
    Hits for each question, as `search` gives them; questions are embedded and asked in batches.

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
    job = _Search(reader, analyze, embed_queries if mode != BM25 else None, mode, limit, settings, where)
    rest = iter(questions)
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
        where: Where | None = None,
    ) -> None:
        self.reader = reader
        self.analyze = analyze
        self.embed = embed
        self.mode = mode
        self.limit = limit
        self.settings = settings
        self.where = where
        self.coverage = Coverage(reader.snapshot)

    def answer(self, questions: list[str]) -> Iterator[list[Hit]]:
        asked = self._prepare(questions)
        self._ask(asked)
        ranked = self._rank(asked)
        payloads = self.reader.payloads(sorted({name for ranking in ranked for name, _ in ranking}))
        for one, ranking in zip(asked, ranked, strict=True):
            dense, bm25 = _legs(one.dense), _legs(one.bm25)
            yield [
                _hit(name, score, payloads[name], dense.get(name), bm25.get(name)) for name, score in ranking
            ]

    def _prepare(self, questions: list[str]) -> list[_Asked]:
        asked = [_Asked(terms=self.analyze(question)) for question in questions]
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
        depth = self.settings.prefetch if self.mode == HYBRID else self.limit
        queries: list[Vector | Sparse] = [one.vector for one in asked if one.vector is not None]
        queries += [one.words for one in asked if one.words is not None]
        found = iter(nearest(self.reader, queries, depth, self.where))
        for one in asked:
            if one.vector is not None:
                one.dense = next(found)
        for one in asked:
            if one.words is not None:
                one.bm25 = next(found)

    def _rank(self, asked: list[_Asked]) -> list[list[tuple[str, float]]]:
        if self.mode != HYBRID:
            return [
                [(s.id, s.score) for s in (one.dense if self.mode == DENSE else one.bm25)] for one in asked
            ]
        weights = self._weights(asked)
        fused = (
            dbsf((one.dense, one.bm25), (1.0, weight)) for one, weight in zip(asked, weights, strict=True)
        )
        return [sorted(scores.items(), key=_best_first)[: self.limit] for scores in fused]

    def _weights(self, asked: list[_Asked]) -> list[float]:
        """The keyword leg's weight per question: 1 from a coverage of `coverage_gate` on, less below."""
        gate = self.settings.coverage_gate
        if not gate:
            return [1.0] * len(asked)
        best = sorted({one.bm25[0].id for one in asked if one.bm25})
        terms = self.reader.terms(best) if best else {}
        return [
            min(1.0, self.coverage(one.terms, terms.get(one.bm25[0].id, ())) / gate) if one.bm25 else 0.0
            for one in asked
        ]


class Coverage:
    """How much of a question a chunk covers, by IDF; a term that no chunk has counts as the rarest."""

    def __init__(self, snapshot: Bm25Snapshot) -> None:
        self._snapshot = snapshot

    def __call__(self, terms: Sequence[str], indices: Sequence[int]) -> float:
        """Share (0 to 1) of the IDF of the distinct `terms` whose index is among `indices`."""
        there = set(indices)
        vocab, idf = self._snapshot.vocab, self._snapshot.idf
        covered = total = 0.0
        for term in dict.fromkeys(terms):
            weight = idf[term] if term in vocab else self._rarest
            total += weight
            covered += weight if vocab.get(term) in there else 0.0
        return covered / total if total else 0.0

    @cached_property
    def _rarest(self) -> float:
        return max(self._snapshot.idf.values(), default=0.0)


def words_of(terms: Sequence[str], snapshot: Bm25Snapshot) -> Sparse | None:
    """The question's side of BM25: how often each known term is asked; `None` if none is known."""
    counts = Counter(snapshot.vocab[term] for term in terms if term in snapshot.vocab)
    if not counts:
        return None
    indices = sorted(counts)
    return Sparse(indices=tuple(indices), values=tuple(float(counts[index]) for index in indices))


def nearest(
    reader: Reader, queries: Sequence[Vector | Sparse], depth: int, where: Where | None = None
) -> list[list[Scored]]:
    """The best `depth` points for each query, by (score, id): also where a tie crosses the depth."""
    fetch = depth + SPARE
    lists = reader.nearest(queries, fetch, where) if queries else []
    ranked = []
    for query, first in zip(queries, lists, strict=True):
        found, fetched = first, fetch
        while len(found) == fetched < MOST and found[depth - 1].score == found[-1].score:
            fetched = min(4 * fetched, MOST)
            found = reader.nearest([query], fetched, where)[0]
        ranked.append(sorted(found, key=lambda scored: (-scored.score, scored.id))[:depth])
    return ranked


def _best_first(item: tuple[str, float]) -> tuple[float, str]:
    return -item[1], item[0]


def _legs(found: Sequence[Scored]) -> dict[str, Leg]:
    return {scored.id: Leg(rank=rank, score=scored.score) for rank, scored in enumerate(found, 1)}


def _hit(name: str, score: float, payload: Payload, dense: Leg | None, bm25: Leg | None) -> Hit:
    return Hit(
        id=name,
        score=score,
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
