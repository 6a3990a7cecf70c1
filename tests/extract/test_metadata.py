"""What a document says about itself."""

from __future__ import annotations

import pytest

from indexer.extract import extract

URL = "https://shop.example/goods/item?id=1"


def read(head: str, body: str = "<h1>Heading</h1><p>Some text.</p>", lang: str = " lang='en'"):
    return extract(f"<html{lang}><head>{head}</head><body>{body}</body></html>", url=URL)


def test_title_is_the_title_element_on_one_line():
    """Entities decoded, line breaks gone; og:title and SVG titles do not replace it."""
    head = "<title>\n Prices &amp; terms\n &quot;Lux&quot;</title><meta property='og:title' content='Buy!'>"

    assert read(head, "<svg><title>icon</title></svg><h1>x</h1>").title == 'Prices & terms "Lux"'


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>  </title>", "<h1>Heading</h1>", "Heading"),
        ("", "<h2>Second</h2>", "Second"),
        ("<meta property='og:title' content='Shared'>", "<p>x</p>", "Shared"),
        ("", "<p>x</p>", ""),
    ],
)
def test_title_falls_back(head, body, title):
    """Without a title element: the first heading, then what social networks are told."""
    assert read(head, body).title == title


@pytest.mark.parametrize(
    ("lang", "head", "language"),
    [
        (" lang='ru-RU'", "", "ru"),
        (" lang='EN'", "", "en"),
        (" xml:lang='kk'", "", "kk"),
        ("", "<meta property='og:locale' content='de_DE'>", "de"),
        (
            " lang='{{lang}}'",
            "<meta http-equiv='content-language' name='content-language' content='fr'>",
            "fr",
        ),
    ],
)
def test_language_is_as_declared(lang, head, language):
    """The primary tag of what the document declares; nonsense is passed over."""
    assert read(head, lang=lang).language == language


def test_language_is_guessed_from_the_text():
    """A document that declares nothing is read."""
    text = "Мы ремонтируем велосипеды в старом городе уже двадцать лет и всегда рады гостям."

    assert read("", f"<p>{text}</p><p>{text[::-1][::-1]} Приходите.</p>", lang="").language == "ru"
    assert read("", "<p>ok</p>", lang="").language == ""


def test_canonical_and_alternates_are_absolute():
    """Relative addresses are resolved, other schemes dropped."""
    head = (
        "<link rel='canonical' href='/goods/1'><link rel='alternate' hreflang='RU' href='//shop.example/ru'>"
        "<link rel='alternate' hreflang='xx' href='javascript:void(0)'>"
    )
    found = read(head)

    assert found.canonical == "https://shop.example/goods/1"
    assert found.alternates == {"ru": "https://shop.example/ru"}


def test_dates_come_from_structured_data_then_meta():
    """ISO 8601 as declared."""
    head = (
        '<script type="application/ld+json">{"@type":"Article","datePublished":"2024-03-01T10:00:00+05:00"}</script>'
        "<meta property='article:published_time' content='2020-01-01'>"
        "<meta property='article:modified_time' content='2024-04-02'>"
    )
    found = read(head)

    assert found.published == "2024-03-01T10:00:00+05:00"
    assert found.modified == "2024-04-02"
    assert read("<meta name='date' content='yesterday'>").published == ""


def test_description_is_the_pages_own():
    """The description, else that for social networks."""
    assert read("<meta name=description content=' A  shop '>").description == "A shop"
    assert read("<meta property='og:description' content='Shared'>").description == "Shared"
