"""
BM25 as the stores answer it, against two that share no code with it: the contract's formula
computed text by text, and bm25s on a whole set.
"""

from __future__ import annotations

import base64
import itertools
import math
import random
import re
import uuid
from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest
from msgspec.structs import replace

from indexer.adapters.edge import EdgeStore
from indexer.artifacts import EmbeddedChunk, EmbeddedPage
from indexer.ids import url_key
from indexer.index.analysis import analyzer
from indexer.phases import index as phase
from indexer.ports import Ranked, Reader, VectorStore
from indexer.search.hybrid import search_many, words_of
from indexer.settings import Index, Search, Settings
from tests.stores.engine import Engine

STEM = analyzer("stem")
VECTOR = base64.b64encode(np.ones(4, dtype="<f4").tobytes()).decode()
SYLLABLES = ("ба", "ве", "ги", "до", "жу", "ka", "lo", "mi", "7")


def vocabulary(size: int) -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(size)]


def written(words: Sequence[str], number: int, seed: int, *, longest: int = 40) -> list[str]:
    """Texts whose words are as frequent as a language's: the nth word 1/n as often as the first."""
    chance = random.Random(seed)
    weights = [1 / n for n in range(1, len(words) + 1)]
    return [
        " ".join(chance.choices(words, weights, k=chance.randint(1, longest))).capitalize() + "."
        for _ in range(number)
    ]


def pages_of(texts: dict[str, str]) -> list[EmbeddedPage]:
    """A page of one chunk for each text; every third has a topic, every fifth a context."""
    pages = []
    for n, (url, text) in enumerate(sorted(texts.items())):
        chunk = EmbeddedChunk(
            ordinal=0,
            topic=text.split()[-1] if n % 3 == 0 else "",
            text=text,
            start=0,
            end=len(text),
            vector=VECTOR,
            context=text.split()[0] if n % 5 == 0 else "",
        )
        pages.append(
            EmbeddedPage(
                signature="s", url=url, title="t", language="ru", model="toy", dimension=4, chunks=(chunk,)
            )
        )
    return pages


def published(store: VectorStore, pages: list[EmbeddedPage], settings: Index) -> Reader:
    manifest, snapshot = phase.build(
        lambda: pages,
        store=store,
        project_id=str(uuid.UUID(int=1)),
        project="p",
        language="ru",
        settings=Settings(index=settings),
        signature="s",
    )
    store.publish(manifest, snapshot)
    reader = store.reader()
    assert reader is not None
    return reader


def terms_of(page: EmbeddedPage) -> list[str]:
    """The contract's base tokens of a chunk: its topic twice, then context and text."""
    (chunk,) = page.chunks
    joined = f"{chunk.topic} {chunk.topic} {chunk.context} {chunk.text}"
    return re.findall(r"[^\W_]+", joined.lower())


def oracle(
    question: str, pages: Sequence[EmbeddedPage], *, k1: float, b: float, average: float = 0
) -> dict[str, float]:
    """Score by URL, where it is not 0. `average`: avgdl, if it is not that of the pages."""
    documents = {page.url: terms_of(page) for page in pages}
    average = average or sum(map(len, documents.values())) / len(documents)
    scores = dict.fromkeys(documents, 0.0)
    for term in re.findall(r"[^\W_]+", question.lower()):
        df = sum(term in terms for terms in documents.values())
        idf = math.log((len(documents) - df + 0.5) / (df + 0.5) + 1)
        for url, terms in documents.items():
            tf = terms.count(term)
            scores[url] += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(terms) / average))
    return {url: score for url, score in scores.items() if score}


def test_scores_are_the_contracts_formula_through_additions_changes_and_deletions(engine: Engine) -> None:
    """Every score of every question to 1e-5; every generation has its own statistics."""
    settings = Index(analyzer="plain", k1=1.5, b=0.75)
    words = vocabulary(120)
    questions = [*written(words, 10, 5, longest=6), f"{words[0]} {words[0]} {words[1]}", "никогда 404"]
    texts = {f"https://e.org/{n}": text for n, text in enumerate(written(words, 90, 2))}
    store = engine.open()
    scores: list[dict[str, float]] = []
    for change in ("built", "added", "changed", "deleted"):
        if change == "added":
            texts |= {f"https://e.org/new/{n}": text for n, text in enumerate(written(words, 25, 3))}
        elif change == "changed":
            fresh = written(words, 20, 4)
            texts |= {f"https://e.org/{n}": fresh[n] for n in range(20)}
        elif change == "deleted":
            texts = {url: text for n, (url, text) in enumerate(sorted(texts.items())) if n % 4}
        pages = pages_of(texts)
        reader = published(store, pages, settings)
        queries = [words_of(analyzer("plain")(question), reader.snapshot) for question in questions]
        assert queries[-1] is None
        found = reader.nearest([query for query in queries if query], 1000)
        for question, leg in zip(questions, found, strict=False):
            urls = {name: payload.url for name, payload in reader.payloads(leg.ids).items()}
            told = {urls[name]: score for name, score in zip(leg.ids, leg.scores, strict=True)}
            assert told == pytest.approx(oracle(question, pages, k1=1.5, b=0.75), abs=1e-5), change
        scores.append(dict(zip(found[0].ids, found[0].scores, strict=True)))
        reader.close()
    assert len({tuple(sorted(one.items())) for one in scores}) == len(scores), "each change moves scores"


def test_scores_of_clones_are_the_contracts_formula_with_the_avgdl_that_they_keep(tmp_path: Path) -> None:
    """Generation after generation cloned from the live one: words come, change and go, one avgdl stays."""
    settings = Index(analyzer="plain", k1=1.5, b=0.75)
    words = vocabulary(120)
    questions = [*written(words, 10, 5, longest=6), "совсем новое слово"]
    texts = {f"https://e.org/{n}": text for n, text in enumerate(written(words, 90, 2))}
    store = EdgeStore(tmp_path / "vectors", collection="p")
    reader = published(store, pages_of(texts), settings)
    manifest, average = reader.manifest, reader.snapshot.avg_dl
    reader.close()
    for change in ("added", "changed", "deleted"):
        before = {page.url: page for page in pages_of(texts)}
        if change == "added":
            texts |= {
                f"https://e.org/new/{n}": f"{text} новое" for n, text in enumerate(written(words, 5, 3))
            }
        elif change == "changed":
            texts |= {f"https://e.org/{n}": text for n, text in enumerate(written(words, 7, 4))}
        else:
            texts = {url: text for n, (url, text) in enumerate(sorted(texts.items())) if n % 9}
        pages = pages_of(texts)
        fresh = [page for page in pages if before.get(page.url) != page]
        gone = [url for url in before if url not in texts]
        keys = {url_key(url) for url in (*gone, *(page.url for page in fresh))}
        held = sum(url_key(url) in keys for url in before)
        renewed = phase.renew(
            lambda fresh=fresh: fresh, keys, store=store, base=manifest, facts={"signature": change},
            settings=settings, held=held,
        )  # fmt: skip
        assert renewed is not None
        store.publish(*renewed)
        reader = store.reader()
        assert reader is not None
        manifest = reader.manifest
        assert (manifest.points, manifest.avg_dl) == (len(pages), average)
        assert manifest.terms == sum(len(terms_of(page)) for page in pages)
        asked = [(question, words_of(analyzer("plain")(question), reader.snapshot)) for question in questions]
        for question, query in asked:
            leg = reader.nearest([query], 1000)[0] if query else Ranked()
            urls = {name: payload.url for name, payload in reader.payloads(leg.ids).items()}
            told = {urls[name]: score for name, score in zip(leg.ids, leg.scores, strict=True)}
            assert told == pytest.approx(oracle(question, pages, k1=1.5, b=0.75, average=average), abs=1e-5)
        reader.close()
    assert manifest.clones == 3


def test_what_a_clone_would_get_wrong_is_built_from_the_ground(tmp_path: Path) -> None:
    settings = Index(analyzer="plain")
    texts = {f"https://e.org/{n}": text for n, text in enumerate(written(vocabulary(50), 20, 2))}
    store = EdgeStore(tmp_path / "vectors", collection="p")
    reader = published(store, pages_of(texts), settings)
    base = reader.manifest
    reader.close()
    long = {"https://e.org/0": "слово " * 400}
    other = [replace(page, model="other") for page in pages_of({"https://e.org/0": "слово"})]
    for pages, held, index, manifest in (
        (pages_of(long), 1, settings, base),  # avgdl drifts
        (other, 1, settings, base),  # another model
        (pages_of({"https://e.org/0": "слово"}), 2, settings, base),  # not what the index is said to hold
        (pages_of({"https://e.org/0": "слово"}), 1, Index(analyzer="plain", k1=1.2), base),
        (pages_of({"https://e.org/0": "слово"}), 1, settings, replace(base, clones=phase.MOST_CLONES)),
        (pages_of({"https://e.org/0": "слово"}), 1, settings, replace(base, terms=0)),
    ):
        keys = {url_key("https://e.org/0")}
        made = phase.renew(
            lambda pages=pages: pages, keys, store=store, base=manifest, facts={}, settings=index, held=held
        )
        assert made is None
    assert store.generations() == [base.generation]


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4)])
def test_the_ranking_is_that_of_bm25s_on_a_whole_set(tmp_path: Path, k1: float, b: float) -> None:
    """Same tokens, same parameters: the same order, and scores that differ by a constant factor."""
    words = vocabulary(600)
    texts = written(words, 300, 7)
    pages = pages_of({f"https://e.org/{n:03}": text for n, text in enumerate(texts)})
    theirs = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    tokens = [
        [*STEM(chunk.topic) * 2, *STEM(chunk.context), *STEM(chunk.text)]
        for page in pages
        for chunk in page.chunks
    ]
    theirs.index(tokens, show_progress=False)
    reader = published(EdgeStore(tmp_path / "vectors", collection="p"), pages, Index(k1=k1, b=b))
    questions = written(words, 30, 8, longest=8)
    answers = search_many(
        reader, questions, analyze=STEM, embed_queries=None, mode="bm25", limit=400, settings=Search()
    )
    for question, hits in zip(questions, answers, strict=True):
        asked = STEM(question)
        expected = dict(zip((page.url for page in pages), theirs.get_scores(asked) * (k1 + 1), strict=True))
        ranked = [hit.url for hit in hits]
        assert set(ranked) == {url for url, score in expected.items() if score > 0}
        for hit in hits:
            assert hit.score == pytest.approx(expected[hit.url], abs=1e-4)
        for before, after in itertools.pairwise(ranked):
            assert expected[before] >= expected[after] - 1e-5
    reader.close()
