"""URL identity: which spellings are one page, and that no spelling breaks the crawler."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.artifacts import Reason
from indexer.crawl.urls import MAX_URL, absolute, canonical, origin, path_and_query, redact, resolve
from indexer.errors import Permanent

BASE = "http://shop.example/catalog/page?x=1"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/item#reviews", "http://shop.example/item"),
        ("/item?utm_source=a&utm_medium=b&fbclid=c&yclid=1", "http://shop.example/item"),
        ("/item?page=2&utm_campaign=x", "http://shop.example/item?page=2"),
        ("/x/../item", "http://shop.example/item"),
        ("/%69tem", "http://shop.example/item"),
        ("/item?", "http://shop.example/item"),
        ("HTTP://Shop.Example.:80/a", "http://shop.example/a"),
        ("https://shop.example:443/a", "https://shop.example/a"),
        ("https://shop.example:8443/a", "https://shop.example:8443/a"),
        ("//shop.example/b", "http://shop.example/b"),
        ("\\c\\d", "http://shop.example/c/d"),
        (" \n/sp\nace ", "http://shop.example/space"),
        ("s1;jsessionid=77AF", "http://shop.example/catalog/s1"),
        ("?PHPSESSID=ab&id=3", "http://shop.example/catalog/page?id=3"),
        ("/q?sid=0123456789abcdef0123456789", "http://shop.example/q"),
        ("/q?sid=12", "http://shop.example/q?sid=12"),
        (
            "/цены/мойка окон",
            "http://shop.example/%D1%86%D0%B5%D0%BD%D1%8B/%D0%BC%D0%BE%D0%B9%D0%BA%D0%B0%20%D0%BE%D0%BA%D0%BE%D0%BD",
        ),
        ("/%d1%86", "http://shop.example/%D1%86"),
        ("/a%2Fb", "http://shop.example/a%2Fb"),
        ("/bad%zz", "http://shop.example/bad%25zz"),
        ("http://user:secret@shop.example/a", "http://shop.example/a"),
        ("http://пример.испытание:8080/x", "http://xn--e1afmkfd.xn--80akhbyknj4f:8080/x"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://2130706433:81/", "http://127.0.0.1:81/"),
        ("", BASE),
    ],
)
def test_spellings_of_one_page_are_one_url(href, expected):
    assert canonical(href, BASE) == expected


@pytest.mark.parametrize(
    "href",
    [
        "javascript:void(0)",
        "mailto:a@b.kz",
        "tel:+7",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://h/x",
        "http://",
        "http://[::1/",
        "http://..../x",
        "http://a b/",
        "http://h:99999/",
        "/" + "x" * MAX_URL,
    ],
)
def test_what_is_no_page_is_refused_by_name_and_never_raises_in_links(href):
    with pytest.raises(Permanent) as error:
        canonical(href, BASE)
    assert error.value.reason == Reason.BAD_URL
    assert resolve(href, BASE) == ""


def test_a_query_is_encoded_in_the_documents_charset_and_the_path_in_utf8():
    assert canonical("/п?q=п", BASE, charset="windows-1251") == "http://shop.example/%D0%BF?q=%EF"
    assert canonical("/п?q=п", BASE) == "http://shop.example/%D0%BF?q=%D0%BF"


def test_a_redirect_target_keeps_what_the_server_put_into_it():
    assert absolute("/новое место?PHPSESSID=1#x", BASE) == (
        "http://shop.example/%D0%BD%D0%BE%D0%B2%D0%BE%D0%B5%20%D0%BC%D0%B5%D1%81%D1%82%D0%BE?PHPSESSID=1"
    )
    assert absolute("http://u:p@other.example", BASE) == "http://other.example/"


def test_credentials_are_not_shown():
    shown = redact("see http://admin:TOP@host/x and https://t0ken@host")
    assert shown == "see http://host/x and https://host"


def test_parts_of_a_url():
    assert origin("http://h:1/a/b?c") == "http://h:1"
    assert path_and_query("http://h:1/a/b?c") == "/a/b?c"


@given(st.text(max_size=200), st.sampled_from(["utf-8", "windows-1251", "shift_jis", "no-such"]))
def test_any_href_gives_a_url_that_is_its_own_spelling_or_nothing(href, charset):
    url = resolve(href, BASE, charset=charset)
    if url:
        assert canonical(url) == url
        assert url.isascii()
        assert "#" not in url
        assert "@" not in url.split("/", 3)[2]
