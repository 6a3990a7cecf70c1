"""
The embedded vector store: qdrant-edge, the Qdrant engine in this process.

A generation is one shard in its own folder, built, flushed, closed and then published
by replacing the file CURRENT. What the engine does not do is done here: without its log
it takes no lock (ours are in `generations`); it writes through memory maps, so that a
full disk would end the process by SIGBUS (space is checked before); it writes into the
folder even to read (a copy is opened where that cannot be); and it holds the
interpreter lock while it optimises (a child process does that, above `EXACT_UP_TO`).
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.adapters.edge_engine import (
    EXACT_UP_TO,
    apparent_size,
    copy_shard,
    count_points,
    create_shard,
    engine_filter,
    engine_point,
    engine_query,
    ids_of,
    load_shard,
    mapped,
    occupied_size,
    payloads_of,
    require_space,
    select_ids,
    size_of,
    writable,
)
from indexer.adapters.files import sync_folder
from indexer.adapters.generations import CURRENT, PUBLISHED, REBUILD, SEALED, Generations, Hold
from indexer.artifacts import Bm25Snapshot, Manifest, Payload, Point
from indexer.errors import IndexerError, Misconfigured, Permanent, disk_error
from indexer.ids import collection_name
from indexer.ports import SPARSE_VECTOR, Ranked, Sparse, Where

if TYPE_CHECKING:
    from indexer.ports import Vector

log = logging.getLogger("indexer")

SHARD = "shard"
BATCH = 512  # points in one call of the engine

_LOADING = "loading"
_TRIES = 5


class EdgeStore:
    """The generations of one project under `folder`. `collection`: what manifests call it."""

    def __init__(self, folder: Path, *, collection: str) -> None:
        self._generations = Generations(folder)
        self._collection = collection

    def current(self) -> Manifest | None:
        """The published generation; `None` if there is none, or its manifest is damaged."""
        name = self._generations.current()
        return self._generations.sound(name) if name else None

    def manifest(self, generation: str) -> Manifest | None:
        """The manifest of a published generation; `None` if it is damaged."""
        return self._generations.sound(generation)

    def collection(self, generation: str) -> str:
        """The name of a generation in its manifest."""
        return collection_name(self._collection, generation)

    def begin(self, generation: str, dimension: int) -> EdgeGeneration:
        """A new, empty generation. Raises `Busy`, or `IndexerError` for a disk without space."""
        generations = self._generations
        generations.hold()
        try:
            generations.tidy(generations.current())
            require_space(generations.folder, 0)
            path = self._prepare(generation)
            with mapped(path):
                shard = create_shard(path / SHARD, dimension)
            return EdgeGeneration(generations, generation, path, dimension, shard)
        except BaseException:
            generations.release()
            raise

    def clone(self, generation: str, base: str) -> tuple[EdgeGeneration, Bm25Snapshot] | None:
        """As `begin`, with the points of `base`; `None` once it has a graph, which clones would wear out."""
        generations = self._generations
        manifest = generations.manifest(base)
        if manifest.points * manifest.dimension * 4 > EXACT_UP_TO * 1024:
            return None
        generations.hold()
        try:
            generations.tidy(generations.current())
            source = generations.path(base)
            require_space(generations.folder, occupied_size(source / SHARD))
            path = self._prepare(generation)
            with mapped(path):
                loading = Hold(source / _LOADING, exclusive=True, wait=True)  # a reader writes while it opens
                try:
                    copy_shard(source / SHARD, path / SHARD)
                finally:
                    loading.release()
            snapshot, shard = generations.snapshot(base), load_shard(path / SHARD)
            clone = EdgeGeneration(generations, generation, path, manifest.dimension, shard)
            _require_whole(source, shard, manifest)
        except BaseException:
            generations.release()
            raise
        return clone, snapshot

    def publish(self, manifest: Manifest, snapshot: Bm25Snapshot) -> None:
        """Swap CURRENT; manifest and snapshot become part of the generation first."""
        self._generations.hold()
        try:
            self._generations.save(manifest, snapshot)
            self._switch(manifest.generation)
        finally:
            self._generations.release()

    def restore(self, generation: str) -> Manifest:
        """Publish an earlier generation again."""
        with self._generations.writing():
            known = self.generations()
            if generation not in known:
                there = ", ".join(known) or "none"
                raise Misconfigured(f"there is no generation {generation!r} to restore; there are: {there}")
            manifest = self._generations.manifest(generation)
            self._switch(generation)
        return manifest

    def reader(self) -> EdgeReader | None:
        """The published generation, or `None`. Raises `IndexerError` if it is damaged."""
        for _ in range(_TRIES):  # between reading CURRENT and the lock, a writer may publish and clean up
            name = self._generations.current()
            if not name:
                return None
            hold = self._generations.reading(name)
            if hold is not None:
                return EdgeReader(self._generations, name, hold)
        path = self._generations.path(name)
        raise IndexerError(f"the index is damaged: {path} is missing or locked; {REBUILD}")

    def preview(self, manifest: Manifest, snapshot: Bm25Snapshot) -> EdgeReader:
        """A sealed generation, open before it is published."""
        self._generations.save(manifest, snapshot)
        hold = self._generations.reading(manifest.generation)
        if hold is None:
            raise IndexerError(f"{self._generations.path(manifest.generation)} vanished; run again")
        return EdgeReader(self._generations, manifest.generation, hold)

    def generations(self) -> list[str]:
        """Generations that are or were published, oldest first."""
        return self._generations.published(self._generations.current())

    def files(self) -> list[Path]:
        """What makes up the published generations."""
        generations = self._generations
        names = self.generations()
        current = [generations.folder / CURRENT] if generations.current() in names else []
        return [*current, *(generations.path(name) for name in names)]

    def health(self) -> str:
        """The engine's version."""
        return f"qdrant-edge {metadata.version('qdrant-edge-py')}"

    def leftovers(self) -> tuple[list[str], list[str]]:
        """Generations that were never published."""
        return self._generations.leftovers(self._generations.current()), []

    def gc(self, keep: int, first: Collection[str] = ()) -> list[str]:
        """Keep the current generation and the newest others, `keep` in all; returns the removed."""
        with self._generations.writing():
            current = self._generations.current()
            self._generations.tidy(current)
            return [
                name
                for name in self._generations.surplus(current, keep, first)
                if self._generations.remove(name)
            ]

    def drop(self) -> None:
        """Remove everything. Raises `Busy` while a reader is open."""
        self._generations.drop()

    def _prepare(self, generation: str) -> Path:
        path = self._generations.create(generation)
        with mapped(path):
            (path / _LOADING).touch()
            (path / SHARD).mkdir()
        return path

    def _switch(self, generation: str) -> None:
        self._generations.settle(self._generations.current())
        self._generations.point_to(generation)
        self._generations.mark(generation, PUBLISHED)


class _Open:
    """A shard that is open, built or published, and how both are read by id."""

    _path: Path
    _shard: Any

    def select(self, where: Where, limit: int) -> list[str]:
        """Ids of at most `limit` points that `where` admits, sorted."""
        with mapped(self._path):
            return select_ids(self._shard, where, limit)

    def payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        """What the points carry, by id."""
        with mapped(self._path):
            return payloads_of(self._shard, ids)


class EdgeGeneration(_Open):
    """A shard being built. Nothing is durable, nor needs to be, before `seal`."""

    def __init__(self, generations: Generations, name: str, path: Path, dimension: int, shard: Any) -> None:
        self.name = name
        self._generations = generations
        self._path = path
        self._dimension = dimension
        self._shard = shard

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points; one of a known id is replaced."""
        import qdrant_edge as engine

        for start in range(0, len(points), BATCH):
            batch = points[start : start + BATCH]
            require_space(self._path, sum(map(size_of, batch)))
            with mapped(self._path):
                self._shard.update(engine.UpdateOperation.upsert_points([engine_point(p) for p in batch]))

    def delete(self, ids: Sequence[str]) -> None:
        """Remove points; an unknown one is fine."""
        import qdrant_edge as engine

        if ids:
            with mapped(self._path):
                self._shard.update(engine.UpdateOperation.delete_points(list(ids)))

    def seal(self, expected: int) -> None:
        """Flush, count, optimise if large, close."""
        with mapped(self._path):
            self._shard.flush()
        self._verify(count_points(self._shard), expected)
        self._close()
        if expected * self._dimension * 4 > EXACT_UP_TO * 1024:
            self._optimise()
            shard = load_shard(self._path / SHARD)
            self._verify(count_points(shard), expected)
            shard.close()
        with mapped(self._path):
            sync_folder(self._path / SHARD)
            sync_folder(self._path)
        self._generations.mark(self.name, SEALED)

    def abandon(self) -> None:
        """Remove the generation, unless it is published."""
        self._close()
        if self._generations.state(self.name) != PUBLISHED and self._path.exists():
            self._generations.remove(self.name)
        self._generations.release()

    def _verify(self, count: int, expected: int) -> None:
        if count != expected:
            raise Permanent(
                f"the new index in {self._path} holds {count} points instead of {expected}; "
                "the old index stays; run again with --from-phase index"
            )

    def _optimise(self) -> None:
        """Build the graph in a child: the engine would stop every thread of this process."""
        command = [sys.executable, "-m", "indexer.adapters.edge_engine", str(self._path / SHARD)]
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            log.warning(
                "the vector graph of %s could not be built (exit code %s: %s); search is exact, but slower",
                self._path,
                done.returncode,
                done.stderr.strip()[-200:],
            )

    def _close(self) -> None:
        shard, self._shard = self._shard, None
        if shard is not None:
            with mapped(self._path):
                shard.close()


class EdgeReader(_Open):
    """A published shard, open for search by one process; others may read it at the same time."""

    def __init__(self, generations: Generations, name: str, hold: Hold) -> None:
        self._path = generations.path(name)
        self._stack = contextlib.ExitStack()
        self._stack.callback(hold.release)
        try:
            self.manifest = generations.manifest(name)
            self.snapshot = generations.snapshot(name)
            self._shard = self._open()
        except BaseException:
            self.close()
            raise

    def nearest(
        self, queries: Sequence[Vector | Sparse], limit: int, where: Where | None = None
    ) -> list[Ranked]:
        """The best `limit` points for each query."""
        import qdrant_edge as engine

        admitted = engine_filter(where) if where else None
        requests = [
            engine.QueryRequest(limit=limit, query=engine_query(query), filter=admitted, with_payload=False)
            for query in queries
        ]
        with mapped(self._path):
            answers = self._shard.query_batch(engine.QueryBatchRequest(requests))
        return [Ranked(ids_of(answer), [point.score for point in answer]) for answer in answers]

    def terms(self, ids: Sequence[str]) -> dict[str, Sparse]:
        """The BM25 vectors of points, by id."""
        with mapped(self._path):
            records = self._shard.retrieve(list(ids), False, [SPARSE_VECTOR])
        return {str(record.id): _sparse(record.vector[SPARSE_VECTOR]) for record in records}

    def count(self) -> int:
        """Points of the generation."""
        with mapped(self._path):
            return count_points(self._shard)

    def close(self) -> None:
        """Let go of the generation."""
        self._stack.close()

    def _open(self) -> Any:
        path = self._path / SHARD
        with mapped(path):
            loading = Hold(self._path / _LOADING, exclusive=True, wait=True)
        try:
            if not writable(path):
                path = self._copy(path)
            shard = load_shard(path)
        finally:
            loading.release()
        self._stack.callback(shard.close)
        _require_whole(path, shard, self.manifest)
        return shard

    def _copy(self, path: Path) -> Path:
        """The shard in a temporary folder: its own lies on a full or read-only disk."""
        try:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="indexer-"))
            target = Path(folder) / SHARD
            require_space(target.parent, apparent_size(path))
            return Path(shutil.copytree(path, target))
        except OSError as error:
            raise disk_error(path, error) from error


def _require_whole(path: Path, shard: Any, manifest: Manifest) -> None:
    """The engine opens what is left of a shard without a word."""
    count = count_points(shard)
    if count != manifest.points:
        raise IndexerError(
            f"the index is damaged: {path} holds {count} points instead of {manifest.points}; {REBUILD}"
        )


def _sparse(vector: Any) -> Sparse:
    return Sparse(indices=tuple(vector.indices), values=tuple(vector.values))
