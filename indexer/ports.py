"""
The edges: one narrow Protocol each. `indexer.adapters` implements them and
`indexer.pipeline.wiring` alone names the implementations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from indexer.artifacts import Bm25Snapshot, ChunkedPage, EmbeddedPage, Manifest, Page, Payload, Point
from indexer.errors import IndexerError
from indexer.kept import Bot, Catalogue, Notify, RawResponses, Records, Registry, Rerank
from indexer.records import (
    Adopted,
    Edition,
    Entry,
    Limits,
    Project,
    Ranked,
    Registered,
    Resource,
    Response,
    Sparse,
    UrlRow,
    Validators,
    Where,
)

TOO_LONG = "too-long"  # the reason of a `Permanent` that a shorter text would not meet

if TYPE_CHECKING:  # numpy takes a tenth of a second to import
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
Row: TypeAlias = "Vector | IndexerError"
__all__ = [
    "TOO_LONG",
    "Adopted",
    "Artifact",
    "Artifacts",
    "Bot",
    "Catalogue",
    "Chat",
    "Clone",
    "Edition",
    "Embed",
    "Entry",
    "Fetch",
    "Generation",
    "Limits",
    "Notify",
    "Project",
    "Ranked",
    "RawResponses",
    "Reader",
    "Records",
    "Registered",
    "Registry",
    "Render",
    "Rerank",
    "Resource",
    "Response",
    "Sparse",
    "UrlRow",
    "Validators",
    "Vector",
    "VectorCache",
    "VectorStore",
    "Where",
]

Artifact = TypeVar("Artifact", Page, ChunkedPage, EmbeddedPage)


# ── fetching ────────────────────────────────────────────────────────────────────────────


class Fetch(Protocol):
    """
    Polite, guarded, patient GET.

    Raises `Retryable` or `Permanent` with a `Reason`; returns any HTTP status otherwise.
    `allow` is asked before each redirect hop; a refused hop is `Permanent` `out-of-scope`
    (or the reason that `allow` returns).
    """

    async def __call__(
        self,
        url: str,
        *,
        validators: Validators = ...,
        allow: Callable[[str], Awaitable[str]] | None = None,
        accept: str = "",
        max_bytes: int = 0,
    ) -> Response:
        """`max_bytes` of decoded body; 0: as configured."""
        ...

    def pace(self, url: str, delay: float) -> None:
        """Requests to the host of `url` start at least `delay` seconds apart (Crawl-delay)."""
        ...

    async def aclose(self) -> None: ...


class Render(Protocol):
    """
    A browser that shows a fetched page and lets its scripts fill it.

    The page itself is not asked for again: the browser gets `response`, and fetches only
    what the page's scripts need, under the same guard. Gives the response with the filled
    document as its body and `rendered` set; `final_url` is another one if a script left for
    it (which was not followed, and the body says nothing then).

    Raises `Retryable` (`timeout`, `render-failed`), `Permanent` (`too-large`), and
    `Misconfigured` if the browser cannot be started.
    """

    async def __call__(self, response: Response) -> Response: ...

    async def aclose(self) -> None: ...


# ── models ──────────────────────────────────────────────────────────────────────────────


class Chat(Protocol):
    """A chat model (or chain). `model` names it for signatures and notes; `calls` counts requests."""

    model: str

    @property
    def calls(self) -> int: ...

    def __call__(self, system: str, user: str, *, temperature: float = 0.1) -> str:
        """
        The answer's text. Raises `AllProvidersExhausted` when no provider answers, `Permanent`
        when one answers with something that is no answer (refusal, cut by length, reasoning only).
        """
        ...


class Embed(Protocol):
    """
    An embedding model (or a chain of servers of the same model). Thread-safe.

    `model` is its name in manifests, without provider. `identity` says all that its
    vectors depend on besides the text (model, precision, requested dimension): the key of
    caches. `dimension` is 0 until it is known.
    """

    @property
    def model(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def limits(self) -> Limits: ...

    def count(self, text: str) -> int:
        """Tokens of `text` as the model counts them (an upper bound is fine)."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """
        One row per text, in order: its vector, float32 of shape (dimension,), raw as the
        model gave it, or the error that says why this text has none (`Permanent`, with
        reason `too-long` where a shorter text would do).

        Raises `AllProvidersExhausted` when no text got a vector.
        """
        ...


class VectorCache(Protocol):
    """Vectors by content key, shared by all projects; durable when `put` returns."""

    def get(self, keys: Sequence[str]) -> dict[str, Vector]: ...

    def put(self, vectors: Mapping[str, Vector]) -> None: ...


# ── state ───────────────────────────────────────────────────────────────────────────────


Staged = tuple[str, str]  # what is written, and where it belongs


class Artifacts(Protocol):
    """
    One JSON per URL and phase, written atomically.

    `load` gives `None` for a missing, truncated or foreign file (the latter two are
    named in the log, and rebuilt by their phase). Raises `Misconfigured` for an artifact
    of a newer schema.
    """

    def load(self, kind: type[Artifact], key: str) -> Artifact | None: ...

    def save(self, key: str, artifact: Page | ChunkedPage | EmbeddedPage) -> None: ...

    def stage(self, key: str, artifact: Page | ChunkedPage | EmbeddedPage) -> Staged:
        """The first half of `save`, without waiting for the disk; nobody sees it before `commit`."""
        ...

    def commit(self, staged: Sequence[Staged]) -> None:
        """The second half: durable, and in place, on return."""
        ...

    def delete(self, kind: type[Artifact], key: str) -> None: ...

    def signature(self, kind: type[Artifact], key: str) -> str:
        """The stored signature without building the artifact; empty if there is none to trust."""
        ...

    def stamp(self, kind: type[Artifact], key: str) -> str:
        """What tells one version of the file from any other without reading it; empty if there is none."""
        ...

    def dimension(self, key: str) -> int: ...

    def keys(self, kind: type[Artifact]) -> Iterator[str]: ...

    def forget_previous(self) -> None:
        """What is stored is published now: the versions that it replaced are not needed any more."""
        ...

    def examine(self, kind: type[Artifact], key: str) -> Artifact | str:
        """The artifact, or what is wrong with its file (for a missing one nothing: an empty string)."""
        ...

    def has(self, kind: type[Artifact], key: str) -> bool: ...

    def folder(self, kind: type[Artifact]) -> str: ...

    def leftovers(self) -> list[str]: ...

    def sweep(self) -> None:
        """Remove the `leftovers` of killed writers."""
        ...

    def save_snapshot(self, snapshot: Bm25Snapshot) -> None: ...

    def load_snapshot(self) -> Bm25Snapshot | None: ...


# ── vectors ─────────────────────────────────────────────────────────────────────────────

DENSE_VECTOR = "dense"  # cosine
SPARSE_VECTOR = "bm25"  # document side of BM25; the engine multiplies by IDF
# payload fields that `Where` may name, which an engine indexes
FILTERED: dict[str, type] = {
    "doc_id": str,
    "url": str,
    "language": str,
    "article": str,
    "points": str,
    "dataset": str,
    "layer": str,
    "deprecated": bool,
}


class Generation(Protocol):
    """A generation being built: invisible until `publish`. Holds the store's writer lock."""

    name: str

    def upsert(self, points: Sequence[Point]) -> None: ...

    def seal(self, expected: int) -> None:
        """Durable and verified: raises `Permanent` if the count is not `expected`."""
        ...

    def abandon(self) -> None:
        """Remove it, unless it is published; again is harmless."""
        ...


class Clone(Generation, Protocol):
    """A generation that began as the live one. `select` and `payloads` as of a `Reader`."""

    def select(self, where: Where, limit: int) -> list[str]: ...

    def payloads(self, ids: Sequence[str]) -> dict[str, Payload]: ...

    def delete(self, ids: Sequence[str]) -> None: ...


class Reader(Protocol):
    """One published generation, open for reading; it stays whole while it is open."""

    manifest: Manifest
    snapshot: Bm25Snapshot

    def nearest(
        self, queries: Sequence[Vector | Sparse], limit: int, where: Where | None = None
    ) -> list[Ranked]:
        """
        The best `limit` points for each query, best first; equal scores in any order.

        `where`: asked of the engine with the query, so that what it excludes takes no place.
        """
        ...

    def select(self, where: Where, limit: int) -> list[str]:
        """Ids of at most `limit` points that `where` admits, sorted."""
        ...

    def payloads(self, ids: Sequence[str]) -> dict[str, Payload]: ...

    def terms(self, ids: Sequence[str]) -> dict[str, Sparse]:
        """The BM25 vectors of points."""
        ...

    def count(self) -> int: ...

    def close(self) -> None: ...


class VectorStore(Protocol):
    """
    Immutable generations of one project, one of them published.

    A reader sees the whole old or the whole new generation, never anything between.
    One writer: `begin` raises `Busy` while another process holds an unpublished
    generation; `publish`, `abandon` or the end of the process lets go.
    """

    def current(self) -> Manifest | None:
        """The published generation; `None` if there is none, or its manifest is damaged."""
        ...

    def manifest(self, generation: str) -> Manifest | None:
        """The manifest of a published generation; `None` if it is damaged."""
        ...

    def collection(self, generation: str) -> str:
        """The name under which a generation is, or would be, stored."""
        ...

    def begin(self, generation: str, dimension: int) -> Generation:
        """A new generation; removes what killed writers left behind."""
        ...

    def clone(self, generation: str, base: str) -> tuple[Clone, Bm25Snapshot] | None:
        """
        As `begin`, holding all that the published `base` holds, and its words.

        `None` where that is no saving. Raises `IndexerError` for a damaged one.
        """
        ...

    def publish(self, manifest: Manifest, snapshot: Bm25Snapshot) -> None:
        """The atomic swap; manifest and snapshot become part of the generation."""
        ...

    def restore(self, generation: str) -> Manifest:
        """Publish an earlier generation again (rollback)."""
        ...

    def reader(self) -> Reader | None: ...

    def preview(self, manifest: Manifest, snapshot: Bm25Snapshot) -> Reader:
        """A sealed generation that is not published, open to be tried; it may still be abandoned."""
        ...

    def generations(self) -> list[str]:
        """Generations that are or were published and still exist, oldest first."""
        ...

    def files(self) -> list[Path]:
        """Files and folders that hold all published generations, for a copy; none if on a server."""
        ...

    def health(self) -> str:
        """The engine and its version. Raises what a call of it would raise."""
        ...

    def leftovers(self) -> tuple[list[str], list[str]]:
        """Generations never published: ours, which `gc` removes, and of others on a server."""
        ...

    def gc(self, keep: int, first: Collection[str] = ()) -> list[str]:
        """
        Keep the published generation and the newest others, `keep` in all; returns the removed.

        `first`: generations that go before older ones: those that were rolled back. One that a
        reader holds open stays until the next time.
        """
        ...

    def drop(self) -> None: ...
