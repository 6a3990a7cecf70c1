"""
The work on one slice of URLs: load, phase, save → result.

Module-level functions over picklable jobs, so that threads, processes or a cluster can
run them. An artifact whose signature matches is left alone: that is all of resuming.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import UNLABELLED, ChunkedPage, EmbeddedPage, Label, Outcome, Page, Reason
from indexer.errors import Permanent, Retryable
from indexer.ids import digest, url_key
from indexer.ports import Artifacts, Chat, Embed, VectorCache
from indexer.settings import Chunking

log = logging.getLogger("indexer")


class Done(Struct, frozen=True, kw_only=True):
    """
    What became of one page in one phase.

    `count`: its chunks; `dimension`: of its vectors; `reason`: why it failed; `note`: what a
    model's answer was worth.
    """

    key: str
    url: str = ""
    count: int = 0
    dimension: int = 0
    kept: bool = False
    note: str = ""
    reason: str = ""
    detail: str = ""


class ChunkJob(Struct, frozen=True, kw_only=True):
    """What chunking needs besides the keys. `chat` is `None` where processes do the work."""

    artifacts: Artifacts
    settings: Chunking
    chat: Chat | None = None
    force: bool = False


def chunk_slice(job: ChunkJob, keys: list[str]) -> list[Done]:
    """Chunk the pages of `keys` that are owed."""
    return [_chunk_one(job, key) for key in keys]


def chunk_signature(page: Page, *, settings: Chunking, chat_model: str) -> str:
    """What the chunks of a page stand for, with its label and its translations."""
    from indexer.phases import chunk as phase

    signature = phase.signature_of(page, settings=settings, chat_model=chat_model)
    return _marked(signature, page.label, translations_of(page))


def translations_of(page: Page) -> tuple[str, ...]:
    """Keys of the URLs that a page, or a sitemap, names as itself in other languages."""
    own = {page.url, *page.aliases}
    others = {*page.alternates.values(), *page.listed.values()} - own
    return tuple(sorted(map(url_key, others)))


def _marked(signature: str, label: Label, translations: tuple[str, ...]) -> str:
    """A page of a dataset is another one under another label, one with translations among others."""
    if label != UNLABELLED:
        signature = digest(signature, msgspec.json.encode(label))
    return digest(signature, "translations", *translations) if translations else signature


def _chunk_one(job: ChunkJob, key: str) -> Done:
    from indexer.phases import chunk as phase

    page = job.artifacts.load(Page, key)
    if page is None:
        return Done(key=key, reason=Reason.CHUNK_FAILED, detail="its page artifact is missing or damaged")
    model = job.chat.model if job.chat else ""
    signature = phase.signature_of(page, settings=job.settings, chat_model=model)
    translations = translations_of(page)
    marked = _marked(signature, page.label, translations)
    old = None if job.force else job.artifacts.load(ChunkedPage, key)
    if old is not None and old.signature == marked:
        return Done(key=key, url=page.url, count=len(old.chunks), kept=True)
    if old is not None and old.signature == _marked(signature, old.label, old.translations):
        chunked = old  # what is said of the page is new, its chunks are not
    else:
        try:
            chunked = phase.chunk(page, settings=job.settings, chat=job.chat)
        except (Retryable, Permanent) as error:
            return Done(key=key, url=page.url, reason=Reason.CHUNK_FAILED, detail=str(error))
    chunked = replace(chunked, signature=marked, label=page.label, translations=translations)
    job.artifacts.save(key, chunked)
    note = chunked.notes[0] if chunked.notes and job.chat is not None else ""
    return Done(key=key, url=page.url, count=len(chunked.chunks), note=note)


class EmbedJob(Struct, frozen=True, kw_only=True):
    """What embedding needs besides the keys."""

    artifacts: Artifacts
    model: Embed
    cache: VectorCache
    adapter: str = ""
    dimension: int = 0
    expected: int = 0
    force: bool = False


class EmbedCounts(Struct, kw_only=True):
    """Texts sent to the model and texts found in the cache."""

    embedded: int = 0
    cached: int = 0


def embed_slice(job: EmbedJob, keys: list[str], counts: EmbedCounts) -> list[Done]:
    """Embed the chunked pages of `keys` that are owed, all in common batches."""
    from indexer.phases import embed as phase

    done: list[Done] = []
    owed: dict[str, ChunkedPage] = {}
    for key in keys:
        chunked = job.artifacts.load(ChunkedPage, key)
        if chunked is None:
            done.append(Done(key=key, reason=Reason.EMBED_FAILED, detail="its chunks are missing or damaged"))
            continue
        sign = partial(phase.signature_of, model=job.model, adapter=job.adapter, dimension=job.dimension)
        if not job.force and (_fresh(job, key, sign(chunked)) or _renamed(job, key, chunked, sign)):
            known, count = job.artifacts.dimension(key), len(chunked.chunks)
            done.append(Done(key=key, url=chunked.url, count=count, dimension=known, kept=True))
        else:
            owed[chunked.url] = chunked
    if not owed:
        return done
    results, embedded, cached = phase.embed(
        list(owed.values()),
        model=job.model,
        cache=job.cache,
        adapter=job.adapter,
        dimension=job.dimension,
        expected=job.expected,
    )
    counts.embedded += embedded
    counts.cached += cached
    for result in results:
        key = url_key(result.url)
        if isinstance(result, Outcome):
            done.append(Done(key=key, url=result.url, reason=result.reason, detail=result.detail))
        else:
            job.artifacts.save(key, result)
            count = len(result.chunks)
            done.append(Done(key=key, url=result.url, count=count, dimension=result.dimension))
    return done


def _fresh(job: EmbedJob, key: str, signature: str) -> bool:
    fresh = job.artifacts.signature(EmbeddedPage, key) == signature
    return fresh and job.artifacts.load(EmbeddedPage, key) is not None  # whole, as its digest says


def _renamed(job: EmbedJob, key: str, chunked: ChunkedPage, sign: Callable[[ChunkedPage], str]) -> bool:
    """Whether only its translations are new: then the page's vectors are taken over, with them."""
    old = job.artifacts.load(EmbeddedPage, key)
    if old is None or old.translations == chunked.translations:
        return False
    if old.signature != sign(replace(chunked, translations=old.translations)):
        return False
    job.artifacts.save(key, replace(old, signature=sign(chunked), translations=chunked.translations))
    return True
