"""Question → hits, over the real embedded engine and over a reader that plays tricks."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from indexer.adapters.edge import EdgeStore
from indexer.artifacts import Bm25Snapshot, EmbeddedChunk, EmbeddedPage, Payload
from indexer.errors import Misconfigured, Permanent
from indexer.hits import Hit
from indexer.index.analysis import analyzer
from indexer.phases import index as phase
from indexer.ports import Ranked, Reader, Sparse
from indexer.search.fusion import dbsf
from indexer.search.hybrid import BATCH, Coverage, nearest, search, search_many, words_of
from indexer.settings import Search, Settings

PROJECT = str(uuid.UUID(int=3))
STEM = analyzer("stem")
NO_GATE = Search(coverage_gate=0)

TEXTS = {
    "prices": "Цена установки двери 5000 рублей",
    "doors": "Двери входные и межкомнатные, установка дверей",
    "windows": "Окна пластиковые, установка окон",
    "contacts": "Телефон и адрес офиса",
    "hours": "Open daily from nine to six",
}


def encoded(vector: Sequence[float]) -> str:
    return base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()


def page(url: str, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> EmbeddedPage:
    chunks = tuple(
        EmbeddedChunk(ordinal=n, topic="", text=text, start=0, end=len(text), vector=encoded(vector))
        for n, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    )
    return EmbeddedPage(
        signature="s",
        url=url,
        title=url,
        language="ru",
        model="toy",
        dimension=len(vectors[0]),
        chunks=chunks,
    )


def reader_of(folder: Path, pages: list[EmbeddedPage]) -> Reader:
    store = EdgeStore(folder / "vectors", collection="toy")
    manifest, snapshot = phase.build(
        lambda: pages,
        store=store,
        project_id=PROJECT,
        project="toy",
        language="ru",
        settings=Settings(),
        signature="s",
    )
    store.publish(manifest, snapshot)
    reader = store.reader()
    assert reader is not None
    return reader


def axis(number: int, size: int = len(TEXTS)) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[number]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    pages = [
        page(f"https://e.org/{name}", [text], [axis(n) + 0.1]) for n, (name, text) in enumerate(TEXTS.items())
    ]
    opened = reader_of(tmp_path, pages)
    yield opened
    opened.close()


def names(hits: list[Hit]) -> list[str]:
    return [hit.url.removeprefix("https://e.org/") for hit in hits]


def test_each_hit_says_how_each_leg_saw_it(reader: Reader) -> None:
    """Rank and raw score per leg, `None` where a leg did not find it, and the whole payload."""
    hits = search(reader, "установка дверей", analyze=STEM, embed_query=lambda q: axis(1), settings=NO_GATE)

    assert names(hits)[0] == "doors"
    assert len(hits) == len(TEXTS)
    first, last = hits[0], next(hit for hit in hits if hit.url.endswith("hours"))
    assert first.text == TEXTS["doors"]
    assert (first.title, first.language) == ("https://e.org/doors", "ru")
    assert first.dense is not None
    assert first.bm25 is not None
    assert (first.dense.rank, first.bm25.rank) == (1, 1)
    assert first.bm25.score > 0
    assert last.bm25 is None
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_one_leg_alone_keeps_its_own_scores(reader: Reader) -> None:
    """Modes `dense` and `bm25` rank by one leg; `bm25` needs no model and finds only words."""
    dense = search(
        reader, "окна", analyze=STEM, embed_query=lambda q: axis(3), mode="dense", settings=Search()
    )
    bm25 = search(reader, "окно", analyze=STEM, embed_query=None, mode="bm25", settings=Search())

    assert names(dense)[0] == "contacts"
    assert all(hit.bm25 is None and hit.dense and hit.score == hit.dense.score for hit in dense)
    assert names(bm25) == ["windows"]
    assert bm25[0].dense is None
    assert bm25[0].bm25 is not None
    assert bm25[0].score == bm25[0].bm25.score
    assert search(reader, "…!", analyze=STEM, embed_query=None, mode="bm25", settings=Search()) == []


def test_without_the_gate_the_order_is_dbsf_of_the_legs(reader: Reader) -> None:
    """The fused score is DBSF over the two legs as the store gives them."""
    question = "установка двери и окон"
    hits = search(reader, question, analyze=STEM, embed_query=lambda q: axis(0), settings=NO_GATE)
    words = words_of(STEM(question), reader.snapshot)
    assert words is not None
    legs = nearest(reader, [axis(0), words], 200)

    assert {hit.id: hit.score for hit in hits} == dbsf(legs, [1.0, 1.0])


def test_a_question_in_another_language_is_left_to_the_vectors(reader: Reader) -> None:
    """A keyword leg that covers little of the question weighs little, and none without hits."""
    question = "open the price list of wooden front entrance doors please"
    ungated = search(reader, question, analyze=STEM, embed_query=lambda q: axis(0), settings=NO_GATE)
    gated = search(reader, question, analyze=STEM, embed_query=lambda q: axis(0), settings=Search())
    unknown = search(
        reader, "совершенно иное", analyze=STEM, embed_query=lambda q: axis(4), settings=Search()
    )

    assert names(ungated)[0] == "hours"  # found by "open" alone
    assert names(gated)[0] == "prices"
    assert names(unknown)[0] == "hours"
    assert all(hit.bm25 is None for hit in unknown)


def test_coverage_is_the_share_of_idf() -> None:
    """Distinct terms count once; a term that no chunk has counts as much as the rarest."""
    snapshot = Bm25Snapshot(
        analyzer="plain",
        analyzer_version=1,
        k1=1.5,
        b=0.75,
        avg_dl=1,
        num_docs=3,
        vocab={"a": 0, "b": 1, "c": 2},
        idf={"a": 1.0, "b": 2.0, "c": 3.0},
    )
    coverage = Coverage(snapshot)

    assert coverage(["a", "b", "b"], [0, 1]) == 1.0
    assert coverage(["a", "b", "b"], [0]) == pytest.approx(1 / 3)
    assert coverage(["a", "?"], [0, 2]) == pytest.approx(1 / 4)
    assert coverage(["?"], []) == 0.0
    assert coverage([], [0]) == 0.0


def test_equal_scores_are_ordered_by_id_and_limits_are_prefixes(tmp_path: Path) -> None:
    """
    300 chunks that all score the same: the order is by id, and a smaller limit is a prefix.

    The tie crosses the depth of the legs, so the store is asked again until it is whole.
    """
    pages = [page(f"https://e.org/{n:03}", ["дверь"], [[1.0, 0.0]]) for n in range(300)]
    random.Random(5).shuffle(pages)
    reader = reader_of(tmp_path, pages)
    ids = sorted(nearest(reader, [axis(0, 2)], 1000)[0].ids)
    for mode in ("dense", "bm25", "hybrid"):
        whole = search(
            reader,
            "двери",
            analyze=STEM,
            embed_query=lambda q: axis(0, 2),
            mode=mode,
            limit=200,
            settings=Search(),
        )
        few = search(
            reader,
            "двери",
            analyze=STEM,
            embed_query=lambda q: axis(0, 2),
            mode=mode,
            limit=7,
            settings=Search(),
        )
        assert [hit.id for hit in whole] == ids[:200]
        assert few == whole[:7]
    reader.close()


def test_many_questions_equal_one_by_one(reader: Reader) -> None:
    """A batch gives what single questions give, and embeds them in batches."""
    questions = [f"{text} {n}" for n in range(30) for text in TEXTS.values()]
    vectors = {question: axis(n % 5) + n / 1000 for n, question in enumerate(questions)}
    calls: list[int] = []

    def embed_queries(batch: Sequence[str]) -> list[np.ndarray]:
        calls.append(len(batch))
        return [vectors[question] for question in batch]

    found = search_many(
        reader, questions, analyze=STEM, embed_queries=embed_queries, limit=3, settings=Search()
    )

    assert calls == [BATCH, BATCH, len(questions) - 2 * BATCH]
    for question, hits in zip(questions, found, strict=True):
        alone = search(
            reader, question, analyze=STEM, embed_query=vectors.__getitem__, limit=3, settings=Search()
        )
        assert hits == alone
    assert search_many(reader, [], analyze=STEM, embed_queries=embed_queries, settings=Search()) == []


@pytest.mark.parametrize("question", ["", "  \n\t"])
def test_a_blank_question_is_refused(reader: Reader, question: str) -> None:
    """There is nothing to search for."""
    with pytest.raises(Misconfigured, match="question is empty"):
        search(reader, question, analyze=STEM, embed_query=lambda q: axis(0), settings=Search())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "fuzzy"}, "hybrid, dense, bm25"),
        ({"limit": 0}, "at least 1"),
        ({"embed_query": None}, "needs an embedding model"),
        ({"embed_query": lambda q: axis(0, 7)}, r"7 dimensions.*made with toy \(5\)"),
    ],
)
def test_wrong_use_is_said(reader: Reader, changes: dict[str, object], words: str) -> None:
    """Mode, limit and model are checked before the engine is asked."""
    options = {"analyze": STEM, "embed_query": lambda q: axis(0), "settings": Search(), **changes}
    with pytest.raises(Misconfigured, match=words):
        search(reader, "дверь", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf])
def test_a_model_that_gives_no_vector_is_named(reader: Reader, number: float) -> None:
    """Zero, NaN and infinity cannot be searched; an engine would answer with nonsense."""
    vector = np.full(5, number, dtype=np.float32)
    with pytest.raises(Permanent, match="toy gave no usable vector"):
        search(reader, "дверь", analyze=STEM, embed_query=lambda q: vector, settings=Search())


class Tied:
    """A reader of `size` points with equal scores, given in another order at each call."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked: list[int] = []

    def nearest(self, queries: Sequence[object], limit: int, where: object = None) -> list[Ranked]:
        self.asked.append(limit)
        found = [f"{n:05}" for n in range(self.size)]
        random.Random(len(self.asked)).shuffle(found)
        return [Ranked(found[:limit], [1.0] * len(found[:limit])) for _ in queries]

    def payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        raise NotImplementedError


@pytest.mark.parametrize(("size", "calls"), [(10, 1), (215, 1), (216, 2), (3000, 3)])
def test_a_tie_that_crosses_the_depth_is_fetched_whole(size: int, calls: int) -> None:
    """Only then is the engine asked again, for more."""
    tied = Tied(size)
    (found,) = nearest(tied, [Sparse(indices=(1,), values=(1.0,))], 200)  # type: ignore[arg-type]

    assert found.ids == [f"{n:05}" for n in range(min(size, 200))]
    assert len(tied.asked) == calls


def test_a_tie_of_everything_ends() -> None:
    """However many points are equal, the fetch is bounded."""
    tied = Tied(50_000)
    (found,) = nearest(tied, [Sparse(indices=(1,), values=(1.0,))], 200)  # type: ignore[arg-type]

    assert len(found.ids) == 200
    assert max(tied.asked) == 10_000
