"""What `--explain` tells adds up to the score, with each way of fusing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.index.analysis import analyzer
from indexer.ports import Ranked, Reader
from indexer.search.explain import spellings
from indexer.search.fusion import reciprocal, rrf
from indexer.search.hybrid import Extras, search_many
from indexer.settings import Search
from tests.search.test_hybrid import TEXTS, axis, page, reader_of

STEM = analyzer("stem")
QUESTION = "Сколько стоит установка дверей, ДВЕРИ входные"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    opened = reader_of(
        tmp_path,
        [page(f"https://e.org/{n}", [text], [axis(n) + 0.1]) for n, text in enumerate(TEXTS.values())],
    )
    yield opened
    opened.close()


def ask(reader: Reader, settings: Search, mode: str = "hybrid"):
    (hits,) = search_many(
        reader,
        [QUESTION],
        analyze=STEM,
        embed_queries=lambda questions: [np.asarray(axis(1) + axis(0) / 2)],
        settings=settings,
        mode=mode,
        extras=Extras(explain=True),
    )
    return hits


@pytest.mark.parametrize(
    "settings",
    [Search(), Search(coverage_gate=0), Search(fusion="weighted", dense_weight=0.3), Search(fusion="rrf")],
    ids=lambda one: f"{one.fusion} {one.coverage_gate}",
)
def test_the_parts_of_the_legs_add_up_to_the_score(reader: Reader, settings: Search) -> None:
    """Weight times normalised score of each leg is what the hit has; fixed weights are those set."""
    hits = ask(reader, settings)

    for hit in hits:
        legs = [leg for leg in (hit.dense, hit.bm25) if leg]
        assert hit.score == pytest.approx(sum(leg.weight * leg.normalised for leg in legs))
    weights = {(hit.dense.weight, hit.bm25.weight) for hit in hits if hit.dense and hit.bm25}
    assert len(weights) == 1
    if settings.fusion == "weighted":
        assert weights == {(0.3, 0.7)}
    elif settings.fusion == "rrf":
        assert weights == {(1.0, 1.0)}
        assert hits[0].score == pytest.approx(1 / (60 + hits[0].dense.rank) + 1 / (60 + hits[0].bm25.rank))
    elif settings.coverage_gate:
        assert 0 < weights.pop()[1] <= 1


@pytest.mark.parametrize("mode", ["hybrid", "bm25"])
def test_matched_terms_add_up_to_the_raw_bm25_score(reader: Reader, mode: str) -> None:
    """Each is told as it was stemmed, asked and written; a term that is asked twice counts twice."""
    hits = [hit for hit in ask(reader, Search(), mode) if hit.bm25]

    assert len(hits) == 3
    for hit in hits:
        assert hit.bm25 is not None
        assert sum(match.score for match in hit.bm25.matches) == pytest.approx(hit.bm25.score, abs=1e-5)
        scores = [match.score for match in hit.bm25.matches]
        assert scores == sorted(scores, reverse=True)
    told = {match.term: match for match in hits[0].bm25.matches}
    assert set(told) == set(STEM("двери входные установка"))
    door = told[STEM("дверь")[0]]
    assert door.asked == ("дверей", "ДВЕРИ")
    assert set(door.found) == {"Двери", "дверей"}
    assert all(hit.dense is None or not hit.dense.matches for hit in hits)


def test_nothing_is_explained_unasked(reader: Reader) -> None:
    """Reading the terms of every hit costs time."""
    (hits,) = search_many(
        reader,
        [QUESTION],
        analyze=STEM,
        embed_queries=lambda questions: [axis(1)],
        settings=Search(),
    )
    assert all(not hit.bm25.matches for hit in hits if hit.bm25)


@given(st.text())
def test_spellings_know_every_term_of_a_text(text: str) -> None:
    """Split into words, a text has the terms that the analyzer finds in it as a whole."""
    assert set(spellings(text, STEM)) == set(STEM(text))


def test_rrf_is_the_sum_of_reciprocal_ranks() -> None:
    """k = 60, ranks from 1, whatever the scores."""
    one, other = Ranked(["a", "b"], [900.0, 0.1]), Ranked(["b"], [-3.0])

    assert rrf([one, other]) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61})
    assert reciprocal([]) == []
