"""
The URL table of one project in SQLite: what was found, where it stands, and why.

One writer (the driver); every call is one durable transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from indexer.adapters.editions import Editions, sign_editions
from indexer.adapters.ledger import LedgerEntries, create_ledger
from indexer.adapters.sqlite import mapped, open_database, transaction
from indexer.artifacts import Outcome, Source, State
from indexer.clock import now
from indexer.ids import url_key
from indexer.ports import Resource, UrlRow

CATALOGUE = "urls.db"
_BATCH = 500
_COLUMNS = (
    "url, key, found_in, depth, lastmod, state, reason, detail, final_url, status, etag, last_modified, "
    "content, visit, tries, checked_at, fetched_at, facts, named, stale, turned, since"
)
_NAMES = tuple(_COLUMNS.split(", "))


def _create(database: Any) -> None:
    database["urls"].create(
        {
            "id": int,
            "url": str,
            "key": str,
            "found_in": str,
            "depth": int,
            "lastmod": str,
            "state": str,
            "reason": str,
            "detail": str,
            "final_url": str,
            "status": int,
            "etag": str,
            "last_modified": str,
            "content": str,
            "visit": int,
            "tries": int,
            "checked_at": str,
            "fetched_at": str,
            "facts": str,
        },
        pk="id",
        not_null={"url", "key", "state"},
        defaults={
            "reason": "",
            "detail": "",
            "final_url": "",
            "status": 0,
            "etag": "",
            "last_modified": "",
            "content": "",
            "visit": 0,
            "tries": 0,
            "checked_at": "",
            "fetched_at": "",
            "facts": "{}",
        },
    )
    urls = database["urls"]
    urls.create_index(["url"], unique=True)
    urls.create_index(["content"])
    urls.create_index(["depth", "id"])
    database["resources"].create(
        {"url": str, "status": int, "etag": str, "last_modified": str, "body": bytes, "visit": int}, pk="url"
    )
    database["visits"].create({"visit": int, "opened": str, "closed": str}, pk="visit")


def _follow(database: Any) -> None:
    """What became of a page over several runs, and what each generation holds."""
    urls = database["urls"]
    for name, kind, default in (
        ("named", int, 0),
        ("stale", str, ""),
        ("turned", int, 0),
        ("since", str, ""),
    ):
        urls.add_column(name, kind, not_null_default=default)
    database["editions"].create(
        {
            "generation": str, "key": str, "url": str, "title": str, "content": str,
            "characters": int, "chunks": int,
        },
        pk=("generation", "key"),
    )  # fmt: skip


class SqliteCatalogue(Editions, LedgerEntries):
    """The URLs of the project in `folder`. Implements `ports.Catalogue`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / CATALOGUE
        self._connection = open_database(self.path, [_create, _follow, create_ledger, sign_editions])

    # ── URLs ────────────────────────────────────────────────────────────────────────────

    def discover(self, sources: Iterable[Source], visit: int = 0) -> list[str]:
        """Add URLs that run `visit` found named; a known one gains `found_in`. Returns the new ones."""
        new: list[str] = []
        with mapped(self.path), transaction(self._connection) as connection:
            for source in sources:
                row = connection.execute(
                    "SELECT found_in, lastmod, named FROM urls WHERE url = ?", [source.url]
                ).fetchone()
                if row is None:
                    connection.execute(
                        "INSERT INTO urls (url, key, found_in, depth, lastmod, state, named) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?)",
                        [
                            source.url,
                            url_key(source.url),
                            _json([source.found_in]),
                            source.depth,
                            source.lastmod,
                            State.DISCOVERED.value,
                            visit,
                        ],
                    )
                    new.append(source.url)
                    continue
                found = msgspec.json.decode(row[0])
                lastmod = source.lastmod or row[1]
                if source.found_in not in found or lastmod != row[1] or visit > row[2]:
                    found = list(dict.fromkeys([*found, source.found_in]))
                    connection.execute(
                        "UPDATE urls SET found_in = ?, lastmod = ?, named = max(named, ?) WHERE url = ?",
                        [_json(found), lastmod, visit, source.url],
                    )
        return new

    def get(self, url: str) -> UrlRow | None:
        """The row of a URL."""
        with mapped(self.path):
            row = self._connection.execute(f"SELECT {_COLUMNS} FROM urls WHERE url = ?", [url]).fetchone()
        return _row(row) if row else None

    def rows(self, *, state: State | None = None) -> Iterator[UrlRow]:
        """All rows, or those of one state, by depth, then in order of discovery."""
        where, values = ("state = ?", [state.value]) if state else ("1 = 1", [])
        return self._pages(where, values)

    def due(self, visit: int) -> Iterator[UrlRow]:
        """URLs that run `visit` has not dealt with, by depth, then in order of discovery."""
        return self._pages("visit < ?", [visit])

    def mark(self, outcomes: Iterable[Outcome], visit: int) -> None:
        """Record what became of URLs; an unknown URL is added. All in one transaction."""
        when = now()
        with mapped(self.path), transaction(self._connection) as connection:
            for outcome in outcomes:
                fields = _fields(outcome, visit, when)
                names = ", ".join(f"{name} = ?" for name in fields)
                tries = "tries + 1" if outcome.state is State.FAILED else "0"
                turned = "turned + (content NOT IN ('', ?))" if "content" in fields else "turned"
                done = connection.execute(
                    f"UPDATE urls SET turned = {turned}, {names}, tries = {tries}, "
                    "since = CASE since WHEN '' THEN ? ELSE since END WHERE url = ?",
                    [
                        *([fields["content"]] if "content" in fields else []),
                        *fields.values(),
                        when,
                        outcome.url,
                    ],
                )
                if not done.rowcount:
                    raise KeyError(f"{outcome.url} was never discovered")

    def settle(self, states: Iterable[tuple[str, State, str, str]]) -> None:
        """Set (url, state, reason, detail) after a later phase; the visit stays as it is."""
        with mapped(self.path), transaction(self._connection) as connection:
            connection.executemany(
                "UPDATE urls SET state = ?2, reason = ?3, detail = ?4 WHERE url = ?1",
                [(url, state.value, reason, detail) for url, state, reason, detail in states],
            )

    def flag_stale(self, visit: int) -> None:
        """
        Flag the pages that run `visit` found nowhere, and no others.

        Only after a run that read all of its sources: else what is not named says nothing.
        """
        live = "state IN ('fetched', 'indexed')"
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute("UPDATE urls SET stale = '' WHERE stale != '' AND named >= ?", [visit])
            connection.execute(
                f"UPDATE urls SET stale = ? WHERE stale = '' AND named < ? AND {live}", [now(), visit]
            )

    def stale(self) -> Iterator[UrlRow]:
        """Pages that answer, but that nothing names any more."""
        return self._pages("stale != '' AND state IN ('fetched', 'indexed')", [])

    def refile(self, url: str, *, content: str, facts: Mapping[str, Any]) -> None:
        """A page was read anew from the same answer: its digest and facts. What was asked and when stays."""
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute(
                "UPDATE urls SET content = ?, facts = ? WHERE url = ?", [content, _json(facts), url]
            )

    def by_content(self, content: str) -> str:
        """The first live URL whose page has this text digest, or an empty string."""
        with mapped(self.path):
            row = self._connection.execute(
                "SELECT url FROM urls WHERE content = ? AND state IN ('fetched', 'indexed') "
                "ORDER BY depth, id LIMIT 1",
                [content],
            ).fetchone()
        return row[0] if row else ""

    def sharing(self, content: str) -> list[str]:
        """URLs whose page had this text digest, in order of discovery; none for an empty one."""
        if not content:
            return []
        with mapped(self.path):
            rows = self._connection.execute(
                "SELECT url FROM urls WHERE content = ? ORDER BY depth, id", [content]
            )
            return [url for (url,) in rows]

    def counts(self) -> dict[str, int]:
        """URLs by state."""
        with mapped(self.path):
            return dict(self._connection.execute("SELECT state, count(*) FROM urls GROUP BY state"))

    def reasons(self) -> dict[tuple[str, str], int]:
        """URLs by (state, reason)."""
        with mapped(self.path):
            rows = self._connection.execute(
                "SELECT state, reason, count(*) FROM urls GROUP BY state, reason ORDER BY state, reason"
            )
            return {(state, reason): count for state, reason, count in rows}

    # ── sitemaps and robots.txt ─────────────────────────────────────────────────────────

    def resource(self, url: str) -> Resource | None:
        """A sitemap, feed or robots.txt as last read."""
        with mapped(self.path):
            row = self._connection.execute(
                "SELECT url, status, etag, last_modified, body, visit FROM resources WHERE url = ?", [url]
            ).fetchone()
        if row is None:
            return None
        return Resource(
            url=row[0], status=row[1], etag=row[2], last_modified=row[3], body=row[4], visit=row[5]
        )

    def keep_resource(self, resource: Resource) -> None:
        """Remember it for conditional requests."""
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?)",
                [
                    resource.url,
                    resource.status,
                    resource.etag,
                    resource.last_modified,
                    resource.body,
                    resource.visit,
                ],
            )

    # ── visits ──────────────────────────────────────────────────────────────────────────

    def open_visit(self, resume_hours: float) -> int:
        """The number of the run to work on: an open one that is young enough, else a new one."""
        with mapped(self.path), transaction(self._connection) as connection:
            row = connection.execute(
                "SELECT visit, opened, closed FROM visits ORDER BY visit DESC LIMIT 1"
            ).fetchone()
            last = row[0] if row else 0
            if row and not row[2]:
                age = datetime.now(UTC) - datetime.fromisoformat(row[1])
                if timedelta(0) <= age <= timedelta(hours=resume_hours):
                    return int(last)
            connection.execute("INSERT INTO visits VALUES (?, ?, '')", [last + 1, now()])
            return int(last) + 1

    def close_visit(self, visit: int) -> None:
        """The run is complete: the next one starts anew."""
        with mapped(self.path), transaction(self._connection) as connection:
            connection.execute("UPDATE visits SET closed = ? WHERE visit = ?", [now(), visit])

    def last_visit(self) -> tuple[int, str, str]:
        """(number, opened, closed) of the last run; (0, '', '') before the first."""
        with mapped(self.path):
            row = self._connection.execute(
                "SELECT visit, opened, closed FROM visits ORDER BY visit DESC LIMIT 1"
            ).fetchone()
        return (row[0], row[1], row[2]) if row else (0, "", "")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _pages(self, where: str, values: list[Any]) -> Iterator[UrlRow]:
        """
        Keyset pagination: the table may be written between two rows.

        A URL found meanwhile is seen if it sorts behind the last row; else by the next call.
        """
        last = (-1, -1)
        while True:
            with mapped(self.path):
                batch = self._connection.execute(
                    f"SELECT {_COLUMNS}, id FROM urls WHERE {where} AND (depth, id) > (?, ?) "
                    "ORDER BY depth, id LIMIT ?",
                    [*values, *last, _BATCH],
                ).fetchall()
            for row in batch:
                yield _row(row[:-1])
            if len(batch) < _BATCH:
                return
            last = (batch[-1][3], batch[-1][-1])


def _fields(outcome: Outcome, visit: int, now: str) -> dict[str, Any]:
    """
    The columns that an outcome sets.

    A 304, or a failure for a passing reason that keeps the page, has nothing to say of
    validators and content: those stay.
    """
    fields: dict[str, Any] = {
        "state": outcome.state.value,
        "reason": outcome.reason.value,
        "detail": outcome.detail,
        "final_url": outcome.final_url,
        "visit": visit,
        "checked_at": now,
    }
    if outcome.status:
        fields["status"] = outcome.status
    if outcome.facts:
        fields["facts"] = _json(outcome.facts)
    if outcome.content and not outcome.not_modified:
        fields |= {
            "content": outcome.content,
            "etag": outcome.etag,
            "last_modified": outcome.last_modified,
            "fetched_at": now,
        }
    elif outcome.state in (State.SKIPPED, State.FAILED, State.GONE):
        fields |= {"content": "", "etag": outcome.etag, "last_modified": outcome.last_modified}
    return fields


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _row(row: tuple[Any, ...]) -> UrlRow:
    values = {name: value for name, value in zip(_NAMES, row, strict=True) if value is not None}
    values["found_in"] = tuple(msgspec.json.decode(values.get("found_in", "[]")))
    values["facts"] = msgspec.json.decode(values["facts"])
    values["state"] = State(values["state"])
    return UrlRow(**values)
