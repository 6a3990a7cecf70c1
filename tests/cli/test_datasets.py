"""Datasets: what a source is, is known from the page to the hit, and costs nothing where there is none."""

import json

import pytest

from tests.support.shop import html, open_shop

LABELS = '<meta name="shop:dataset" content="tariffs"><meta name="shop:status" content="draft">'
PAGES = {
    "/tariffs/moorings.html": (
        "Стоянка",
        "<p>Стоянка катера стоит 900 рублей в сутки, электричество включено.</p>",
    ),
    "/archive/moorings.html": (
        "Стоянка в 2019 году",
        "<p>Стоянка катера стоила 400 рублей в сутки, электричество отдельно.</p>",
    ),
    "/about.html": ("О причале", "<p>Причал «Залив» принимает катера с мая по октябрь.</p>"),
}


@pytest.fixture
def marina():
    with open_shop(PAGES) as site:
        yield site


def _file(tmp_path, site, **more):
    rows = [
        {
            "dataset": "tariffs",
            "layer": "tariff",
            "language": "ru",
            "edition": "2026",
            "status": "in_force",
            "effective_date": "2026-01-01",
            "url_prefix": site.url("/tariffs/"),
            **more,
        },
        {"dataset": "archive", "layer": "archive", "deprecated": True, "url_prefix": "/archive/"},
    ]
    path = tmp_path / "datasets.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return str(path)


def _init(indexer, site, *words):
    source = ("--sitemap-url", site.url("/sitemap.xml"), "--allow-private", site.host, "--delay", "0")
    return indexer("init-project", "--name", "marina", *source, "--no-register", *words)


def test_labels_go_with_the_pages_to_hits_export_explain_and_status(indexer, marina, tmp_path):
    _init(indexer, marina, "--datasets", _file(tmp_path, marina)).ok()

    hits = indexer("search", "--project-name", "marina", "стоянка катера", "--json").ok().json
    labels = {hit["url"].partition(marina.host)[2]: hit for hit in hits}
    now, old = labels["/tariffs/moorings.html"], labels["/archive/moorings.html"]
    assert (now["dataset"], now["layer"], now["edition"]) == ("tariffs", "tariff", "2026")
    assert (now["status"], now["effective_date"], now["deprecated"]) == ("in_force", "2026-01-01", False)
    assert (old["dataset"], old["layer"], old["deprecated"]) == ("archive", "archive", True)
    assert labels["/about.html"]["dataset"] == ""

    rows = indexer("export", "--project-name", "marina").ok().lines
    assert {row.get("dataset", {}).get("layer") for row in rows} == {"tariff", "archive", None}
    told = indexer("explain", marina.url("/tariffs/moorings.html"), "--project-name", "marina").ok().out
    assert "tariffs · tariff · ru · 2026 · in_force" in told
    status = indexer("status", "--project-name", "marina", "--json").ok().json
    assert {one["dataset"]: one["pages"] for one in status["datasets"]} == {"tariffs": 1, "archive": 1, "": 1}


def test_a_page_may_say_more_of_itself_but_not_raise_its_rank(indexer, marina, tmp_path):
    title, body = PAGES["/archive/moorings.html"]
    page = html(title, body).replace(
        "<title>", '<meta name="x:layer" content="tariff"><meta name="x:status" content="kept"><title>'
    )
    marina.page("/archive/moorings.html", page)
    _init(indexer, marina, "--datasets", _file(tmp_path, marina)).ok()
    hits = indexer("search", "--project-name", "marina", "стоянка катера 2019", "--json").ok().json
    (old,) = [hit for hit in hits if "/archive/" in hit["url"]]
    assert (old["layer"], old["status"], old["deprecated"]) == ("archive", "kept", True)


def test_new_labels_ask_the_site_and_the_model_for_nothing(indexer, marina, tmp_path):
    _init(indexer, marina, "--datasets", _file(tmp_path, marina)).ok()
    marina.reset()
    changed = _file(tmp_path, marina, status="repealed")
    told = indexer(
        "seed",
        "--project-name",
        "marina",
        "--datasets",
        changed,
        "--from-phase",
        "chunk",
        "--no-register",
        "--json",
    ).ok()
    assert (told.json["embedded"], marina.paths()) == (0, [])
    hits = indexer("search", "--project-name", "marina", "стоянка катера", "--json").ok().json
    assert "repealed" in {hit["status"] for hit in hits}


def test_single_pages_are_labelled_by_flags(indexer, marina):
    _init(indexer, marina).ok()
    before = indexer("search", "--project-name", "marina", "причал", "--json").ok().json
    again = indexer("seed", "--project-name", "marina", "--no-register", "--json").ok().json
    assert (again["embedded"], again["embed_cached"]) == (0, 0)
    assert {hit["layer"] for hit in before} == {""}
    flags = ("--dataset", "about", "--layer", "faq", "--edition", "I", "--status", "live")
    indexer(
        "add-urls", "--project-name", "marina", "--urls", marina.url("/about.html"), *flags, "--no-register"
    ).ok()
    hits = indexer("search", "--project-name", "marina", "причал", "--json").ok().json
    labels = {(hit["dataset"], hit["layer"], hit["edition"], hit["status"]) for hit in hits}
    assert labels == {("", "", "", ""), ("about", "faq", "I", "live")}


def test_datasets_that_cannot_be_read_are_named(indexer, marina, tmp_path):
    bad = tmp_path / "bad.json"
    for text, word in (
        ('[{"layer": "norm"}]', "entry 1"),
        ('[{"dataset": "a", "colour": 1}]', "colour"),
        ("{", "JSON"),
    ):
        bad.write_text(text, encoding="utf-8")
        _init(indexer, marina, "--datasets", str(bad)).fails(2, word)
    _init(indexer, marina, "--layer", "norm").fails(2, "--dataset")
