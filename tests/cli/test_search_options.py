"""`search` and `eval` as a person tunes them: explained, fused in another way."""

from __future__ import annotations

import json

import pytest

from tests.support.rerank_api import RerankApi
from tests.support.shop import html, open_shop, sources


@pytest.fixture
def shop():
    with open_shop() as site:
        yield site


def test_a_search_explains_itself_and_fuses_as_it_is_told(indexer, shop, tmp_path):
    indexer("init-project", "--name", "p", *sources(shop)).ok()
    ask = ("search", "--project-name", "p", "--limit", "2")
    question = "цена замены масла"

    first = indexer(*ask, "--explain", "--json", question).ok().json[0]
    assert first["score"] == pytest.approx(
        sum(first[leg]["normalised"] * first[leg]["weight"] for leg in ("dense", "bm25"))
    )
    told = {match["term"]: match for match in first["bm25"]["matches"]}
    assert told["масл"]["asked"] == ["масла"]
    assert sum(match["score"] for match in told.values()) == pytest.approx(first["bm25"]["score"], abs=1e-4)
    text = indexer(*ask, "--explain", question).ok().out
    for word in ("normalised", "weight", "dense", "bm25", "in the question", "масл", "замены", "Замена"):
        assert word in text

    rrf = indexer(*ask, "--fusion", "rrf", "--json", question).ok().json[0]
    assert rrf["score"] == pytest.approx(2 / 61)
    indexer("set", "--project-name", "p", "search.fusion", "weighted").ok()
    indexer("set", "--project-name", "p", "search.dense_weight", "0.25").ok()
    weighted = indexer(*ask, "--json", question).ok().json[0]
    assert (weighted["dense"]["weight"], weighted["bm25"]["weight"]) == (0.25, 0.75)
    indexer("set", "--project-name", "p", "search.fusion", "sum").fails(2, "fusion", "sum")

    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"question": question, "relevant": [shop.url("/prices")]}), "utf-8")
    report = tmp_path / "r.json"
    evaluate = ("eval", "--project-name", "p", "--questions", str(questions))
    found = indexer(*evaluate, "--report", str(report), "--json").ok().json
    assert [one.get("fusion") for one in found] == ["weighted", None, None]
    compared = indexer(*evaluate, "--fusion", "rrf", "--compare", str(report)).ok().out
    assert "hybrid, rrf" in compared
    line = {
        "question": question,
        "relevant": [shop.url("/prices")],
        "dataset": "of a name longer than a column",
    }
    questions.write_text(json.dumps(line), "utf-8")
    table = [row for row in indexer(*evaluate).ok().out.splitlines() if row.strip()]
    assert any(line["dataset"] in row for row in table)
    assert len({len(row) for row in table}) == 1, "columns stand below each other"
    assert "hybrid ndcg@10" in compared


def _translated(title, body, language, links):
    head = "".join(f'<link rel="alternate" hreflang="{code}" href="{path}">' for code, path in links.items())
    return html(title, body, language).replace("</head>", f"{head}</head>")


def test_a_page_in_two_languages_comes_once_in_the_askers(indexer):
    """Its twin is dropped, gives up its place, and costs no embedding; a link of one side is none."""
    ru, en = (
        "<p>Доставка по городу стоит 700 рублей.</p>",
        "<p>Delivery within the town costs 700 roubles.</p>",
    )
    both = {"ru": "/dostavka", "en": "/en/delivery"}
    with open_shop(
        {"/dostavka": ("Доставка", ru), "/en/delivery": ("Delivery", en), "/x": ("Иное", ru + "<p>!</p>")}
    ) as site:
        built = indexer("init-project", "--name", "p", "--language", "ru", *sources(site), "--json").ok().json

        def asked(question, *more):
            hits = indexer("search", "--project-name", "p", "--json", *more, question).ok().json
            return [hit["url"].removeprefix(site.url("")) for hit in hits]

        assert set(asked("сколько стоит доставка")) == {"/dostavka", "/en/delivery", "/x"}

        site.page("/dostavka", _translated("Доставка", ru, "ru", both))
        site.page("/en/delivery", _translated("Delivery", en, "en", both))
        site.page("/x", _translated("Иное", ru + "<p>!</p>", "ru", {"en": "/en/delivery"}))
        changed = indexer("reindex", "--project-name", "p", "--json").ok().json
        assert (changed["embedded"], changed["points"]) == (0, built["points"])
        assert changed["generation"] != built["generation"]

        assert set(asked("сколько стоит доставка")) == {"/dostavka", "/x"}
        assert set(asked("how much is delivery")) == {"/en/delivery", "/x"}
        assert set(asked("700", "--language", "en")) == {"/en/delivery", "/x"}
        hits = (
            indexer("search", "--project-name", "p", "--json", "--language", "en", "стоит доставка по городу")
            .ok()
            .json
        )
        context = indexer("context", "--project-name", "p", "--json", "сколько стоит доставка").ok().out
        assert "/dostavka" in context
        assert "/en/delivery" not in context
        questions = indexer.folder / "q.jsonl"
        questions.write_text(
            json.dumps({"question": "delivery", "relevant": [site.url("/dostavka")]}), "utf-8"
        )
        figures = indexer("eval", "--project-name", "p", "--questions", str(questions), "--json").ok().json
        assert figures[0]["recall@5"] == 1, "a page that is named as relevant is looked for as it is"
        moved = next(hit for hit in hits if hit["url"].endswith("/en/delivery"))
        assert moved["instead_of"] == site.url("/dostavka")
        assert moved["translation_group"]
        assert (
            indexer("reindex", "--project-name", "p", "--json").ok().json["generation"]
            == changed["generation"]
        )


def test_translations_that_only_the_sitemap_names_come_once_too(indexer):
    """As those that pages name; what the sitemap no longer says is forgotten, and nothing is embedded anew."""
    ru, en = "<p>Прокат лодок стоит 900 рублей.</p>", "<p>Boats are let for 900 roubles.</p>"
    pages = {"/prokat": ("Прокат", ru), "/en/boats": ("Boats", en), "/en/one": ("Other", en + "<p>!</p>")}
    with open_shop(pages) as site:

        def linked(own, **others):
            links = "".join(
                f'<xhtml:link rel="alternate" hreflang="{code}" href="{site.url(path)}"/>'
                for code, path in others.items()
            )
            return f"<url><loc>{site.url(own)}</loc>{links}</url>"

        def publish(*entries):
            names = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
            body = f"<urlset {names}>{''.join(entries)}</urlset>"
            site.page("/sitemap.xml", body, content_type="application/xml")

        def asked(question):
            hits = indexer("search", "--project-name", "p", "--json", question).ok().json
            return {hit["url"].removeprefix(site.url("")) for hit in hits}

        both = {"ru": "/prokat", "en": "/en/boats"}
        one_sided = linked("/en/one", ru="/prokat")
        publish(linked("/prokat", **both), linked("/en/boats", **both), one_sided)
        built = indexer("init-project", "--name", "p", "--language", "ru", *sources(site), "--json").ok().json
        assert asked("сколько стоит прокат лодок") == {"/prokat", "/en/one"}
        assert asked("how much are the boats") == {"/en/boats", "/en/one"}
        again = indexer("reindex", "--project-name", "p", "--json").ok().json
        assert again["generation"] == built["generation"]

        publish(linked("/prokat"), linked("/en/boats"), one_sided)
        changed = indexer("reindex", "--project-name", "p", "--json").ok().json
        assert (changed["embedded"], changed["points"]) == (0, built["points"])
        assert asked("сколько стоит прокат лодок") == set(pages)


def test_chunks_of_one_page_are_grouped(indexer):
    """The best one stands for its page, the others under it, as often as it is set."""
    parts = "".join(
        f"<h2>Гарантия, часть {n}</h2><p>{'Гарантия на ремонт дверей. ' * 50}{n}</p>" for n in range(4)
    )
    with open_shop({"/g": ("Гарантия", parts), "/o": ("Окна", "<p>Окна без гарантии.</p>")}) as site:
        indexer("init-project", "--name", "p", *sources(site)).ok()
    ask = ("search", "--project-name", "p", "--mode", "bm25", "--limit", "3")
    hits = indexer(*ask, "--group", "--json", "гарантия").ok().json
    assert len(hits) == 2
    page = next(hit for hit in hits if hit["url"].endswith("/g"))
    assert len(page["others"]) >= 2
    scores = [hit["score"] for hit in [page, *page["others"]]]
    assert scores == sorted(scores, reverse=True)
    assert {other["url"] for other in page["others"]} == {page["url"]}
    assert "   + " in indexer(*ask, "--group", "гарантия").ok().out

    indexer("set", "--project-name", "p", "search.group", "true").ok()
    indexer("set", "--project-name", "p", "search.group_size", "2").ok()
    assert [
        len(hit["others"])
        for hit in indexer(*ask, "--json", "гарантия").ok().json
        if hit["url"].endswith("/g")
    ] == [1]
    assert all(not hit["others"] for hit in indexer(*ask, "--no-group", "--json", "гарантия").ok().json)


def test_a_reranker_orders_hits_and_its_failure_is_a_warning(indexer, shop, tmp_path):
    """The asker gets the order of search then; an evaluation says that it failed."""
    indexer("init-project", "--name", "p", *sources(shop)).ok()
    question = "садовая дом"
    ask = ("search", "--project-name", "p", "--json")
    plain = indexer(*ask, question).ok().json
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"question": question, "relevant": [shop.url("/contacts")]}), "utf-8")
    evaluate = ("eval", "--project-name", "p", "--questions", str(questions), "--json")
    with RerankApi() as api:

        def server(mode):
            return {
                "INDEXER_SEARCH__RERANK": "r/m",
                "INDEXER_PROVIDERS__R__BASE_URL": f'"{api.url(mode)}"',
                "INDEXER_PROVIDERS__R__API_KEY_ENV": '["RERANK_KEY"]',
                "RERANK_KEY": "good-key-of-mine",
            }

        hits = indexer(*ask, "садовая", **server("ok")).ok().json
        assert hits[0]["url"] == shop.url("/contacts")
        assert [hit["rerank"] for hit in hits] == sorted((hit["rerank"] for hit in hits), reverse=True)
        assert api.keys[-1] == "good-key-of-mine"
        modes = indexer(*evaluate, **server("ok")).ok().json
        assert [one["mode"] for one in modes] == ["hybrid", "dense", "bm25", "rerank"]

        asked = len(api.asked)
        assert indexer(*ask, "--no-rerank", question, **server("ok")).ok().json == plain
        assert len(api.asked) == asked
        failed = indexer(*ask, question, **server("range")).ok()
        assert failed.json == plain
        assert "r/m gave no order" in failed.err
        assert "good-key" not in failed.err
        unset = {**server("ok"), "RERANK_KEY": ""}
        indexer(*ask, question, **unset).fails(2, "no key")
        assert indexer(*ask, "--no-rerank", question, **unset).ok().json == plain
        indexer(*evaluate, **server("range")).fails(1, "r/m gave no order")

        context = ("context", "--project-name", "p", "--json")
        search_order = indexer(*context, question).ok().json
        asked = len(api.asked)
        indexer(*context, "садовая", **server("ok")).ok()
        assert len(api.asked) > asked
        assert {one["query"] for one in api.asked[asked:]} == {"садовая"}
        failed = indexer(*context, question, **server("down")).ok()
        assert failed.json == search_order
        assert "r/m gave no order" in failed.err
        assert "HTTP 500" in failed.err
        indexer(*context, question, **unset).fails(2, "no key")
        assert indexer(*context, "--no-rerank", question, **unset).ok().json == search_order
