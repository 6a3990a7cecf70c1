"""No input makes it raise, nothing leaks, the same input gives the same output."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.artifacts import Extracted
from indexer.extract import extract

URL = "https://site.example/a"
SENTENCE = "The workshop opens at nine and closes at six, also on the Saturdays of May."
TAGS = [
    "div",
    "p",
    "span",
    "a",
    "b",
    "i",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "td",
    "th",
    "h1",
    "h2",
    "pre",
    "br",
    "hr",
    "script",
    "style",
    "template",
    "noscript",
    "nav",
    "main",
    "article",
    "aside",
    "header",
    "footer",
    "form",
    "button",
    "select",
    "option",
    "details",
    "summary",
    "iframe",
    "custom-tag",
    "section",
]


@pytest.mark.parametrize(
    "html",
    [
        "",
        " \n ",
        "\x00",
        "<",
        "plain text",
        "\ud83d\ude00 lone \ud83d",
        "<p>\ud800</p>",
        "&#xD83D;&#x0;&#x110000;",
        "<!DOCTYPE html>",
        "<html></html>",
        "<frameset><frame src=x></frameset>",
        "%PDF-1.7\n\x80\x81",
        "\x89PNG\r\n\x1a\n" + "".join(map(chr, range(256))) * 10,
        "<table><tr><td rowspan=99999999999999999999 colspan=99999999999>x<td>y<tr><td>z<td>w</table>",
        "<ol start=99999999999999999999><li>x</ol>",
        "<ol start='²'><li>x</ol>",
        "<a href='http://[::1'>x</a><link rel=canonical href='http://['><base href='http://['>",
        '<meta content="x"><meta property><link rel hreflang href>',
        "<p style=';;:;display'>x</p><p class>x</p><p id>x</p>",
    ],
)
def test_odd_documents_are_read(html):
    """They give a value that can be stored as UTF-8 and sent to another process."""
    found = extract(html, url=URL)

    assert msgspec.json.decode(msgspec.json.encode(found), type=Extracted) == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert "\x00" not in found.text


@pytest.mark.parametrize("url", ["", "not a url", "http://[", "file:///a/б.html", "https://x.example/\x00"])
def test_odd_addresses_are_no_obstacle(url):
    """The address only helps."""
    assert SENTENCE in extract(f"<p>{SENTENCE}</p><p>{SENTENCE[::-1]}</p>", url=url).text


@pytest.mark.parametrize(
    "tag", ["div", "span", "ul><li", "table><tr><td", "b", "blockquote", "a><div", "dl><dd"]
)
def test_nesting_has_no_limit(tag):
    """Fifteen hundred levels deep, the text is found."""
    html = f"<html><body>{f'<{tag}>' * 1500}<p>{SENTENCE}</p><p>{SENTENCE} Twice.</p></body></html>"

    assert SENTENCE in extract(html, url=URL).text


def test_time_grows_with_the_page_only():
    """Ten thousands of unclosed elements, links or cells take seconds, not minutes."""
    for html in (
        "<a>x" * 15_000,
        "<p>word " * 30_000,
        "<table>" + "<tr><td>a<td>b" * 10_000,
        "<ul>" + "<li>item" * 30_000,
        "<div style='display:none'>x" * 3_000,
    ):
        assert isinstance(extract(html, url=URL).text, str)


pieces = st.one_of(
    st.sampled_from(TAGS).map(lambda t: f"<{t}>"),
    st.sampled_from(TAGS).map(lambda t: f"</{t}>"),
    st.sampled_from(TAGS).map(lambda t: f"<{t} class='nav content' id=x style='display:none' hidden>"),
    st.text(max_size=20),
    st.just("<script>LEAK</script>"),
    st.just("<style>LEAK</style>"),
    st.just("<!-- LEAK -->"),
    st.just("<template><p>LEAK</p></template>"),
    st.just("<img src='data:image/png;base64,LEAK' alt='LEAK'>"),
    st.just("<p>Ordinary words of a paragraph.</p>"),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(pieces, max_size=40))
def test_any_soup_is_read_and_nothing_leaks(parts):
    """Whatever tags are open, crossed or closed: no error, no script, no data address."""
    html = "".join(parts)

    found = extract(html, url=URL)

    if "LEAK" not in "".join(p for p in parts if "<" not in p):
        assert "LEAK" not in found.text
    found.text.encode("utf-8")
    assert extract(html, url=URL) == found


def test_threads_agree():
    """Eight threads at once read what one reads alone."""
    html = f"<html lang=en><body><nav><a href=/>Home</a></nav><main><h1>T</h1>{f'<p>{SENTENCE}</p>' * 3}</main></body></html>"
    alone = extract(html, url=URL)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: extract(html, url=URL), range(16)))

    assert all(f == alone for f in found)


def test_import_is_light():
    """Importing the package loads neither numpy nor a parser."""
    code = (
        "import sys, indexer.extract;"
        "print([m for m in ('numpy', 'selectolax', 'trafilatura', 'lxml', 'py3langid') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "[]"
