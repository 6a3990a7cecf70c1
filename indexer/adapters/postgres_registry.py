"""
The registry of projects on a PostgreSQL server: the tables that a bot reads, in its own database.

`projects` and `bm25_indexes` may be there already, made by the bot: they are used as they
are, with the rows that they hold, if their columns can keep what we write exactly. What only indexer
needs stands in `project_state`. A row of `projects` is never deleted to be replaced: other
tables of the bot may refer to it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indexer.adapters import registry_rows as rows
from indexer.adapters.postgres import Postgres, Result, Work
from indexer.artifacts import Bm25Snapshot
from indexer.clock import now
from indexer.errors import Busy, Misconfigured
from indexer.ports import Adopted, Project, Registered

if TYPE_CHECKING:
    from psycopg import Connection

_HOLD = "indexer project"  # before a project's name: the key of its advisory lock
_TEXT = ("text", "character varying")
_JSON = ("jsonb", "json")
# Columns that a bot may have made; `real` would round avg_dl, and no two may differ in one index.
_KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "projects": {
        "id": (*_TEXT, "uuid"),
        "name": _TEXT,
        "tg_lead_group": _TEXT,
        "tg_api_key": _TEXT,
        "prompts": _JSON,
        "language": _TEXT,
    },
    "bm25_indexes": {
        "project_id": (*_TEXT, "uuid"),
        "vocab": _JSON,
        "idf": _JSON,
        "avg_dl": ("double precision", "numeric"),
        "num_docs": ("integer", "bigint", "numeric"),
        "updated_at": ("timestamp with time zone", "timestamp without time zone", *_TEXT),
    },
}
PROJECTS = """\
CREATE TABLE IF NOT EXISTS projects (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    tg_lead_group text,
    tg_api_key text,
    prompts jsonb,
    language text
);
"""
INDEXES = """\
CREATE TABLE IF NOT EXISTS bm25_indexes (
    project_id text PRIMARY KEY REFERENCES projects (id),
    vocab jsonb,
    idf jsonb,
    avg_dl double precision,
    num_docs integer,
    updated_at timestamptz
);
CREATE TABLE project_state (
    project_id text PRIMARY KEY REFERENCES projects (id),
    bot_url text,
    options jsonb,
    generation text,
    collection text,
    registered text,
    analyzer text,
    analyzer_version integer,
    k1 double precision,
    b double precision
);
"""
# json as text, decoded by us: whole numbers and fractions come back as what they were.
_SELECT, _SELECT_BM25, _SELECT_ENTRIES = (
    re.sub(r"\b(prompts|options|vocab|idf),", r"\1::text,", select)
    for select in (rows.SELECT, rows.SELECT_BM25, rows.SELECT_ENTRIES)
)


def _create(connection: Connection[Any]) -> None:
    connection.execute(PROJECTS)
    kind = _check(connection, "projects")["id"]
    connection.execute(INDEXES.replace("project_id text", f"project_id {kind}"))
    _check(connection, "bm25_indexes")


def _check(connection: Connection[Any], table: str) -> dict[str, str]:
    """Column → type. Raises `Misconfigured` if a table that was there before cannot hold what we write."""
    found = dict(
        connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_name = %s AND table_schema = current_schema()",
            [table],
        ).fetchall()
    )
    for column, kinds in _KINDS[table].items():
        if column not in found:
            raise Misconfigured(f"the table {table} has no column {column} ({kinds[0]}); add it")
        if found[column] not in kinds:
            raise Misconfigured(
                f"{table}.{column} is {found[column]}, which cannot hold what is written there; "
                f"make it {' or '.join(kinds)}"
            )
    return found


MIGRATIONS = (_create,)


class PostgresRegistry:
    """All projects of a server. Implements `ports.Registry`. Nothing is asked before the first method."""

    def __init__(self, url: str, *, timeout: float) -> None:
        self._server = Postgres(url, timeout=timeout)
        self._unique = self._server.driver.errors.UniqueViolation
        self._ready = False

    @property
    def where(self) -> str:
        """The server's address without a password."""
        return self._server.where

    @property
    def exists(self) -> bool:
        """Whether the tables were made; asking makes none."""
        return self._server.version() > 0

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a project against other machines. Raises `Busy` naming the holder at once."""
        with self._server.holding(f"{_HOLD} {name}") as holder:
            if holder:
                raise Busy(
                    f"project {name!r} of {self.where} is held by a run {holder}; wait for it to end, "
                    "then run again"
                )
            yield

    def probe(self) -> None:
        """Ask the server whether it takes writes."""

        def work(connection: Connection[Any]) -> None:
            found = connection.execute("SELECT current_setting('transaction_read_only')").fetchone()
            if found and found[0] == "on":
                raise Misconfigured(f"the registry {self.where} only reads; name the primary server")

        self._transact(work)

    def add(self, project: Project) -> None:
        """Insert a project. Raises `Misconfigured` if the name is taken."""

        def work(connection: Connection[Any]) -> None:
            there = connection.execute("SELECT id FROM projects WHERE name = %s", [project.name]).fetchone()
            if there and str(there[0]) != project.id:  # else this very transaction, done before
                raise Misconfigured(
                    f"a project named {project.name!r} exists already; "
                    "use `seed` to add to it, or choose another --name"
                )
            self._put(connection, project)

        self._transact(work)

    def find(self, *, name: str = "", id: str = "") -> Project | None:  # noqa: A002
        """The project of this name or id."""
        condition = "id::text = %s" if id else "name = %s"
        found = self._transact(
            lambda connection: connection.execute(f"{_SELECT} WHERE {condition}", [id or name]).fetchone()
        )
        return rows.project_of(found) if found else None

    def all(self) -> list[Project]:
        """All projects by name, in the order of its letters' numbers as SQLite has it."""
        return self._transact(_all)

    def update(self, project: Project) -> None:
        """Replace all of a project's row but what `publish` and `mark_registered` write."""
        self._transact(lambda connection: self._put(connection, project))

    def publish(self, project_id: str, snapshot: Bm25Snapshot, *, generation: str, collection: str) -> None:
        """The live generation and its snapshot, where a bot that reads the registry finds them."""
        live = rows.live_columns(project_id, snapshot, generation=generation, collection=collection)

        def work(connection: Connection[Any]) -> None:
            _write(connection, "bm25_indexes", rows.bm25_columns(project_id, snapshot, now()))
            _write(connection, "project_state", live)

        self._transact(work)

    def withdraw(self, project_id: str) -> None:
        """Nothing is live: no generation, no snapshot, no bot that was told."""

        def work(connection: Connection[Any]) -> None:
            connection.execute("DELETE FROM bm25_indexes WHERE project_id::text = %s", [project_id])
            _write(connection, "project_state", rows.nothing_live(project_id))

        self._transact(work)

    def mark_registered(self, project_id: str, registered: str) -> None:
        """Which bot was told of which generation."""
        values = {"project_id": project_id, "registered": registered}
        self._transact(lambda connection: _write(connection, "project_state", values))

    def bm25(self, project_id: str) -> Bm25Snapshot | None:
        """The live generation's snapshot."""
        found = self._transact(lambda connection: _bm25_row(connection, project_id))
        return rows.snapshot_of(found) if found else None

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a project and its BM25 row; unknown ids are fine."""

        def work(connection: Connection[Any]) -> None:
            for table, column in (
                ("bm25_indexes", "project_id"),
                ("project_state", "project_id"),
                ("projects", "id"),
            ):
                connection.execute(f"DELETE FROM {table} WHERE {column}::text = %s", [id])

        self._transact(work)

    def entries(self) -> list[Registered]:
        """Everything, by name."""
        return self._transact(_entries)

    def adopt(self, entries: Sequence[Registered], *, force: bool = False) -> Adopted:
        """Take over what another registry holds. Raises `Misconfigured` as `rows.compared` does."""

        def work(connection: Connection[Any]) -> Adopted:
            connection.execute("LOCK TABLE projects, project_state, bm25_indexes IN SHARE ROW EXCLUSIVE MODE")
            verdict = rows.compared(entries, _entries(connection), force=force, where=self.where)
            for entry in entries:
                if entry.project.name not in verdict.unchanged:
                    self._take(connection, entry)
            return verdict

        return self._transact(work)

    def facts(self) -> dict[str, Any]:
        """Kind, address, version; the server's version, and whether the connection is encrypted."""
        version = self._server.version()
        return {"kind": "postgresql", "where": self.where, "version": version, **self._server.facts()}

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _transact(self, work: Work[Result]) -> Result:
        if not self._ready:
            self._server.migrate(MIGRATIONS)
            self._ready = True
        return self._server.transact(work)

    def _put(self, connection: Connection[Any], project: Project) -> None:
        try:
            _write(connection, "projects", rows.bot_columns(project))
        except self._unique:  # a name that another process took just now
            raise Misconfigured(f"a project named {project.name!r} exists already in {self.where}") from None
        _write(connection, "project_state", rows.own_columns(project))

    def _take(self, connection: Connection[Any], entry: Registered) -> None:
        project, snapshot = entry.project, entry.snapshot
        self._put(connection, project)
        own = {**rows.nothing_live(project.id), "registered": project.registered}
        _write(connection, "project_state", own)
        if snapshot is None:
            connection.execute("DELETE FROM bm25_indexes WHERE project_id::text = %s", [project.id])
        else:
            at = entry.updated_at or now()
            _write(connection, "bm25_indexes", rows.bm25_columns(project.id, snapshot, at))
            _write(connection, "project_state", rows.adopted_live(entry))


def _all(connection: Connection[Any]) -> list[Project]:
    found = connection.execute(f'{_SELECT} ORDER BY name COLLATE "C"').fetchall()
    return [rows.project_of(row) for row in found]


def _entries(connection: Connection[Any]) -> list[Registered]:
    found = connection.execute(f'{_SELECT_ENTRIES} ORDER BY name COLLATE "C"').fetchall()
    return [rows.entry_of(row) for row in found]


def _bm25_row(connection: Connection[Any], project_id: str) -> rows.Row | None:
    row: rows.Row | None = connection.execute(f"{_SELECT_BM25} %s", [project_id]).fetchone()
    return row


def _write(connection: Connection[Any], table: str, values: Mapping[str, Any]) -> None:
    """Change these columns of the row that has its key (the first column), or insert it."""
    key, *others = values
    update = ", ".join(f"{column} = %s" for column in others)
    changed = connection.execute(
        f"UPDATE {table} SET {update} WHERE {key} = %s", [*(values[column] for column in others), values[key]]
    )
    if not changed.rowcount:
        places = ", ".join(["%s"] * len(values))
        connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", [*values.values()])
