"""
The vector store on a Qdrant server.

A generation is a collection `ALIAS__gNAME`; publishing re-points the alias in one
request. Manifest and BM25 snapshot lie in the project's folder, in the same layout as
the embedded store's, so that a reader takes those of the collection that the alias
names, whatever is published meanwhile. Only collections that this folder began are
ever removed: another machine may use the same server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from indexer.adapters.generations import PUBLISHED, SEALED, Generations, Hold
from indexer.adapters.qdrant_requests import (
    EXACT_UP_TO,
    batches_of,
    create_collection,
    server_filter,
    server_point,
    server_query,
)
from indexer.adapters.qdrant_server import Missing, Server, TooLarge
from indexer.artifacts import Bm25Snapshot, Manifest, Payload, Point
from indexer.errors import IndexerError, Misconfigured, Permanent, Retryable
from indexer.ids import collection_alias, collection_name
from indexer.ports import SPARSE_VECTOR, Ranked, Sparse, Where
from indexer.settings import Store

if TYPE_CHECKING:
    from indexer.ports import Vector

log = logging.getLogger("indexer")

VECTORS = "vectors"
IDS = 512  # ids in one request
SETTLING = 60  # seconds to wait until acknowledged points are counted
OPTIMISING = 1800  # seconds to wait for the graph of a large collection

_TRIES = 5


class QdrantStore:
    """The generations of `project` on a server. `folder`: the project's, for what belongs to them."""

    def __init__(
        self, project: str, *, settings: Store, folder: Path, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._project = project
        self._alias = collection_alias(project)
        self._server = Server(settings, sleep=sleep)
        self._sleep = sleep
        self._generations = Generations(folder / VECTORS)

    def current(self) -> Manifest | None:
        """The published generation; `None` if there is none, or its manifest is not here."""
        name = self._current()
        return self._generations.sound(name) if name else None

    def manifest(self, generation: str) -> Manifest | None:
        """The manifest of a published generation; `None` if it is damaged."""
        return self._generations.sound(generation)

    def collection(self, generation: str) -> str:
        """The collection of a generation."""
        return collection_name(self._project, generation)

    def begin(self, generation: str, dimension: int) -> QdrantGeneration:
        """A new, empty collection with its indexes. Raises `Busy`; `Misconfigured` for an old server."""
        generations = self._generations
        generations.hold()
        try:
            self._server.check()
            generations.tidy(self._current(), also=self._delete)
            generations.create(generation)
            create_collection(self._server, self.collection(generation), dimension)
        except BaseException:
            generations.release()
            raise
        return QdrantGeneration(self, generation, dimension)

    def clone(self, generation: str, base: str) -> None:
        """Never: a server copies no collection, and sending all points is what `begin` is for."""

    def publish(self, manifest: Manifest, snapshot: Bm25Snapshot) -> None:
        """Keep manifest and snapshot, then re-point the alias."""
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

    def reader(self) -> QdrantReader | None:
        """The published generation, or `None`. Raises `IndexerError` if its manifest is not here."""
        for _ in range(_TRIES):  # between reading the alias and the lock, a writer may publish and clean up
            name = self._current()
            if not name:
                return None
            hold = self._generations.reading(name)
            if hold is not None:
                return QdrantReader(self._server, self.collection(name), self._generations, name, hold)
        raise IndexerError(
            f"the index {self.collection(name)} at {self._server.url} was not published from this folder: "
            f"{self._generations.path(name)} is missing; search where it was built, or build it here"
        )

    def preview(self, manifest: Manifest, snapshot: Bm25Snapshot) -> QdrantReader:
        """A sealed generation, open before it is published."""
        name = manifest.generation
        self._generations.save(manifest, snapshot)
        hold = self._generations.reading(name)
        if hold is None:
            raise IndexerError(f"{self._generations.path(name)} vanished; run again")
        return QdrantReader(self._server, self.collection(name), self._generations, name, hold)

    def generations(self) -> list[str]:
        """Generations of this folder that were published and are still on the server, oldest first."""
        there = set(self._there())
        return [name for name in self._generations.published(self._current()) if name in there]

    def files(self) -> list[Path]:
        """Nothing: they are on the server."""
        return []

    def health(self) -> str:
        """The server's version. Raises `Misconfigured` for one that is too old, or no Qdrant."""
        return f"Qdrant {self._server.check()} at {self._server.url}"

    def leftovers(self) -> tuple[list[str], list[str]]:
        """Generations of this folder that were never published, and collections that another began."""
        ours = self._generations.leftovers(self._current())
        known = {*ours, *self._generations.published(self._current())}
        return ours, [self.collection(name) for name in self._there() if name not in known]

    def gc(self, keep: int, first: Collection[str] = ()) -> list[str]:
        """Keep the current generation and the newest others, `keep` in all; returns the removed."""
        generations = self._generations
        with generations.writing():
            current = self._current()
            generations.tidy(current, also=self._delete)
            surplus = generations.surplus(current, keep, first)
            return [name for name in surplus if generations.remove(name, also=self._delete)]

    def drop(self) -> None:
        """Remove the alias, the collections of this folder, and what belongs to them."""
        from qdrant_client import models

        with self._generations.writing():
            if self._current():
                gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._alias))
                self._change_aliases([gone])
            self._generations.drop(also=self._delete)

    # ── for this module ─────────────────────────────────────────────────────────────────

    def _there(self) -> list[str]:
        """Generations of this project on the server, whoever began them."""
        answer = self._server.call("list its collections", lambda client: client.get_collections())
        prefix = self.collection("")
        names = (one.name for one in answer.collections if one.name.startswith(prefix))
        return sorted(name.removeprefix(prefix) for name in names)

    def _current(self) -> str:
        """The generation that the alias names, or an empty string."""
        answer = self._server.call("list its aliases", lambda client: client.get_aliases())
        target = next((one.collection_name for one in answer.aliases if one.alias_name == self._alias), "")
        prefix = self.collection("")
        if target and not target.startswith(prefix):
            raise Misconfigured(
                f"the alias {self._alias} at {self._server.url} names {target}, no index of ours; "
                "remove that alias, or give the project another name"
            )
        return target.removeprefix(prefix)

    def _switch(self, generation: str) -> None:
        from qdrant_client import models

        current = self._current()
        self._generations.settle(current)
        changes: list[Any] = []
        if current:
            changes.append(
                models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._alias))
            )
        target = models.CreateAlias(collection_name=self.collection(generation), alias_name=self._alias)
        changes.append(models.CreateAliasOperation(create_alias=target))
        self._change_aliases(changes)
        self._generations.mark(generation, PUBLISHED)

    def _change_aliases(self, changes: list[Any]) -> None:
        self._server.call(
            f"change the alias {self._alias}", lambda client: client.update_collection_aliases(changes)
        )

    def _delete(self, generation: str) -> None:
        """Delete the collection of a generation, if it is there."""
        name = self.collection(generation)
        try:
            self._server.call(f"delete {name}", lambda client: client.delete_collection(name))
        except Missing:
            return


class QdrantGeneration:
    """A collection being filled."""

    def __init__(self, store: QdrantStore, name: str, dimension: int) -> None:
        self.name = name
        self._collection = store.collection(name)
        self._server = store._server  # noqa: SLF001 - of this module
        self._generations = store._generations  # noqa: SLF001
        self._sleep = store._sleep  # noqa: SLF001
        self._delete = store._delete  # noqa: SLF001
        self._dimension = dimension

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points; one of a known id is replaced, so that repeating a batch is harmless."""
        for batch in batches_of(points):
            self._send(batch)

    def seal(self, expected: int) -> None:
        """Wait until the points are applied and, in a large collection, indexed; count them."""
        self._wait(SETTLING, lambda: self._count() >= expected)
        count = self._count()
        if count != expected:
            raise Permanent(
                f"the new index {self._collection} at {self._server.url} holds {count} points instead of "
                f"{expected}; the old index stays; run again with --from-phase index"
            )
        if expected * self._dimension * 4 > EXACT_UP_TO * 1024 and not self._wait(OPTIMISING, self._is_green):
            log.warning("%s at %s is still being optimised", self._collection, self._server.url)
        self._generations.mark(self.name, SEALED)

    def abandon(self) -> None:
        """Delete the collection, unless it is published."""
        try:
            if self._generations.state(self.name) != PUBLISHED and self._generations.path(self.name).exists():
                self._generations.remove(self.name, also=self._delete)
        except Retryable as error:
            log.warning("%s; the next run removes %s", error, self._collection)
        finally:
            self._generations.release()

    def _send(self, batch: Sequence[Point]) -> None:
        try:
            self._server.call(
                f"take points into {self._collection}", lambda client: self._upsert(client, batch)
            )
        except TooLarge:
            if len(batch) == 1:
                raise
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])

    def _upsert(self, client: Any, batch: Sequence[Point]) -> None:
        points = [server_point(point) for point in batch]
        status = client.upsert(self._collection, points, wait=True).status
        if status == "wait_timeout":
            raise Retryable(
                f"{self._collection} at {self._server.url} is slow to take points; run again later"
            )

    def _count(self) -> int:
        def count(client: Any) -> int:
            return int(client.count(self._collection, exact=True).count)

        return self._server.call(f"count {self._collection}", count)

    def _is_green(self) -> bool:
        info = self._server.call(
            f"describe {self._collection}", lambda client: client.get_collection(self._collection)
        )
        return str(info.status) == "green"

    def _wait(self, seconds: int, done: Callable[[], bool]) -> bool:
        for _ in range(seconds):
            if done():
                return True
            self._sleep(1.0)
        return False


class QdrantReader:
    """The collection that the alias named when this was opened."""

    def __init__(
        self, server: Server, collection: str, generations: Generations, name: str, hold: Hold
    ) -> None:
        self._server = server
        self._collection = collection
        self._hold = hold
        try:
            self.manifest = generations.manifest(name)
            self.snapshot = generations.snapshot(name)
        except BaseException:
            self.close()
            raise

    def nearest(
        self, queries: Sequence[Vector | Sparse], limit: int, where: Where | None = None
    ) -> list[Ranked]:
        """The best `limit` points for each query, in one request."""
        requests = [server_query(query, limit, where) for query in queries]
        answers = self._server.call(
            f"search {self._collection}",
            lambda client: client.query_batch_points(self._collection, requests),
        )
        return [
            Ranked([str(point.id) for point in answer.points], [point.score for point in answer.points])
            for answer in answers
        ]

    def select(self, where: Where, limit: int) -> list[str]:
        """Ids of at most `limit` points that `where` admits."""

        def scroll(client: Any) -> Any:
            return client.scroll(
                self._collection,
                scroll_filter=server_filter(where),
                limit=limit,
                with_payload=False,
                with_vectors=False,
            )

        records, _ = self._server.call(f"list points of {self._collection}", scroll)
        return sorted(str(record.id) for record in records)

    def payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        """What the points carry, by id."""
        records = self._retrieve(ids, payload=True, vectors=[])
        return {str(record.id): msgspec.convert(record.payload, Payload) for record in records}

    def terms(self, ids: Sequence[str]) -> dict[str, Sparse]:
        """The BM25 vectors of points, by id."""
        records = self._retrieve(ids, payload=False, vectors=[SPARSE_VECTOR])
        return {str(record.id): _sparse(record.vector[SPARSE_VECTOR]) for record in records}

    def count(self) -> int:
        """Points of the generation."""
        answer = self._server.call(
            f"count {self._collection}", lambda client: client.count(self._collection, exact=True)
        )
        return int(answer.count)

    def close(self) -> None:
        """Let go of the generation."""
        self._hold.release()

    def _retrieve(self, ids: Sequence[str], *, payload: bool, vectors: list[str]) -> Iterator[Any]:
        for start in range(0, len(ids), IDS):
            some = list(ids[start : start + IDS])
            yield from self._server.call(
                f"read points of {self._collection}",
                lambda client, some=some: client.retrieve(  # type: ignore[misc]
                    self._collection, some, with_payload=payload, with_vectors=vectors or False
                ),
            )


def _sparse(vector: Any) -> Sparse:
    return Sparse(indices=tuple(vector.indices), values=tuple(vector.values))
