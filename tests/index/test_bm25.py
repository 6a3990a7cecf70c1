"""Exact BM25 against a brute-force oracle of the formula."""

from __future__ import annotations

import math
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.artifacts import Bm25Snapshot
from indexer.errors import Permanent
from indexer.index.analysis import analyzer
from indexer.index.bm25 import WORDLESS, Statistics, Weights, idf
from indexer.search.hybrid import words_of

PLAIN = analyzer("plain")
WORDS = st.sampled_from(["a", "b", "c", "d", "e", "дверь", "окно", "7", "…"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=12)


def oracle(question: str, texts: list[str], *, k1: float, b: float) -> list[float]:
    """The contract's formula, text by text."""
    documents = [PLAIN(text) for text in texts]
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for term in PLAIN(question):
            tf = document.count(term)
            df = sum(term in other for other in documents)
            rarity = math.log((len(texts) - df + 0.5) / (df + 0.5) + 1)
            if tf:
                score += rarity * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(document) / average))
        scores.append(score)
    return scores


def snapshot_of(texts: list[str], *, k1: float = 1.5, b: float = 0.75) -> Bm25Snapshot:
    statistics = Statistics(PLAIN)
    for text in texts:
        statistics.add(text)
    return statistics.snapshot(k1=k1, b=b)


def scores_of(question: str, texts: list[str], snapshot: Bm25Snapshot) -> list[float]:
    """What an engine with the IDF modifier computes from our vectors."""
    weights = Weights(snapshot, PLAIN)
    asked = words_of(PLAIN(question), snapshot)
    rarity = {index: snapshot.idf[term] for term, index in snapshot.vocab.items()}
    query = dict(zip(asked.indices, asked.values, strict=True)) if asked else {}
    return [
        sum(query.get(index, 0) * rarity.get(index, 0) * value for index, value in zip(*vector, strict=True))
        for vector in map(weights.vector, texts)
    ]


@given(
    texts=TEXTS,
    question=st.lists(WORDS, min_size=1, max_size=6).map(" ".join),
    k1=st.floats(0.1, 3),
    b=st.floats(0, 1),
)
def test_scores_equal_the_formula(texts: list[str], question: str, k1: float, b: float) -> None:
    """Document vectors, question vector and IDF together are BM25, also for repeated words."""
    snapshot = snapshot_of(texts, k1=k1, b=b)

    assert scores_of(question, texts, snapshot) == pytest.approx(
        oracle(question, texts, k1=k1, b=b), rel=1e-9, abs=1e-12
    )


@given(TEXTS)
def test_document_vectors_are_what_an_engine_takes(texts: list[str]) -> None:
    """Indices ascend without repeats and fit 32 bits, weights are positive, no vector is empty."""
    weights = Weights(snapshot_of(texts), PLAIN)
    for text in texts:
        indices, values = weights.vector(text)
        assert list(indices) == sorted(set(indices))
        assert 0 <= indices[0] <= indices[-1] < 2**32
        assert len(indices) == len(values) == max(1, len(set(PLAIN(text))))
        assert min(values) > 0


@given(TEXTS)
def test_the_snapshot_depends_on_the_texts_alone(texts: list[str]) -> None:
    """Another order of the same texts gives the same bytes."""
    one, other = snapshot_of(texts), snapshot_of(texts[::-1])

    assert msgspec.json.encode(one) == msgspec.json.encode(other)
    assert list(one.vocab) == sorted(one.vocab)
    assert list(one.vocab.values()) == list(range(len(one.vocab)))
    assert one.num_docs == len(texts)
    assert one.avg_dl == pytest.approx(sum(len(PLAIN(text)) for text in texts) / len(texts))
    counts = Counter(term for text in texts for term in set(PLAIN(text)))
    assert one.idf == {term: pytest.approx(idf(len(texts), count)) for term, count in counts.items()}


def test_a_text_without_a_word_counts_as_a_document() -> None:
    """It gets an index that no word has, so that the engine's N is the number of all texts."""
    texts = ["дверь", "…", "окно"]
    snapshot = snapshot_of(texts)

    assert Weights(snapshot, PLAIN).vector("…") == ((WORDLESS,), (1.0,))
    assert snapshot.num_docs == 3
    assert WORDLESS not in snapshot.vocab.values()
    assert snapshot_of(["…"]).vocab == {}


def test_a_new_word_in_the_second_pass_is_an_error() -> None:
    """Texts that change while the index is built would break df: say so."""
    weights = Weights(snapshot_of(["дверь"]), PLAIN)
    with pytest.raises(Permanent, match=r"'окно' appeared while the index was built.*run again"):
        weights.vector("дверь окно")
