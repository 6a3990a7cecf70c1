"""What each phase found in order, page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from indexer.adapters.sqlite import mapped, transaction
from indexer.records import Entry

_COLUMNS = Entry.__struct_fields__
_NAMES = ", ".join(_COLUMNS)
_MARKS = ", ".join("?" * len(_COLUMNS))


def create_ledger(database: Any) -> None:
    """The table, as a migration makes it."""
    kinds = {name: int if name in ("count", "dimension") else str for name in _COLUMNS}
    database["ledger"].create(kinds, pk=("phase", "key"))


class LedgerEntries:
    """The table `ledger` of a project's catalogue."""

    path: Path
    _connection: sqlite3.Connection

    def entry(self, phase: str, key: str) -> Entry | None:
        """What a phase last found in order for a page."""
        with mapped(self.path):
            row = self._connection.execute(
                f"SELECT {_NAMES} FROM ledger WHERE phase = ? AND key = ?", [phase, key]
            ).fetchone()
        return Entry(**dict(zip(_COLUMNS, row, strict=True))) if row else None

    def enter(self, entries: Iterable[Entry]) -> None:
        """Remember what was found in order."""
        with mapped(self.path), transaction(self._connection) as connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO ledger ({_NAMES}) VALUES ({_MARKS})",
                ([getattr(entry, name) for name in _COLUMNS] for entry in entries),
            )

    def strike(self, keys: Iterable[str]) -> None:
        """Forget pages that are no more."""
        with mapped(self.path), transaction(self._connection) as connection:
            connection.executemany("DELETE FROM ledger WHERE key = ?", ([key] for key in keys))
