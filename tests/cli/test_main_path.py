"""The main job as a person does it: a site becomes an index that answers, and stays true."""

from __future__ import annotations

import json

import pytest

from tests.support.shop import PAGES, html, open_shop, publish_sitemap, sources, unconditional
from tests.support.web import Reply


@pytest.fixture
def shop():
    with open_shop() as site:
        yield site


@pytest.fixture
def built(indexer, shop):
    return indexer("init-project", "--name", "клевер", "--language", "ru", *sources(shop), "--json").ok().json


def _artifacts(indexer, name="клевер"):
    folder = indexer.projects / name
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.glob("[123]_*/*.json"))
    }


def test_one_command_indexes_a_site_and_the_counts_add_up(indexer, shop, built):
    assert built["found"] == built["indexed"] == len(PAGES)
    assert built["skipped"] == built["failed"] == 0
    assert built["fetched"] == len(PAGES)
    assert built["points"] == built["chunks"] == built["embedded"] >= len(PAGES)
    assert built["published"] is True
    assert built["registered"] is False
    rows = indexer("export", "--project-name", "клевер").ok().lines
    assert {row["url"] for row in rows} == {shop.url(path) for path in PAGES}
    assert all(row["status"] == "indexed" and row["chunks"] and row["text"] for row in rows)
    assert len(_artifacts(indexer)) == 3 * len(PAGES) + 1


@pytest.mark.parametrize("mode", ["hybrid", "dense", "bm25"])
def test_questions_find_their_page_and_show_each_leg(indexer, shop, built, mode):
    questions = "\n".join(
        json.dumps({"id": number, "question": question}, ensure_ascii=False)
        for number, question in enumerate(
            ["цена замены масла", "телефон и адрес", "tyre storage for the winter"]
        )
    )
    rows = (
        indexer("search", "--project-name", "клевер", "--in", "-", "--mode", mode, stdin=questions).ok().lines
    )

    assert [row["hits"][0]["url"] for row in rows] == [
        shop.url(path) for path in ("/prices", "/contacts", "/en")
    ]
    first = rows[0]["hits"][0]
    assert "1500" in first["text"]
    assert first["topic"]
    for leg in {"hybrid": ("dense", "bm25"), "dense": ("dense",), "bm25": ("bm25",)}[mode]:
        assert first[leg]["rank"] == 1
        assert first[leg]["score"] > 0
    scores = [hit["score"] for hit in rows[0]["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_a_second_run_asks_conditionally_and_does_nothing_twice(indexer, shop, built):
    before, index = _artifacts(indexer), built["generation"]
    shop.reset()
    report = indexer("seed", "--project-name", "клевер", "--json").ok().json

    assert unconditional(shop.log) == []
    assert {request.status for request in shop.log} == {304}
    assert report["not_modified"] == len(PAGES)
    assert (report["fetched"], report["embedded"], report["chat_calls"]) == (0, 0, 0)
    assert report["generation"] == index
    assert report["published"] is True
    assert _artifacts(indexer) == before


def test_a_changed_page_costs_only_its_own_chunks(indexer, shop, built):
    before = _artifacts(indexer)
    shop.page("/warranty", html("Гарантия", "<p>Теперь гарантия на работы — 36 месяцев.</p>"))
    report = indexer("seed", "--project-name", "клевер", "--json").ok().json

    assert (report["fetched"], report["not_modified"], report["embedded"]) == (1, len(PAGES) - 1, 1)
    assert report["generation"] != built["generation"]
    changed = {name for name, seen in _artifacts(indexer).items() if seen != before.get(name)}
    assert len([name for name in changed if "bm25" not in name]) == 3
    hits = indexer("search", "--project-name", "клевер", "--json", "какая гарантия на работы?").ok().json
    assert "36" in hits[0]["text"]
    assert not any("12 месяцев" in hit["text"] for hit in hits)


def test_a_new_etag_or_date_with_the_same_text_costs_nothing(indexer, shop, built):
    for path, (title, body) in PAGES.items():
        shop.page(path, html(title, body, "en" if path == "/en" else "ru") + "<!-- build 2 -->")
    before = {name: data for name, (data, _) in _artifacts(indexer).items() if not name.startswith("1_")}
    report = indexer("seed", "--project-name", "клевер", "--json").ok().json

    assert (report["fetched"], report["embedded"]) == (len(PAGES), 0)
    assert report["generation"] == built["generation"]
    assert {
        name: data for name, (data, _) in _artifacts(indexer).items() if not name.startswith("1_")
    } == before


def test_a_page_that_is_gone_leaves_the_index_and_says_so(indexer, shop, built):
    shop.page("/warranty", status=410)
    report = indexer("seed", "--project-name", "клевер", "--json").ok().json
    assert (report["indexed"], report["skipped"], report["failed"]) == (len(PAGES) - 1, 1, 0)
    row = next(
        row
        for row in indexer("export", "--project-name", "клевер").lines
        if row["url"] == shop.url("/warranty")
    )
    assert (row["status"], row["reason"], row["text"]) == ("skipped", "gone", "")
    hits = indexer("search", "--project-name", "клевер", "--json", "гарантия на работы").ok().json
    assert shop.url("/warranty") not in [hit["url"] for hit in hits]


def test_an_outage_keeps_every_page_and_the_live_index(indexer, shop, built):
    shop.fault("*", "status", status=503)
    result = indexer("seed", "--project-name", "клевер", "--retries", "0", "--json")
    assert result.code != 0
    shop.mend()
    hits = indexer("search", "--project-name", "клевер", "--json", "сколько стоит замена масла").ok().json
    assert hits[0]["url"] == shop.url("/prices")
    again = indexer("seed", "--project-name", "клевер", "--json").ok().json
    assert (again["indexed"], again["embedded"], again["generation"]) == (len(PAGES), 0, built["generation"])


def test_a_new_page_in_the_sitemap_is_found(indexer, shop, built):
    shop.page("/news", html("Новости", "<p>Открыли шиномонтаж на улице Лесной.</p>"))
    publish_sitemap(shop, [*PAGES, "/news"])
    report = indexer("seed", "--project-name", "клевер", "--json").ok().json
    assert (report["found"], report["fetched"]) == (len(PAGES) + 1, 1)


def test_single_urls_and_local_files_join_a_project(indexer, shop, built, tmp_path):
    shop.page("/vacancies", html("Вакансии", "<p>Ищем автоэлектрика, оклад 90 000 рублей.</p>"))
    shop.reset()
    report = (
        indexer("add-urls", "--project-name", "клевер", "--urls", shop.url("/vacancies"), "--json").ok().json
    )
    assert (report["found"], report["fetched"]) == (len(PAGES) + 1, 1)
    assert set(shop.paths()) <= {"/vacancies", "/robots.txt"}
    (tmp_path / "faq.md").write_text("# Вопросы\n\nКофе для клиентов бесплатный.\n", encoding="utf-8")
    report = indexer("add-files", "--project-name", "клевер", "faq.md", "--json").ok().json
    assert report["found"] == len(PAGES) + 2
    hits = indexer("search", "--project-name", "клевер", "--json", "кофе для клиентов").ok().json
    assert hits[0]["url"].startswith("file://")


def test_phases_can_be_run_one_by_one(indexer, shop):
    first = (
        indexer("init-project", "--name", "p", *sources(shop), "--until-phase", "chunk", "--json").ok().json
    )
    assert (first["indexed"], first["embedded"], first["published"]) == (len(PAGES), 0, False)
    rows = indexer("export", "--project-name", "p").ok().lines
    assert all(row["status"] == "indexed" and row["chunks"] for row in rows)
    shop.reset()
    second = indexer("seed", "--project-name", "p", "--from-phase", "embed", "--json").ok().json
    assert shop.log == []
    assert second["embedded"] == second["points"] == first["chunks"]
    third = indexer("seed", "--project-name", "p", "--from-phase", "chunk", "--force", "--json").ok().json
    assert (third["embedded"], third["embed_cached"]) == (0, first["chunks"])


def test_a_new_chunk_size_does_not_fetch(indexer, shop, built):
    indexer("set", "--project-name", "клевер", "chunk.max_chars", "200").ok()
    shop.reset()
    report = indexer("seed", "--project-name", "клевер", "--from-phase", "chunk", "--json").ok().json
    assert shop.log == []
    assert report["chunks"] >= built["chunks"]


def test_progress_lines_are_stable(indexer, shop):
    result = indexer("init-project", "--name", "p", *sources(shop)).ok()
    chunks = len([1 for row in indexer("export", "--project-name", "p").lines for _ in row["chunks"]])
    for line in (
        f"Scraping completed: {len(PAGES)} pages",
        f"Chunking completed: {chunks} chunks",
        f"Embeddings completed: {chunks} vectors",
        f"Upload completed: {len(PAGES)} pages, {chunks} chunks indexed",
    ):
        assert line in result.err.splitlines()


def test_worker_processes_give_the_same_artifacts(indexer, shop, built, tmp_path):
    other = tmp_path / "other"
    indexer(
        "init-project", "--name", "клевер", "--language", "ru", *sources(shop), "--workers", "2",
        "--projects-dir", str(other),
    ).ok()  # fmt: skip
    mine = {name: data for name, (data, _) in _artifacts(indexer).items()}
    indexer.projects = other
    assert {name: data for name, (data, _) in _artifacts(indexer).items()} == mine


def test_eval_scores_each_mode(indexer, shop, built, tmp_path):
    lines = [
        {"question": "сколько стоит замена масла", "relevant": [shop.url("/prices")]},
        {"question": "где вы находитесь", "relevant": [shop.url("/contacts")]},
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    scores = indexer("eval", "--project-name", "клевер", "--questions", "q.jsonl", "--json").ok().json
    assert [score["mode"] for score in scores] == ["hybrid", "dense", "bm25"]
    assert scores[0]["recall@5"] == 1.0


def test_a_project_is_registered_once_per_generation(indexer, shop):
    seen = []
    shop.fallback(lambda request: seen.append(request) or Reply(body="{}"))
    with_bot = ["--bot-url", shop.origin, "--prompt1", "Ты — бот", "--tg-api-key", "123456789:" + "A" * 35]
    first = indexer(
        "init-project", "--name", "p", *sources(shop), *with_bot, "--json", INDEXER_BOT_TOKEN="s3cret-token"
    ).ok()  # fmt: skip
    assert first.json["registered"] is True
    assert len(seen) == 1
    body = json.loads(seen[0].body)
    assert seen[0].path == f"/api/register-project/{first.json['id']}"
    assert seen[0].headers["authorization"] == "Bearer s3cret-token"
    assert body["manifest"]["generation"] == first.json["generation"]
    assert body["prompts"] == {"prompt1": "Ты — бот"}
    assert body["bm25"]["num_docs"] == first.json["points"]
    second = indexer("seed", "--project-name", "p", "--json", INDEXER_BOT_TOKEN="s3cret-token").ok()
    assert second.json["registered"] is True
    assert len(seen) == 1
    indexer("register", "--project-name", "p").ok()
    assert len(seen) == 2
    for result in (first, second):
        assert "s3cret-token" not in result.out + result.err
        assert "AAAAAAA" not in result.out + result.err


def test_a_bot_that_is_down_costs_only_the_registration(indexer, shop):
    result = indexer(
        "init-project", "--name", "p", *sources(shop), "--bot-url", "http://127.0.0.1:9", "--json",
        INDEXER_BOT__RETRIES="0",
    )  # fmt: skip
    result.fails(3, "does not answer", "indexer register --project-name p")
    assert (result.json["published"], result.json["registered"]) == (True, False)
    shop.fallback(lambda _request: Reply(body="{}"))
    indexer("set", "--project-name", "p", "bot-url", shop.origin).ok()
    assert indexer("register", "--project-name", "p", "--json").ok().json["registered"] is True


def test_explain_shows_one_url_from_discovery_to_its_points(indexer, shop, built):
    life = indexer("explain", shop.url("/prices"), "--project-name", "клевер", "--json").ok().json
    assert life["found_in"] == [f"sitemap:{shop.url('/sitemap.xml')}"]
    assert life["robots"].startswith("allowed")
    assert (life["state"], life["status"], life["page"]["title"]) == ("indexed", 200, "Цены")
    assert life["points"]["live"] == life["points"]["of"] == len(life["chunks"]["parts"])
    shop.page("/robots.txt", "User-agent: *\nDisallow: /prices\n", content_type="text/plain")
    shop.page("/contacts", status=301, headers={"Location": "/"})
    indexer("seed", "--project-name", "клевер").ok()
    text = indexer("explain", shop.url("/prices"), "--project-name", "клевер").ok().out
    assert "disallows it" in text
    assert (
        f"kept under  {shop.url('/')}"
        in indexer("explain", shop.url("/contacts"), "--project-name", "клевер").out
    )
    indexer("explain", shop.url("/price"), "--project-name", "клевер").fails(
        2, "never found", shop.url("/prices")
    )
