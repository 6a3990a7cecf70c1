"""
Chunks → embedded chunks: each distinct text is embedded once, ever.

    parts of every chunk → those the cache knows → the rest in full batches across pages
    → checked → into the cache as each batch returns → averaged per chunk

A text whose vector is unusable fails its page and no other. When the model cannot be
had, `AllProvidersExhausted` is raised after what came back is in the cache.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import msgspec

from indexer import ids
from indexer.artifacts import ChunkedPage, EmbeddedChunk, EmbeddedPage, Outcome, Reason, State
from indexer.embed import passages
from indexer.embed.adapters import adapter_for
from indexer.embed.batches import batches
from indexer.errors import AllProvidersExhausted, IndexerError, Misconfigured, ModelChanged, Permanent
from indexer.ports import TOO_LONG, Embed, Row, Vector, VectorCache

PHASE = "embed"
VERSION = 1
# What a chunk outside legal text says of its place: nothing, so that it counts for nothing.
_NO_PLACE = b',"article":"","point":"","points":[],"parent":""'
# And a page of no dataset, or in one language; at the end, where no text can stand.
_NO_LABEL = b',"label":{}}'
_NO_TRANSLATIONS = b',"translations":[]}'


def signature_of(chunked: ChunkedPage, *, model: Embed, adapter: str = "", dimension: int = 0) -> str:
    """
    What the embedded page of `chunked` stands for: its chunks, the model and the adapter.

    Costs no model call. `adapter` and `dimension` are the settings' values (empty, 0: the
    model's own).
    """
    content = msgspec.json.encode(msgspec.structs.replace(chunked, signature="")).replace(_NO_PLACE, b"")
    for nothing in (_NO_TRANSLATIONS, _NO_LABEL):
        if content.endswith(nothing):
            content = content.removesuffix(nothing) + b"}"
    return ids.signature(PHASE, VERSION, _facts(model, adapter, dimension), content)


def basis_of(*, model: Embed, adapter: str = "", dimension: int = 0) -> str:
    """What vectors depend on besides their chunks."""
    return ids.signature(PHASE, VERSION, _facts(model, adapter, dimension))


def _facts(model: Embed, adapter: str, dimension: int) -> dict[str, object]:
    return {
        "model": model.identity,
        "prefix": adapter_for(model.model, adapter).passage_prefix,
        "dimension": dimension,
        "max_tokens": model.limits.max_tokens,
    }


def embed(
    pages: Sequence[ChunkedPage],
    *,
    model: Embed,
    cache: VectorCache,
    adapter: str = "",
    dimension: int = 0,
    expected: int = 0,
) -> tuple[list[EmbeddedPage | Outcome], int, int]:
    """
    Embed a slice of pages in common batches.

    Returns one `EmbeddedPage` or failed `Outcome` per page, in order, the number of texts
    that the model gave vectors for, and the number of texts that needed none (cached, or
    repeated).
    `expected`: the dimension of the project's other vectors, if it is known. Raises
    `AllProvidersExhausted` when the model cannot be had, `ModelChanged` when its dimension
    is not that of the vectors made before, `Misconfigured` when it is not the configured one.
    """
    prefix = adapter_for(model.model, adapter).passage_prefix
    work = _Vectors(
        model, cache=cache, prefix=prefix, adapter=adapter, configured=dimension, expected=expected
    )
    limit = model.limits.max_tokens
    plan = [
        [passages.parts_of(chunk, prefix=prefix, limit=limit, count=work.count) for chunk in page.chunks]
        for page in pages
    ]
    work.fill(part for chunks in plan for parts in chunks for part in parts)
    results = [
        _page(
            page,
            chunks,
            work,
            signature=signature_of(page, model=model, adapter=adapter, dimension=dimension),
        )
        for page, chunks in zip(pages, plan, strict=True)
    ]
    total = sum(len(parts) for chunks in plan for parts in chunks)
    return results, work.sent, max(0, total - work.sent)


def weigh(
    pages: Iterable[ChunkedPage], *, model: Embed, cache: VectorCache, adapter: str = ""
) -> tuple[int, int]:
    """
    Tokens of the distinct texts that stand for the pages' chunks: of all, of those the cache does not know.

    Asks the model for counts only.
    """
    prefix = adapter_for(model.model, adapter).passage_prefix
    work = _Vectors(model, cache=cache, prefix=prefix, adapter=adapter)
    limit = model.limits.max_tokens
    texts = {
        part: work.count(part)
        for page in pages
        for chunk in page.chunks
        for part in passages.parts_of(chunk, prefix=prefix, limit=limit, count=work.count)
    }
    return sum(texts.values()), sum(texts[text] for text in work.unknown(texts))


def cached(chunked: ChunkedPage, page: EmbeddedPage, *, model: Embed, adapter: str = "") -> dict[str, str]:
    """
    Cache key → stored vector of a page's texts, as far as one text stands for a chunk.

    `page` are the embeds of `chunked`. Asks the model for nothing.
    """
    shape = adapter_for(model.model, adapter)
    return {
        _key(model, shape.name, shape.passage_prefix + passages.head_of(chunk) + chunk.text): embedded.vector
        for chunk, embedded in zip(chunked.chunks, page.chunks, strict=True)
        if embedded.parts == 1
    }


def embed_queries(questions: Sequence[str], *, model: Embed, prefix: str) -> list[Vector]:
    """
    One unit vector per question. `prefix` is the manifest's `query_prefix`.

    Raises `Permanent` for a question without a usable vector (an empty one, for example).
    """
    limit = model.limits.max_tokens
    work = _Vectors(model, cache=None, prefix=prefix)
    plan = []
    for question in questions:
        if not question.strip():
            raise Permanent("the question is empty; ask something")
        plan.append(passages.split(question.strip(), prefix=prefix, limit=limit, count=work.count))
    work.fill(part for parts in plan for part in parts)
    vectors = []
    for question, parts in zip(questions, plan, strict=True):
        trouble = work.trouble(parts)
        if trouble:
            raise Permanent(f"the question {question[:60]!r} cannot be embedded: {trouble}")
        vectors.append(work.vector(parts))
    return vectors


def _page(
    page: ChunkedPage, plan: Sequence[Sequence[str]], work: _Vectors, *, signature: str
) -> EmbeddedPage | Outcome:
    from indexer.embed import vectors

    chunks = []
    for chunk, parts in zip(page.chunks, plan, strict=True):
        trouble = work.trouble(parts)
        if trouble:
            detail = f"chunk {chunk.ordinal} of {len(page.chunks)} has no vector: {trouble}"
            return Outcome(url=page.url, state=State.FAILED, reason=Reason.EMBED_FAILED, detail=detail)
        chunks.append(
            EmbeddedChunk(
                ordinal=chunk.ordinal,
                topic=chunk.topic,
                text=chunk.text,
                start=chunk.start,
                end=chunk.end,
                context=chunk.context,
                vector=vectors.encode(work.vector(parts)),
                parts=work.leaves(parts),
                article=chunk.article,
                point=chunk.point,
                points=chunk.points,
                parent=chunk.parent,
            )
        )
    return EmbeddedPage(
        signature=signature,
        url=page.url,
        title=page.title,
        language=page.language,
        model=work.model.model,
        dimension=work.dimension or work.model.dimension,
        chunks=tuple(chunks),
        notes=page.notes,
        label=page.label,
        translations=page.translations,
    )


class _Vectors:
    """Texts → unit vectors of one slice, by way of the cache and the model."""

    def __init__(
        self,
        model: Embed,
        *,
        cache: VectorCache | None,
        prefix: str,
        adapter: str = "",
        configured: int = 0,
        expected: int = 0,
    ) -> None:
        self.model = model
        self.cache = cache
        self.prefix = prefix
        self.adapter = adapter_for(model.model, adapter).name
        self.configured = configured
        self.dimension = configured or model.dimension or expected
        self.count = functools.cache(model.count)
        self.sent = 0
        self._found: dict[str, Vector] = {}
        self._failed: dict[str, str] = {}
        self._halves: dict[str, list[str]] = {}

    def fill(self, texts: Iterable[str]) -> None:
        """Get a vector, or a reason why there is none, for every distinct text."""
        owed = list(dict.fromkeys(texts))
        while owed:
            self._recall(owed)
            owed = [text for text in owed if text not in self._found]
            self._ask(owed)
            # what turned out too long for the model comes back as halves
            halves = [half for text in owed for half in self._halves.get(text, ())]
            owed = [half for half in dict.fromkeys(halves) if not self._known(half)]

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Those of `texts` that the cache has no vector for."""
        self._recall(list(texts))
        return [text for text in texts if text not in self._found]

    def trouble(self, parts: Sequence[str]) -> str:
        """Why these parts have no common vector, or an empty string."""
        from indexer.embed import vectors

        for part in self._flat(parts):
            if part in self._failed:
                return self._failed[part]
        if len(self._flat(parts)) > 1:
            return vectors.flaw(self.vector(parts))
        return ""

    def vector(self, parts: Sequence[str]) -> Vector:
        """The unit vector of one text, averaged over its parts by their tokens."""
        from indexer.embed import vectors

        flat = self._flat(parts)
        if len(flat) == 1:
            return self._found[flat[0]]
        return vectors.mean([self._found[part] for part in flat], [self.count(part) for part in flat])

    def leaves(self, parts: Sequence[str]) -> int:
        """How many texts were embedded for these parts."""
        return len(self._flat(parts))

    def _flat(self, parts: Sequence[str]) -> list[str]:
        flat: list[str] = []
        for part in parts:
            flat += self._flat(self._halves[part]) if part in self._halves else [part]
        return flat

    def _known(self, text: str) -> bool:
        return text in self._found or text in self._failed or text in self._halves

    def _key(self, text: str) -> str:
        return _key(self.model, self.adapter, text)

    def _recall(self, texts: Sequence[str]) -> None:
        from indexer.embed import vectors

        if self.cache is None:
            return
        keys = {self._key(text): text for text in texts}
        for key, vector in self.cache.get(list(keys)).items():
            if not vectors.flaw(vector, self.dimension):
                self.dimension = self.dimension or vector.size
                self._found[keys[key]] = vector

    def _ask(self, owed: Sequence[str]) -> None:
        """Send all texts, several requests at a time if the model takes them."""
        if self.model.limits.at_once > 1:
            self._ask_side_by_side(owed)
            return
        position = 0
        while position < len(owed):
            batch = self._batch(owed, position)
            self._took(batch, self.model.embed(batch))
            position += len(batch)

    def _ask_side_by_side(self, owed: Sequence[str]) -> None:
        """The first error ends it, or Ctrl-C, once what is under way has come back: that is paid for."""
        position, width = 0, self.model.limits.at_once
        pending: dict[Future[list[Row]], Sequence[str]] = {}
        trouble: list[IndexerError] = []
        pool = ThreadPoolExecutor(width, thread_name_prefix="embed")
        try:
            while pending or (position < len(owed) and not trouble):
                while position < len(owed) and not trouble and len(pending) < width:
                    batch = self._batch(owed, position)
                    pending[pool.submit(self.model.embed, batch)] = batch
                    position += len(batch)
                trouble += self._took_next(pending)
        except KeyboardInterrupt:  # a second one ends the wait
            while pending:
                self._took_next(pending)
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if trouble:
            raise trouble[0]

    def _took_next(self, pending: dict[Future[list[Row]], Sequence[str]]) -> list[IndexerError]:
        """Wait for an answer and take it out of `pending`, with those that came meanwhile; errors."""
        trouble = []
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            try:
                self._took(pending[future], future.result())
            except IndexerError as error:
                trouble.append(error)
            del pending[future]
        return trouble

    def _batch(self, owed: Sequence[str], position: int) -> Sequence[str]:
        limits = self.model.limits  # the model learns those of its servers as it goes
        texts = owed[position : position + limits.batch_items]
        if sum(map(passages.most_tokens, texts)) <= limits.batch_tokens:
            return texts
        ahead = ((text, self.count(text)) for text in texts)
        return next(batches(ahead, items=limits.batch_items, tokens=limits.batch_tokens))

    def _took(self, batch: Sequence[str], rows: Sequence[Row]) -> None:
        """One answer; what is good is in the cache before anything else happens."""
        self.sent += sum(not isinstance(row, IndexerError) for row in rows)
        lost: AllProvidersExhausted | None = None
        fresh: dict[str, Vector] = {}
        try:
            for text, row in zip(batch, rows, strict=True):
                if isinstance(row, AllProvidersExhausted):
                    lost = row
                elif isinstance(row, IndexerError):
                    self._refused(text, row)
                else:
                    self._received(text, row, fresh)
        finally:
            if fresh and self.cache is not None:
                self.cache.put({self._key(text): vector for text, vector in fresh.items()})
            self._found.update(fresh)
        if lost is not None:
            raise lost

    def _received(self, text: str, row: Vector, fresh: dict[str, Vector]) -> None:
        from indexer.embed import vectors

        if self.dimension and row.size != self.dimension:
            told = f"{self.model.model} gives vectors of {row.size} numbers"
            if self.configured:
                raise Misconfigured(f"{told}, but models.dimension is {self.configured}; correct one of them")
            raise ModelChanged(f"{told}, those made before have {self.dimension}", dimension=int(row.size))
        problem = vectors.flaw(row, self.dimension)
        if problem:
            self._failed[text] = f"the vector that {self.model.model} gave is unusable: {problem}"
            return
        self.dimension = self.dimension or row.size
        fresh[text] = vectors.unit(row)

    def _refused(self, text: str, error: IndexerError) -> None:
        body = text.removeprefix(self.prefix)
        if isinstance(error, Permanent) and error.reason == TOO_LONG and len(body) > 1:
            self._halves[text] = [self.prefix + half for half in passages.halves(body)]
        else:
            self._failed[text] = str(error)


def _key(model: Embed, adapter: str, text: str) -> str:
    """What a vector depends on, as the cache's key."""
    return ids.digest(model.identity, adapter, text)
