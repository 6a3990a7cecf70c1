"""Links and directives of a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from indexer.crawl.links import header_rules, read_directives

URL = "http://h/dir/page"


def _read(html, url=URL, **options):
    return read_directives(LexborHTMLParser(html), url=url, token="indexer", **options)


def test_links_are_resolved_deduplicated_and_in_order():
    html = """<a href="b">1</a><a href="/a#x">2</a><A HREF='/a?utm_source=z'>3</A><area href=/c><a href="">0</a><a>no</a>
    <a href="#top">no</a><a href="javascript:x">no</a><a href="http://[::1/">no</a><a rel="nofollow" href="/no">no</a>
    <a href=" /sp
ace ">4</a><link rel=next href="?p=2"><template><a href="/t">no</a></template>"""
    got = _read(html).links
    assert got == ("http://h/dir/b", "http://h/a", "http://h/c", "http://h/space", "http://h/dir/page?p=2")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/goods/", "http://h/goods/i"),
        ("http://other/x/", "http://other/x/i"),
        ("#", "http://h/dir/i"),
        ("javascript:x", "http://h/dir/i"),
    ],
)
def test_the_first_usable_base_counts(base, expected):
    assert _read(f'<base href="{base}"><base href="/second/"><a href="i">x</a>').links == (expected,)


def test_alternates_and_canonical_are_read():
    got = _read('<link rel="alternate" hreflang="kk" href="/kk"><link rel="canonical" href="/main#x">')
    assert got.alternates == {"kk": "http://h/kk"}
    assert got.links == ("http://h/kk",)
    assert got.canonical == "http://h/main"


@pytest.mark.parametrize(
    "meta",
    [
        '<meta http-equiv="refresh" content="0; URL=/new">',
        "<META HTTP-EQUIV=REFRESH CONTENT='1;URL=\"../new\"'>",
        '<meta content="0;url=/new" http-equiv=Refresh>',
        '<meta http-equiv="refresh" content="0;/new">',
    ],
)
def test_a_quick_refresh_is_a_redirect(meta):
    assert _read(f"<head>{meta}</head>").refresh == "http://h/new"


@pytest.mark.parametrize(
    "html",
    [
        '<noscript><meta http-equiv="refresh" content="0; url=/nojs"></noscript>',
        '<meta http-equiv="refresh" content="300">',
        '<meta http-equiv="refresh" content="600; url=/later">',
        '<!-- <meta http-equiv="refresh" content="0;url=/x"> -->',
        '<pre>&lt;meta http-equiv="refresh" content="0;url=/x"&gt;</pre>',
    ],
)
def test_other_refreshes_are_none(html):
    assert _read(html).refresh == ""


@pytest.mark.parametrize(
    ("meta", "header", "noindex", "nofollow"),
    [
        ('<meta name="robots" content="NOINDEX, follow">', "", True, False),
        ('<meta content="none" name="ROBOTS">', "", True, True),
        ('<meta name="googlebot" content="noindex">', "", False, False),
        ('<meta name="indexer" content="noindex">', "", True, False),
        ("", "noindex", True, False),
        ("", "googlebot: noindex", False, False),
        ("", "indexer: noindex, nofollow", True, True),
        ("", "googlebot: nofollow\nnoindex", True, False),
        ("", "unavailable_after: 25 Jun 2030 15:00:00 PST", False, False),
        ("", "max-snippet: 10, noindex", True, False),
    ],
)
def test_directives_for_everybody_and_for_us_count(meta, header, noindex, nofollow):
    got = _read(meta + '<a href="/a">x</a>', header=header)
    assert (got.noindex, got.nofollow) == (noindex, nofollow)
    assert bool(got.links) is not nofollow


def test_a_header_for_us_is_read_whatever_its_case():
    assert header_rules("INDEXER: NoIndex", "Indexer") == {"noindex"}


@given(st.text(max_size=300))
def test_any_markup_is_read(html):
    _read(html)
