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


def test_a_removed_dataset_leaves_with_its_pages_and_does_not_come_back(indexer, marina, tmp_path):
    """Its rank holds while its points are live; found again, it is left out; named again, by any name, it is back."""
    _init(indexer, marina, "--datasets", _file(tmp_path, marina)).ok()
    seed = ("seed", "--project-name", "marina", "--no-register", "--json")
    remove = ("remove-dataset", "--project-name", "marina")

    def paths():
        hits = indexer("search", "--project-name", "marina", "стоянка катера", "--json").ok().json
        return {hit["url"].partition(marina.host)[2] for hit in hits}

    indexer(*remove, "nonsense", "--yes").fails(2, "nonsense", "archive", "tariffs")
    told = indexer(*remove, "archive", "--yes", "--json").ok().json
    assert (told["dataset"], told["pages"], told["sources"]) == ("archive", 1, [])
    assert "/archive/moorings.html" in paths(), "the live index is as it was"
    context = ("context", "--project-name", "marina", "сколько стоила стоянка катера", "--json")
    assert "archive" not in {one["dataset"] for one in indexer(*context).ok().json["fragments"]}
    indexer(*remove, "archive", "--yes").fails(2, "has no dataset 'archive'")

    published = indexer("publish", "--project-name", "marina", "--no-register", "--json").ok().json
    assert published["skipped"] == 1
    assert paths() == {"/tariffs/moorings.html", "/about.html"}
    again = indexer(*seed).ok().json
    assert (again["generation"], again["embedded"]) == (published["generation"], 0)
    assert {
        one["dataset"]
        for one in indexer("status", "--project-name", "marina", "--json").ok().json["datasets"]
    } == {"tariffs", ""}
    told = indexer("explain", marina.url("/archive/moorings.html"), "--project-name", "marina").ok().out
    assert "'archive' was removed" in told
    indexer("doctor", "marina", "--offline").ok()

    other = json.dumps([{"dataset": "history", "url_prefix": "/archive/"}])
    (tmp_path / "other.json").write_text(other, encoding="utf-8")
    indexer(*seed, "--datasets", str(tmp_path / "other.json")).ok()
    assert "/archive/moorings.html" in paths(), "it is no more the removed one's"
    indexer("remove-dataset", "--project-name", "marina", "history", "--yes").ok()
    indexer(*seed, "--datasets", _file(tmp_path, marina)).ok()
    assert "/archive/moorings.html" in paths()


def test_the_removal_of_a_large_dataset_passes_the_gates(indexer, tmp_path):
    """A sitemap that lists only its pages goes with it; its loss is refused until a person allows it."""
    pages = {f"/old/{n}.html": (f"Статья {n}", f"<p>Правило номер {n} о лодке {n}.</p>") for n in range(9)}
    pages |= {"/new.html": ("Новое", "<p>Новые правила о яхтах.</p>")}
    with open_shop(pages) as site:
        options = ("--allow-private", site.host, "--delay", "0", "--no-register")
        indexer("init-project", "--name", "marina", "--urls", site.url("/new.html"), *options).ok()
        urls = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in pages if path != "/new.html")
        xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        site.page("/old.xml", xml, content_type="application/xml")
        old = ("--sitemap-url", site.url("/old.xml"), "--dataset", "old", "--layer", "norm")
        indexer("seed", "--project-name", "marina", "--no-register", *old).ok()
        told = indexer("remove-dataset", "--project-name", "marina", "old", "--yes", "--json").ok().json
        assert (told["pages"], told["sources"]) == (9, [site.url("/old.xml")])
        seed = ("seed", "--project-name", "marina", "--no-register")
        assert indexer(*seed).code == 4
        hits = indexer("search", "--project-name", "marina", "правило", "--json").ok().json
        assert len(hits) == 10
        indexer(*seed, "--allow-shrink").ok()
        hits = indexer("search", "--project-name", "marina", "правило", "--json").ok().json
        assert {hit["url"] for hit in hits} == {site.url("/new.html")}


def test_the_start_page_of_a_removed_dataset_is_not_crawled_any_more(indexer, tmp_path):
    """Its host has no other page, so that nothing else is lost with it."""
    pages = {"/docs/index.html": ("Правила", "<p>Правила стоянки катера.</p><a href='more.html'>ещё</a>")}
    pages |= {"/docs/more.html": ("Ещё", "<p>Ещё о стоянке яхты.</p>")}
    with (
        open_shop({"/new.html": ("Новое", "<p>Новые правила о яхтах.</p>")}) as site,
        open_shop(pages) as old,
    ):
        local = (
            *(word for host in (site.host, old.host) for word in ("--allow-private", host)),
            "--delay",
            "0",
        )
        indexer(
            "init-project", "--name", "marina", "--urls", site.url("/new.html"), "--no-register", *local
        ).ok()
        crawl = ("seed", "--project-name", "marina", "--no-register", "--crawl", old.url("/docs/index.html"))
        indexer(*crawl, "--dataset", "docs").ok()
        told = indexer("remove-dataset", "--project-name", "marina", "docs", "--yes", "--json").ok().json
        assert (told["pages"], told["sources"]) == (2, [old.url("/docs/index.html")])
        before = len(old.log)
        indexer("seed", "--project-name", "marina", "--no-register", "--allow-shrink").ok()
        assert len(old.log) == before


def test_a_sitemap_index_labels_the_pages_of_the_sitemaps_that_it_lists(indexer, marina):
    """A page is found in one of them; the dataset is that of the index, which goes with it."""
    names = "".join(f"<sitemap><loc>{marina.url(f'/map{n}.xml')}</loc></sitemap>" for n in range(2))
    marina.page("/maps.xml", f"<sitemapindex>{names}</sitemapindex>", content_type="application/xml")
    for n, path in enumerate(("/tariffs/moorings.html", "/about.html")):
        xml = f"<urlset><url><loc>{marina.url(path)}</loc></url></urlset>"
        marina.page(f"/map{n}.xml", xml, content_type="application/xml")
    options = ("--allow-private", marina.host, "--delay", "0", "--no-register")
    words = ("--sitemap-url", marina.url("/maps.xml"), "--dataset", "all", "--layer", "norm")
    indexer("init-project", "--name", "marina", *options, *words).ok()
    status = indexer("status", "--project-name", "marina", "--json").ok().json
    assert status["datasets"] == [{"dataset": "all", "layer": "norm", "pages": 2}]
    told = indexer("remove-dataset", "--project-name", "marina", "all", "--yes", "--json").ok().json
    assert (told["pages"], told["sources"]) == (2, [marina.url("/maps.xml")])
