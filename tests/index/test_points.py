"""Embedded pages → checked points."""

from __future__ import annotations

import base64
import math
import uuid

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer import ids
from indexer.artifacts import EmbeddedChunk, EmbeddedPage, Point
from indexer.errors import Permanent
from indexer.index.analysis import analyzer
from indexer.index.bm25 import Statistics, Weights
from indexer.index.points import PointMaker, check, chunk_text, decode_vector

PROJECT = str(uuid.UUID(int=7))
URL = "https://example.org/цены"


def encoded(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


def chunk(ordinal: int, text: str, vector: str = encoded(1, 0), *, context: str = "") -> EmbeddedChunk:
    return EmbeddedChunk(
        ordinal=ordinal, topic="Цены", text=text, start=0, end=len(text), vector=vector, context=context
    )


def page(*chunks: EmbeddedChunk, url: str = URL) -> EmbeddedPage:
    return EmbeddedPage(
        signature="s", url=url, title="Прайс", language="ru", model="m", dimension=2, chunks=chunks
    )


def points_of(*pages: EmbeddedPage) -> list[Point]:
    words = analyzer("plain")
    statistics = Statistics(words)
    for one in pages:
        for part in one.chunks:
            statistics.add(chunk_text(part))
    weights = Weights(statistics.snapshot(k1=1.5, b=0.75), words)
    maker = PointMaker(PROJECT, dimension=2, weights=weights)
    return [point for one in pages for point in maker.points(one)]


def test_a_point_carries_what_a_bot_needs() -> None:
    """Vector, term weights over topic, context and text, and the whole payload."""
    (point,) = points_of(page(chunk(3, "Дверь 100", encoded(0.6, -0.8), context="Товар | Цена")))

    assert point.dense == pytest.approx((0.6, -0.8))
    assert len(point.indices) == len({"цены", "товар", "цена", "дверь", "100"})
    assert msgspec.structs.asdict(point.payload) == {
        "url": URL,
        "doc_id": ids.url_key(URL),
        "title": "Прайс",
        "topic": "Цены",
        "text": "Дверь 100",
        "context": "Товар | Цена",
        "language": "ru",
        "ordinal": 3,
        "article": "",
        "point": "",
        "points": (),
        "parent": "",
        "dataset": "",
        "layer": "",
        "edition": "",
        "status": "",
        "effective_date": "",
        "deprecated": False,
        "stale": False,
        "translation_group": "",
    }


def test_a_point_of_legal_text_names_its_article_and_points() -> None:
    """What an exact look-up filters by."""
    part = msgspec.structs.replace(
        chunk(0, "1) обращается", encoded(0.6, -0.8)),
        article="46",
        point="2",
        points=("2", "2/1)"),
        parent="Раздел III",
    )
    (point,) = points_of(page(part))
    payload = point.payload
    assert (payload.article, payload.point, payload.points) == ("46", "2", ("2", "2/1)"))
    assert payload.parent == "Раздел III"


def test_ids_follow_the_text_and_not_its_place() -> None:
    """An unchanged chunk keeps its id when others come before it; equal texts are numbered."""
    before = points_of(page(chunk(0, "А"), chunk(1, "Б"), chunk(2, "А")))
    after = points_of(page(chunk(0, "Новое"), chunk(1, "А"), chunk(2, "Б"), chunk(3, "А")))
    elsewhere = points_of(page(chunk(0, "А"), url=URL + "/2"))

    assert [point.id for point in after[1:]] == [point.id for point in before]
    assert len({point.id for point in before + elsewhere}) == 4
    assert before[0].id == ids.point_id(PROJECT, URL, ids.digest("А"), 0)
    assert before[2].id == ids.point_id(PROJECT, URL, ids.digest("А"), 1)


@pytest.mark.parametrize(
    ("vector", "why"),
    [
        (encoded(math.nan, 1), "NaN"),
        (encoded(math.inf, 1), "infinity"),
        (encoded(0, 0), "zero"),
        (encoded(1e-12, 0), "zero"),
        (encoded(1, 2, 3), "3 dimensions, the index has 2"),
        ("", "0 dimensions"),
        ("AAA", "no base64 of float32"),
        ("AAAA", "no base64 of float32"),
        ("не base64", "no base64 of float32"),
    ],
)
def test_a_vector_that_cannot_be_found_is_refused(vector: str, why: str) -> None:
    """The error names the page, the chunk, the reason, and what to do."""
    with pytest.raises(Permanent, match=rf"chunk 5 of {URL} cannot be indexed: .*{why}.*--from-phase embed"):
        points_of(page(chunk(4, "хорошо"), chunk(5, "плохо", vector)))


@pytest.mark.parametrize(
    ("indices", "values"),
    [
        ((), ()),
        ((1, 1), (1.0, 1.0)),
        ((2, 1), (1.0, 1.0)),
        ((1, 2), (1.0,)),
        ((-1, 2), (1.0, 1.0)),
        ((1, 2**32), (1.0, 1.0)),
        ((1, 2), (1.0, math.nan)),
        ((1, 2), (1.0, 0.0)),
        ((1, 2), (1.0, -1.0)),
    ],
)
def test_a_sparse_vector_that_an_engine_would_take_wrongly_is_refused(
    indices: tuple[int, ...], values: tuple[float, ...]
) -> None:
    """Empty, repeated, unsorted, unpaired, out of range, NaN, zero or negative."""
    (point,) = points_of(page(chunk(0, "дверь")))
    check(point, 2)
    with pytest.raises(ValueError, match="sparse vector"):
        check(msgspec.structs.replace(point, indices=indices, values=values), 2)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_vectors_decode_to_what_was_encoded(numbers: list[float]) -> None:
    """Base64 of little-endian float32, bit by bit."""
    assert decode_vector(encoded(*numbers)).tolist() == numbers


@given(st.text(max_size=40), st.text(max_size=40))
def test_aliases_are_valid_and_distinct(one: str, other: str) -> None:
    """Whatever a project is called, its collection has a plain name that no other project has."""
    alias = ids.collection_alias(one)

    assert alias.isascii()
    assert 0 < len(ids.collection_name(one, "0" * 26)) < 200
    assert not set(alias) & set('<>:"/\\|?* ')
    if one != other:
        assert ids.collection_alias(other) != alias
