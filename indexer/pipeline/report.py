"""What a run did: numbers that add up, progress lines for people and scripts."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from indexer.artifacts import State


class Report(Struct, kw_only=True):
    """
    The `--json` of a run: a contract.

    `found` = `indexed` + `skipped` + `failed`. `published`: the live generation is that
    of this run's pages; `registered`: the bot knows that generation. `new`, `changed`, `moved`
    (the same text at another URL), `gone`: pages of the live index against the one before.
    `stale`: pages that answer, but that nothing names any more; `kept`: pages that could not be
    had, whose last good version stands; `quarantined`: pages whose new version is held back.
    `exit`: the code that the run ends with.
    """

    project: str
    id: str
    found: int = 0
    indexed: int = 0
    skipped: int = 0
    failed: int = 0
    fetched: int = 0
    not_modified: int = 0
    chunks: int = 0
    embedded: int = 0
    embed_cached: int = 0
    chat_calls: int = 0
    points: int = 0
    generation: str = ""
    published: bool = False
    registered: bool = False
    seconds: float = 0.0
    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    stale: int = 0
    kept: int = 0
    quarantined: int = 0
    exit: int = 0


class Progress(Protocol):
    """Where a run tells how far it is. The lines of `say` are stable for scripts."""

    def say(self, line: str) -> None:
        """One finished step."""
        ...

    def step(self, phase: str, done: int, total: int, note: str = "") -> None:
        """How far a phase is; `total` 0: unknown."""
        ...


def count(report: Report, states: dict[str, int]) -> None:
    """Fill in found, indexed, skipped and failed from URLs by state."""
    report.found = sum(states.values())
    report.skipped = states.get(State.SKIPPED, 0)
    report.indexed = states.get(State.INDEXED, 0) + states.get(State.FETCHED, 0)
    report.failed = report.found - report.skipped - report.indexed
