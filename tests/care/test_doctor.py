"""`doctor` finds what is broken, says what to do, and repairs only what can be made again from what is here."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3

import pytest

from indexer.adapters.locks import project_lock
from tests.support.cli import Cli
from tests.support.model_api import ModelApi
from tests.support.shop import open_shop, sources
from tests.support.web import Reply, Site


@pytest.fixture(scope="module")
def shop():
    with open_shop() as site:
        yield site


@pytest.fixture(scope="module")
def kept(tmp_path_factory, shop):
    """A sound project, which each test leaves sound."""
    cli = Cli(tmp_path_factory.mktemp("kept"))
    cli("init-project", "--name", "p", *sources(shop)).ok()
    return cli, cli.projects / "p"


def _found(cli, *words, code, **environment):
    """Findings by what they say; infos left out."""
    done = cli("doctor", *words, "--json", **environment)
    assert done.code == code, done.out
    assert done.json["exit"] == code
    return {one["what"]: one for one in done.json["findings"] if one["severity"] != "info"}


def _files(folder):
    return sorted(path for path in folder.glob("*.json") if path.name != "bm25.json")


def _hits(cli):
    words = (
        "search",
        "--project-name",
        "p",
        "--mode",
        "bm25",
        "--limit",
        "50",
        "--json",
        "масло гарантия tyre",
    )
    return cli(*words).ok().json


def test_artifacts_and_drift_are_found_and_what_is_derived_is_repaired(kept):
    cli, p = kept
    assert _found(cli, "p", code=0) == {}
    embeds, chunks, pages = (_files(p / name) for name in ("3_embeds", "2_chunks", "1_pages"))
    embeds[0].write_bytes(embeds[0].read_bytes()[:100])
    chunks[1].write_text(chunks[1].read_text().replace('"text": "', '"text": "z', 1))
    other = chunks[2].read_text()
    pages[2].write_text(pages[2].read_text().replace('"text": "', '"text": "z', 1))
    lost = pages[3].read_bytes()
    pages[3].unlink()
    (p / "1_pages" / ".tmp-1-2-x").write_text("half")
    (p / "vectors" / "gen-01ZZZ").mkdir()
    (p / ".lock.json").write_text('{"pid": 1, "command": "indexer seed", "since": "then"}')
    (cli.projects / "registry.db").chmod(0o644)
    expected = {
        "embeds are damaged": 1,
        "chunks are damaged": 1,
        "a page's text is not that of its digest": 0,
        "the URL table counts a page that is not there": 0,
        "a killed write left a temporary file": 1,
        "a generation that was never published": 1,
        "a run was killed and left its name": 1,
        "the registry, which holds tokens, can be read by others": 1,
    }
    before = sorted(path for path in cli.projects.rglob("*"))
    found = _found(cli, "--all", code=1)
    assert set(found) == set(expected)
    assert not any(one["repaired"] for one in found.values())
    assert all(one["do"] and one["count"] == 1 for one in found.values())
    assert sorted(path for path in cli.projects.rglob("*")) == before, "nothing is changed unasked"
    found = _found(cli, "p", "--repair", code=1)
    assert {what: one["repaired"] for what, one in found.items()} == expected
    assert chunks[2].read_text() == other, "what was cut from a page that is broken now may be right"
    assert chunks[3].is_file(), "what is left of a page that is missing stays"
    assert (cli.projects / "registry.db").stat().st_mode & 0o777 == 0o600
    pages[3].write_bytes(lost)
    cli("reindex", "--project-name", "p", "--force").ok()
    assert _found(cli, "p", code=0) == {}


def _altered(path, *, unseen=False):
    """Other numbers in the first vector: valid JSON, valid base64, of the same size; `unseen`: and of the same time."""
    before, text = path.stat(), path.read_text()
    at = text.index('"vector":"') + len('"vector":"')
    with path.open("r+") as file:
        file.seek(len(text[:at].encode()))
        file.write("AAAAPwAA" if text[at : at + 8] != "AAAAPwAA" else "AACAPwAA")
    if unseen:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_vector_of_other_numbers_is_found_never_published_and_made_again_for_nothing(kept, shop):
    cli, p = kept
    hits, files = _hits(cli), _files(p / "3_embeds")
    whole = files[0].read_bytes()
    _altered(files[0], unseen=True)
    assert "embeds are damaged" in _found(cli, "p", code=1)
    publish = ("publish", "--project-name", "p", "--no-register")
    cli(*publish, INDEXER_INDEX__K1="1.4").fails(1, "damaged")
    assert _hits(cli) == hits
    cli(*publish, INDEXER_INDEX__K1="1.4").ok()
    assert files[0].read_bytes() == whole
    cli(*publish).ok()

    _altered(files[1])
    told = cli("reindex", "--project-name", "p", "--no-register", "--json").ok().json
    assert told["embedded"] == 0
    assert _found(cli, "p", code=0) == {}
    assert _hits(cli) == hits


def test_an_index_that_is_broken_is_named_again_or_built_again(kept, shop):
    cli, p = kept
    hits = _hits(cli)
    live = (p / "vectors" / "CURRENT").read_text()
    golden = {"question": "сколько стоит замена масла?", "relevant": [shop.url("/prices")]}
    (p / "golden.jsonl").write_text(json.dumps(golden) + "\n")
    (p / "vectors" / "CURRENT").write_text("01NOSUCH")
    (p / "3_embeds" / "bm25.json").write_text("{}")
    with contextlib.closing(sqlite3.connect(cli.projects / "registry.db")) as database, database:
        database.execute("UPDATE bm25_indexes SET num_docs = 1")
    found = _found(cli, "p", "--repair", code=0)
    assert len(found) == 3
    assert (p / "vectors" / "CURRENT").read_text() == live, "only its name was lost"
    assert _hits(cli) == hits
    for path in (p / "vectors").rglob("mutable_id_tracker.mappings"):
        path.write_bytes(b"")
    shop.reset()
    assert "broken" in " ".join(_found(cli, "p", code=1))
    (one,) = _found(cli, "p", "--repair", code=0).values()
    assert one["repaired"] == 1
    assert not shop.log
    assert _hits(cli) == hits
    assert len(cli("generations", "--project-name", "p", "--json").json) == 1, "the broken one is gone"
    assert _found(cli, "p", code=0) == {}
    path = _files(p / "3_embeds")[0]
    whole = path.read_text()
    page = json.loads(whole)
    page["chunks"][0]["text"] += "!"
    del page["digest"]  # as an earlier version wrote it
    path.write_text(json.dumps(page))
    assert "has no point" in " ".join(_found(cli, "p", code=1))
    path.write_text(whole)
    (p / "golden.jsonl").unlink()


def test_what_a_person_rolled_back_is_not_built_again(kept, shop):
    cli, p = kept
    embeds = _files(p / "3_embeds")
    manifest = json.loads(next((p / "vectors").glob("gen-*/manifest.json")).read_text())
    pin = {"signature": manifest["signature"], "generation": manifest["generation"], "reason": "wrong prices"}
    (p / "rolled-back.json").write_text(json.dumps(pin))
    (p / "vectors" / "CURRENT").rename(p / "CURRENT")
    (p / "vectors" / f"gen-{manifest['generation']}").rename(p / "live")
    (one,) = _found(cli, "p", "--repair", code=1).values()
    assert (one["repaired"], "wrong prices" in one["do"]) == (0, True)
    assert _files(p / "3_embeds") == embeds
    (p / "rolled-back.json").unlink()
    (p / "live").rename(p / "vectors" / f"gen-{manifest['generation']}")
    (p / "CURRENT").rename(p / "vectors" / "CURRENT")
    with project_lock(p):
        assert _found(cli, "p", code=0) == {}, "a run is at work: its project is left alone"
        cli("doctor", "p", "--repair").fails(5, "held by")
        assert _found(cli, "--all", "--repair", code=3)
    cli("doctor", "p", "--all").fails(2, "or say --all")
    cli("doctor", "nosuch").fails(2, "nosuch")


def test_keys_are_present_or_absent_and_servers_answer_or_do_not(tmp_path):
    cli = Cli(tmp_path, SOME_KEY="very-secret-key", INDEXER_BOT_TOKEN="very-secret-token")
    with ModelApi() as api, Site() as bot:
        bot.fallback(lambda _request: Reply(status=503))
        toml = f"""
            [models]
            extract = ["chat/m"]
            embedding = ["vectors/m"]
            [providers.chat]
            base_url = "{api.base_url("llm")}"
            api_key_env = ["SOME_KEY"]
            [providers.vectors]
            base_url = "{api.base_url("emb")}"
            api_key_env = ["NO_KEY"]
            [bot]
            url = "{bot.origin}"
            retries = 0
        """
        (tmp_path / "indexer.toml").write_text(toml)
        done = cli("doctor")
        assert (done.code, "NO_KEY is not set" in done.out, "SOME_KEY is set" in done.out) == (1, True, True)
        done = cli(
            "doctor",
            NO_KEY="another-key",
            INDEXER_STORE__URL="http://127.0.0.1:9",
            INDEXER_STORE__TIMEOUT="1",
        )
        assert (done.code, "chat at" in done.out) == (0, True)
        assert "secret" not in done.out + done.err
        cli("init-project", "--name", "p").ok()
        told = _found(cli, "p", code=3, NO_KEY="another-key")
        assert any("answers 503" in what for what in told)
    found = _found(cli, code=1, NO_KEY="another-key")
    assert sum("does not answer" in what for what in found) == 2
    assert _found(cli, "--offline", code=0, NO_KEY="another-key") == {}
    cli("set", "--project-name", "p", "crawl.auth_env", "NO_LOGIN").ok()
    cli("set", "--project-name", "p", "urls", "http://127.0.0.1:9/").ok()
    assert "NO_LOGIN" in " ".join(_found(cli, "--all", "--offline", code=1, NO_KEY="another-key"))


def test_a_copy_of_a_page_is_nothing_to_worry_about(tmp_path):
    cli, pages = Cli(tmp_path), tmp_path / "pages"
    pages.mkdir()
    for name in ("one", "copy"):
        (pages / f"{name}.md").write_text(
            "# Prices\n\nA mooring costs 300 euros a month.\n", encoding="utf-8"
        )
    cli("init-project", "--name", "d", "--no-register").ok()
    report = cli("add-files", "--project-name", "d", "--no-register", "--json", str(pages)).ok().json
    assert (report["indexed"], report["skipped"]) == (1, 1)
    assert _found(cli, "d", code=0) == {}
