"""A plan says what a run would do, counts apart from estimates, and leaves no trace."""

from __future__ import annotations

import pytest

from tests.support.shop import html, open_shop, publish_sitemap, sources
from tests.support.web import Site

SENTENCE = "Доставляем по городу и области, в будние дни и по субботам, при заказе от тысячи рублей. "


def _tree(folder):
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


@pytest.fixture
def shop():
    """20 pages of the same size in three folders, two of them disallowed."""
    with open_shop({"/": ("Магазин", f"<p>{SENTENCE * 9}</p>")}) as site:
        paths = [f"/catalogue/item-{n}" for n in range(12)] + [f"/blog/2024/post-{n}" for n in range(5)]
        paths += ["/blog/2023/post", "/admin/one"]
        for path in paths:
            site.page(path, html(f"Страница {path}", f"<p>{SENTENCE * 9}</p>"))
        site.page(
            "/robots.txt", "User-agent: *\nDisallow: /admin\nCrawl-delay: 0.2\n", content_type="text/plain"
        )
        publish_sitemap(site, ["/", *paths])
        yield site


def _plan(indexer, *words, **environment):
    return indexer("plan", *words, "--json", **environment).ok().json


def test_a_plan_counts_sources_paths_exclusions_and_duplicates_and_writes_nothing(indexer, shop, tmp_path):
    more = shop.url("/extra.xml")
    shop.page(
        "/extra.xml",
        f"{shop.url('/')}\n{shop.url('/catalogue/item-1')}\n{shop.url('/new/page')}\n",
        content_type="text/plain",
    )
    before = _tree(tmp_path)
    plan = _plan(
        indexer,
        *sources(shop),
        "--sitemap-url",
        more,
        "--urls",
        shop.url("/blog/2023/post"),
        "--exclude",
        "/new/",
    )
    assert _tree(tmp_path) == before
    assert plan["sources"] == [
        {"source": "list", "found": 1, "new": 1, "duplicates": 0},
        {"source": f"sitemap:{shop.url('/sitemap.xml')}", "found": 20, "new": 19, "duplicates": 1},
        {"source": f"sitemap:{more}", "found": 3, "new": 1, "duplicates": 2},
    ]
    left = {one["reason"]: (one["urls"], one["examples"]) for one in plan["left"]}
    assert left == {
        "robots": (1, [shop.url("/admin/one")]),
        "out-of-scope": (1, [shop.url("/new/page")]),
    }
    assert (plan["found"], plan["asked"], plan["known"], plan["conditional"]) == (21, 19, 0, 0)
    assert plan["paths"] == {"/catalogue/": 12, "/blog/": 6, "/": 1}
    assert "/admin/one" not in shop.paths()
    assert plan["sample"]["asked"] == plan["sample"]["pages"] == 8
    assert (
        len([path for path in shop.paths() if path.startswith(("/catalogue", "/blog")) or path == "/"]) == 8
    )


def test_the_estimates_come_near_to_what_a_run_does_and_the_sample_is_the_same_each_time(indexer, shop):
    words = [*sources(shop), "--sample", "5"]
    shop.reset()
    plan = _plan(indexer, *words)
    asked = sorted(shop.paths())
    shop.reset()
    assert _plan(indexer, *words)["estimate"]["tokens"] == plan["estimate"]["tokens"]
    assert sorted(shop.paths()) == asked
    guess = plan["estimate"]
    assert guess["fetch_seconds"] >= 3.8, "Crawl-delay counts"
    report = indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json
    assert guess["pages"] == report["indexed"] == 19
    assert guess["chunks"] == pytest.approx(report["chunks"], rel=0.2)
    assert guess["tokens"] == guess["tokens_owed"] > 0


def test_for_an_existing_project_stored_pages_and_vectors_count_and_its_pages_are_not_fetched(
    indexer, shop, tmp_path
):
    shop.page("/robots.txt", "User-agent: *\nAllow: /\n", content_type="text/plain")
    indexer("init-project", "--name", "p", *sources(shop)).ok()
    shop.reset()
    before = _tree(tmp_path)
    plan = _plan(indexer, "--project-name", "p")
    after = _tree(tmp_path)
    assert {path: content for path, (_, content) in after.items()} == {p: c for p, (_, c) in before.items()}
    assert set(shop.paths()) == {"/robots.txt", "/sitemap.xml"}
    assert (plan["found"], plan["known"], plan["conditional"]) == (20, 20, 20)
    assert plan["sample"]["stored"] == 20
    assert plan["estimate"]["tokens_owed"] == 0
    assert plan["estimate"]["tokens"] > 0
    page = plan["estimate"]["tokens_per_page"]
    publish_sitemap(shop, ["/", *(f"/fresh/{n}" for n in range(10))])
    more = _plan(indexer, "--project-name", "p")
    assert (more["found"], more["known"]) == (30, 20)
    assert more["estimate"]["tokens_owed"] == pytest.approx(10 * page, abs=10)
    assert {one["source"]: one["new"] for one in more["sources"]}["earlier runs"] == 19
    other = _plan(indexer, "--project-name", "p", INDEXER_CHUNK__MAX_CHARS="400")
    assert other["estimate"]["tokens_owed"] > 0, "a changed chunker is paid for"
    indexer("seed", "--project-name", "p").fails(3)
    assert _plan(indexer, "--project-name", "p")["known"] == 20


def test_prices_give_money_and_a_model_without_a_price_or_key_is_said_to_have_none(indexer, shop, tmp_path):
    (tmp_path / "indexer.toml").write_text(
        "[models]\nembedding = ['srv/embed']\nextract = ['srv/chat']\n"
        "[providers.srv]\nbase_url = 'http://127.0.0.1:9/v1'\napi_key_env = ['NO_KEY']\n"
        "[prices]\n'srv/embed' = 1000.0\n"
    )
    before = _tree(tmp_path)
    plan = _plan(indexer, *sources(shop), "--sample", "3")
    assert _tree(tmp_path) == before
    embedding, chat = plan["costs"]
    assert embedding["cost"] == pytest.approx(plan["estimate"]["tokens_owed"] / 1000)
    assert (chat["model"], chat["per_million"], chat["cost"]) == ("srv/chat", None, None)
    assert plan["estimate"]["chat_calls"] == 19
    assert plan["estimate"]["chat_tokens"] > 19 * 300
    assert any("NO_KEY" in note for note in plan["notes"]), "a run would stop"
    told = indexer("plan", *sources(shop), "--sample", "3").ok()
    assert "no price known for srv/chat" in told.out
    assert "~" in told.out
    assert "19 calls" in told.out
    without = _plan(indexer, *sources(shop), "--sample", "3", "--no-llm-chunk")
    assert without["estimate"]["chat_calls"] == 0
    assert len(without["costs"]) == 1


def test_limits_that_would_cut_are_said_and_a_sample_of_none_estimates_nothing(indexer, shop):
    shop.reset()
    plan = _plan(indexer, *sources(shop), "--max-pages", "5", "--sample", "0")
    assert set(shop.paths()) == {"/robots.txt", "/sitemap.xml"}
    assert (plan["found"], plan["asked"]) == (20, 5)
    assert {one["reason"]: one["urls"] for one in plan["left"]} == {"limit": 14, "robots": 1}
    assert plan["estimate"]["pages"] is None
    assert plan["costs"][0]["cost"] is None
    told = indexer("plan", *sources(shop), "--max-pages", "5", "--sample", "0").ok().out
    assert "--max-pages 5" in told
    assert "not estimated" in told


def test_a_crawl_is_planned_by_its_sitemap_and_says_that_links_are_not_followed(indexer):
    with Site({"/": html("A", '<p>Главная страница сайта.</p><a href="/b">b</a><a href="/c">c</a>')}) as site:
        site.page("/sitemap.xml", f"{site.url('/b')}\n", content_type="text/plain")
        site.page("/b", html("B", "<p>Вторая страница сайта.</p>"))
        words = ["--crawl", site.url("/"), "--allow-private", site.host, "--delay", "0"]
        plan = _plan(indexer, *words)
        assert plan["follows_links"] is True
        assert (plan["found"], plan["sample"]["new_links"]) == (2, 1)
        assert "links are followed by a run" in indexer("plan", *words).ok().out
        assert "/c" not in site.paths()


def test_a_plan_keeps_to_robots_and_the_delay_and_pages_that_fail_are_counted(indexer, shop):
    shop.fault("/catalogue/item-3", "status", times=None, status=500)
    listed = ",".join(shop.url(path) for path in ("/catalogue/item-3", "/admin/one", "/missing", "/"))
    shop.reset()
    plan = _plan(indexer, "--urls", listed, "--allow-private", shop.host, "--delay", "0.1", "--retries", "0")
    assert plan["sample"]["others"] == {"http-5xx": 1, "not-found": 1}
    assert (plan["sample"]["asked"], plan["sample"]["pages"], plan["estimate"]["pages"]) == (3, 1, 1)
    times = sorted(request.time for request in shop.log if request.path != "/robots.txt")
    assert times[-1] - times[0] > 0.3, "Crawl-delay, not --delay"


def test_a_plan_for_nothing_or_for_nobody_is_refused_and_writes_nothing(indexer, tmp_path):
    indexer("plan").fails(2, "--sitemap-url")
    indexer("plan", "--project-name", "p").fails(2, "'p'")
    assert list(tmp_path.iterdir()) == []
    indexer("init-project", "--name", "p").ok()
    indexer("plan", "--project-name", "q").fails(2, "'q'", "p")
    indexer("plan", "--project-name", "p").fails(2, "nothing to plan")
