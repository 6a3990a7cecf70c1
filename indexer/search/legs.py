"""The two legs of a search: what each is asked, and how much of a question the keyword leg covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from operator import gt, neg
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from indexer.artifacts import Bm25Snapshot
from indexer.ports import Ranked, Reader, Sparse, Where

if TYPE_CHECKING:
    from indexer.ports import Vector

SPARE = 16  # fetched beyond the depth, to see whether a tie crosses it
MOST = 10_000  # never fetched more, however many scores are equal

_COVERAGES: WeakKeyDictionary[Reader, Coverage] = WeakKeyDictionary()


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

    @classmethod
    def of(cls, reader: Reader) -> Coverage:
        """One for each open index: which term is the rarest is looked up once."""
        if reader not in _COVERAGES:
            _COVERAGES[reader] = cls(reader.snapshot)
        return _COVERAGES[reader]

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
) -> list[Ranked]:
    """The best `depth` points for each query, by (score, id): also where a tie crosses the depth."""
    fetch = depth + SPARE
    lists = reader.nearest(queries, fetch, where) if queries else []
    ranked = []
    for query, first in zip(queries, lists, strict=True):
        found, fetched = first, fetch
        while len(found.ids) == fetched < MOST and found.scores[depth - 1] == found.scores[-1]:
            fetched = min(4 * fetched, MOST)
            found = reader.nearest([query], fetched, where)[0]
        ids, scores = found.ids, found.scores
        if not all(map(gt, scores, scores[1:])):
            ordered = sorted(zip(map(neg, scores), ids, strict=True))
            ids, scores = [name for _, name in ordered], [-score for score, _ in ordered]
        ranked.append(Ranked(ids[:depth], scores[:depth]))
    return ranked
