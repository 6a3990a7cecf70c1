"""
Exact BM25, split as a sparse index needs it.

    score(q, d) = Σ qtf(t) · IDF(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))
    IDF(t)      = ln((N − df + 0.5) / (df + 0.5) + 1)

(Robertson & Zaragoza 2009; IDF as in Lucene.) A document vector holds the last factor,
the engine multiplies by IDF (`Modifier.IDF`), a question holds qtf. Two passes over the
texts: `Statistics.add` for df and avgdl, then `Weights.vector`; neither keeps a text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Self

from indexer.artifacts import Bm25Snapshot
from indexer.errors import Permanent
from indexer.index.analysis import Analyzer

WORDLESS = 2**32 - 1
"""
The index that a text without a term gets. No term has it, so nothing finds it; but the
engine counts only points that have a sparse vector, and N is all of them.
"""


class Statistics:
    """First pass: document frequencies and the mean length (in terms)."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.documents = 0
        self.terms = 0
        self._frequency: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count one document."""
        terms = self.analyzer(text)
        self.documents += 1
        self.terms += len(terms)
        self._frequency.update(set(terms))

    @classmethod
    def of(cls, snapshot: Bm25Snapshot, analyzer: Analyzer, *, terms: int) -> Self:
        """What a snapshot was made of. `terms`: the length of all its documents together."""
        found = cls(analyzer)
        found.documents = snapshot.num_docs
        found.terms = terms
        scale = snapshot.num_docs + 1
        found._frequency = Counter(  # IDF = ln((N + 1) / (df + 0.5)), solved for df
            {term: round(scale * math.exp(-weight) - 0.5) for term, weight in snapshot.idf.items()}
        )
        return found

    def remove(self, text: str) -> None:
        """Count one document less. Raises `ValueError` if it was never counted."""
        terms = self.analyzer(text)
        self.documents -= 1
        self.terms -= len(terms)
        for term in set(terms):
            self._frequency[term] -= 1
            if self._frequency[term] < 0:
                raise ValueError(f"the word {term!r} was in no document")

    def revised(self, base: Bm25Snapshot) -> Bm25Snapshot:
        """
        As `snapshot`, for a clone of the index that `base` belongs to.

        avgdl stays, since the weights of all other documents were made with it; so do the
        indices of known terms, and a new term gets one that none had.
        """
        count = self.documents
        terms = {term: frequency for term, frequency in self._frequency.items() if frequency}
        vocab = {term: index for term, index in base.vocab.items() if term in terms}
        fresh = sorted(terms.keys() - vocab.keys())
        start = max(base.vocab.values(), default=-1) + 1
        vocab |= {term: start + number for number, term in enumerate(fresh)}
        return Bm25Snapshot(
            analyzer=base.analyzer,
            analyzer_version=base.analyzer_version,
            k1=base.k1,
            b=base.b,
            avg_dl=base.avg_dl,
            num_docs=count,
            vocab=vocab,
            idf={term: idf(count, terms[term]) for term in vocab},
        )

    def snapshot(self, *, k1: float, b: float) -> Bm25Snapshot:
        """
        Freeze: terms get their indices in sorted order, so equal texts give equal snapshots.

        Needs at least one document.
        """
        count = self.documents
        terms = sorted(self._frequency)
        return Bm25Snapshot(
            analyzer=self.analyzer.name,
            analyzer_version=self.analyzer.version,
            k1=k1,
            b=b,
            avg_dl=self.terms / count,
            num_docs=count,
            vocab={term: index for index, term in enumerate(terms)},
            idf={term: idf(count, self._frequency[term]) for term in terms},
        )


class Weights:
    """Second pass: a document's sparse vector under one frozen snapshot."""

    def __init__(self, snapshot: Bm25Snapshot, analyzer: Analyzer) -> None:
        self._snapshot = snapshot
        self._analyzer = analyzer

    def vector(self, text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """
        Ascending term indices and their weights.

        Raises `Permanent` for a term that the first pass did not see.
        """
        terms = self._analyzer(text)
        if not terms:
            return (WORDLESS,), (1.0,)
        saturation = self._saturation(len(terms))
        scale = self._snapshot.k1 + 1
        vocab = self._snapshot.vocab
        try:
            found = {vocab[term]: tf for term, tf in Counter(terms).items()}
        except KeyError as error:
            raise Permanent(
                f"the word {error} appeared while the index was built: the texts changed meanwhile; run again"
            ) from None
        indices = sorted(found)
        weights = {tf: tf * scale / (tf + saturation) for tf in set(found.values())}
        return tuple(indices), tuple([weights[found[index]] for index in indices])

    def _saturation(self, length: int) -> float:
        snapshot = self._snapshot
        return snapshot.k1 * (1 - snapshot.b + snapshot.b * length / snapshot.avg_dl)


def idf(documents: int, frequency: int) -> float:
    """ln((N − df + 0.5) / (df + 0.5) + 1): positive even for a term of every document."""
    return math.log((documents - frequency + 0.5) / (frequency + 0.5) + 1)


def text_of(parts: Iterable[str]) -> str:
    """A chunk as BM25 reads it: topic, context and text, those that there are."""
    return "\n".join(part for part in parts if part)
