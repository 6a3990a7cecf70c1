"""`reindex`: nothing moves but what changed; a site that is down, emptied or redesigned empties no bot."""

from __future__ import annotations

import json

import pytest

from indexer.adapters.edge import EdgeStore
from indexer.adapters.locks import project_lock
from indexer.records import Where
from tests.support.model_api import ModelApi
from tests.support.shop import html, open_shop, publish_sitemap, sources

WORDS = "Мастер принимает заказ, называет срок и стоимость, выдаёт квитанцию и гарантийный талон. "
PAGES = {
    f"/uslugi/{name}": (
        name.title(),
        f"<p>Услуга «{name}»: работа стоит {price} рублей. {WORDS}</p><p>{name.title()}: {WORDS * 3}</p>",
    )
    for name, price in zip(
        ("shinomontazh", "razval", "maslo", "moyka", "okraska", "polirovka", "tormoza", "akkumulyator"),
        range(1100, 1900, 100),
        strict=True,
    )
}
FIRST, *OTHERS = PAGES


@pytest.fixture
def site():
    with open_shop(PAGES) as site:
        publish_sitemap(site, list(PAGES))
        yield site


@pytest.fixture
def project(indexer, site):
    """An indexed project `p`; its prices are what is asked for."""
    return indexer("init-project", "--name", "p", *sources(site), "--json").ok().json


def _hits(indexer, question="работа стоит рублей"):
    found = indexer("search", "--project-name", "p", "--mode", "bm25", "--limit", "50", "--json", question)
    return {(hit["url"], hit["text"]) for hit in found.ok().json}


def _reindex(indexer, *words):
    return indexer("reindex", "--project-name", "p", "--retries", "0", "--json", *words)


def test_new_changed_moved_and_gone_pages_are_told_and_nothing_else_moves(indexer, site, project):
    title, body = PAGES[FIRST]
    site.page(FIRST, html(title, body.replace("1100", "1150")))
    site.page("/uslugi/novaya", html("Новая", "<p>Новая услуга: замена стёкол, 4000 рублей.</p>"))
    site.page("/tseny/razval", html(*PAGES[OTHERS[0]]))
    site.page(OTHERS[0], status=404)
    site.page(OTHERS[1], status=410)
    publish_sitemap(site, [FIRST, *OTHERS[2:], "/uslugi/novaya", "/tseny/razval"])
    report = _reindex(indexer).ok().json
    figures = {name: report[name] for name in ("new", "changed", "moved", "gone", "exit")}
    assert figures == {"new": 2, "changed": 1, "moved": 1, "gone": 1, "exit": 0}
    assert report["embedded"] == 2, "the changed paragraph and the new page; the moved one costs nothing"
    assert report["generation"] != project["generation"]
    rows = {row["url"]: row for row in indexer("export", "--project-name", "p").lines}
    assert rows[site.url(OTHERS[0])]["moved_to"] == site.url("/tseny/razval")
    assert (rows[site.url(OTHERS[1])]["status"], rows[site.url(OTHERS[1])]["reason"]) == ("skipped", "gone")
    urls = {url for url, _ in _hits(indexer)}
    assert site.url(OTHERS[0]) not in urls
    assert site.url("/tseny/razval") in urls
    again = _reindex(indexer).ok().json
    assert (again["generation"], again["embedded"], again["fetched"]) == (report["generation"], 0, 0)
    assert not any(again[name] for name in ("new", "changed", "moved", "gone"))


def test_a_large_index_is_cloned_and_holds_what_one_that_was_built_anew_holds(indexer, site, project):
    indexer.env["INDEXER_INDEX__CLONE_FROM"] = "1"
    title, body = PAGES[FIRST]
    site.page(FIRST, html(title, body.replace("1100", "1150")))
    site.page(OTHERS[0], status=410)
    publish_sitemap(site, [FIRST, *OTHERS[1:]])
    _reindex(indexer, "--allow-shrink").ok()
    cloned, hits = _live(indexer), _hits(indexer)
    assert cloned.clones == 0, "a quarter of the pages has changed: sooner built anew"
    site.page(FIRST, html(title, body.replace("1100", "1170")))
    _reindex(indexer).ok()
    cloned, hits = _live(indexer), _hits(indexer)
    assert (cloned.clones, cloned.points) == (1, _count(indexer))
    assert any("1170" in text for _, text in hits)
    assert not any("1150" in text for _, text in hits)
    indexer("seed", "--project-name", "p", "--from-phase", "index", "--force", "--json").ok()
    built = _live(indexer)
    assert (built.clones, built.points, built.terms) == (0, cloned.points, cloned.terms)
    assert _hits(indexer) == hits
    indexer("rollback", "--project-name", "p", "--json").ok()
    assert (_live(indexer).generation, _hits(indexer)) == (cloned.generation, hits)


def _live(indexer):
    return EdgeStore(indexer.projects / "p" / "vectors", collection="p").current()


def _count(indexer):
    reader = EdgeStore(indexer.projects / "p" / "vectors", collection="p").reader()
    try:
        return reader.count()
    finally:
        reader.close()


def _down(site):
    site.fault("*", "status", status=503)


def _robots(site):
    site.page("/robots.txt", "down", status=503)


def _empty_sitemap(site):
    publish_sitemap(site, [])


def _login(site):
    for path in PAGES:
        site.page(path, status=302, headers={"Location": "/login"})
    site.page("/login", html("Вход", "<form><input name=user><input type=password></form>"))


def _maintenance(site):
    for path in PAGES:
        site.page(path, html("Технические работы", f"<p>Сайт скоро вернётся. {WORDS}</p>"))


def _emptied(site):
    for path, (title, body) in PAGES.items():
        site.page(path, html(title, body.partition("<p>")[2].partition("</p>")[0][:90]))


def _not_found(site):
    for path in PAGES:
        site.page(path, status=404)


def _gone(site):
    for path in OTHERS:
        site.page(path, status=410)


@pytest.mark.parametrize(
    ("disaster", "code", "words"),
    [
        (_down, 1, "run again when the site answers"), (_robots, 1, "Nothing was changed"),
        (_empty_sitemap, 4, "Nothing was changed"), (_login, 3, ""), (_maintenance, 4, "one and the same text"),
        (_emptied, 4, "of their text"), (_not_found, 3, ""), (_gone, 4, "7 of 8 pages"),
    ],
)  # fmt: skip
def test_a_disaster_of_the_site_leaves_the_index_as_it_was(indexer, site, project, disaster, code, words):
    before = _hits(indexer)
    assert len(before) >= len(PAGES)
    disaster(site)
    for _ in range(2):
        done = _reindex(indexer)
        assert (done.code, words in done.err) == (code, True), done.err
        assert _hits(indexer) == before
    status = indexer("status", "--project-name", "p", "--json").ok().json
    assert status["generation"] == project["generation"]
    site.mend()
    for path, (title, body) in PAGES.items():
        site.page(path, html(title, body))
    site.page("/robots.txt", "User-agent: *\nAllow: /\n", content_type="text/plain")
    publish_sitemap(site, list(PAGES))
    healed = _reindex(indexer).ok().json
    assert (healed["indexed"], healed["kept"], healed["embedded"]) == (len(PAGES), 0, 0)
    assert _hits(indexer) == before


def test_pages_of_an_emptied_template_are_held_back_and_the_others_published(indexer, site, tmp_path):
    shops = {f"/adresa/{n}": (f"Салон {n}", f"<p>Адрес салона {n}: улица {n}. {WORDS}</p>") for n in range(4)}
    for path, (title, body) in shops.items():
        site.page(path, html(title, body))
    publish_sitemap(site, [*PAGES, *shops])
    indexer("init-project", "--name", "p", *sources(site)).ok()
    _emptied(site)
    site.page("/adresa/1", html("Салон 1", f"<p>Новый адрес салона: проспект. {WORDS}</p>"))
    done = _reindex(indexer)
    assert done.code == 4
    assert (done.json["quarantined"], done.json["changed"]) == (len(PAGES), 1)
    rows = {row["url"]: row for row in indexer("export", "--project-name", "p").lines}
    held = rows[site.url(FIRST)]
    assert (held["status"], held["reason"]) == ("indexed", "quarantined")
    assert "1100 рублей" in held["text"]
    assert "проспект" in rows[site.url("/adresa/1")]["text"]
    believed = indexer("seed", "--project-name", "p", "--allow-shrink", "--json").ok().json
    assert (believed["quarantined"], believed["changed"]) == (0, len(PAGES))


def test_a_golden_question_that_is_answered_worse_keeps_the_old_index(indexer, site, project, tmp_path):
    golden = tmp_path / "projects" / "p" / "golden.jsonl"
    question = {"question": "сколько стоит шиномонтаж shinomontazh", "relevant": [site.url(FIRST)]}
    golden.write_text(json.dumps(question) + "\n")
    assert _reindex(indexer).code == 0
    site.page(FIRST, html("Акция", f"<p>Скидки и подарки ждут всех гостей. {WORDS * 3}</p>"))
    site.page(OTHERS[0], html("Shinomontazh", f"<p>Shinomontazh: сколько стоит шиномонтаж. {WORDS * 4}</p>"))
    refused = _reindex(indexer)
    refused.fails(4, "golden questions", "shinomontazh", "--allow-shrink")
    assert indexer("status", "--project-name", "p", "--json").json["generation"] == project["generation"]
    assert _reindex(indexer, "--allow-shrink").ok().json["changed"] == 2


def test_projects_run_side_by_side_and_one_that_fails_fails_alone(indexer, site, project, tmp_path):
    with open_shop() as other:
        indexer("init-project", "--name", "q", *sources(other)).ok()
        other.fault("*", "status", status=503)
        indexer("init-project", "--name", "without-sources").ok()
        done = indexer("reindex", "--all", "--jobs", "2", "--retries", "0", "--json")
        lines = {line["project"]: line for line in done.lines}
        assert done.code == 1
        assert {name: line["exit"] for name, line in lines.items()} == {"p": 0, "q": 1}
        assert lines["p"]["generation"] == project["generation"]
        assert "run again when the site answers" in lines["q"]["error"]
        other.mend()
        with project_lock(tmp_path / "projects" / "p"):
            done = indexer("reindex", "--project-name", "p", "--project-name", "q", "--json")
        assert (done.code, {line["project"]: line["exit"] for line in done.lines}) == (5, {"p": 5, "q": 0})


def test_a_page_that_nothing_names_is_found_flagged(indexer, site, project):
    publish_sitemap(site, OTHERS)
    report = _reindex(indexer).ok().json
    assert (report["stale"], report["indexed"], report["embedded"]) == (1, len(PAGES), 0)
    rows = {row["url"]: row for row in indexer("export", "--project-name", "p").lines}
    assert [url for url, row in rows.items() if "stale" in row] == [site.url(FIRST)]
    assert site.url(FIRST) in {url for url, _ in _hits(indexer)}
    reader = EdgeStore(indexer.projects / "p" / "vectors", collection="p").reader()
    try:
        payloads = reader.payloads(
            reader.select(Where(fields={"url": (site.url(FIRST), site.url(OTHERS[0]))}), 9)
        )
    finally:
        reader.close()
    assert {payload.url: payload.stale for payload in payloads.values()} == {
        site.url(FIRST): True, site.url(OTHERS[0]): False,
    }  # fmt: skip


def test_the_worst_code_stands_for_all():
    from indexer.pipeline.many import worst

    assert [worst(codes) for codes in ([], [0, 3], [3, 5], [5, 4], [4, 2], [2, 1], [1, 130], [-9, 0])] == [
        0, 3, 5, 4, 2, 1, 130, 1,
    ]  # fmt: skip


def test_bad_words_are_refused(indexer, project):
    indexer("reindex").fails(2, "--all")
    indexer("reindex", "--all", "--project-name", "p").fails(2, "--all")
    indexer("reindex", "--project-name", "nosuch").fails(2, "nosuch")
    indexer("init-project", "--name", "bare").ok()
    bare = indexer("reindex", "--project-name", "bare", "--json")
    bare.fails(2, "no sources")
    assert (bare.json["project"], bare.json["exit"]) == ("bare", 2)


def test_options_reach_the_children_as_they_were_typed():
    from indexer.cli.options import CRAWL, DEFAULTS, PHASES, PhaseName
    from indexer.cli.reindex_command import words_of

    crawl = {**dict.fromkeys(CRAWL), "delay": 0.5, "include": ["/a", "/b"], "ignore_robots": False}
    assert words_of(CRAWL, crawl) == [
        "--include", "/a", "--include", "/b", "--delay", "0.5", "--obey-robots",
    ]  # fmt: skip
    phases = {
        **{name: DEFAULTS.get(name) for name in PHASES},
        "until_phase": PhaseName.CHUNK,
        "llm_chunk": False,
    }
    assert words_of(PHASES, phases) == ["--no-llm-chunk", "--until-phase", "chunk"]


def test_a_night_under_another_model_or_dimension_is_refused_before_it_costs_anything(
    indexer, site, tmp_path
):
    with ModelApi() as api:
        for name, mode, model in (("ok", "ok", "m"), ("other", "ok", "n"), ("dim2", "dim2", "m")):
            (tmp_path / f"{name}.toml").write_text(
                f'[models]\nembedding = ["fake/{model}"]\n'
                f'[providers.fake]\nbase_url = "{api.base_url("emb", mode)}"\n'
            )
        first = (
            indexer("init-project", "--name", "p", *sources(site), "--config", "ok.toml", "--json").ok().json
        )
        title, body = PAGES[FIRST]
        site.page(FIRST, html(title, body.replace("1100", "1150")))
        site.reset()
        asked = len(api.calls("emb"))
        told = _reindex(indexer, "--config", "other.toml")
        told.fails(4, "made with m (32 dimensions), not with n", "--new-model", "--force --reason")
        _reindex(indexer).fails(4, "made with m (32 dimensions), not with multilingual-e5-small (384")
        indexer("publish", "--project-name", "p", "--config", "other.toml").fails(4, "not with n")
        assert (site.log, len(api.calls("emb"))) == ([], asked)
        _reindex(indexer, "--config", "dim2.toml").fails(4, "m (32 dimensions), not with m (64 dimensions)")
        assert indexer("status", "--project-name", "p", "--json").json["generation"] == first["generation"]
        runs = indexer("runs", "--project-name", "p", "--json").ok().json
        assert [one["exit"] for one in runs[:4]] == [4, 4, 4, 4]

        found = indexer("search", "--project-name", "p", "--config", "ok.toml", "работа стоит").ok().out
        assert "1100" in found
        assert _reindex(indexer, "--config", "ok.toml").ok().json["changed"] == 1, "the night after"
        asked_for = _reindex(indexer, "--config", "other.toml", "--new-model")
        assert "made anew" in asked_for.ok().err
        indexer("search", "--project-name", "p", "--config", "other.toml", "работа стоит").ok()
        back = ("publish", "--project-name", "p", "--config", "ok.toml", "--force", "--reason", "back")
        indexer(*back).ok()
        indexer("search", "--project-name", "p", "--config", "ok.toml", "работа стоит").ok()
        indexer("reindex", "--all", "--config", "other.toml").fails(4)
        indexer("reindex", "--all", "--config", "other.toml", "--new-model").ok()
