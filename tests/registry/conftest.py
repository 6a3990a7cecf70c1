"""Both registries: SQLite in a folder, and PostgreSQL on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import database


@pytest.fixture
def server_url() -> Iterator[str]:
    """The URL of an empty database."""
    with database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def open_registry(request, tmp_path):
    """Opens the same registry again and again; all are closed afterwards."""
    opened = []
    url = request.getfixturevalue("server_url") if request.param == "postgresql" else ""

    def again():
        if url:
            from indexer.adapters.postgres_registry import PostgresRegistry

            opened.append(PostgresRegistry(url, timeout=20))
        else:
            from indexer.adapters.registry import SqliteRegistry

            opened.append(SqliteRegistry(tmp_path))
        return opened[-1]

    yield again
    for registry in opened:
        registry.close()
