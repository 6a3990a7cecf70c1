"""A PostgreSQL server is reached, migrated and trusted as it should, and every refusal says what to do."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import msgspec
import pytest

from indexer.errors import Busy, Misconfigured, Retryable
from indexer.ports import Project
from tests.support.postgres import PASSWORD, QUOTED
from tests.support.relay import Relay

psycopg = pytest.importorskip("psycopg")

from indexer.adapters.postgres_registry import PostgresRegistry  # noqa: E402

CAFE = Project(id="6f1c2f0a-0000-4000-8000-000000000001", name="кафе", prompts={"prompt1": "Привет"})

DROP = (  # of this database: the server is also that of other tests
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = 'indexer' AND datname = current_database()"
)


@pytest.fixture
def registry(server_url):
    registry = PostgresRegistry(server_url, timeout=20)
    yield registry
    registry.close()


@pytest.fixture
def sql(server_url):
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield connection.execute


def _opened(url, timeout=20.0):
    registry = PostgresRegistry(url, timeout=timeout)
    try:
        return registry.all()
    finally:
        registry.close()


def _fails(kind, url, match, timeout=20.0):
    with pytest.raises(kind, match=match) as caught:
        _opened(url, timeout)
    assert PASSWORD not in str(caught.value)
    assert QUOTED not in str(caught.value)
    return caught.value


def test_runs_that_come_at_once_migrate_once(server_url, sql):
    start, found = threading.Barrier(4), []

    def first():
        start.wait()
        found.append(_opened(server_url))

    threads = [threading.Thread(target=first) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[], [], [], []]
    assert sql("SELECT version FROM indexer_migrations").fetchall() == [(1,)]


def test_looking_whether_there_is_a_registry_creates_none(registry, sql):
    assert not registry.exists
    assert registry.facts()["version"] == 0
    assert sql("SELECT to_regclass('projects')").fetchone() == (None,)
    registry.add(CAFE)
    assert registry.exists


def test_a_registry_of_a_newer_indexer_is_refused(registry, sql, server_url):
    registry.all()
    sql("INSERT INTO indexer_migrations (version) VALUES (99)")
    _fails(Misconfigured, server_url, "newer indexer.*version 99")


def test_tables_and_rows_of_the_bot_are_used_as_they_are(registry, sql):
    sql(
        "CREATE TABLE projects (extra int DEFAULT 7, id uuid PRIMARY KEY, name varchar(80) NOT NULL, "
        "tg_lead_group text, tg_api_key text, prompts jsonb, language varchar(8));"
        f"INSERT INTO projects (id, name) VALUES ('{CAFE.id}', 'кафе');"
        "CREATE TABLE leads (project uuid REFERENCES projects (id) ON DELETE CASCADE);"
        f"INSERT INTO leads VALUES ('{CAFE.id}')"
    )
    assert registry.find(name="кафе") == Project(id=CAFE.id, name="кафе")
    registry.update(CAFE)
    assert registry.find(id=CAFE.id) == CAFE
    assert sql("SELECT extra, prompts->>'prompt1' FROM projects").fetchall() == [(7, "Привет")]
    assert sql("SELECT count(*) FROM leads").fetchone() == (1,)
    sql(
        "ALTER TABLE leads DROP CONSTRAINT leads_project_fkey, ADD FOREIGN KEY (project) REFERENCES projects (id)"
    )
    with pytest.raises(Misconfigured, match="other tables refer to this project"):
        registry.remove(CAFE.id)
    assert registry.all() == [CAFE]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("project_id text, vocab jsonb, idf jsonb, avg_dl real, num_docs int, updated_at timestamptz", "avg_dl is real.*double precision"),
        ("project_id text, vocab jsonb, idf jsonb, num_docs int, updated_at timestamptz", "no column avg_dl"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_hold_a_snapshot_exactly_is_refused_and_nothing_is_made(
    server_url, sql, columns, message
):
    sql(f"CREATE TABLE bm25_indexes ({columns})")
    _fails(Misconfigured, server_url, message)
    assert sql("SELECT to_regclass('projects'), to_regclass('indexer_migrations')").fetchone() == (None, None)


def test_a_dropped_connection_is_opened_anew(registry, sql):
    registry.add(CAFE)
    sql(DROP)
    changed = msgspec.structs.replace(CAFE, language="ru")
    registry.update(changed)
    sql(DROP)
    assert registry.all() == [changed]


def test_a_project_is_held_against_other_machines_until_its_holder_ends(registry, sql, server_url):
    other = PostgresRegistry(server_url, timeout=20)
    with registry.hold("кафе"):
        with pytest.raises(Busy, match=r"'кафе'.* from 127\.0\.0\.1, since 20"), other.hold("кафе"):
            pass
        with other.hold("another"):
            pass
        registry.add(CAFE)
    with other.hold("кафе"):
        sql(DROP)  # the holder's machine is gone
        with registry.hold("кафе"):
            pass
    other.close()


def test_a_server_that_went_away_is_said_to_be_away_and_comes_back(server_url):
    with Relay(server_url) as relay:
        registry = PostgresRegistry(relay.url, timeout=20)
        registry.add(CAFE)
        relay.cut()
        with pytest.raises(Retryable, match=rf"127.0.0.1:{relay.port}.*cannot be reached.*run again"):
            registry.probe()
        registry.close()


def test_a_row_that_another_holds_is_waited_for_and_then_given_up(registry, sql, server_url):
    registry.add(CAFE)
    sql("BEGIN")
    sql("UPDATE projects SET language = 'en'")
    impatient = PostgresRegistry(server_url, timeout=0.2)
    with pytest.raises(Retryable, match=r"did not answer within 0\.2 s"):
        impatient.update(CAFE)
    sql("COMMIT")
    impatient.update(CAFE)
    impatient.close()


def test_a_server_that_accepts_and_says_nothing_is_given_up(server_url):
    with Relay(server_url, silent=True) as relay:
        _fails(Retryable, relay.url, "cannot be reached.*timeout", timeout=0.5)


def test_a_server_that_refuses_is_a_matter_of_configuration(server_url):
    parts = urlsplit(server_url)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    away = parts._replace(netloc=f"indexer:{QUOTED}@127.0.0.1:{port}").geturl()
    _fails(Retryable, away, f"127.0.0.1:{port}.*refused.*run again")
    _fails(Misconfigured, parts._replace(path="/nowhere").geturl(), '"nowhere" does not exist')
    _fails(Misconfigured, server_url.replace(QUOTED, "wrong-password"), "password authentication failed")
    _fails(Misconfigured, server_url.replace(f":{QUOTED}", ""), "no password supplied")
    _fails(Misconfigured, f"{server_url}?sslmode=require", "does not support SSL")
    _fails(Misconfigured, f"{server_url}?options=-cdefault_transaction_read_only%3Don", "primary")


@pytest.mark.parametrize(
    "url", ["mysql://u:hunter22@h/db", "u:hunter22@h", "postgresql://u:hunter22@h:port/db", "postgresql://u:hunter22@h/db?ssl=1", "postgresql://u:hunt/er22@h/db", "postgresql://u:hunt@er22@h/db"]
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused_without_its_password(url):
    with pytest.raises(Misconfigured, match=r"postgresql://|cannot be read") as caught:
        PostgresRegistry(url, timeout=1)
    assert "er22" not in str(caught.value)


def test_a_standby_is_noticed_before_anything_is_swapped(registry, sql, server_url):
    registry.all()
    reading = PostgresRegistry(f"{server_url}?options=-cdefault_transaction_read_only%3Don", timeout=20)
    with pytest.raises(Misconfigured, match="primary"):
        reading.probe()
    assert reading.all() == []
    reading.close()


def test_a_text_that_the_server_cannot_hold_is_named(registry):
    with pytest.raises(Misconfigured, match="NUL"):
        registry.add(msgspec.structs.replace(CAFE, prompts={"prompt1": "a\0b"}))
    assert registry.all() == []


def test_without_the_driver_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Misconfigured, match=r"indexer\[postgres\]"):
        PostgresRegistry("postgresql://h/db", timeout=1)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_tls_is_checked_as_the_url_says(server_url, tmp_path):
    keys = {}
    for name in ("ours", "other"):
        keys[name] = (tmp_path / f"{name}.key", tmp_path / f"{name}.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-keyout", keys[name][0], "-out", keys[name][1], "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True,
        )  # fmt: skip
    with Relay(server_url, certificate=keys["ours"]) as relay:
        registry = PostgresRegistry(
            f"{relay.url}?sslmode=verify-full&sslrootcert={keys['ours'][1]}", timeout=20
        )
        registry.add(CAFE)
        assert registry.facts()["tls"] is True
        registry.close()
        _fails(
            Misconfigured, f"{relay.url}?sslmode=verify-full&sslrootcert={keys['other'][1]}", "certificate"
        )
