"""
Bytes by content, in one SQLite file: what vectors and answers are remembered in.

A key is the digest of all that a value depends on, so that an entry can be stale never and
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

log = logging.getLogger("indexer")

KEYS_PER_QUERY = 500  # SQLite binds at least 999
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

Result = TypeVar("Result")


class SqliteBlobs:
    """
    A table `name` of keys and blobs in a file. Opened when first used; safe in several threads and processes.

    Keys are hexadecimal digests. `put` is durable when it returns.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self._database: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values of those `keys` that are there."""
        found: dict[str, bytes] = {}
        for some in _slices(keys):
            for key, blob in self._guarded(partial(_select, name=self.name, keys=some)):
                found[key.hex()] = blob
        return found

    def put(self, values: Mapping[str, bytes]) -> None:
        """Add or replace, all or nothing."""
        rows = [(bytes.fromhex(key), blob) for key, blob in values.items()]

        def insert(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany(f"INSERT OR REPLACE INTO {self.name} VALUES (?, ?)", rows)

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
            self._database = open_database(self.path, [partial(_create, self.name)])
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


def get_from(path: Path, name: str, keys: Sequence[str]) -> dict[str, bytes]:
    """
    As `SqliteBlobs.get`, without writing anything, not even the file if there is none.

    A damaged file knows nothing.
    """
    found: dict[str, bytes] = {}
    if not path.is_file():
        return found
    try:
        with reading(path) as connection, mapped(path):
            for some in _slices(keys):
                for key, blob in _select(connection, name=name, keys=some):
                    found[key.hex()] = blob
    except IndexerError as error:
        log.info("%s", error)
    return found


def _create(name: str, database: Any) -> None:
    column = name.removesuffix("s")
    database.conn.execute(f"CREATE TABLE {name} (key BLOB PRIMARY KEY, {column} BLOB NOT NULL) WITHOUT ROWID")


def _slices(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[start : start + KEYS_PER_QUERY] for start in range(0, len(keys), KEYS_PER_QUERY)]


def _select(connection: sqlite3.Connection, *, name: str, keys: Sequence[str]) -> list[tuple[bytes, bytes]]:
    marks = ",".join("?" * len(keys))
    query = f"SELECT * FROM {name} WHERE key IN ({marks})"
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
