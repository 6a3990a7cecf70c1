"""A whole project is scraped: what becomes of every URL, and what the site sees of it."""

import gzip

import pytest

from indexer.artifacts import Sources
from indexer.errors import Misconfigured, Permanent, Retryable
from indexer.ids import url_key
from tests.support.scraping import Project, article, sitemap
from tests.support.web import Reply, Site


@pytest.fixture
def site():
    with Site() as site:
        yield site


@pytest.fixture
def project(tmp_path, site):
    return Project(tmp_path / "project", site)


def _listed(site, *paths, **pages):
    site.page("/sitemap.xml", sitemap(site, *paths), content_type="application/xml")
    for path in paths:
        if path not in site._pages:
            site.page(path, article(f"Страница {path}"))
    return Sources(sitemaps=(site.url("/sitemap.xml"),))


def test_every_listed_url_has_a_row_and_a_reason(project, site):
    sources = _listed(site, "/a", "/missing", "/gone", "/hidden", "/doc.xls", "/b?utm_source=x")
    site.page("/missing", status=404)
    site.page("/gone", status=410)
    site.page("/hidden", article("Скрытая", head='<meta name="robots" content="noindex">'))
    site.page(
        "/sitemap.xml",
        sitemap(site, "/a", "/missing", "/gone", "/hidden", "/doc.xls", "/b?utm_source=x", "/a#x").replace(
            "</urlset>",
            "<url><loc>http://other.example/x</loc></url><url><loc>javascript:1</loc></url></urlset>",
        ),
    )
    site.page("/b", article("Вторая"))
    report = project.scrape(sources)
    assert project.standing() == {
        "/a": "fetched", "/b": "fetched", "/missing": "not-found", "/gone": "gone", "/hidden": "noindex",
        "/doc.xls": "unsupported-type", "http://other.example/x": "out-of-scope", "javascript:1": "bad-url",
    }  # fmt: skip
    assert report.changed == 2
    assert project.rows()["/a"].found_in == (f"sitemap:{site.url('/sitemap.xml')}",)
    assert "/doc.xls" not in site.paths()


def test_a_second_run_asks_conditionally_and_writes_nothing(project, site):
    sources = _listed(site, "/a", "/b", "/hidden")
    site.page("/hidden", article("Скрытая", head='<meta name="robots" content="noindex">'))
    site.page("/robots.txt", "User-agent: *\nDisallow: /x\n", content_type="text/plain")
    project.scrape(sources)
    before, written = (
        project.files(),
        {path: path.stat().st_mtime_ns for path in (project.folder / "1_pages").iterdir()},
    )
    site.reset()
    report = project.scrape(sources)
    assert [request.status for request in site.log] == [304] * 5
    assert (report.fetched, report.changed, report.not_modified) == (0, 0, 3)
    assert project.files() == before
    assert {path: path.stat().st_mtime_ns for path in (project.folder / "1_pages").iterdir()} == written
    assert project.standing() == {"/a": "fetched", "/b": "fetched", "/hidden": "noindex"}


def test_an_answer_with_the_same_body_changes_nothing_although_its_etag_moved(project, site):
    sources = _listed(site, "/a")
    project.scrape(sources)
    before = project.files()
    site.page("/a", article("Страница /a"), headers={"ETag": '"moved"'}, validators=False)
    report = project.scrape(sources)
    assert (report.fetched, report.changed) == (1, 0)
    assert project.files() == before
    assert project.rows()["/a"].etag == '"moved"'


def test_a_changed_page_is_read_again_and_so_is_every_page_when_the_reading_changes(project, site):
    """From the answers that were kept; one that was not is asked for as if it were new."""
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    site.page("/a", article("Новое"))
    assert project.scrape(sources).changed == 1
    assert project.pages()["/a"].title == "Новое"
    before = {path: page.signature for path, page in project.pages().items()}
    site.reset()
    (project.folder / "0_raw" / f"{url_key(site.url('/b'))}.gz").unlink()
    project.scrape(sources, favor_recall=False)
    assert [request.status for request in site.hits("/a")] == [304]
    assert all("if-none-match" not in request.headers for request in site.hits("/b"))
    after = {path: page.signature for path, page in project.pages().items()}
    assert all(after[path] != before[path] for path in ("/a", "/b"))
    site.reset()
    project.scrape(sources, favor_recall=False)
    assert [request.status for request in site.hits("/a") + site.hits("/b")] == [304, 304]


def test_a_missing_or_broken_artifact_is_fetched_again_unconditionally(project, site):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    before = project.files()
    one, other = sorted((project.folder / "1_pages").iterdir())
    one.unlink()
    other.write_bytes(other.read_bytes()[:50])
    report = project.scrape(sources)
    assert report.changed == 2
    assert project.files() == before


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"status": 503}, "http-5xx"), ({"status": 429}, "rate-limited"), ({"status": 401}, "login"), ({"status": 403}, "http-4xx"),
        ({"body": "<title>Вход</title><input type=password>"}, "login"),
        ({"body": "<title>Just a moment...</title>Checking your browser"}, "challenge"), ({"body": ""}, "empty"),
        ({"body": '<div id="app"></div><script></script>'}, "needs-rendering"),
    ],
)  # fmt: skip
def test_a_page_that_cannot_be_had_keeps_its_last_good_version(project, site, broken, reason):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    before = project.files()
    site.page("/a", **{"body": "", **broken})
    report = project.scrape(sources)
    row = project.rows()["/a"]
    assert (row.state, row.reason) == ("fetched", reason)
    assert "last good version" in row.detail
    assert report.kept == 1
    assert project.files() == before
    site.page("/a", article("Страница /a"))
    project.scrape(sources)
    assert project.standing()["/a"] == "fetched"


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        ({"status": 404}, "not-found"), ({"status": 410}, "gone"),
        ({"body": "<title>Страница не найдена</title>Такой страницы не существует"}, "soft-404"),
        ({"body": article("Закрыта", head="<meta name=robots content=noindex>")}, "noindex"), ({"body": "{\\rtf1"}, "unsupported-type"),
    ],
)  # fmt: skip
def test_evidence_takes_a_page_away(project, site, gone, reason):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    site.page("/a", **{"body": "", **gone})
    project.scrape(sources)
    row = project.rows()["/a"]
    assert (row.state, row.reason) == ("skipped", reason)
    assert list(project.pages()) == ["/b"]
    assert len(project.files()) == 1
    project.scrape(sources)
    assert project.rows()["/a"].state == "skipped"


def test_a_page_that_left_the_sitemap_is_looked_at_again(project, site):
    project.scrape(_listed(site, "/a", "/b", "/c"))
    site.page("/c", status=404)
    sources = _listed(site, "/a")
    site.reset()
    project.scrape(sources)
    assert project.standing() == {"/a": "fetched", "/b": "fetched", "/c": "not-found"}
    assert sorted(site.paths()) == ["/a", "/b", "/c", "/c", "/robots.txt", "/sitemap.xml"]  # asked twice


@pytest.mark.parametrize("trouble", ["empty", "down", "html", "gone", "unreachable"])
def test_a_sitemap_that_suddenly_says_nothing_changes_nothing(project, site, trouble):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    before = (project.files(), project.standing())
    site.page("/a", status=404)
    if trouble == "unreachable":
        site.fault("*", "drop")
    else:
        broken = {"empty": sitemap(site), "down": "down", "html": "<html><body>Главная", "gone": "no"}[
            trouble
        ]
        site.page("/sitemap.xml", broken, status={"down": 503, "gone": 404}.get(trouble, 200))
    with pytest.raises((Misconfigured, Retryable), match="Nothing was changed"):
        project.scrape(sources)
    assert (project.files(), project.standing()) == before
    site.mend()
    site.page("/sitemap.xml", sitemap(site, "/b"))
    project.scrape(sources)
    assert project.standing()["/b"] == "fetched"


def test_one_broken_sitemap_among_good_ones_is_a_note(project, site):
    index = "".join(
        f"<sitemap><loc>{site.url(path)}</loc></sitemap>"
        for path in ("/one.xml", "/none.xml", "/two.xml", "/sitemap.xml")
    )
    site.page("/sitemap.xml", f"<sitemapindex>{index}</sitemapindex>")
    site.page("/one.xml", sitemap(site, "/a"))
    site.page("/two.xml", sitemap(site, "/b"))
    for path in ("/a", "/b"):
        site.page(path, article(path))
    report = project.scrape(Sources(sitemaps=(site.url("/sitemap.xml"),)))
    assert project.standing() == {"/a": "fetched", "/b": "fetched"}
    assert any("/none.xml" in note for note in report.notes)
    assert len(site.hits("/sitemap.xml")) == 1


def test_links_are_followed_only_for_crawl_and_within_scope(project, site):
    site.page("/", article("Главная", links=("/a", "http://other.example/x", "/private/x", "/photo.jpg")))
    site.page("/a", article("А", links=("/b", "/")))
    site.page("/b", article("Б", links=("/c",)))
    site.page("/c", article("В"))
    project.scrape(Sources(crawl=(site.url("/"),)), exclude=["/private/"], max_depth=2)
    assert project.standing() == {
        "/": "fetched", "/a": "fetched", "/b": "fetched", "/c": "limit", "/private/x": "out-of-scope", "/photo.jpg": "not-a-page",
    }  # fmt: skip
    assert project.rows()["/b"].found_in == (f"link:{site.url('/a')}",)
    assert project.rows()["/b"].depth == 2
    assert {"/c", "/private/x", "/photo.jpg"}.isdisjoint(site.paths())


def test_a_list_of_urls_is_not_followed(project, site):
    site.page("/a", article("А", links=("/b",)))
    project.scrape(Sources(urls=(site.url("/a"),)))
    assert project.standing() == {"/a": "fetched"}
    assert sorted(site.paths()) == ["/a", "/robots.txt"]


def test_a_crawl_reads_the_sitemaps_that_robots_names_and_obeys_its_rules(project, site):
    site.page(
        "/robots.txt",
        f"User-agent: *\nDisallow: /closed\nSitemap: /maps/one.xml\nSitemap: {site.url('/maps/two.xml')}\n",
    )
    site.page("/maps/one.xml", sitemap(site, "/listed", "/closed/x"))
    site.page("/maps/two.xml", sitemap(site, "/listed"))
    site.page("/", article("Главная"))
    site.page("/listed", article("Из карты"))
    project.scrape(Sources(crawl=(site.url("/"),)))
    assert project.standing() == {"/": "fetched", "/listed": "fetched", "/closed/x": "robots"}
    assert "/closed/x" not in site.paths()
    assert "/sitemap.xml" not in site.paths()


@pytest.mark.parametrize("trouble", ["not-found", "server-error", "empty", "html", "bad-url", "child"])
def test_the_usual_sitemap_is_read_too_where_one_that_robots_names_is_broken(project, site, trouble):
    line = "http://[broken/map.xml" if trouble == "bad-url" else "/maps/two.xml"
    site.page("/robots.txt", f"User-agent: *\nAllow: /\nSitemap: /maps/one.xml\nSitemap: {line}\n")
    site.page("/maps/one.xml", sitemap(site, "/one"))
    site.page("/sitemap.xml", sitemap(site, "/one", "/usual"))
    index = sitemap(site, "/maps/three.xml").replace("url>", "sitemap>").replace("urlset", "sitemapindex")
    answers = {
        "server-error": Reply("no", status=500),
        "empty": Reply(sitemap(site)),
        "html": Reply(article("Такой карты нет")),
        "child": Reply(index),
    }
    if trouble in answers:
        site.route("/maps/two.xml", lambda _: answers[trouble])
    for path in ("/", "/one", "/usual"):
        site.page(path, article(f"Страница {path}"))
    report = project.scrape(Sources(crawl=(site.url("/"),)))
    assert project.standing() == dict.fromkeys(("/", "/one", "/usual"), "fetched")
    assert len(report.notes) == 1
    assert site.paths().count("/sitemap.xml") == 1


def test_the_crawl_delay_lies_between_robots_and_the_first_page_too_and_slows_its_own_host_alone(
    tmp_path, site
):
    with Site() as other:
        project = Project(tmp_path / "two", site, other)
        site.page("/robots.txt", "User-agent: *\nCrawl-delay: 30\n")
        _listed(site, "/slow/1", "/slow/2")
        _listed(other, *(f"/fast/{number}" for number in range(4)))
        named = [host.url(path) for host in (site, other) for path in host._pages if path.count("/") > 1]
        project.scrape(Sources(urls=tuple(named)), max_crawl_delay=1.0)
    times = [request.time for request in site.log]
    assert site.paths()[0] == "/robots.txt"
    assert len(times) == 3
    assert times[1] - times[0] > 0.9
    assert times[2] - times[0] > 1.9
    assert len(other.log) == 5
    assert max(request.time for request in other.log) < times[2]


def test_a_host_that_asks_for_patience_gets_it_and_another_goes_on(tmp_path, site):
    with Site() as other:
        project = Project(tmp_path / "two", site, other)
        _listed(site, "/busy/1", "/busy/2", "/busy/3")
        _listed(other, *(f"/free/{number}" for number in range(4)))
        site.fault("/busy/1", "status", times=1, status=429, headers={"Retry-After": "2"})
        maps = tuple(host.url("/sitemap.xml") for host in (site, other))
        project.scrape(Sources(sitemaps=maps), retries=1, concurrency=1)
    refused, again = site.hits("/busy/1")
    assert again.time - refused.time > 1.9
    assert not [request for request in site.log if refused.time < request.time < again.time - 0.1]
    assert max(request.time for request in other.log) < again.time
    assert set(project.standing().values()) == {"fetched"}


def test_robots_that_are_not_available_keep_us_out_and_delete_nothing(project, site):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    before = project.files()
    site.page("/robots.txt", "no", status=503)
    site.reset()
    with pytest.raises(Retryable, match=r"robots\.txt"):
        project.scrape(sources)
    assert set(site.paths()) == {"/robots.txt"}
    assert project.files() == before
    with pytest.raises(Retryable):
        Project(project.folder.parent / "new", site).scrape(Sources(crawl=(site.url("/"),)))
    assert set(site.paths()) == {"/robots.txt"}


def test_rules_that_now_forbid_a_page_keep_it_until_somebody_decides(project, site):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    site.page("/robots.txt", "User-agent: *\nDisallow: /a\n")
    project.scrape(sources)
    assert project.standing() == {"/a": "robots", "/b": "fetched"}
    assert set(project.pages()) == {"/a", "/b"}


def test_ones_own_site_may_be_read_against_its_robots(project, site):
    sources = _listed(site, "/a")
    site.page("/robots.txt", "User-agent: *\nDisallow: /\nCrawl-delay: 9\n")
    project.scrape(sources, ignore_robots=True)
    assert project.standing() == {"/a": "fetched"}


def test_when_the_time_is_up_what_is_left_waits_for_the_next_run_and_known_pages_stand(project, site):
    sources = _listed(site, *(f"/{number}" for number in range(4)))
    with pytest.raises(Permanent, match="time limit"):
        project.scrape(sources, max_minutes=1e-9)
    project.scrape(sources)
    assert set(project.standing().values()) == {"fetched"}
    before = project.files()
    report = project.scrape(sources, max_minutes=1e-9)
    assert any("time limit" in note for note in report.notes)
    assert set(project.standing().values()) <= {"fetched", "limit"}
    assert (len(project.pages()), project.files()) == (4, before)


def test_a_limit_cuts_off_in_order_and_says_so(project, site):
    sources = _listed(site, *(f"/{number}" for number in range(6)))
    report = project.scrape(sources, max_pages=2)
    assert project.standing() == {
        "/0": "fetched",
        "/1": "fetched",
        "/2": "limit",
        "/3": "limit",
        "/4": "limit",
        "/5": "limit",
    }
    assert report.cut_off == 4
    project.scrape(sources, max_pages=4)
    assert list(project.standing().values()).count("fetched") == 4


def test_redirects_lead_to_one_page_under_its_own_address(project, site):
    for path, status, target in (("/a", 301, "/b"), ("/b", 302, "/c"), ("/d", 308, "/c")):
        site.page(path, status=status, headers={"Location": target})
    site.page("/c", article("Цель"))
    site.page("/m", '<meta http-equiv="refresh" content="0;url=/c"><title>Переезд</title>')
    project.scrape(Sources(urls=tuple(site.url(path) for path in ("/a", "/c", "/d", "/m"))))
    assert project.standing() == {
        "/a": "redirect",
        "/b": "redirect",
        "/c": "fetched",
        "/d": "redirect",
        "/m": "redirect",
    }
    rows = project.rows()
    assert {rows[path].final_url for path in ("/a", "/b", "/d", "/m")} == {site.url("/c")}
    assert rows["/b"].found_in == (f"redirect:{site.url('/a')}",)
    assert all(len(site.hits(path)) == 1 for path in ("/a", "/b", "/c", "/d", "/m"))


def test_what_a_redirect_leads_to_decides(project, site):
    for path, target in (
        ("/to-404", "/404"),
        ("/to-login", "/login"),
        ("/away", "http://other.example/"),
        ("/self", "/self"),
        ("/x", "/y"),
        ("/y", "/x"),
        ("/closed", "/robots-says-no"),
    ):
        site.page(path, status=302, headers={"Location": target})
    site.page("/login", "<title>Вход</title><input type=password>")
    site.page("/ok", article("Живая"))
    site.page("/robots.txt", "User-agent: *\nDisallow: /robots-says-no")
    project.scrape(
        Sources(
            urls=tuple(
                site.url(path) for path in ("/to-404", "/to-login", "/away", "/self", "/x", "/closed", "/ok")
            )
        )
    )
    standing = project.standing()
    assert standing["/to-404"] == "not-found"
    assert standing["/to-login"] == standing["/login"] == "login"
    assert standing["/away"] == "out-of-scope"
    assert standing["/self"] == standing["/x"] == standing["/y"] == "too-many-redirects"
    assert standing["/closed"] == "robots"
    assert len(site.hits("/x")) + len(site.hits("/y")) <= 6


def test_a_circle_that_a_cookie_opens_is_followed(project, site):
    def door(request):
        return Reply(status=302, headers={"Location": "/page", "Set-Cookie": "key=1"})

    def page(request):
        inside = "key=1" in request.headers.get("cookie", "")
        return Reply(article("Внутри")) if inside else Reply(status=302, headers={"Location": "/door"})

    site.route("/door", door)
    site.route("/page", page)
    project.scrape(Sources(urls=(site.url("/page"),)))
    assert project.standing() == {"/page": "fetched", "/door": "redirect"}


def test_a_page_that_moved_is_one_document_under_the_new_address(project, site):
    sources = _listed(site, "/old", "/b")
    project.scrape(sources)
    site.page("/old", status=301, headers={"Location": "/new"})
    site.page("/new", article("Страница /old"))
    project.scrape(sources)
    assert project.standing() == {"/old": "redirect", "/b": "fetched", "/new": "fetched"}
    assert set(project.pages()) == {"/new", "/b"}
    assert len(project.files()) == 2


def test_a_site_that_sends_everybody_to_its_login_loses_nothing(project, site):
    sources = _listed(site, "/a", "/b")
    project.scrape(sources)
    before = project.files()
    for path in ("/a", "/b"):
        site.page(path, status=302, headers={"Location": "/login"})
    site.page("/login", "<title>Вход</title><input type=password>")
    project.scrape(sources)
    assert project.standing() == {"/a": "login", "/b": "login", "/login": "login"}
    assert set(project.pages()) == {"/a", "/b"}
    assert project.files() == before


def test_one_text_is_one_document_whoever_comes_first(project, site):
    text = article("Правила")
    site.page("/", article("Главная", links=("/z", "/deep")))
    site.page("/deep", article("Раздел", links=("/a",)))
    site.page("/a", text)
    site.page("/z", text)
    project.scrape(Sources(crawl=(site.url("/"),)))
    rows = project.rows()
    assert (rows["/z"].state, rows["/a"].reason, rows["/a"].final_url) == (
        "fetched",
        "duplicate",
        site.url("/z"),
    )
    site.page("/z", status=404)
    site.reset()
    project.scrape(Sources(crawl=(site.url("/"),)))
    assert project.standing()["/a"] == "fetched"
    assert [request.status for request in site.hits("/a")] == [304]


def test_a_canonical_link_is_trusted_only_where_the_text_is_the_same(project, site):
    canonical = f'<link rel="canonical" href="{site.url("/art")}">'
    home = f'<link rel="canonical" href="{site.url("/")}">'
    sources = _listed(site, "/art/print", "/art", "/1", "/2", "/", "/lost")
    site.page("/art", article("Статья", head=canonical, links=("/art/print",)))
    site.page("/art/print", article("Статья", head=canonical))
    site.page("/1", article("Услуга один", head=home))
    site.page("/2", article("Услуга два", head=home))
    site.page("/lost", article("Потерянная", head=f'<link rel="canonical" href="{site.url("/nowhere")}">'))
    project.scrape(sources)
    standing = project.standing()
    assert standing.pop("/art/print") == "canonical"
    assert set(standing.values()) == {"fetched"}
    assert project.rows()["/art/print"].final_url == site.url("/art")


def test_local_files_are_read_from_disk_and_only_those_that_were_named(project, site, tmp_path):
    prices = "# Цены\n\nМойка кузова стоит 5000, химчистка салона стоит 32000, запись по телефону."
    (tmp_path / "цены.md").write_text(prices, encoding="utf-8")
    (tmp_path / "page.html").write_text(article("Местная"), encoding="utf-8")
    named = tuple((tmp_path / name).as_uri() for name in ("цены.md", "page.html", "none.txt"))
    site.page(
        "/sitemap.xml",
        f"<urlset><url><loc>{(tmp_path / 'secret.txt').as_uri()}</loc></url><url><loc>{site.url('/a')}</loc></url></urlset>",
    )
    (tmp_path / "secret.txt").write_text("секрет")
    site.page("/a", article("А"))
    project.scrape(Sources(files=named, sitemaps=(site.url("/sitemap.xml"),)))
    standing = project.standing()
    assert [standing[url] for url in named] == ["fetched", "fetched", "not-found"]
    assert standing[(tmp_path / "secret.txt").as_uri()] == "out-of-scope"
    assert project.pages()[named[0]].text == prices
    assert project.pages()[named[0]].language == "ru"
    assert project.scrape(Sources(files=named)).changed == 0
    (tmp_path / "цены.md").write_text("# Цены\n\n" + "Мойка: 5000. " * 200_000, encoding="utf-8")
    project.scrape(Sources(files=named), max_body_mb=1.0)
    assert project.standing()[named[0]] == "too-large"
    assert named[0] in project.pages()


def test_single_urls_can_be_added_without_the_rest(project, site):
    sources = _listed(site, "/a")
    project.scrape(sources)
    site.page("/new", article("Новая", links=("/other",)))
    site.reset()
    project.scrape(Sources(sitemaps=sources.sitemaps, urls=(site.url("/new"),)), only=(site.url("/new"),))
    assert project.standing() == {"/a": "fetched", "/new": "fetched"}
    assert site.paths("GET")[-1] == "/new"
    assert "/a" not in site.paths()


@pytest.mark.parametrize(
    ("pages", "sources", "error", "told"),
    [
        ({}, {"sitemaps": ("example.com/sitemap.xml",)}, Misconfigured, "https://"),
        ({"/": Reply("no", status=404)}, {"urls": ("/",)}, Permanent, "not-found"),
        ({"/": Reply("no", status=503)}, {"urls": ("/",)}, Retryable, "http-5xx"),
        ({"/": Reply("<div id=app></div><script></script>")}, {"urls": ("/",)}, Permanent, "needs-rendering"),
    ],
)
def test_a_project_without_a_single_page_says_why(project, site, pages, sources, error, told):
    for path, reply in pages.items():
        site.route(path, lambda request, reply=reply: reply)
    absolute = {
        kind: tuple(site.url(u) if u.startswith("/") else u for u in urls) for kind, urls in sources.items()
    }
    with pytest.raises(error, match=told):
        project.scrape(Sources(**absolute))


def test_a_run_that_failed_for_a_passing_reason_is_tried_again_at_once(project, site):
    site.page("/", "no", status=503)
    with pytest.raises(Retryable):
        project.scrape(Sources(urls=(site.url("/"),)))
    site.page("/", article("Снова здесь"))
    assert project.scrape(Sources(urls=(site.url("/"),))).changed == 1


def test_passwords_in_urls_reach_neither_catalogue_nor_pages(project, site):
    secret = f"http://user:TOPSECRET@{site.host}"
    site.page("/a", article("А", links=(f"{secret}/b",)))
    for path in ("/b", "/c"):
        site.page(path, article(path))
    site.page("/robots.txt", f"Sitemap: {secret}/map.xml.gz")
    site.page("/map.xml.gz", gzip.compress(f"<urlset><url><loc>{secret}/c</loc></url></urlset>".encode()))
    project.scrape(Sources(crawl=(f"{secret}/a",)))
    assert project.standing() == {"/a": "fetched", "/b": "fetched", "/c": "fetched"}
    stored = [path.read_bytes() for path in project.folder.rglob("*") if path.is_file()]
    assert all(b"TOPSECRET" not in data for data in stored)
    site.reset()
    project.scrape(Sources(crawl=(f"{secret}/a",)))
    assert {request.status for request in site.log if request.path != "/llms.txt"} == {304}
