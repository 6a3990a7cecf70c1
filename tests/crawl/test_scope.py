"""Scope: sites, patterns, traps."""

import pytest

from indexer.artifacts import Reason
from indexer.crawl.scope import by_extension, is_calendar, matches, repetition, scope_of, step
from indexer.settings import Crawl


def _reason(url, depth=0, **crawl):
    return scope_of(["http://shop.example/"], Crawl(**crawl)).verdict(url, depth=depth)[0]


def test_a_site_is_its_host_with_or_without_www_over_http_or_https():
    for url in ("http://shop.example/a", "https://shop.example/a", "https://www.shop.example/a"):
        assert _reason(url) is Reason.NONE
    for url in (
        "http://shop.example:8080/",
        "http://evil-shop.example/",
        "http://shop.example.evil/",
        "http://sub.shop.example/",
    ):
        assert _reason(url) is Reason.OUT_OF_SCOPE


def test_patterns_read_as_in_robots():
    assert matches("/blog/", "http://h/blog/post")
    assert not matches("/blog/", "http://h/en/blog/post")
    assert matches("*.php$", "http://h/a/b.php")
    assert not matches("*.php$", "http://h/a/b.php?x=1")
    assert matches("print", "http://h/a/print/")
    assert matches("/цены", "http://h/%D1%86%D0%B5%D0%BD%D1%8B/2")
    assert matches("https://h/a", "https://h/a/b")


def test_include_and_exclude_patterns_decide_and_exclude_wins():
    assert _reason("http://shop.example/blog/1", include=("/blog/",)) is Reason.NONE
    assert _reason("http://shop.example/news/1", include=("/blog/",)) is Reason.OUT_OF_SCOPE
    assert (
        _reason("http://shop.example/blog/x", include=("/blog/",), exclude=("/blog/x",))
        is Reason.OUT_OF_SCOPE
    )


def test_depth_is_limited():
    assert _reason("http://shop.example/a", depth=3, max_depth=3) is Reason.NONE
    assert _reason("http://shop.example/a", depth=4, max_depth=3) is Reason.LIMIT


def test_names_of_files_that_are_no_pages():
    assert by_extension("http://h/a/photo.JPG?w=1") is Reason.NOT_A_PAGE
    assert by_extension("http://h/price.xlsx") is Reason.UNSUPPORTED
    assert by_extension("http://h/price.pdf") is by_extension("http://h/price.DOCX") is Reason.NONE
    for url in ("http://h/a.html", "http://h/shop.kz", "http://h/v1.2", "http://h/"):
        assert by_extension(url) is Reason.NONE


@pytest.mark.parametrize(
    "path", ["/a/b/a/b/a/b/", "/x/x/x/", "/a/b/a/c/a/d/a/e/a/f", "/" + "/".join(map(str, range(30)))]
)
def test_paths_that_pile_up_on_themselves_are_traps(path):
    assert repetition("http://h" + path)


@pytest.mark.parametrize("path", ["/2011/11/11/news", "/a/b/a/b/", "/ru/uslugi/ru/", "/"])
def test_ordinary_paths_are_no_traps(path):
    assert repetition("http://h" + path) == ""


def test_only_steps_from_calendar_page_to_calendar_page_cost_more():
    month, other = "http://h/calendar/2026/1", "http://h/calendar/2026/2"
    assert is_calendar(month)
    assert not is_calendar("http://h/news/2026/01/title")
    assert step(month, other) > 1
    assert step("http://h/", month) == 1
    assert step(month, "http://h/event-name") == 1
