"""Some of the edges that `indexer.ports` names: what is kept of URLs and projects, who is told, rerankers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from indexer.artifacts import Bm25Snapshot, Outcome, Source, State
from indexer.records import Adopted, Edition, Entry, Project, Registered, Resource, Response, Served, UrlRow


class RawResponses(Protocol):
    """
    What servers answered, kept to be read again under other rules: a cache, by URL.

    Of the headers only those that reading needs are kept. A damaged answer counts as missing.
    """

    def save(self, response: Response, visit: int) -> None:
        """Keep the answer of run `visit` in place of an older one; one that is too large is not kept."""
        ...

    def load(self, url: str) -> Response | None:
        """The kept answer to `url`; `None` if there is none to trust."""
        ...

    def has(self, url: str) -> bool:
        """Whether there is one; that it is whole is seen when it is read."""
        ...

    def visit(self, url: str) -> int:
        """The run that asked for the kept answer; 0 if there is none."""
        ...

    def delete(self, url: str) -> None:
        """Forget an answer; a missing one is fine."""
        ...

    def prune(self, keep: set[str]) -> None:
        """Forget all answers but those of these URL keys."""
        ...


class Records(Protocol):
    """Small named files of a project, each written whole or not at all."""

    def save(self, name: str, data: bytes) -> Path: ...

    def load(self, name: str) -> bytes | None: ...

    def names(self, suffix: str) -> list[str]:
        """Names that end so, sorted."""
        ...

    def delete(self, name: str) -> None: ...


class Notify(Protocol):
    """Somebody who wants to know what a run did."""

    def send(self, title: str, text: str, data: Mapping[str, Any]) -> None:
        """Text is Markdown. Raises `Retryable` or `Misconfigured`, without addresses."""
        ...


class Bot(Protocol):
    """The running bot."""

    def register(self, project_id: str, manifest: Mapping[str, Any]) -> None:
        """Idempotent. Raises `Retryable` when the bot is down, `Permanent` when it refuses."""
        ...

    def check(self, project_id: str) -> Served: ...


class Catalogue(Protocol):
    """
    The URL table of one project: what was found, where it stands, and why.

    One writer. Every call is one transaction, durable when it returns.
    """

    def discover(self, sources: Iterable[Source], visit: int = 0) -> list[str]:
        """Add URLs that run `visit` found named; a known URL only gains `found_in`. Returns the new ones."""
        ...

    def flag_stale(self, visit: int) -> None:
        """Flag the pages that run `visit`, which read all of its sources, found nowhere, and no others."""
        ...

    def stale(self) -> Iterator[UrlRow]:
        """Pages that answer, but that nothing names any more."""
        ...

    def editions(self, generation: str) -> Iterator[Edition]:
        """The pages of a generation, by key; none for one that was published before this was kept."""
        ...

    def keep_editions(self, generation: str, editions: Iterable[Edition]) -> None: ...

    def forget_editions(self, keep: Collection[str]) -> None: ...

    def entry(self, phase: str, key: str) -> Entry | None:
        """What a phase last found in order for a page."""
        ...

    def enter(self, entries: Iterable[Entry]) -> None: ...

    def strike(self, keys: Iterable[str]) -> None:
        """Forget what phases found for pages that are no more."""
        ...

    def get(self, url: str) -> UrlRow | None: ...

    def rows(self, *, state: State | None = None) -> Iterator[UrlRow]: ...

    def due(self, visit: int) -> Iterator[UrlRow]:
        """URLs that run `visit` has not dealt with, by depth, then in order of discovery."""
        ...

    def mark(self, outcomes: Iterable[Outcome], visit: int) -> None: ...

    def settle(self, states: Iterable[tuple[str, State, str, str]]) -> None:
        """Set (url, state, reason, detail) after a later phase; the visit stays as it is."""
        ...

    def refile(self, url: str, *, content: str, facts: Mapping[str, Any]) -> None:
        """A page was read anew from the same answer: its digest and facts. What was asked and when stays."""
        ...

    def by_content(self, content: str) -> str:
        """The first URL whose page has this text digest, or an empty string."""
        ...

    def sharing(self, content: str) -> list[str]:
        """URLs whose page had this text digest, in order of discovery; none for an empty one."""
        ...

    def counts(self) -> dict[str, int]:
        """URLs by state."""
        ...

    def reasons(self) -> dict[tuple[str, str], int]:
        """URLs by (state, reason)."""
        ...

    def resource(self, url: str) -> Resource | None: ...

    def keep_resource(self, resource: Resource) -> None: ...

    def open_visit(self, resume_hours: float) -> int:
        """The number of the run to work on: the open one if young enough, else a new one."""
        ...

    def close_visit(self, visit: int) -> None: ...

    def last_visit(self) -> tuple[int, str, str]:
        """(number, opened, closed) of the last run; (0, '', '') before the first."""
        ...


class Registry(Protocol):
    """
    All projects. Table names and columns are those the bot reads.

    `generation` and the BM25 snapshot change together or not at all, by `publish` alone: who
    reads both in one statement never gets the snapshot of another generation.
    """

    @property
    def where(self) -> str:
        """A file or a server's address, without credentials."""
        ...

    def hold(self, name: str) -> AbstractContextManager[None]:
        """
        Hold the project of this name against writers on other machines, who use the same registry.

        Raises `Busy` at once. A folder's own registry has none: there the folder's lock is enough.
        """
        ...

    def probe(self) -> None:
        """Raises what a write would raise now: the server is away, the disk is read-only …"""
        ...

    def add(self, project: Project) -> None:
        """Raises `Misconfigured` if the name is taken."""
        ...

    def find(self, *, name: str = "", id: str = "") -> Project | None: ...

    def all(self) -> list[Project]: ...

    def update(self, project: Project) -> None:
        """Replace all of its row but `generation` and `registered`; insert it if it is not there."""
        ...

    def publish(self, project_id: str, snapshot: Bm25Snapshot, *, generation: str, collection: str) -> None:
        """The live generation, the collection that holds it, and its snapshot, in one transaction."""
        ...

    def withdraw(self, project_id: str) -> None:
        """Nothing is live, and no bot was told of anything: the opposite of `publish`."""
        ...

    def mark_registered(self, project_id: str, registered: str) -> None: ...

    def bm25(self, project_id: str) -> Bm25Snapshot | None: ...

    def remove(self, id: str) -> None: ...

    def entries(self) -> list[Registered]:
        """Everything, by name."""
        ...

    def adopt(self, entries: Sequence[Registered], *, force: bool = False) -> Adopted:
        """
        Take over what another registry holds, in one transaction.

        Raises `Misconfigured` if a project is here with other values (not with `force`), or
        its name with another id.
        """
        ...

    def facts(self) -> dict[str, Any]:
        """What it is: kind, place, version; nothing is created."""
        ...

    def close(self) -> None: ...


class Rerank(Protocol):
    """A model that reads a question and texts together. `model` names it."""

    model: str

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """One score for each text, higher is nearer. Raises `Retryable` where there is no whole answer."""
        ...
