"""What a site names beside its links (documents, feeds, llms.txt, other languages) is found, and said where."""

import gzip

import pytest

from indexer.artifacts import Sources
from indexer.crawl.llms import MAX_LINKS, links_of, twins_of
from tests.support.documents import docx, paragraph, pdf
from tests.support.scraping import Project, article, sitemap
from tests.support.web import Site

PDF = "application/pdf"
TARIFF = "50 780 20 Тарифы\n50 740 12 Выезд мастера в пределах города стоит тысячу рублей."


@pytest.fixture
def site():
    with Site() as site:
        yield site


@pytest.fixture
def project(tmp_path, site):
    return Project(tmp_path / "project", site)


def _crawl(project, site, **options):
    return project.scrape(Sources(crawl=(site.url("/"),)), **options)


def _found_in(project, path):
    return project.rows()[path].found_in


def _rss(site, *paths):
    items = "".join(f"<item><title>x</title><link>{site.url(path)}</link></item>" for path in paths)
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'


def _feed_link(path, kind="rss"):
    return f'<link rel="alternate" type="application/{kind}+xml" href="{path}">'


# ── documents ───────────────────────────────────────────────────────────────────────────


def test_linked_and_listed_documents_become_pages_whatever_they_are_called(project, site):
    site.page(
        "/", article("Главная", links=("/price.pdf", "/get?id=7", "/rules.docx", "/old.doc", "/photo.jpg"))
    )
    site.page("/price.pdf", pdf(TARIFF), content_type="text/html; charset=utf-8")
    site.page(
        "/get?id=7",
        pdf(TARIFF.replace("Тарифы", "Прайс"), title="Прайс"),
        content_type="application/octet-stream",
    )
    site.page(
        "/rules.docx", docx(paragraph("Правила", style="1") + paragraph("Не шуметь.")), content_type=PDF
    )
    site.page("/sitemap.xml", sitemap(site, "/list.pdf"))
    site.page("/list.pdf", pdf("50 700 12 Список товаров на складе"), content_type=PDF)
    _crawl(project, site)
    pages = project.pages()
    assert {path: page.title for path, page in pages.items() if path != "/"} == {
        "/price.pdf": "Тарифы", "/get?id=7": "Прайс", "/rules.docx": "Правила", "/list.pdf": "Список товаров на складе",
    }  # fmt: skip
    assert pages["/price.pdf"].content_type == "application/pdf"
    assert pages["/rules.docx"].content_type.endswith("wordprocessingml.document")
    assert pages["/price.pdf"].language == "ru"
    standing = project.standing()
    assert (standing["/old.doc"], standing["/photo.jpg"]) == ("unsupported-type", "not-a-page")
    assert not site.hits("/old.doc")


def test_a_document_that_cannot_be_read_says_why_and_is_asked_for_conditionally(project, site):
    site.page("/", article("Главная", links=("/scan.pdf", "/broken.pdf", "/hidden.pdf", "/big.pdf")))
    site.page("/scan.pdf", pdf(b""), content_type=PDF)
    site.page("/broken.pdf", b"%PDF-1.7\n" + b"x" * 500, content_type=PDF)
    site.page("/hidden.pdf", pdf(TARIFF), content_type=PDF, headers={"X-Robots-Tag": "noindex"})
    site.page("/big.pdf", pdf(TARIFF) + b"\0" * 2_000_000, content_type=PDF)
    expected = {
        "/": "fetched", "/scan.pdf": "no-text", "/broken.pdf": "damaged", "/hidden.pdf": "noindex", "/big.pdf": "too-large",
    }  # fmt: skip
    _crawl(project, site, max_body_mb=1)
    assert project.standing() == expected
    assert project.rows()["/scan.pdf"].state == project.rows()["/broken.pdf"].state == "skipped"
    site.reset()
    _crawl(project, site, max_body_mb=1)
    assert project.standing() == expected
    assert {site.hits(path)[0].status for path in ("/scan.pdf", "/broken.pdf", "/hidden.pdf")} == {304}


def test_an_unchanged_document_is_not_read_again_and_a_changed_one_is(project, site):
    site.page("/", article("Главная", links=("/price.pdf",)))
    site.page("/price.pdf", pdf(TARIFF), content_type=PDF)
    _crawl(project, site)
    before = project.files()
    assert _crawl(project, site).changed == 0
    assert project.files() == before
    site.page("/price.pdf", pdf(TARIFF.replace("тысячу", "две тысячи")), content_type=PDF)
    assert _crawl(project, site).changed == 1
    assert "две тысячи" in project.pages()["/price.pdf"].text


# ── feeds ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["rss", "atom"])
def test_entries_of_a_feed_that_a_page_names_are_found(project, site, kind):
    site.page("/", article("Главная", head=_feed_link("/feed", kind)))
    entries = {
        "rss": _rss(site, "/news/1", "/news/2"),
        "atom": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/news/1"/></entry>'
        '<entry><link rel="alternate" href="news/2"/></entry></feed>',
    }
    site.page("/feed", entries[kind], content_type=f"application/{kind}+xml")
    for path in ("/news/1", "/news/2"):
        site.page(path, article(f"Новость {path}"))
    _crawl(project, site, max_depth=1)
    assert project.standing() == {
        "/": "fetched",
        "/feed": "not-a-page",
        "/news/1": "fetched",
        "/news/2": "fetched",
    }
    assert _found_in(project, "/news/1") == _found_in(project, "/news/2") == (f"feed:{site.url('/feed')}",)
    site.reset()
    _crawl(project, site)
    assert {site.hits(path)[0].status for path in ("/", "/feed", "/news/1")} == {304}


def test_a_feed_of_comments_on_one_page_is_left_alone(project, site):
    site.page("/", article("Главная", links=("/post/",), head=_feed_link("/feed/")))
    site.page("/post/", article("Статья", head=_feed_link("/feed/") + _feed_link("/post/feed/")))
    site.page("/feed/", _rss(site, "/post/"))
    _crawl(project, site)
    assert len(site.hits("/feed/")) == 1
    assert not site.hits("/post/feed/")


def test_a_feed_leads_nowhere_else_and_a_broken_one_harms_nothing(project, site):
    site.page(
        "/",
        article(
            "Главная", head=_feed_link("/feed") + _feed_link("/bad") + _feed_link("http://other.example/feed")
        ),
    )
    site.page(
        "/feed",
        _rss(site, "/a").replace("</channel>", "<item><link>http://other.example/x</link></item></channel>"),
    )
    site.page(
        "/bad",
        '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "b">]><rss><item><link>&a;</link></item></rss>',
    )
    site.page("/a", article("А"))
    _crawl(project, site)
    assert project.standing() == {
        "/": "fetched",
        "/feed": "not-a-page",
        "/bad": "not-a-page",
        "/a": "fetched",
    }


@pytest.mark.parametrize("body", ["feed", "text"])
def test_a_feed_or_a_text_list_serves_as_sitemap(project, site, body):
    site.page(
        "/list", _rss(site, "/a") if body == "feed" else f"{site.url('/a')}\n", content_type="text/plain"
    )
    site.page("/a", article("А"))
    project.scrape(Sources(sitemaps=(site.url("/list"),)))
    assert project.standing() == {"/a": "fetched"}
    assert not site.hits("/llms.txt")


# ── llms.txt ────────────────────────────────────────────────────────────────────────────


def test_what_llms_txt_lists_of_the_site_is_found(project, site):
    site.page("/", article("Главная"))
    lines = f"# Мастерская\n\n> О нас\n\n- [Цены]({site.url('/prices')}): все\n- [Место](/place)\n- [Чужое](http://other.example/)\n"
    site.page("/llms.txt", lines, content_type="text/plain")
    for path in ("/prices", "/place"):
        site.page(path, article(path))
    _crawl(project, site)
    assert project.standing() == {"/": "fetched", "/prices": "fetched", "/place": "fetched"}
    assert _found_in(project, "/place") == (f"llms.txt:{site.url('/llms.txt')}",)
    site.reset()
    _crawl(project, site)
    assert {
        request.status for request in site.log if request.path not in ("/robots.txt", "/sitemap.xml")
    } == {304}


def test_the_markdown_twin_of_a_known_page_is_not_the_same_text_twice(project, site):
    site.page("/", article("Главная"))
    site.page("/sitemap.xml", sitemap(site, "/guide", "/start/"))
    site.page(
        "/llms.txt", "- [a](/guide.md)\n- [b](/start/index.md)\n- [c](/only.md)\n", content_type="text/plain"
    )
    for path in ("/guide", "/start/"):
        site.page(path, article(path))
    site.page(
        "/only.md", "# Только здесь\n\nТекст, которого нет на других страницах.", content_type="text/markdown"
    )
    _crawl(project, site)
    assert set(project.pages()) == {"/", "/guide", "/start/", "/only.md"}


@pytest.mark.parametrize("trouble", ["html", "gone", "disallowed"])
def test_a_site_without_llms_txt_is_no_trouble(project, site, trouble):
    site.page("/", article("Главная"))
    if trouble == "html":
        site.page("/llms.txt", article("Страница не найдена", links=("/nowhere",)) + "[x](/nowhere)")
    elif trouble == "disallowed":
        site.page("/llms.txt", "[x](/nowhere)")
        site.page("/robots.txt", "User-agent: *\nDisallow: /llms.txt\n")
    report = _crawl(project, site)
    assert project.standing() == {"/": "fetched"}
    assert report.notes == []
    assert bool(site.hits("/llms.txt")) == (trouble != "disallowed")


def test_links_of_llms_txt_are_markdown_links():
    body = '\ufeff# T\n[a](/a) text [b](<http://h/b> "t") [c](/c_(1).html) <http://h/d>, [e]: /no ![i](/i)'.encode()
    assert list(links_of(body)) == ["/a", "http://h/b", "/c_(1).html", "http://h/d", "/i"]
    assert len(list(links_of(b"](" * 1_000_000))) <= MAX_LINKS
    assert twins_of("http://h/a.html.md?x=1")[0] == "http://h/a.html?x=1"
    assert twins_of("http://h/a") == ()


# ── other languages ─────────────────────────────────────────────────────────────────────


def test_other_languages_are_followed_and_said_to_be(project, site):
    head = '<link rel="alternate" hreflang="en" href="/en/"><link rel="alternate" hreflang="ru" href="/">'
    site.page("/", article("Главная", head=head, links=("/a",)))
    site.page("/en/", article("Home", head=head))
    site.page("/a", article("А"))
    _crawl(project, site, close=False)
    assert project.standing() == {"/": "fetched", "/en/": "fetched", "/a": "fetched"}
    assert _found_in(project, "/en/") == (f"hreflang:{site.url('/')}",)
    assert _found_in(project, "/a") == (f"link:{site.url('/')}",)


# ── all of it at once ───────────────────────────────────────────────────────────────────


def test_a_start_page_finds_the_union_of_all_that_its_site_names_and_asks_once(project, site):
    urlset = sitemap(site, "/named", "/both").replace(
        "</url>", f'<xhtml:link rel="alternate" hreflang="en" href="{site.url("/en/named")}"/></url>', 1
    )
    urlset = urlset.replace("<urlset ", '<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml" ')
    site.page("/robots.txt", "Sitemap: /maps/good.xml\nSitemap: /maps/broken.xml\n")
    site.page("/maps/good.xml", urlset, content_type="application/xml")
    site.page("/maps/broken.xml", "<urlset", content_type="application/xml")
    site.page("/sitemap.xml", sitemap(site, "/usual", "/both"), content_type="application/xml")
    site.page(
        "/llms.txt", "# Мастерская\n\n- [Для моделей](/model)\n- [Оба](/both)\n", content_type="text/plain"
    )
    site.page("/feed", _rss(site, "/news", "/both"), content_type="application/rss+xml")
    head = _feed_link("/feed") + '<link rel="alternate" hreflang="en" href="/en/">'
    site.page("/", article("Главная", head=head, links=("/linked", "/both")))
    site.page("/linked", article("Раздел", links=("/deeper", "/#top", "/linked?utm_source=x")))
    ways = {
        "/": "start", "/named": "sitemap:/maps/good.xml", "/en/named": "sitemap:/maps/good.xml", "/usual": "sitemap:/sitemap.xml",
        "/model": "llms.txt:/llms.txt", "/feed": "link:/", "/news": "feed:/feed", "/en/": "hreflang:/", "/linked": "link:/",
        "/deeper": "link:/linked", "/both": "sitemap:/maps/good.xml",
    }  # fmt: skip
    for path in ways:
        if path not in ("/", "/feed", "/linked"):
            site.page(path, article(f"Страница {path}"))
    _crawl(project, site)
    assert project.standing() == {path: "not-a-page" if path == "/feed" else "fetched" for path in ways}
    found = {path: _found_in(project, path)[0].replace(site.origin, "") for path in ways}
    assert found == ways
    assert sorted(site.paths()) == sorted(
        [*ways, "/robots.txt", "/maps/good.xml", "/maps/broken.xml", "/sitemap.xml", "/llms.txt"]
    )


@pytest.mark.parametrize("slow", ["/sitemap.xml", "/"])
@pytest.mark.parametrize("limits", [{"max_pages": 3}, {"max_depth": 0}])
def test_limits_cut_links_and_not_what_a_slow_sitemap_lists(project, site, slow, limits):
    site.page("/sitemap.xml", sitemap(site, "/one", "/two"), content_type="application/xml")
    site.page("/", article("Главная", links=("/x", "/y", "/two", "/one")))
    for path in ("/one", "/two", "/x", "/y"):
        site.page(path, article(f"Страница {path}"))
    site.fault(slow, "delay", seconds=0.3, times=1)
    _crawl(project, site, **limits)
    assert project.standing() == {
        **dict.fromkeys(("/", "/one", "/two"), "fetched"),
        **dict.fromkeys(("/x", "/y"), "limit"),
    }
    assert _found_in(project, "/two") == (f"sitemap:{site.url('/sitemap.xml')}",)
    assert project.reports[-1].cut_off == 2


@pytest.mark.parametrize("packed", [False, True])
def test_a_sitemap_that_is_cut_short_is_said_to_be_and_makes_no_page_stale(project, site, packed):
    paths = [f"/p{number}" for number in range(40)]
    for path in paths:
        site.page(path, article(f"Страница {path}"))
    whole = sitemap(site, *paths).encode()
    site.page("/sitemap.xml", whole, content_type="application/xml")
    sources = Sources(sitemaps=(site.url("/sitemap.xml"),))
    project.scrape(sources)
    cut = gzip.compress(whole)[:-60] if packed else whole[: len(whole) // 2]
    site.page("/sitemap.xml", cut, content_type="application/xml")
    report = project.scrape(sources)
    assert any("cut short after" in note for note in report.notes)
    assert len(project.pages()) == 40
    assert not any(row.stale for row in project.rows().values())


def test_an_address_that_must_not_be_asked_says_so_itself(project, site):
    site.page("/a", article("Страница"))
    other = "http://127.0.0.1:9/private"
    project.scrape(Sources(urls=(site.url("/a"), other)))
    row = project.rows()[other]
    assert (row.state, row.reason) == ("failed", "forbidden-address")
