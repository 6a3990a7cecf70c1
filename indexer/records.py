"""
The values that cross an edge: what `indexer.ports` speaks of besides the artifacts.

Frozen, without behaviour, like the artifacts; unlike them they may hold times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from indexer.artifacts import Bm25Snapshot, State


class Validators(Struct, frozen=True, kw_only=True):
    """What makes a request conditional; both empty: unconditional."""

    etag: str = ""
    last_modified: str = ""


class Response(Struct, frozen=True, kw_only=True):
    """
    One finished exchange. `url` was asked, `final_url` answered, `hops` lie between.

    `body` is decoded from its Content-Encoding, whole, and within the size limit.
    Header names are lower case. `status` 304 has an empty body. `rendered`: the body is what
    a browser made of it.
    """

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[str, ...] = ()
    rendered: bool = False


class Limits(Struct, frozen=True, kw_only=True):
    """
    What one embedding request may hold: tokens per text, texts and tokens per batch.

    `at_once`: requests that may be under way side by side.
    """

    max_tokens: int
    batch_items: int
    batch_tokens: int
    at_once: int = 1


class UrlRow(Struct, frozen=True, kw_only=True):
    """
    One URL of the catalogue. `visit`: the number of the run that last dealt with it.

    `named`: the run in which a source or a link last named it; `stale`: since when none does
    although it answers. `turned`: how often its text was found changed since `since`.
    """

    url: str
    key: str
    found_in: tuple[str, ...] = ()
    depth: int = 0
    lastmod: str = ""
    state: State = State.DISCOVERED
    reason: str = ""
    detail: str = ""
    final_url: str = ""
    status: int = 0
    etag: str = ""
    last_modified: str = ""
    content: str = ""
    visit: int = 0
    tries: int = 0
    checked_at: str = ""
    fetched_at: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    named: int = 0
    stale: str = ""
    turned: int = 0
    since: str = ""


class Edition(Struct, frozen=True, kw_only=True):
    """
    One page as a generation holds it: its text's digest, length in characters, and chunks.

    `signature`: of its points; `translations`: keys of pages that it names, separated by blanks.
    """

    key: str
    url: str
    title: str = ""
    content: str = ""
    characters: int = 0
    chunks: int = 0
    signature: str = ""
    translations: str = ""


class Entry(Struct, frozen=True, kw_only=True):
    """
    Two files that were seen to belong together: what a phase made (`target`) of what (`source`).

    Both are stamps, see `ports.Artifacts.stamp`. `basis`: a digest of all else that the phase
    depends on. `signature`, `dimension`: of the target; `count`: its chunks.
    """

    phase: str
    key: str
    basis: str
    source: str
    target: str
    signature: str = ""
    count: int = 0
    dimension: int = 0


class Resource(Struct, frozen=True, kw_only=True):
    """A sitemap, feed or robots.txt as last read, for conditional requests."""

    url: str
    status: int
    etag: str = ""
    last_modified: str = ""
    body: bytes = b""
    visit: int = 0


class Project(Struct, frozen=True, kw_only=True):
    """A registry row. `options`: stored sources and crawl settings, as given by flags."""

    id: str
    name: str
    language: str = ""
    tg_api_key: str = ""
    tg_lead_group: str = ""
    prompts: dict[str, str] = field(default_factory=dict)
    bot_url: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    generation: str = ""
    registered: str = ""


class Registered(Struct, frozen=True, kw_only=True):
    """All that a registry holds of a project. `updated_at`: when the snapshot was written (ISO 8601, UTC)."""

    project: Project
    snapshot: Bm25Snapshot | None = None
    updated_at: str = ""


class Adopted(Struct, frozen=True, kw_only=True):
    """Names of the projects that a registry took over, by what it held of them before."""

    moved: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


class Ranked(Struct, frozen=True):
    """Candidates of one retrieval leg, in columns: ids, and the leg's own scores (higher is nearer)."""

    ids: Sequence[str] = ()
    scores: Sequence[float] = ()


class Where(Struct, frozen=True, kw_only=True):
    """
    Which points may be found: for every field of the payload named, it is one of the values.

    A list field fits if any of its items does. `Where()` is all points.
    """

    fields: Mapping[str, tuple[str | bool, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.fields)


class Sparse(Struct, frozen=True, kw_only=True):
    """A sparse vector: `indices` ascend without repeats and pair with `values`."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


class Served(Struct, frozen=True, kw_only=True):
    """
    What a bot says of a project: whether it knows it, and the generation it serves, if it says so.

    `tells`: whether it can be asked at all.
    """

    url: str
    known: bool = True
    tells: bool = True
    generation: str = ""


class Answered(Struct, frozen=True, kw_only=True):
    """A server that was asked whether it is there; `problem` empty: it is."""

    server: str
    problem: str = ""


class Packed(Struct, frozen=True, kw_only=True):
    """A file on its way into an archive, by its name there; without a path an empty folder."""

    name: str
    path: Path | None = None
    size: int = 0
