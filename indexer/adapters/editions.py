"""What each generation holds, page by page: what the next one is compared with."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from indexer.adapters.sqlite import mapped, transaction
from indexer.records import Edition

_COLUMNS = Edition.__struct_fields__


def sign_editions(database: Any) -> None:
    """What tells a page's points in one generation from those in another, as a migration adds it."""
    for name in ("signature", "translations"):
        database["editions"].add_column(name, str, not_null_default="")


class Editions:
    """The table `editions` of a project's catalogue."""

    path: Path
    _connection: sqlite3.Connection

    def editions(self, generation: str) -> Iterator[Edition]:
        """The pages of a generation, by key; none for one that was published before this was kept."""
        with mapped(self.path):
            rows = self._connection.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM editions WHERE generation = ? ORDER BY key", [generation]
            ).fetchall()
        return (Edition(**dict(zip(_COLUMNS, row, strict=True))) for row in rows)

    def keep_editions(self, generation: str, editions: Iterable[Edition]) -> None:
        """Remember what a generation holds; durable before it is published."""
        marks = ", ".join("?" * (len(_COLUMNS) + 1))
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute("DELETE FROM editions WHERE generation = ?", [generation])
            connection.executemany(
                f"INSERT INTO editions (generation, {', '.join(_COLUMNS)}) VALUES ({marks})",
                ([generation, *(getattr(one, name) for name in _COLUMNS)] for one in editions),
            )

    def forget_editions(self, keep: Collection[str]) -> None:
        """Forget what generations held that are no more."""
        with mapped(self.path), transaction(self._connection) as connection:
            known = [name for (name,) in connection.execute("SELECT DISTINCT generation FROM editions")]
            for name in known:
                if name not in keep:
                    connection.execute("DELETE FROM editions WHERE generation = ?", [name])
