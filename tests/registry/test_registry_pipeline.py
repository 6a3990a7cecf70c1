"""A person's commands with the registry on a real PostgreSQL: what a bot reads there is always one whole."""

from __future__ import annotations

import contextlib
import json
import socket
from urllib.parse import urlsplit

import pytest

from indexer.artifacts import Bm25Snapshot
from indexer.ports import Project
from tests.support.cli import Cli
from tests.support.postgres import PASSWORD, QUOTED
from tests.support.relay import Relay
from tests.support.shop import html, open_shop, sources
from tests.support.web import Reply

psycopg = pytest.importorskip("psycopg")
from indexer.adapters.postgres_registry import PostgresRegistry  # noqa: E402

PROJECT = ["--project-name", "p"]


@pytest.fixture
def site():
    with open_shop({"/": ("Автосервис", "<p>Ремонтируем автомобили в Озёрске с 2009 года.</p>"),
                    "/warranty": ("Гарантия", "<p>На работы даём гарантию 12 месяцев.</p>")}) as site:  # fmt: skip
        yield site


@pytest.fixture
def sql(server_url):
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield connection.execute


@pytest.fixture
def indexer(tmp_path, server_url):
    return Cli(tmp_path, INDEXER_REGISTRY_URL=server_url)


def _snapshot(indexer):
    return json.loads((indexer.projects / "p" / "3_embeds" / "bm25.json").read_text())


def _bot_sees(sql):
    """What a bot reads in one statement."""
    row = sql(
        "SELECT generation, collection, avg_dl, num_docs, vocab, idf, prompts->>'prompt1', registered "
        "FROM projects JOIN project_state s ON s.project_id = id JOIN bm25_indexes b ON b.project_id = id"
    ).fetchone()
    return dict(
        zip(
            ("generation", "collection", "avg_dl", "num_docs", "vocab", "idf", "prompt", "registered"),
            row,
            strict=True,
        )
    )


def _agrees(indexer, sql):
    """The registry's row is that of the live index, to the last digit; gives the generation."""
    seen, snapshot = _bot_sees(sql), _snapshot(indexer)
    live = (indexer.projects / "p" / "vectors" / "CURRENT").read_text().strip()
    assert seen["generation"] == live
    assert seen["collection"] == f"p__g{live}"
    for field in ("avg_dl", "num_docs", "vocab", "idf"):
        assert seen[field] == snapshot[field], field
    return live


def test_a_registry_moves_to_a_server_and_every_command_keeps_it_one_with_the_index(
    indexer, site, sql, server_url, tmp_path
):
    local = {"INDEXER_REGISTRY_URL": ""}
    site.fallback(
        lambda request: Reply(body="{}", status=200 if "/register-project/" in request.path else 404)
    )
    words = ["init-project", "--name", "p", *sources(site), "--bot-url", site.origin, "--prompt1", "Вы — бот"]
    first = indexer(*words, "--json", **local).ok().json["generation"]
    (tmp_path / "url").write_text(f"{server_url}\n")
    moved = indexer("registry", "migrate", "--to", f"@{tmp_path / 'url'}", "--json", **local).ok()
    assert (moved.json["moved"], moved.json["replaced"], moved.json["unchanged"]) == (["p"], [], [])
    assert QUOTED not in moved.out + moved.err
    assert _agrees(indexer, sql) == first
    assert _bot_sees(sql)["registered"] == f"{site.origin} {first}"
    (indexer.projects / "registry.db").unlink()

    site.page(
        "/warranty", html("Гарантия", "<p>На работы и запчасти даём гарантию три года и один день.</p>")
    )
    second = indexer("reindex", *PROJECT, "--json").ok().json
    assert second["changed"] == 1
    assert second["registered"]
    assert _agrees(indexer, sql) == second["generation"] != first
    indexer("set", *PROJECT, "prompt1", "Новый").ok()
    indexer("rollback", *PROJECT).ok()
    assert _agrees(indexer, sql) == first
    assert (_bot_sees(sql)["prompt"], _bot_sees(sql)["registered"]) == ("Новый", f"{site.origin} {first}")

    # The index was swapped and the registry was not told: the next run pays what is owed, whatever its gates say.
    sql("UPDATE project_state SET generation = 'lost'")
    sql("UPDATE bm25_indexes SET avg_dl = 1")
    indexer("reindex", *PROJECT).fails(4, "rolled back")
    assert _agrees(indexer, sql) == first
    indexer("remove-project", *PROJECT, "--yes").ok()
    assert sql("SELECT count(*) FROM projects, bm25_indexes, project_state").fetchone() == (0,)
    assert not (indexer.projects / "registry.db").exists()


def test_a_server_that_goes_away_leaves_index_and_registry_whole(indexer, site, sql, server_url):
    indexer("init-project", "--name", "p", *sources(site)).ok()
    old = _agrees(indexer, sql), _bot_sees(sql)
    site.page(
        "/warranty", html("Гарантия", "<p>На работы и запчасти даём гарантию три года и один день.</p>")
    )
    with Relay(server_url) as relay:  # while the site is read

        def cut(request):
            relay.cut()
            return Reply(body=html("Автосервис", "<p>Ремонтируем автомобили, и давно.</p>"))

        site.route("/", cut)
        cut_off = indexer("reindex", *PROJECT, "-v", "--log-json", INDEXER_REGISTRY_URL=relay.url)
        cut_off.fails(1, "cannot be reached", "run again")
    assert (_agrees(indexer, sql), _bot_sees(sql)) == old

    sql(  # at the very write, after the swap
        "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';"
        "CREATE TRIGGER die BEFORE UPDATE ON project_state FOR EACH ROW EXECUTE FUNCTION die()"
    )
    indexer("reindex", *PROJECT).fails(1, "cannot be reached", "run again")
    assert _bot_sees(sql) == old[1]
    sql("DROP TRIGGER die ON project_state")
    again = indexer("reindex", *PROJECT, "--json").ok().json
    assert (again["fetched"], again["embedded"]) == (0, 0)
    assert _agrees(indexer, sql) == again["generation"] != old[0]
    kept = b"".join(path.read_bytes() for path in indexer.projects.rglob("*") if path.is_file())
    for secret in (PASSWORD, QUOTED):
        assert secret not in cut_off.out + cut_off.err
        assert secret.encode() not in kept


def test_a_server_that_is_away_or_refuses_is_told_apart_by_the_exit_code(indexer, server_url):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        away = f"127.0.0.1:{closed.getsockname()[1]}"
    url = urlsplit(server_url)._replace(netloc=f"indexer:{QUOTED}@{away}").geturl()
    words = ["init-project", "--name", "p"]
    indexer(*words, INDEXER_REGISTRY_URL=url).fails(1, away, "cannot be reached", "run again")
    wrong = indexer(*words, INDEXER_REGISTRY_URL=server_url.replace(QUOTED, "hunter22"))
    wrong.fails(2, "password authentication failed", "correct its URL")
    assert "hunter22" not in wrong.out + wrong.err
    indexer(*words, INDEXER_REGISTRY_URL="", INDEXER_REGISTRY__URL_FILE="nowhere").fails(
        2, "nowhere", "cannot be read"
    )


def test_what_a_server_holds_is_replaced_only_by_force(indexer, sql, server_url):
    local = {"INDEXER_REGISTRY_URL": ""}
    assert indexer("registry", "show", "--json", **local).ok().json["version"] == 0
    assert indexer("registry", "show", "--json").ok().json["projects"] == []
    indexer("plan", *PROJECT).fails(2, "there are none yet")
    indexer("registry", "migrate").fails(2, "there is no registry to move")
    indexer("registry", "migrate", **local).fails(2, "where to?")
    indexer("registry", "show", "--force").fails(2, "--to and --force")
    assert sql("SELECT to_regclass('projects')").fetchone() == (None,)
    assert not (indexer.projects / "registry.db").exists()

    indexer("init-project", "--name", "p", "--prompt1", "Вы — бот", **local).ok()
    assert "moved     p" in indexer("registry", "migrate").ok().out
    assert "unchanged p" in indexer("registry", "migrate").ok().out
    indexer("set", *PROJECT, "prompt1", "Другой").ok()
    indexer("registry", "migrate").fails(2, "'p'", "nothing was moved", "--force")
    assert indexer("registry", "migrate", "--force", "--json").ok().json["replaced"] == ["p"]
    with contextlib.closing(PostgresRegistry(server_url, timeout=20)) as registry:
        options = {"sources": {"urls": ["http://127.0.0.1:9/"]}}
        registry.add(Project(id="6f1c2f0a-0000-4000-8000-000000000009", name="q", options=options))
        snapshot = Bm25Snapshot(
            analyzer="stem", analyzer_version=1, k1=1.5, b=0.75, avg_dl=1.0, num_docs=1, vocab={}, idf={}
        )
        registry.publish("6f1c2f0a-0000-4000-8000-000000000009", snapshot, generation="G", collection="q__gG")
    assert "machines that published them: q" in indexer("reindex", "--all").ok().err
    assert not (indexer.projects / "q").exists()
    shown = indexer("registry", "show", "--json").ok()
    assert (shown.json["kind"], shown.json["tls"], shown.json["projects"][0]["name"]) == (
        "postgresql",
        False,
        "p",
    )
    assert QUOTED not in shown.out
    assert sql("SELECT prompts->>'prompt1' FROM projects").fetchone() == ("Вы — бот",)
