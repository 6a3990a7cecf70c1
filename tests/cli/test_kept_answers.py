"""Answers are kept beside the pages, so that new rules of reading ask the site for nothing."""

from __future__ import annotations

import gzip
import os

from indexer.adapters.raw import FileRaw
from indexer.ports import Response
from tests.support.shop import PAGES, html, open_shop, sources
from tests.support.site import statuses

NEW_RULES = {"INDEXER_EXTRACT__FAVOR_RECALL": "false"}


def _raw(indexer, name="shop"):
    return sorted((indexer.folder / "projects" / name / "0_raw").glob("*.gz"))


def _signatures(indexer, name="shop"):
    import json

    folder = indexer.folder / "projects" / name / "1_pages"
    return {path.name: json.loads(path.read_bytes())["signature"] for path in folder.glob("*.json")}


def test_new_rules_of_reading_and_cutting_ask_for_nothing(indexer):
    """All pages are read and cut anew without a request; only changed text is embedded."""
    with open_shop() as site:
        first = indexer("init-project", "--name", "shop", *sources(site), "--json").ok().json
        assert len(_raw(indexer)) == len(PAGES) == first["indexed"]
        before = _signatures(indexer)
        site.reset()
        again = indexer("seed", "--project-name", "shop", "--from-phase", "chunk", "--json", **NEW_RULES).ok()
        assert site.log == []
        assert "Read again from what is kept: 5 pages" in again.err
        assert (again.json["fetched"], again.json["embedded"], again.json["indexed"]) == (0, 0, 5)
        after = _signatures(indexer)
        assert before.keys() == after.keys()
        assert all(before[name] != after[name] for name in before)

        smaller = {**NEW_RULES, "INDEXER_CHUNK__MAX_CHARS": "200"}
        cut = indexer("seed", "--project-name", "shop", "--from-phase", "chunk", "--json", **smaller).ok()
        assert site.log == []
        assert "Read again" not in cut.err
        assert cut.json["embedded"] == 0 or cut.json["chunks"] > first["chunks"]

        plain = indexer("seed", "--project-name", "shop", "--json", **smaller).ok().json
        assert set(statuses(site)) == {304}
        assert (plain["fetched"], plain["embedded"]) == (0, 0)


def test_a_plain_run_under_new_rules_asks_only_what_changed(indexer):
    """Every page is asked for conditionally, and what did not change is read from what is kept."""
    with open_shop() as site:
        indexer("init-project", "--name", "shop", *sources(site)).ok()
        site.page("/warranty", html("Гарантия", "<p>Теперь гарантия на работы три года.</p>"))
        site.reset()
        before = _signatures(indexer)
        told = indexer("status", "--project-name", "shop", "--json", **NEW_RULES).ok().json
        assert told["owed"]["pages"] == 5
        report = indexer("seed", "--project-name", "shop", "--json", **NEW_RULES).ok().json
        assert (report["fetched"], report["not_modified"], report["indexed"]) == (1, 4, 5)
        assert all(before[name] != signature for name, signature in _signatures(indexer).items())
        told = indexer("status", "--project-name", "shop", "--json", **NEW_RULES).ok().json
        assert told["owed"] == {"pages": 0, "chunks": 0, "embeds": 0}


def test_an_answer_goes_with_its_page_and_secrets_are_not_kept(indexer):
    """Of the headers only those that reading needs are stored, readable for the owner alone."""
    with open_shop() as site:
        site.page("/en", html("Clover", "<p>We speak English.</p>"), headers={"Set-Cookie": "sid=topsecret"})
        indexer("init-project", "--name", "shop", *sources(site)).ok()
        for path in _raw(indexer):
            assert b"topsecret" not in gzip.decompress(path.read_bytes())
            assert path.stat().st_mode & 0o077 == 0
        site.page("/en", status=410)
        indexer("seed", "--project-name", "shop", "--allow-shrink")
        assert len(_raw(indexer)) == len(PAGES) - 1
        off = {"INDEXER_CRAWL__KEEP_RAW": "false"}
        indexer("seed", "--project-name", "shop", **off)
        assert _raw(indexer) == []


def test_what_is_too_large_or_damaged_counts_as_not_kept(tmp_path):
    """A truncated file, one of another address and one over the limit give nothing."""
    raw = FileRaw(tmp_path, limit=2000)
    url = "https://example.com/a"
    answer = Response(
        url=url,
        final_url=url,
        status=200,
        headers={"content-type": "text/html", "set-cookie": "a=b", "etag": '"1"'},
        body=b"<p>x</p>" * 500,
        rendered=True,
    )
    raw.save(answer, 7)
    loaded = raw.load(url)
    assert loaded is not None
    assert (loaded.body, loaded.rendered, raw.visit(url)) == (answer.body, True, 7)
    assert loaded.headers == {"content-type": "text/html", "etag": '"1"'}
    (path,) = (tmp_path / "0_raw").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert raw.load(url) is None
    path.write_bytes(b"")
    assert (raw.load(url), raw.visit(url)) == (None, 0)
    path.write_bytes(whole)
    path.rename(path.with_name("0" * 32 + ".gz"))
    assert raw.load(url) is None
    raw.save(Response(**{**_fields(answer), "body": os.urandom(5000)}), 8)
    assert not raw.has(url)
    assert [key for key in raw.keys() if key != "0" * 32] == []  # noqa: SIM118
    raw.prune(set())
    assert list((tmp_path / "0_raw").iterdir()) == []


def _fields(answer: Response) -> dict[str, object]:
    return {name: getattr(answer, name) for name in answer.__struct_fields__}
