"""
What each phase found in order, so that files that did not change since are not read again.

A phase owes nothing for a page whose input, output and settings are those of the last
time. To know that, a night without news would read every artifact of a project; instead
the catalogue remembers, per phase and page, the stamps of the two files (inode, size,
time of change) that were seen to belong together. Whatever differs is read, as ever: the
ledger can be lost or wrong about the past, but never about a file.
"""

from __future__ import annotations

from collections.abc import Iterable

from indexer.artifacts import ChunkedPage, EmbeddedPage, Page
from indexer.pipeline.work import Done
from indexer.ports import Artifacts, Catalogue, Entry

CHUNK, EMBED = "chunk", "embed"
_FILES: dict[str, tuple[type, type]] = {CHUNK: (Page, ChunkedPage), EMBED: (ChunkedPage, EmbeddedPage)}
_BATCH = 500


class Ledger:
    """
    The entries of one phase. `basis`: a digest of all that the phase depends on besides its input.

    `note` collects; what is noted is written now and then, and by `flush`.
    """

    def __init__(self, catalogue: Catalogue, artifacts: Artifacts, *, phase: str, basis: str) -> None:
        self._catalogue = catalogue
        self._artifacts = artifacts
        self._phase = phase
        self._basis = basis
        self._noted: list[Entry] = []

    def split(self, keys: Iterable[str]) -> tuple[list[Done], list[str]]:
        """What is known to be in order, and the keys of all else."""
        settled, others = [], []
        for key in keys:
            entry = self._catalogue.entry(self._phase, key)
            if entry is not None and (entry.basis, entry.source, entry.target) == self._now(key):
                settled.append(Done(key=key, count=entry.count, dimension=entry.dimension, kept=True))
            else:
                others.append(key)
        return settled, others

    def note(self, done: Done) -> None:
        """A page was seen to, or found in order."""
        basis, source, target = self._now(done.key)
        if done.reason or not source or not target:
            return
        signature = self._artifacts.signature(_FILES[self._phase][1], done.key)
        self._noted.append(
            Entry(
                phase=self._phase, key=done.key, basis=basis, source=source, target=target,
                signature=signature, count=done.count, dimension=done.dimension,
            )
        )  # fmt: skip
        if len(self._noted) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what was noted."""
        if self._noted:
            self._catalogue.enter(self._noted)
        self._noted = []

    def _now(self, key: str) -> tuple[str, str, str]:
        source, target = _FILES[self._phase]
        return self._basis, self._artifacts.stamp(source, key), self._artifacts.stamp(target, key)


def page_stands(catalogue: Catalogue, artifacts: Artifacts, key: str) -> bool:
    """Whether there is a whole page: one that was chunked as it is now, or that can be read."""
    entry = catalogue.entry(CHUNK, key)
    if entry is not None and entry.source == artifacts.stamp(Page, key):
        return True
    return bool(artifacts.signature(Page, key))


def vectors_signature(catalogue: Catalogue, artifacts: Artifacts, key: str) -> str:
    """Of a page's vectors, as `Artifacts.signature` gives it."""
    entry = catalogue.entry(EMBED, key)
    if entry is not None and entry.target == artifacts.stamp(EmbeddedPage, key):
        return entry.signature
    return artifacts.signature(EmbeddedPage, key)
