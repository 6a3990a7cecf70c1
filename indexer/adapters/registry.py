"""
The registry of projects in SQLite.

`projects` and `bm25_indexes` have the columns that a bot reads; what only indexer needs
stands in `project_state`. The file holds bot tokens: its mode is 0600.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from indexer.adapters.sqlite import mapped, open_database, transaction
from indexer.artifacts import Bm25Snapshot
from indexer.clock import now
from indexer.errors import Misconfigured
from indexer.ports import Project

REGISTRY = "registry.db"
_SELECT = (
    "SELECT id, name, language, tg_api_key, tg_lead_group, prompts, bot_url, options, generation, registered "
    "FROM projects JOIN project_state ON project_id = id"
)


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


class SqliteRegistry:
    """All projects of one projects folder. Implements `ports.Registry`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / REGISTRY
        self._connection = open_database(self.path, [_create], mode=0o600)

    def add(self, project: Project) -> None:
        """Insert a project. Raises `Misconfigured` if the name is taken."""
        try:
            with mapped(self.path), transaction(self._connection):
                self._put(project)
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
            row = self._connection.execute(f"{_SELECT} WHERE {column} = ?", [value]).fetchone()
        return _project(row) if row else None

    def all(self) -> list[Project]:
        """All projects by name."""
        with mapped(self.path):
            return [_project(row) for row in self._connection.execute(f"{_SELECT} ORDER BY name")]

    def update(self, project: Project) -> None:
        """Replace a project's row."""
        with mapped(self.path), transaction(self._connection):
            self._put(project, "OR REPLACE")

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a project and its BM25 row; unknown ids are fine."""
        with mapped(self.path), transaction(self._connection) as connection:
            for table, column in (
                ("bm25_indexes", "project_id"),
                ("project_state", "project_id"),
                ("projects", "id"),
            ):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [id])

    def save_bm25(self, project_id: str, snapshot: Bm25Snapshot) -> None:
        """The published snapshot, where a bot that reads the registry finds it."""
        row = [
            project_id,
            _json(snapshot.vocab),
            _json(snapshot.idf),
            snapshot.avg_dl,
            snapshot.num_docs,
            now(),
        ]
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute("INSERT OR REPLACE INTO bm25_indexes VALUES (?, ?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _put(self, project: Project, conflict: str = "") -> None:
        self._connection.execute(
            f"INSERT {conflict} INTO projects (id, name, tg_lead_group, tg_api_key, prompts, language) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                project.id,
                project.name,
                project.tg_lead_group,
                project.tg_api_key,
                _json(project.prompts),
                project.language,
            ],
        )
        self._connection.execute(
            f"INSERT {conflict} INTO project_state (project_id, bot_url, options, generation, registered) "
            "VALUES (?, ?, ?, ?, ?)",
            [project.id, project.bot_url, _json(project.options), project.generation, project.registered],
        )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _project(row: tuple[Any, ...]) -> Project:
    (id_, name, language, key, group, prompts, bot_url, options, generation, registered) = row
    return Project(
        id=id_,
        name=name,
        language=language or "",
        tg_api_key=key or "",
        tg_lead_group=group or "",
        prompts=msgspec.json.decode(prompts or "{}"),
        bot_url=bot_url or "",
        options=msgspec.json.decode(options or "{}"),
        generation=generation or "",
        registered=registered or "",
    )
