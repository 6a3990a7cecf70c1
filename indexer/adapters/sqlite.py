"""
One way to open our SQLite files: WAL, durable commits, numbered migrations, clear errors.

A file made by a newer indexer is refused, a damaged one is named; neither is overwritten.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from indexer.errors import IndexerError, Misconfigured, disk_error

LEAST_SPACE = 1 << 20  # bytes below which a disk counts as full

Migration = Callable[[Any], None]


def open_database(path: Path, migrations: Sequence[Migration], *, mode: int = 0o644) -> sqlite3.Connection:
    """
    A connection to a file at its newest version.

    A migration gets a `sqlite_utils.Database` and runs in a transaction of its own.

    Raises `Misconfigured` for a file of a newer indexer or an unwritable folder,
    `IndexerError` for a damaged file.
    """
    try:
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=mode)
    except OSError as error:
        raise disk_error(path, error) from error
    with mapped(path):
        frozen = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        if _is_full(path.parent):
            return _opened(path, migrations, frozen)
        try:
            return _opened(path, migrations, str(path))
        except sqlite3.OperationalError:
            # A read-only disk: what is there can still be read.
            with contextlib.suppress(sqlite3.Error):
                return _opened(path, migrations, frozen)
            raise


def _is_full(folder: Path) -> bool:
    """Whether WAL must not be used: its index is a memory map, and without space it ends the process."""
    try:
        return shutil.disk_usage(folder).free < LEAST_SPACE
    except OSError:
        return False


def _opened(path: Path, migrations: Sequence[Migration], name: str) -> sqlite3.Connection:
    uri = name.startswith("file:")
    connection = sqlite3.connect(name, timeout=30, isolation_level=None, check_same_thread=False, uri=uri)
    try:
        if not uri:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        _migrate(path, connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(path: Path, connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(migrations):
        raise Misconfigured(
            f"{path} was written by a newer indexer (version {version}, this one knows {len(migrations)}); "
            "upgrade indexer or choose another --projects-dir"
        )
    if version == len(migrations):
        return  # without importing what only migrations need
    from sqlite_utils import Database

    database = Database(connection)
    for number in range(version, len(migrations)):
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone()[0] > number:
                continue  # another process was faster
            migrations[number](database)
            connection.execute(f"PRAGMA user_version = {number + 1}")


def require_space(path: Path) -> None:
    """Raises `IndexerError` if the disk of `path` is full."""
    if _is_full(path.parent):
        raise disk_error(path, OSError(errno.ENOSPC, ""))


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """
    A connection that writes nothing, not even the files that WAL keeps beside.

    Where these exist another process is at work, and they are used; else the file cannot
    change under us except by a writer that starts meanwhile.
    """
    busy = path.with_name(f"{path.name}-wal").exists()
    with mapped(path):
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro{'' if busy else '&immutable=1'}", uri=True, timeout=30
        )
    try:
        yield connection
    finally:
        connection.close()


def copy_database(source: Path, target: Path) -> None:
    """A consistent copy, or nothing if there is no source; the source is only read."""
    if not source.is_file():
        return
    with reading(source) as ours, contextlib.closing(sqlite3.connect(target)) as theirs, mapped(source):
        ours.backup(theirs)


def check_database(path: Path) -> None:
    """Raises `IndexerError` if the file is damaged; a missing one is fine. Writes nothing."""
    if not path.is_file():
        return
    with reading(path) as connection, mapped(path):
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise IndexerError(f"{path} is damaged ({found}); restore it from a backup or move it away")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All or nothing; the write lock is taken at the start, so that it cannot be lost half-way."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ones that say which file and what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "readonly" in text or "unable to open" in text:
            if _is_full(path.parent):
                raise disk_error(path, OSError(errno.ENOSPC, "")) from error
            raise Misconfigured(
                f"cannot write {path}: {text}; make the folder writable or choose --projects-dir"
            ) from error
        if "full" in text or "disk I/O" in text:
            raise IndexerError(
                f"{path}: {text}; free some space on that disk and run again: nothing is lost"
            ) from error
        if "malformed" in text or "not a database" in text:
            raise IndexerError(
                f"{path} is damaged ({text}); restore it from a backup or move it away"
            ) from error
        raise IndexerError(f"{path}: {text}") from error
