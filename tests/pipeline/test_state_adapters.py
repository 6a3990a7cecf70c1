"""Artifacts, URL catalogue, registry, lock: durable, exact, clear about what is wrong."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.adapters.catalogue import SqliteCatalogue
from indexer.adapters.files import FileArtifacts, write_atomically
from indexer.adapters.locks import project_lock
from indexer.adapters.registry import SqliteRegistry, _create
from indexer.adapters.sqlite import open_database
from indexer.artifacts import Bm25Snapshot, Chunk, ChunkedPage, Outcome, Page, Reason, Source, State
from indexer.errors import Busy, IndexerError, Misconfigured
from indexer.ids import url_key
from indexer.ports import Project, Resource

URL = "https://example.test/цены"
PAGE = Page(signature="s1", url=URL, content="c", title="Цены", text="Замена масла: 1500 ₽", language="ru")


def test_an_artifact_comes_back_as_it_was_saved(tmp_path):
    artifacts = FileArtifacts(tmp_path)
    artifacts.save(url_key(URL), PAGE)

    assert artifacts.load(Page, url_key(URL)) == PAGE
    assert artifacts.signature(Page, url_key(URL)) == "s1"
    assert list(artifacts.keys(Page)) == [url_key(URL)]
    assert artifacts.load(ChunkedPage, url_key(URL)) is None


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"schema": 1', b"\xff\xfe", b'{"schema": 1, "url": 5}']
)
def test_a_damaged_artifact_is_named_and_counts_as_missing(tmp_path, caplog, damage):
    artifacts = FileArtifacts(tmp_path)
    artifacts.save(url_key(URL), PAGE)
    (tmp_path / "1_pages" / f"{url_key(URL)}.json").write_bytes(damage)

    assert artifacts.load(Page, url_key(URL)) is None
    assert artifacts.signature(Page, url_key(URL)) == ""
    assert url_key(URL) in caplog.text


def test_an_artifact_of_another_url_counts_as_missing(tmp_path, caplog):
    artifacts = FileArtifacts(tmp_path)
    artifacts.save("0" * 32, PAGE)

    assert artifacts.load(Page, "0" * 32) is None
    assert "another URL" in caplog.text


def test_an_artifact_of_a_newer_indexer_is_refused(tmp_path):
    artifacts = FileArtifacts(tmp_path)
    artifacts.save(url_key(URL), PAGE)
    path = tmp_path / "1_pages" / f"{url_key(URL)}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))

    with pytest.raises(Misconfigured, match="newer indexer"):
        artifacts.load(Page, url_key(URL))


def test_a_killed_writer_leaves_the_old_artifact_and_no_litter(tmp_path):
    path = tmp_path / "1_pages" / "a.json"
    write_atomically(path, b"old")
    script = (
        "import os, pathlib, sys\n"
        "from indexer.adapters import files\n"
        "files.os.fsync = lambda fd: os._exit(9)\n"
        "files.write_atomically(pathlib.Path(sys.argv[1]), b'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)

    assert done.returncode == 9
    assert path.read_bytes() == b"old"
    assert len(list(path.parent.iterdir())) == 2
    FileArtifacts(tmp_path).sweep()
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


def test_a_full_disk_is_said_clearly_and_keeps_the_old_artifact(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    path = tmp_path / "a.json"
    write_atomically(path, b"old")
    script = (
        "import os, pathlib, sys\n"
        "from indexer.adapters import files\n"
        "from indexer.errors import IndexerError\n"
        "real = files._create\n"
        "def full(path, mode):\n"
        "    os.close(real(path, mode)); return os.open('/dev/full', os.O_WRONLY)\n"
        "files._create = full\n"
        "try: files.write_atomically(pathlib.Path(sys.argv[1]), b'new' * 10000)\n"
        "except IndexerError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )

    assert "no space left" in done.stdout
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_every_discovered_url_is_counted_once_and_remembers_where_it_was_found(tmp_path):
    catalogue = SqliteCatalogue(tmp_path)
    first = catalogue.discover(
        [Source(url="https://a.test/", found_in="list"), Source(url=URL, found_in="list")]
    )
    again = catalogue.discover(
        [Source(url=URL, found_in="sitemap:https://a.test/s.xml", lastmod="2026-01-01")]
    )

    assert (first, again) == (["https://a.test/", URL], [])
    row = catalogue.get(URL)
    assert row.found_in == ("list", "sitemap:https://a.test/s.xml")
    assert row.lastmod == "2026-01-01"
    assert catalogue.counts() == {"discovered": 2}
    catalogue.close()


def test_a_visit_deals_with_each_url_once_and_an_open_one_is_resumed(tmp_path):
    catalogue = SqliteCatalogue(tmp_path)
    catalogue.discover([Source(url=f"https://a.test/{n}", found_in="list", depth=n % 2) for n in range(1200)])
    visit = catalogue.open_visit(24)
    order = [row.url for row in catalogue.due(visit)]
    assert len(order) == len(set(order)) == 1200
    assert order[0] == "https://a.test/0"
    assert order[600] == "https://a.test/1"

    catalogue.mark(
        [Outcome(url=url, state=State.FETCHED, content=url, etag="e") for url in order[:700]], visit
    )
    catalogue.close()
    catalogue = SqliteCatalogue(tmp_path)

    assert catalogue.open_visit(24) == visit
    assert [row.url for row in catalogue.due(visit)] == order[700:]
    assert catalogue.open_visit(0) == visit + 1
    catalogue.close_visit(visit + 1)
    assert catalogue.open_visit(24) == visit + 2
    catalogue.close()


def test_not_modified_and_passing_failures_keep_validators_and_content(tmp_path):
    catalogue = SqliteCatalogue(tmp_path)
    catalogue.discover([Source(url=URL, found_in="list")])
    catalogue.mark(
        [Outcome(url=URL, state=State.FETCHED, content="c1", etag="e1", last_modified="m1", status=200)], 1
    )
    catalogue.mark([Outcome(url=URL, state=State.INDEXED, not_modified=True, status=304)], 2)
    catalogue.mark([Outcome(url=URL, state=State.INDEXED, reason=Reason.TIMEOUT, detail="10 s")], 3)

    row = catalogue.get(URL)
    assert (row.content, row.etag, row.last_modified, row.reason, row.visit) == (
        "c1",
        "e1",
        "m1",
        "timeout",
        3,
    )
    assert catalogue.by_content("c1") == URL
    catalogue.mark([Outcome(url=URL, state=State.FAILED, reason=Reason.GONE, status=410)], 4)
    assert catalogue.by_content("c1") == ""
    assert catalogue.get(URL).tries == 1
    catalogue.close()


def test_resources_are_kept_for_conditional_requests(tmp_path):
    catalogue = SqliteCatalogue(tmp_path)
    resource = Resource(url="https://a.test/robots.txt", status=200, etag="x", body=b"\0\xff", visit=3)
    catalogue.keep_resource(resource)

    assert catalogue.resource(resource.url) == resource
    assert catalogue.resource("https://a.test/other") is None
    catalogue.close()


def _project(name="кафе"):
    return Project(
        id="6f1c2f0a-0000-4000-8000-000000000001", name=name, prompts={"prompt1": "Вы — бот"}, language="ru"
    )


def test_the_registry_holds_what_the_bot_reads(tmp_path):
    registry = SqliteRegistry(tmp_path)
    registry.add(_project())
    snapshot = Bm25Snapshot(
        analyzer="stem",
        analyzer_version=1,
        k1=1.5,
        b=0.75,
        avg_dl=3.0,
        num_docs=1,
        vocab={"масл": 0},
        idf={"масл": 0.2},
    )
    registry.publish(_project().id, snapshot, generation="G1", collection="kafe__gG1")
    registry.close()

    with sqlite3.connect(tmp_path / "registry.db") as raw:
        name, prompts = raw.execute("SELECT name, prompts FROM projects").fetchone()
        vocab, count = raw.execute("SELECT vocab, num_docs FROM bm25_indexes").fetchone()
    raw.close()
    assert (name, json.loads(prompts), json.loads(vocab), count) == (
        "кафе",
        {"prompt1": "Вы — бот"},
        {"масл": 0},
        1,
    )
    assert stat.S_IMODE((tmp_path / "registry.db").stat().st_mode) == 0o600


def test_a_registry_of_the_first_version_keeps_its_projects_and_owes_their_snapshots(tmp_path):
    """What it did not keep of a snapshot is written by the next run, which finds no generation."""
    connection = open_database(tmp_path / "registry.db", [_create], mode=0o600)
    connection.execute(
        "INSERT INTO projects (id, name, prompts) VALUES ('1', 'кафе', '{\"prompt1\": \"x\"}')"
    )
    connection.execute("INSERT INTO project_state VALUES ('1', 'https://bot.test', '{}', 'G1', 'told')")
    connection.execute("INSERT INTO bm25_indexes VALUES ('1', '{}', '{}', 2.0, 1, '')")
    connection.close()

    registry = SqliteRegistry(tmp_path)
    kept = Project(
        id="1", name="кафе", prompts={"prompt1": "x"}, bot_url="https://bot.test", registered="told"
    )
    assert (registry.all(), registry.bm25("1")) == ([kept], None)
    registry.close()


def test_a_taken_name_is_refused_and_changes_nothing(tmp_path):
    registry = SqliteRegistry(tmp_path)
    registry.add(_project())

    with pytest.raises(Misconfigured, match="exists already"):
        registry.add(Project(id="other", name="кафе"))
    assert [project.id for project in registry.all()] == [_project().id]
    registry.close()


def test_a_registry_of_a_newer_indexer_is_refused(tmp_path):
    SqliteRegistry(tmp_path).close()
    with sqlite3.connect(tmp_path / "registry.db") as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()

    with pytest.raises(Misconfigured, match="newer indexer"):
        SqliteRegistry(tmp_path)


def test_a_damaged_database_is_named_and_left_alone(tmp_path):
    (tmp_path / "registry.db").write_bytes(b"this is no database at all" * 100)

    with pytest.raises(IndexerError, match=r"registry\.db is damaged"):
        SqliteRegistry(tmp_path)
    assert (tmp_path / "registry.db").read_bytes().startswith(b"this is no")


def test_a_second_run_is_told_who_holds_the_project_and_a_dead_one_holds_nothing(tmp_path):
    script = (
        "import pathlib, sys, time\n"
        "from indexer.adapters.locks import project_lock\n"
        "with project_lock(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Busy, match=f"process {holder.pid}"), project_lock(tmp_path):
            pass
        holder.kill()
        holder.wait()
    with project_lock(tmp_path):
        pass


def test_chunks_are_readable_json(tmp_path):
    artifacts = FileArtifacts(tmp_path)
    chunk = Chunk(ordinal=0, topic="Цены", text="Замена масла", start=0, end=12)
    artifacts.save(
        url_key(URL),
        ChunkedPage(signature="x", url=URL, title="", language="ru", mode="paragraph", chunks=(chunk,)),
    )
    raw = (tmp_path / "2_chunks" / f"{url_key(URL)}.json").read_text(encoding="utf-8")
    assert "Замена масла" in raw
    assert json.loads(raw)["chunks"][0]["end"] == 12
