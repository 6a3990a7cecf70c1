"""Projects are created, shown, changed and removed; bad input gets one clear message and its exit code."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.support.shop import html, open_shop, publish_sitemap, sources
from tests.support.web import Site


@pytest.mark.parametrize(
    "name", ["../x", "", " ", "x" * 300, "я" * 150, ".hidden", "a/b", "a\\b", "a\nb", "con:1"]
)
def test_an_impossible_name_is_refused_and_creates_nothing(indexer, name):
    indexer("init-project", "--name", name).fails(2, "project name")
    assert indexer("list", "--json").ok().json == []


def test_a_cyrillic_name_is_fine_and_a_taken_one_is_refused(indexer):
    indexer("init-project", "--name", "Мой проект").ok()
    indexer("init-project", "--name", "Мой проект").fails(2, "exists already")


def test_without_sources_a_project_is_only_created(indexer):
    report = indexer("init-project", "--name", "p", "--json").ok().json
    assert report["found"] == 0
    assert indexer("list", "--json").ok().json[0]["id"] == report["id"]
    indexer("search", "--project-name", "p", "вопрос").fails(2, "no published index yet")
    assert indexer("export", "--project-name", "p").ok().out == ""
    indexer("status", "--project-name", "p").ok()


@pytest.mark.parametrize("command", ["seed", "status", "export", "register", "remove-project"])
def test_an_unknown_project_is_named_with_those_that_exist(indexer, command):
    indexer("init-project", "--name", "есть").ok()
    indexer(command, "--project-name", "нет").fails(2, "'нет'", "есть")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sitemap-url", "www.example.com/sitemap.xml"], ["no scheme", "https://www.example.com"]),
        (["--urls", "ftp://example.com/"], ["only http and https"]),
        (["--urls-file", "missing.txt"], ["cannot read", "missing.txt"]),
        (["--crawl", "http://[::1"], ["no address"]),
        (["--urls", "https://user:secret@/x"], ["names no host"]),
        (["--timeout", "0", "--urls", "https://example.com/"], ["crawl.timeout"]),
        (["--prompt1", "@missing.txt"], ["cannot read missing.txt"]),
        (["--language", "xx"], ["language 'xx'"]),
        (["--from-phase", "index", "--until-phase", "chunk"], ["comes after"]),
    ],
)
def test_bad_options_are_explained_and_leave_no_project(indexer, arguments, words):
    result = indexer("init-project", "--name", "p", *arguments).fails(2, *words)
    assert "secret" not in result.err
    assert indexer("list", "--json").ok().json == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[crawl\n", ["not valid TOML"]),
        ("[crawl]\ndelay = 'x'\n", ["indexer.toml", "crawl.delay"]),
        ("[crawl]\nspeed = 1\n", ["indexer.toml", "speed"]),
        ("[models]\nembedding = ['nowhere/model']\n", ["nowhere"]),
    ],
)
def test_a_broken_configuration_names_file_and_place(indexer, tmp_path, text, words):
    (tmp_path / "indexer.toml").write_text(text)
    with open_shop({"/": ("A", "<p>Some text about us.</p>")}) as shop:
        indexer("init-project", "--name", "p", *sources(shop)).fails(2, *words)


def test_a_missing_configuration_file_is_named(indexer):
    indexer("--config", "none.toml", "list").fails(2, "none.toml")
    indexer("list", "--config", "none.toml").fails(2, "none.toml")


def test_a_host_that_cannot_be_reached_is_named(indexer):
    with Site() as site:
        host = site.host
    result = indexer(
        "init-project", "--name", "p", "--sitemap-url", f"http://{host}/sitemap.xml", "--allow-private", host,
        "--retries", "0",
    )  # fmt: skip
    assert result.code in (1, 2, 3)
    assert host in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "body", ["", "<urlset></urlset>", "not xml at all <", "<html><body>404</body></html>"]
)
def test_an_empty_or_broken_sitemap_is_named(indexer, body):
    with Site({"/sitemap.xml": body}) as site:
        result = indexer("init-project", "--name", "p", *sources(site))
        assert result.code in (1, 2)
        assert "/sitemap.xml" in result.err
        assert "Traceback" not in result.err


def test_private_addresses_are_refused_unless_named(indexer):
    with open_shop() as shop:
        result = indexer("init-project", "--name", "p", "--sitemap-url", shop.url("/sitemap.xml"))
        assert result.code != 0
        assert "--allow-private" in result.err
        assert shop.log == []


def test_keys_can_be_set_cleared_and_unknown_ones_are_refused(indexer, tmp_path):
    indexer("init-project", "--name", "p").ok()
    (tmp_path / "prompt.txt").write_text("Вы — вежливый бот", encoding="utf-8")
    indexer("set", "--project-name", "p", "prompt1", "@prompt.txt").ok()
    indexer("set", "--project-name", "p", "language", "ru").ok()
    indexer("set", "--project-name", "p", "crawl.delay", "2").ok()
    indexer("set", "--project-name", "p", "crawl.exclude", "*/tag/*, */print/*").ok()
    indexer("set", "--project-name", "p", "sitemap-url", "https://a.test/s.xml").ok()
    assert indexer("status", "--project-name", "p", "--json").ok().json["language"] == "ru"
    indexer("set", "--project-name", "p", "language", "").ok()
    indexer("set", "--project-name", "p", "colour", "red").fails(2, "no key", "bot-url")
    indexer("set", "--project-name", "p", "crawl.delay", "fast").fails(2, "crawl.delay")
    indexer("set", "--project-name", "p", "language", "xx").fails(2, "language")


def test_a_removed_project_leaves_only_what_is_not_ours(indexer):
    with open_shop() as shop:
        indexer("init-project", "--name", "p", *sources(shop)).ok()
    (indexer.projects / "p" / "notes.txt").write_text("mine")
    indexer("remove-project", "--project-name", "p", stdin="n\n").fails(2, "nothing was removed")
    indexer("remove-project", "--project-name", "p", "--yes").ok()
    assert [path.name for path in (indexer.projects / "p").iterdir()] == ["notes.txt"]
    assert indexer("list", "--json").ok().json == []


def test_two_runs_at_once_the_second_says_who_holds_the_project(indexer):
    with open_shop() as shop:
        indexer("init-project", "--name", "p", *sources(shop), "--until-phase", "scrape").ok()
        shop.fault("/prices", "delay", seconds=20)
        first = indexer.start("seed", "--project-name", "p")
        try:
            for _ in range(200):
                if "/prices" in shop.paths()[7:] or (indexer.projects / "p" / ".lock.json").exists():
                    break
                time.sleep(0.05)
            indexer("seed", "--project-name", "p").fails(5, f"process {first.pid}")
        finally:
            first.kill()
            first.communicate()


def test_a_project_whose_artifacts_are_damaged_heals(indexer):
    with open_shop() as shop:
        first = indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json
        for folder in ("1_pages", "2_chunks", "3_embeds"):
            path = min(p for p in (indexer.projects / "p" / folder).glob("*.json") if p.name != "bm25.json")
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        again = indexer("seed", "--project-name", "p", "--json").ok()
        assert "damaged" in again.err
        assert (again.json["indexed"], again.json["embedded"]) == (first["indexed"], 0)
        assert again.json["generation"] == first["generation"]


def test_a_read_only_projects_folder_is_named(indexer):
    if os.geteuid() == 0:
        indexer.projects.write_text("a file where the folder should be")
        indexer("list").fails(2, str(indexer.projects))
        return
    indexer.projects.mkdir()
    indexer.projects.chmod(0o500)
    indexer("list").fails(2, "writable")


def test_a_projects_folder_of_a_newer_version_is_refused(indexer):
    import sqlite3

    indexer("init-project", "--name", "p").ok()
    with sqlite3.connect(indexer.projects / "registry.db") as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    indexer("list").fails(2, "newer indexer")


def test_batch_questions_with_a_bad_line_are_named(indexer, tmp_path):
    with open_shop({"/": ("A", "<p>Some text about us.</p>")}) as shop:
        indexer("init-project", "--name", "p", *sources(shop)).ok()
    indexer("search", "--project-name", "p", "--in", "-", stdin='{"id": 1, "question": "a"}\n{oops\n').fails(
        2, "line 2"
    )
    indexer("search", "--project-name", "p", "--in", "-", stdin='{"id": 1}\n').fails(
        2, "line 1 lacks question"
    )
    indexer("search", "--project-name", "p").fails(2, "ask one question")
    indexer("search", "--project-name", "p", "q", "--limit", "0").fails(2)
    indexer("eval", "--project-name", "p", "--questions", "none.jsonl").fails(2, "none.jsonl")


def test_errors_are_json_too(indexer):
    result = indexer("status", "--project-name", "none", "--json").fails(2)
    assert result.json["exit"] == 2
    assert "none" in result.json["error"]


def test_one_phase_alone_shows_what_the_indexer_sees(indexer, tmp_path):
    page = html("Цены", "<h2>Масло</h2><p>Замена масла стоит 1500 рублей.</p>")
    (tmp_path / "page.html").write_bytes(page.encode("windows-1251", "xmlcharrefreplace"))
    (tmp_path / "page.md").write_text("# Цены\n\nЗамена масла.\n\n## Шины\n\nПереобувка.\n", encoding="utf-8")
    lines = json.dumps({"id": 7, "url": "https://a.test/", "html": page}, ensure_ascii=False)
    (record,) = indexer("extract", "--in", "-", stdin=lines).ok().lines
    assert (record["id"], record["title"]) == (7, "Цены")
    assert "1500" in record["text"]
    assert "Замена масла" in indexer("extract", "page.md").out + indexer("chunk", "page.md").ok().out
    text = "# Цены\n\nЗамена масла.\n\n## Шины\n\nПереобувка колёс.\n"
    (record,) = (
        indexer("chunk", "--in", "-", "--out", "-", stdin=json.dumps({"id": "a", "text": text})).ok().lines
    )
    assert all(text[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in record["chunks"])
    indexer("chunk", "none.md").fails(2, "none.md")
    indexer("extract").fails(2, "name files")


def test_sitemaps_may_name_pages_that_fail_and_the_run_goes_on(indexer):
    with open_shop() as shop:
        publish_sitemap(shop, ["/", "/missing", "/broken", "/prices"])
        shop.page("/broken", "oops", status=500)
        result = indexer("init-project", "--name", "p", *sources(shop), "--retries", "0", "--json")
        assert result.code == 3
        assert (result.json["found"], result.json["indexed"], result.json["failed"]) == (4, 2, 2)
        reasons = {row["url"]: row["reason"] for row in indexer("export", "--project-name", "p").lines}
        assert reasons[shop.url("/missing")] == "not-found"
        assert reasons[shop.url("/broken")] == "http-5xx"


@pytest.mark.parametrize("delay", ["inf", "nan", "1e30"])
def test_a_number_without_end_is_refused_before_it_becomes_a_run_without_end(indexer, delay):
    words = ["init-project", "--name", "p", "--urls", "http://127.0.0.1:9/", "--delay", delay]
    indexer(*words).fails(2, "crawl.delay")
    assert indexer("list", "--json").ok().json == []


def test_one_more_private_address_closes_none_of_the_others(indexer):
    with open_shop() as shop:
        indexer("init-project", "--name", "p", *sources(shop), "--no-register").ok()
        more = ["--project-name", "p", "--allow-private", "[::1]:9", "--no-register", "--json"]
        again = indexer("seed", *more).ok().json
        assert (again["failed"], again["not_modified"]) == (0, again["indexed"])
        assert indexer("reindex", *more).ok().json["failed"] == 0


def test_a_command_line_that_cannot_be_read_is_told_as_every_error_is(indexer):
    """As an object for who asked for JSON, as a line of the log for who asked for that, with its usage for people."""
    for words, told in (
        (("search", "--nope"), "--nope"),
        (("nosuch",), "nosuch"),
        (("search",), "--project-name"),
    ):
        done = indexer(*words, "--json")
        assert (done.code, done.json["exit"]) == (2, 2)
        assert told in done.json["error"]
        assert "Usage: indexer" in done.err
    logged = indexer("search", "--log-json")
    assert json.loads(logged.err)["level"] == "error"
    assert (logged.code, logged.out) == (2, "")


def test_an_empty_value_clears_a_key_and_says_so(indexer):
    with open_shop() as site:
        indexer("init-project", "--name", "p", *sources(site), "--no-register").ok()
    assert "prompt1 is set" in indexer("set", "--project-name", "p", "prompt1", "Be short.").ok().out
    assert "prompt1 is cleared" in indexer("set", "--project-name", "p", "prompt1", "").ok().out
