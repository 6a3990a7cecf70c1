"""
Vectors by content, in one SQLite file for all projects: no text is paid for twice.

A key is the digest of model, adapter and text, so that an entry can be stale never and
wrong only if the file is damaged. A damaged file is moved aside and begun anew.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from indexer.adapters.sqlite import mapped, open_database, reading, transaction
from indexer.errors import IndexerError
from indexer.ports import Vector

log = logging.getLogger("indexer")

KEYS_PER_QUERY = 500  # SQLite binds at least 999
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

Result = TypeVar("Result")


def _create(database: Any) -> None:
    database.conn.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")


def _vector(blob: bytes) -> Vector:
    import numpy as np  # a night without news needs no vector

    return np.frombuffer(blob, "<f4").astype(np.float32)


def _blob(vector: Vector) -> bytes:
    import numpy as np

    return np.asarray(vector, "<f4").tobytes()


class SqliteVectorCache:
    """
    The `VectorCache` port. Opened when first used; safe in several threads and processes.

    `put` is durable when it returns. Picklable: another process opens its own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return SqliteVectorCache, (self.path,)

    def get(self, keys: Sequence[str]) -> dict[str, Vector]:
        """The vectors of those `keys` that are there. Keys are hexadecimal digests."""
        found: dict[str, Vector] = {}
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            for key, blob in self._guarded(partial(_select, keys=some)):
                if len(blob) % 4 == 0:
                    found[key.hex()] = _vector(blob)
        return found

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Add or replace, all or nothing."""
        rows = [(bytes.fromhex(key), _blob(vector)) for key, vector in vectors.items()]

        def insert(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

        if rows:
            self._guarded(insert)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _guarded(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run on the connection; once more on a new file if this one is damaged."""
        with self._lock:
            try:
                return self._attempt(work)
            except IndexerError as error:
                cause = error.__cause__
                if not isinstance(cause, sqlite3.DatabaseError) or _code(cause) not in DAMAGE:
                    raise
                self._close()
                self._set_aside(str(cause))
            return self._attempt(work)

    def _attempt(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        if self._database is None:
            self._database = open_database(self.path, [_create])
        with mapped(self.path):
            return work(self._database)

    def _set_aside(self, why: str) -> None:
        """Move the damaged file away, unless another process has done so meanwhile."""
        from filelock import FileLock

        with FileLock(f"{self.path}.lock"):
            if _sound(self.path):
                return
            aside = _unused(self.path)
            log.warning("%s is damaged (%s): moved to %s, begun anew", self.path, why, aside.name)
            for suffix in ("", "-wal", "-shm"):
                part = self.path.with_name(self.path.name + suffix)
                if part.exists():
                    part.replace(aside.with_name(aside.name + suffix))


class ReadOnlyVectors:
    """The same vectors for looking up: writes nothing, and knows nothing if there is no file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, keys: Sequence[str]) -> dict[str, Vector]:
        """As `SqliteVectorCache.get`; a damaged file knows nothing."""
        found: dict[str, Vector] = {}
        if not self.path.is_file():
            return found
        try:
            with reading(self.path) as connection, mapped(self.path):
                for start in range(0, len(keys), KEYS_PER_QUERY):
                    for key, blob in _select(connection, keys=keys[start : start + KEYS_PER_QUERY]):
                        found[key.hex()] = _vector(blob)
        except IndexerError as error:
            log.info("%s", error)
        return found

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Nothing is kept."""


def _select(connection: sqlite3.Connection, *, keys: Sequence[str]) -> list[tuple[bytes, bytes]]:
    marks = ",".join("?" * len(keys))
    query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
    return connection.execute(query, [bytes.fromhex(key) for key in keys]).fetchall()


def _code(error: sqlite3.DatabaseError) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes hold the cause in higher bits


def _sound(path: Path) -> bool:
    try:
        connection = sqlite3.connect(path, timeout=30)
        try:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return False


def _unused(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside
