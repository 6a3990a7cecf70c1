"""
Embedded pages → a new generation: exact BM25 weights, checked points, verified count.

The pages are read twice, one at a time: words are counted, then points are made.
Publishing is the caller's: what is built here is invisible until then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from indexer import ids
from indexer.artifacts import Bm25Snapshot, EmbeddedPage, Manifest, Point
from indexer.errors import Misconfigured, Refused
from indexer.index.analysis import Analyzer, analyzer
from indexer.index.bm25 import Statistics, Weights
from indexer.index.points import PointMaker, chunk_text
from indexer.index.translations import groups
from indexer.ports import DENSE_VECTOR, SPARSE_VECTOR, Clone, Generation, VectorStore, Where
from indexer.settings import Index, Settings

NAME = "index"
VERSION = 2
BATCH = 512  # points handed to the store at once
MOST_DRIFT = 0.1  # of the mean length: within it, an old avgdl ranks as the true one does
MOST_CLONES = 30  # in a row; then all is built from the ground

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
        _fill(generation, pages, points)
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
            terms=survey.statistics.terms,
            build=VERSION,
        )
        check(manifest, snapshot)
    except BaseException:
        generation.abandon()
        raise
    return manifest, snapshot


def renew(  # noqa: PLR0913 - what differs, and what a manifest says
    pages: Pages,
    keys: Collection[str],
    *,
    store: VectorStore,
    base: Manifest,
    facts: Mapping[str, Any],
    settings: Index,
    held: int,
    stale: Collection[str] = (),
    translations: Mapping[str, str] | None = None,
    check: Callable[[Manifest, Bm25Snapshot], None] = lambda *_: None,
) -> tuple[Manifest, Bm25Snapshot] | None:
    """
    As `build`, from a clone of the live generation `base`: only what differs is read and written.

    `pages`: those that are new or other than in `base`; `keys`: theirs and those of pages that go.
    `facts`: what the new manifest says of the project and its pages; `held`: how many points `base`
    has of `keys`. Gives `None`, with nothing done, where more than avgdl would differ from what `build` makes
    (other settings, model or version, an index that is not what it says), or after many clones.
    """
    words = analyzer(settings.analyzer)
    same = base.build == VERSION and base.clones < MOST_CLONES and base.terms
    known = (base.analyzer, base.analyzer_version, base.k1, base.b)
    if not same or known != (words.name, words.version, settings.k1, settings.b):
        return None
    cloned = store.clone(_new_name(store), base.generation)
    if cloned is None:
        return None
    generation, live = cloned
    try:
        revised = _revised(pages, keys, clone=generation, live=live, base=base, words=words, held=held)
        if revised is None:
            generation.abandon()
            return None
        old, statistics, snapshot = revised
        maker = PointMaker(
            base.project_id,
            dimension=base.dimension,
            weights=Weights(snapshot, words),
            stale=stale,
            translations=translations,
        )
        fresh = _fill(generation, pages, maker)
        generation.delete([name for name in old if name not in fresh])
        generation.seal(snapshot.num_docs)
        manifest = replace(
            base,
            **facts,
            generation=generation.name,
            collection=store.collection(generation.name),
            points=snapshot.num_docs,
            terms=statistics.terms,
            clones=base.clones + 1,
        )
        check(manifest, snapshot)
    except BaseException:
        generation.abandon()
        raise
    return manifest, snapshot


def _fill(generation: Generation, pages: Pages, maker: PointMaker) -> set[str]:
    """Hand over the points of all pages; returns their ids."""
    names: set[str] = set()
    for batch in _batches(point for page in pages() for point in maker.points(page)):
        generation.upsert(batch)
        names.update(point.id for point in batch)
    return names


def _revised(
    pages: Pages,
    keys: Collection[str],
    *,
    clone: Clone,
    live: Bm25Snapshot,
    base: Manifest,
    words: Analyzer,
    held: int,
) -> tuple[list[str], Statistics, Bm25Snapshot] | None:
    """The points of `base` that are of `keys`, and its words without them and with those of `pages`."""
    try:
        statistics = Statistics.of(live, words, terms=base.terms)
        old: list[str] = []
        for part in _parts(sorted(keys)):
            found = clone.select(Where(fields={"doc_id": part}), base.points)
            for payload in clone.payloads(found).values():
                statistics.remove(chunk_text(payload))
            old += found
        for page in pages():
            if page.chunks and (page.model, page.dimension) != (base.model, base.dimension):
                return None
            for chunk in page.chunks:
                statistics.add(chunk_text(chunk))
    except ValueError:
        return None
    count = statistics.documents
    if len(old) != held or not count or abs(statistics.terms / count / base.avg_dl - 1) > MOST_DRIFT:
        return None
    return old, statistics, statistics.revised(live)


def _parts(keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(keys), BATCH):
        yield tuple(keys[start : start + BATCH])


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
