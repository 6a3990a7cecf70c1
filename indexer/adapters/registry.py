"""
The registry of projects in SQLite.

`projects` and `bm25_indexes` have the columns that a bot reads; what only indexer needs
stands in `project_state`. The file holds bot tokens: its mode is 0600.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indexer.adapters import registry_rows as rows
from indexer.adapters.sqlite import mapped, open_database, require_space, transaction
from indexer.artifacts import Bm25Snapshot
from indexer.clock import now
from indexer.errors import Misconfigured
from indexer.ports import Adopted, Project, Registered

REGISTRY = "registry.db"


def _create(database: Any) -> None:
    database["projects"].create(
        {"id": str, "name": str, "tg_lead_group": str, "tg_api_key": str, "prompts": str, "language": str},
        pk="id",
        not_null={"name"},
    )
    database["projects"].create_index(["name"], unique=True)
    database["project_state"].create(
        {"project_id": str, "bot_url": str, "options": str, "generation": str, "registered": str},
        pk="project_id",
        foreign_keys=[("project_id", "projects", "id")],
    )
    database["bm25_indexes"].create(
        {
            "project_id": str,
            "vocab": str,
            "idf": str,
            "avg_dl": float,
            "num_docs": int,
            "updated_at": str,
        },
        pk="project_id",
        foreign_keys=[("project_id", "projects", "id")],
    )


def _keep_analyzers(database: Any) -> None:
    """Snapshots are kept whole; the next run writes those that were not, as it finds no generation."""
    for column in ("collection TEXT", "analyzer TEXT", "analyzer_version INTEGER", "k1 REAL", "b REAL"):
        database.execute(f"ALTER TABLE project_state ADD COLUMN {column}")
    database.execute("UPDATE project_state SET generation = ''")


class SqliteRegistry:
    """All projects of one projects folder. Implements `ports.Registry`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / REGISTRY
        self._connection = open_database(self.path, [_create, _keep_analyzers], mode=0o600)

    @property
    def where(self) -> str:
        """The file."""
        return str(self.path)

    def hold(self, name: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002 - the port's
        """Nothing: whoever writes here holds the project's folder."""
        return contextlib.nullcontext()

    def probe(self) -> None:
        """Begin to write, and write nothing."""
        require_space(self.path)
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute("DELETE FROM projects WHERE 0")  # a file that is open for reading only refuses

    def add(self, project: Project) -> None:
        """Insert a project. Raises `Misconfigured` if the name is taken."""
        try:
            with mapped(self.path), transaction(self._connection):
                self._put("projects", rows.bot_columns(project), conflict="")
                self._put("project_state", rows.own_columns(project))
        except Exception as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise Misconfigured(
                    f"a project named {project.name!r} exists already; "
                    "use `seed` to add to it, or choose another --name"
                ) from None
            raise

    def find(self, *, name: str = "", id: str = "") -> Project | None:  # noqa: A002
        """The project of this name or id."""
        column, value = ("id", id) if id else ("name", name)
        with mapped(self.path):
            row = self._connection.execute(f"{rows.SELECT} WHERE {column} = ?", [value]).fetchone()
        return rows.project_of(row) if row else None

    def all(self) -> list[Project]:
        """All projects by name."""
        with mapped(self.path):
            return [rows.project_of(row) for row in self._connection.execute(f"{rows.SELECT} ORDER BY name")]

    def update(self, project: Project) -> None:
        """Replace all of a project's row but what `publish` and `mark_registered` write."""
        with mapped(self.path), transaction(self._connection):
            self._put("projects", rows.bot_columns(project))
            self._put("project_state", rows.own_columns(project))

    def publish(self, project_id: str, snapshot: Bm25Snapshot, *, generation: str, collection: str) -> None:
        """The live generation and its snapshot, where a bot that reads the registry finds them."""
        with mapped(self.path), transaction(self._connection):
            self._put("bm25_indexes", rows.bm25_columns(project_id, snapshot, now()))
            self._put(
                "project_state",
                rows.live_columns(project_id, snapshot, generation=generation, collection=collection),
            )

    def withdraw(self, project_id: str) -> None:
        """Nothing is live: no generation, no snapshot, no bot that was told."""
        with mapped(self.path), transaction(self._connection):
            self._connection.execute("DELETE FROM bm25_indexes WHERE project_id = ?", [project_id])
            self._put("project_state", rows.nothing_live(project_id))

    def mark_registered(self, project_id: str, registered: str) -> None:
        """Which bot was told of which generation."""
        with mapped(self.path), transaction(self._connection):
            self._put("project_state", {"project_id": project_id, "registered": registered})

    def bm25(self, project_id: str) -> Bm25Snapshot | None:
        """The live generation's snapshot."""
        with mapped(self.path):
            row = self._connection.execute(f"{rows.SELECT_BM25} ?", [project_id]).fetchone()
        return rows.snapshot_of(row) if row else None

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a project and its BM25 row; unknown ids are fine."""
        with mapped(self.path), transaction(self._connection):
            for table, column in (
                ("bm25_indexes", "project_id"),
                ("project_state", "project_id"),
                ("projects", "id"),
            ):
                self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [id])

    def entries(self) -> list[Registered]:
        """Everything, by name."""
        with mapped(self.path):
            found = self._connection.execute(f"{rows.SELECT_ENTRIES} ORDER BY name").fetchall()
        return [rows.entry_of(row) for row in found]

    def adopt(self, entries: Sequence[Registered], *, force: bool = False) -> Adopted:
        """Take over what another registry holds. Raises `Misconfigured` as `rows.compared` does."""
        with mapped(self.path), transaction(self._connection):
            verdict = rows.compared(entries, self.entries(), force=force, where=self.where)
            for entry in entries:
                if entry.project.name not in verdict.unchanged:
                    self._take(entry)
        return verdict

    def facts(self) -> dict[str, Any]:
        """Kind, file and version."""
        with mapped(self.path):
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        return {"kind": "sqlite", "where": self.where, "version": version}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _take(self, entry: Registered) -> None:
        project, snapshot = entry.project, entry.snapshot
        self._put("projects", rows.bot_columns(project))
        own = {**rows.own_columns(project), **rows.nothing_live(project.id), "registered": project.registered}
        self._put("project_state", own)
        if snapshot is None:
            self._connection.execute("DELETE FROM bm25_indexes WHERE project_id = ?", [project.id])
            return
        self._put("bm25_indexes", rows.bm25_columns(project.id, snapshot, entry.updated_at or now()))
        self._put("project_state", rows.adopted_live(entry))

    def _put(self, table: str, values: Mapping[str, Any], *, conflict: str = "DO UPDATE") -> None:
        """Insert a row, or change these columns of the one that has its key (the first column)."""
        key, *others = values
        update = ", ".join(f"{column} = excluded.{column}" for column in others)
        self._connection.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
            + (f" ON CONFLICT ({key}) {conflict} SET {update}" if conflict else ""),
            list(values.values()),
        )
