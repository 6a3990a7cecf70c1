"""
Embedded pages → a new generation: exact BM25 weights, checked points, verified count.

The pages are read twice, one at a time: words are counted, then points are made.
Publishing is the caller's: what is built here is invisible until then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from indexer import ids
from indexer.artifacts import Bm25Snapshot, EmbeddedPage, Manifest, Point
from indexer.errors import Misconfigured, Refused
from indexer.index.analysis import Analyzer, analyzer
from indexer.index.bm25 import Statistics, Weights
from indexer.index.points import PointMaker, chunk_text
from indexer.index.translations import groups
from indexer.ports import DENSE_VECTOR, SPARSE_VECTOR, VectorStore
from indexer.settings import Index, Settings

NAME = "index"
VERSION = 2
BATCH = 512  # points handed to the store at once

Pages = Callable[[], Iterable[EmbeddedPage]]


def signature_of(pages: Iterable[tuple[str, str]], *, settings: Index, language: str = "") -> str:
    """
    What a generation of these pages stands for; the same signature: nothing to build.

    `pages`: (key, signature) of every embedded page, in any order. Their signatures
    cover text, model and prefixes; the settings that matter here are BM25's.
    """
    words = analyzer(settings.analyzer)
    facts = {
        "k1": settings.k1,
        "b": settings.b,
        "analyzer": words.name,
        "analyzer_version": words.version,
        "language": language,
    }
    content = (part for pair in sorted(pages) for part in pair)
    return ids.signature(NAME, VERSION, facts, *content)


def build(  # noqa: PLR0913 - what a manifest says, and the gate
    pages: Pages,
    *,
    store: VectorStore,
    project_id: str,
    project: str,
    language: str,
    settings: Settings,
    signature: str,
    prefixes: tuple[str, str] = ("", ""),
    stale: Collection[str] = (),
    check: Callable[[Manifest, Bm25Snapshot], None] = lambda *_: None,
) -> tuple[Manifest, Bm25Snapshot]:
    """
    Build and seal a generation; `store.publish` with what is returned makes it live.

    `pages` is called twice and must give the same pages in the same order. `prefixes`:
    what the model's adapter puts before questions and before passages. `stale`: keys of pages
    that nothing names any more. `check` raises if what was sealed must not go live, which
    removes it again. Raises `Refused` if there is no chunk, `Misconfigured` if pages come from
    different models, `Permanent` for a vector that cannot be searched; nothing is left then.
    """
    words = analyzer(settings.index.analyzer)
    survey = _Survey(words)
    for page in pages():
        survey.add(page)
    model, dimension = survey.model()
    snapshot = survey.statistics.snapshot(k1=settings.index.k1, b=settings.index.b)
    weights, versions = Weights(snapshot, words), groups(survey.translations)
    points = PointMaker(project_id, dimension=dimension, weights=weights, stale=stale, translations=versions)
    facts: dict[str, Any] = {
        "signature": signature,
        "project_id": project_id,
        "project": project,
        "language": language,
        "query_prefix": prefixes[0],
        "passage_prefix": prefixes[1],
    }
    generation = store.begin(_new_name(store), dimension)
    try:
        rest = (point for page in pages() for point in points.points(page))
        for batch in _batches(rest):
            generation.upsert(batch)
        generation.seal(snapshot.num_docs)
        manifest = Manifest(
            **facts,
            generation=generation.name,
            collection=store.collection(generation.name),
            model=model,
            dimension=dimension,
            **_bm25_facts(snapshot, words),
            pages=survey.pages,
            points=snapshot.num_docs,
        )
        check(manifest, snapshot)
    except BaseException:
        generation.abandon()
        raise
    return manifest, snapshot


def _bm25_facts(snapshot: Bm25Snapshot, words: Analyzer) -> dict[str, Any]:
    """What a manifest says of both legs."""
    return {
        "dense_vector": DENSE_VECTOR,
        "sparse_vector": SPARSE_VECTOR,
        "analyzer": words.name,
        "analyzer_version": words.version,
        "k1": snapshot.k1,
        "b": snapshot.b,
        "avg_dl": snapshot.avg_dl,
    }


class _Seen(Struct):
    """Pages of one model: how many, and one of them."""

    example: str
    pages: int = 0


class _Survey:
    """First pass: words, which models made the vectors, which pages name translations."""

    def __init__(self, words: Analyzer) -> None:
        self.statistics = Statistics(words)
        self.pages = 0
        self.translations: dict[str, tuple[str, ...]] = {}
        self._models: dict[tuple[str, int], _Seen] = {}

    def add(self, page: EmbeddedPage) -> None:
        if not page.chunks:
            return
        self.pages += 1
        if page.translations:
            self.translations[ids.url_key(page.url)] = page.translations
        self._models.setdefault((page.model, page.dimension), _Seen(page.url)).pages += 1
        for chunk in page.chunks:
            self.statistics.add(chunk_text(chunk))

    def model(self) -> tuple[str, int]:
        """The one model and its dimension."""
        if not self._models:
            raise Refused("no page has a chunk to index: an empty index is not built, the old one stays")
        if len(self._models) > 1:
            kinds = "; ".join(
                f"{model} ({dimension} dimensions): {seen.pages} pages, for example {seen.example}"
                for (model, dimension), seen in sorted(self._models.items())
            )
            raise Misconfigured(
                f"the pages were embedded by different models, which one index cannot hold: {kinds}; "
                "re-embed them with --from-phase embed"
            )
        return next(iter(self._models))


def _new_name(store: VectorStore) -> str:
    """A ULID after all those of the store, even if the clock was set back: names sort by age."""
    from ulid import ULID

    fresh = str(ULID())
    newest = max(store.generations(), default="")
    if fresh > newest:
        return fresh
    return str(ULID.from_timestamp(ULID.from_str(newest).milliseconds + 1))


def _batches(points: Iterator[Point]) -> Iterator[list[Point]]:
    while batch := list(islice(points, BATCH)):
        yield batch
