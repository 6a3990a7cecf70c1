"""Embedded pages → a generation, in the real embedded store."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.adapters.edge import EdgeStore
from indexer.artifacts import EmbeddedChunk, EmbeddedPage, Manifest
from indexer.errors import Misconfigured, Permanent, Refused
from indexer.index.analysis import analyzer
from indexer.phases import index as phase
from indexer.search.hybrid import nearest, words_of
from indexer.settings import Index, Settings

PROJECT = str(uuid.UUID(int=5))


def vector(number: int, size: int = 4) -> str:
    values = np.full(size, 0.1, dtype="<f4")
    values[number % size] = 1
    return base64.b64encode(values.tobytes()).decode()


def page(number: int, *texts: str, model: str = "toy", size: int = 4) -> EmbeddedPage:
    chunks = tuple(
        EmbeddedChunk(
            ordinal=n, topic=f"Часть {n}", text=text, start=0, end=len(text), vector=vector(number + n, size)
        )
        for n, text in enumerate(texts)
    )
    return EmbeddedPage(
        signature=f"s{number}",
        url=f"https://e.org/{number}",
        title="Т",
        language="ru",
        model=model,
        dimension=size,
        chunks=chunks,
    )


PAGES = [page(1, "красная дверь", "синяя дверь"), page(2), page(3, "окно", "—", "окно")]


@pytest.fixture
def store(tmp_path: Path) -> EdgeStore:
    return EdgeStore(tmp_path / "vectors", collection="Кафе")


def build(
    store: EdgeStore, pages: list[EmbeddedPage], settings: Settings | None = None
) -> tuple[Manifest, object]:
    return phase.build(
        lambda: pages,
        store=store,
        project_id=PROJECT,
        project="Кафе",
        language="ru",
        settings=settings or Settings(),
        signature="all of it",
        prefixes=("query: ", "passage: "),
    )


def test_the_manifest_says_what_the_generation_is(store: EdgeStore) -> None:
    """Model, dimension, BM25 parameters and counts come from the pages; pages without chunks do not count."""
    manifest, snapshot = build(store, PAGES, Settings(index=Index(k1=1.2, b=0.5, analyzer="plain")))

    assert msgspec.structs.asdict(manifest) == {
        "schema": 1,
        "generation": manifest.generation,
        "collection": store.collection(manifest.generation),
        "signature": "all of it",
        "project_id": PROJECT,
        "project": "Кафе",
        "language": "ru",
        "model": "toy",
        "dimension": 4,
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "dense_vector": "dense",
        "sparse_vector": "bm25",
        "analyzer": "plain",
        "analyzer_version": 1,
        "k1": 1.2,
        "b": 0.5,
        "avg_dl": pytest.approx((6 + 6 + 5 + 4 + 5) / 5),
        "pages": 2,
        "points": 5,
        "terms": 26,
        "clones": 0,
        "build": phase.VERSION,
    }
    assert len(manifest.generation) == 26
    assert store.reader() is None  # publishing is the caller's
    store.publish(manifest, snapshot)  # type: ignore[arg-type]
    reader = store.reader()
    assert reader is not None
    assert reader.count() == 5
    reader.close()


def test_scores_of_the_engine_are_exact_bm25(store: EdgeStore) -> None:
    """The engine's IDF over our weights is the contract's formula, chunks without a word included."""
    pages = [page(n, *(f"слово{(n * k) % 7} слово{k} дверь" for k in range(n))) for n in range(1, 9)]
    pages.append(page(99, "—"))
    manifest, snapshot = build(store, pages)
    store.publish(manifest, snapshot)  # type: ignore[arg-type]
    reader = store.reader()
    assert reader is not None
    words = analyzer("stem")
    documents = {
        chunk.text: words(f"{chunk.topic} {chunk.topic} {chunk.text}")
        for one in pages
        for chunk in one.chunks
    }
    every = [words(f"{chunk.topic} {chunk.topic} {chunk.text}") for one in pages for chunk in one.chunks]
    question = words("слово3 слово5 дверь дверь иное")
    asked = words_of(question, reader.snapshot)
    assert asked is not None
    (found,) = nearest(reader, [asked], 1000)
    payloads = reader.payloads(found.ids)
    average = sum(map(len, every)) / len(every)

    def oracle(document: list[str]) -> float:
        score = 0.0
        for term in question:
            tf, df = document.count(term), sum(term in other for other in every)
            rarity = np.log((len(every) - df + 0.5) / (df + 0.5) + 1)
            score += rarity * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * len(document) / average))
        return float(score)

    assert len(found.ids) == sum(any(term in document for term in question) for document in every)
    for name, score in zip(found.ids, found.scores, strict=True):
        payload = payloads[name]
        assert score == pytest.approx(
            oracle(words(f"{payload.topic} {payload.topic} {payload.text}")), rel=1e-5
        )
    assert len(documents) > 10
    reader.close()


@pytest.mark.parametrize("pages", [[], [page(1)]])
def test_an_empty_index_is_refused(store: EdgeStore, pages: list[EmbeddedPage]) -> None:
    """Without a single chunk nothing is built, so that nothing good is replaced."""
    with pytest.raises(Refused, match="no page has a chunk"):
        build(store, pages)
    assert not store._generations.folder.exists()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (page(4, "дверь", model="other"), r"other \(4 dimensions\): 1 pages, for example https://e.org/4"),
        (page(4, "дверь", size=6), r"toy \(6 dimensions\): 1 pages"),
    ],
)
def test_mixed_models_are_refused(store: EdgeStore, other: EmbeddedPage, words: str) -> None:
    """One index holds the vectors of one model; the message names an example of each."""
    with pytest.raises(Misconfigured, match=rf"different models.*{words}.*--from-phase embed"):
        build(store, [*PAGES, other])
    with pytest.raises(Misconfigured, match="analyzer"):
        build(store, PAGES, Settings(index=Index(analyzer="none")))


def test_a_bad_vector_leaves_nothing_behind(store: EdgeStore) -> None:
    """What was begun is abandoned, and the old index stays."""
    manifest, snapshot = build(store, PAGES)
    store.publish(manifest, snapshot)  # type: ignore[arg-type]
    bad = page(7, "дверь")
    bad = msgspec.structs.replace(bad, chunks=(msgspec.structs.replace(bad.chunks[0], vector=""),))
    with pytest.raises(Permanent, match=r"chunk 0 of https://e.org/7"):
        build(store, [*PAGES, bad])

    assert store.current() == manifest
    assert [path.name for path in store._generations.folder.glob("gen-*")] == [f"gen-{manifest.generation}"]


def test_pages_that_change_between_the_passes_are_noticed(store: EdgeStore) -> None:
    """Another number of chunks, or a new word, ends the build."""
    for second, words in ((PAGES[:1], "2 points instead of 5"), ([page(1, "крыша")], r"'крыш' appeared")):
        passes = iter([PAGES, second])
        with pytest.raises(Permanent, match=words):
            phase.build(
                lambda passes=passes: next(passes),  # type: ignore[misc]
                store=store,
                project_id=PROJECT,
                project="Кафе",
                language="ru",
                settings=Settings(),
                signature="s",
            )


def test_pages_are_streamed(store: EdgeStore) -> None:
    """Never more than one page is asked for at a time, and never all points are held."""
    asked: list[int] = []

    def pages() -> Iterator[EmbeddedPage]:
        for number in range(1500):
            asked.append(number)
            yield page(number, "дверь")

    handed: list[tuple[int, int]] = []
    begin = store.begin

    def spying(generation: str, dimension: int) -> object:
        building = begin(generation, dimension)
        upsert = building.upsert
        building.upsert = lambda points: (handed.append((len(asked), len(points))), upsert(points))[1]  # type: ignore[method-assign]
        return building

    store.begin = spying  # type: ignore[method-assign,assignment]
    phase.build(
        pages,
        store=store,
        project_id=PROJECT,
        project="Кафе",
        language="ru",
        settings=Settings(),
        signature="s",
    )

    assert handed == [(1500 + 512, 512), (1500 + 1024, 512), (3000, 476)]


def test_generations_sort_by_age_even_if_the_clock_goes_back(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new name is after all others, whatever time it is."""
    from ulid import ULID

    published = []
    for year in (2030, 2020, 2025):
        monkeypatch.setattr("time.time_ns", lambda year=year: (year - 1970) * 365 * 86_400 * 10**9)
        manifest, snapshot = build(store, PAGES)
        store.publish(manifest, snapshot)  # type: ignore[arg-type]
        published.append(manifest.generation)

    assert [ULID.from_str(name).datetime.year for name in published] == [2029] * 3
    assert published == sorted(published)
    assert len(set(published)) == 3
    assert store.generations() == published


PAIRS = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=3), st.text("abc", max_size=3)),
    unique_by=lambda pair: pair[0],
)


@given(PAIRS, st.randoms())
def test_the_signature_depends_on_pages_and_settings_not_on_order(
    pairs: list[tuple[str, str]], rng: object
) -> None:
    """The same pages in another order need no new index; any other page or parameter does."""
    one = phase.signature_of(pairs, settings=Index(), language="ru")
    shuffled = list(pairs)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert phase.signature_of(shuffled, settings=Index(keep_generations=9), language="ru") == one
    assert phase.signature_of([*pairs, ("zz", "a")], settings=Index(), language="ru") != one
    for changed in (Index(k1=1.2), Index(b=0.5), Index(analyzer="plain")):
        assert phase.signature_of(pairs, settings=changed, language="ru") != one
