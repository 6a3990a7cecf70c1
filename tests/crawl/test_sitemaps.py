"""Sitemaps as they are found."""

import contextlib
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.crawl.sitemaps import iso_date, read_sitemap, unpack
from indexer.errors import Permanent

NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _urlset(*urls, ns=NS, declaration='<?xml version="1.0" encoding="UTF-8"?>\n'):
    opening = f'<urlset xmlns="{ns}">' if ns else "<urlset>"
    return declaration + opening + "".join(f"<url><loc>{url}</loc></url>\n" for url in urls) + "</urlset>"


def _urls(body):
    return [entry.url for entry in read_sitemap(body if isinstance(body, bytes) else body.encode())]


@pytest.mark.parametrize(
    "ns", [NS, NS.replace("http:", "https:"), None, "http://www.google.com/schemas/sitemap/0.84"]
)
def test_any_namespace_will_do(ns):
    assert _urls(_urlset("http://h/a", "http://h/b", ns=ns)) == ["http://h/a", "http://h/b"]


def test_prefixed_elements_and_indexes_are_read():
    assert _urls(f'<m:urlset xmlns:m="{NS}"><m:url><m:loc>http://h/a</m:loc></m:url></m:urlset>') == [
        "http://h/a"
    ]
    index = f'<sitemapindex xmlns="{NS}"><sitemap><loc>http://h/s.xml</loc></sitemap></sitemapindex>'
    assert [(entry.url, entry.sitemap) for entry in read_sitemap(index.encode())] == [
        ("http://h/s.xml", True)
    ]


def test_images_are_no_pages_and_translations_are():
    body = (
        f'<urlset xmlns="{NS}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
        'xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>\n http://h/a \n</loc>'
        "<image:image><image:loc>http://h/p.jpg</image:loc></image:image>"
        '<xhtml:link rel="alternate" hreflang="kk" href="http://h/kk"/></url><url><loc></loc></url></urlset>'
    )
    assert _urls(body) == ["http://h/a", "http://h/kk"]
    assert [entry.languages for entry in read_sitemap(body.encode())] == [{"kk": "http://h/kk"}, {}]


def test_bytes_decide_what_is_compressed_however_often():
    text = _urlset("http://h/a").encode()
    for body in (text, gzip.compress(text), gzip.compress(gzip.compress(text))):
        assert _urls(body) == ["http://h/a"]
    assert _urls(gzip.compress(b"http://h/list\n")) == ["http://h/list"]


def test_a_cut_archive_gives_what_is_whole():
    urls = [f"http://h/page-{number}" for number in range(2000)]
    cut = gzip.compress(_urlset(*urls).encode())
    got = _urls(cut[: len(cut) // 2])
    assert 0 < len(got) < 2000
    assert got == urls[: len(got)]


def test_what_stands_before_the_declaration_does_not_matter():
    text = _urlset("http://h/a")
    for body in ("\ufeff" + text, "\n\n  " + text, "<br />\n<b>Warning</b>: x in <b>y</b><br />\n" + text):
        assert _urls(body) == ["http://h/a"]
    wide = _urlset("http://h/ц", declaration='<?xml version="1.0" encoding="UTF-16"?>')
    assert _urls(b"\xff\xfe" + wide.encode("utf-16-le")) == ["http://h/ц"]
    old = _urlset("http://h/ц", declaration='<?xml version="1.0" encoding="windows-1251"?>')
    assert _urls(old.encode("cp1251")) == ["http://h/ц"]


def test_bare_ampersands_and_cdata_are_read_as_meant():
    body = _urlset("http://h/a?x=1&y=2", "http://h/b?x=1&amp;y=2", "<![CDATA[http://h/c?x=1&y=2]]>")
    assert _urls(body) == ["http://h/a?x=1&y=2", "http://h/b?x=1&y=2", "http://h/c?x=1&y=2"]


def test_feeds_and_lists_are_sitemaps_too():
    rss = '<rss version="2.0"><channel><link>http://h/</link><item><link>http://h/a</link></item></channel></rss>'
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://h/"/><entry>'
        '<link rel="self" href="/no"/><link href="http://h/b"/></entry></feed>'
    )
    assert _urls(rss) == ["http://h/a"]
    assert _urls(atom) == ["http://h/b"]
    assert _urls("\ufeffhttp://h/1\r\n\r\n  http://h/2  \r\nnot a url\r\n") == ["http://h/1", "http://h/2"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", "empty"),
        ("<html><body>Not found</body></html>", "HTML"),
        ("<opml></opml>", "XML"),
        (
            f'<!DOCTYPE x [<!ENTITY e "boom">]><urlset xmlns="{NS}"><url><loc>http://h/&e;</loc></url></urlset>',
            "entities",
        ),
        (f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset xmlns="{NS}"></urlset>', "entities"),
    ],
)
def test_what_is_no_sitemap_is_named(body, told):
    with pytest.raises(Permanent, match=told):
        read_sitemap(body.encode())


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr("indexer.crawl.sitemaps.MAX_UNPACKED", 1 << 20)
    with pytest.raises(Permanent, match="unpacks"):
        unpack(gzip.compress(b"\0" * (4 << 20)))


@given(st.integers(min_value=0, max_value=4000))
def test_a_cut_file_gives_a_prefix_of_its_whole_entries(cut):
    urls = [f"http://h/page-{number}-end" for number in range(40)]
    body = _urlset(*urls)[:cut].encode()
    try:
        got = _urls(body)
    except Permanent:
        got = []
    assert got == urls[: len(got)]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body):
    with contextlib.suppress(Permanent):
        list(read_sitemap(body))


def test_an_odd_date_is_no_date_and_the_page_stays():
    assert iso_date("2024-05-08T10:00:00+05:00") == "2024-05-08T10:00:00+05:00"
    assert iso_date("Wed, 08 May 2024 10:00:00 GMT").startswith("2024-05-08")
    for text in ("0000-00-00", "08.05.2024", "soon", "2024-02-31", ""):
        assert iso_date(text) == ""
