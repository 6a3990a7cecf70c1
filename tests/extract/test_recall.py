"""A page of few words keeps all that is its own."""

from __future__ import annotations

from indexer.extract import extract

SHORT = """<html lang="ru"><body><nav><a href="/">Главная</a> <a href="/p">Цены</a></nav>
<div class="cookie-banner"><p>Мы используем cookie на сайте.</p></div>
<main><h1>Контакты</h1><dl><dt>Телефон</dt><dd>+7 900 555-01-20</dd><dt>Адрес</dt><dd>улица Садовая, 7</dd></dl>
<p>Работаем с 9 до 21<p>Вход со двора</main><footer>© Клевер</footer></body></html>"""


def test_a_short_page_loses_nothing_of_its_own_and_gains_nothing_of_the_sites():
    text = extract(SHORT, url="https://a.test/contacts").text
    for wanted in ("Телефон", "+7 900 555-01-20", "улица Садовая, 7", "Работаем с 9 до 21", "Вход со двора"):
        assert wanted in text
    for unwanted in ("Главная", "cookie", "©"):
        assert unwanted not in text


def test_a_list_that_calls_itself_an_article_is_kept():
    """Short lines only: an extractor of articles has nothing to say about them."""
    items = "".join(
        f"<li><h4>Award {n}</h4><span>Ceiling panel of sort {n}, by studio {n}</span></li>" for n in range(40)
    )
    html = (
        "<html lang=en><head><meta property='og:type' content='article'><title>Winners</title></head><body>"
        f"<main><article><h1>Winners of the year</h1><ul>{items}</ul></article></main></body></html>"
    )

    text = extract(html, url="https://awards.example/winners").text

    assert all(f"Ceiling panel of sort {n}, by studio {n}" in text for n in range(40))


def test_every_card_of_a_shelf_keeps_its_price():
    """Cards of one kind stand together, whatever a single one looks like."""
    cards = "".join(
        f"<div class=card><a href=/p/{n}>Lamp number {n}</a><span class=price>€ {n}9.50</span></div>"
        for n in range(1, 13)
    )
    html = (
        f"<html lang=en><body><main><h1>Lamps</h1><p>{'Lamps of oak and brass for a desk. ' * 6}</p>"
        f"<div class=grid>{cards}</div></main></body></html>"
    )

    text = extract(html, url="https://lamps.example/c/lamps").text

    assert all(f"€ {n}9.50" in text for n in range(1, 13))


def test_the_shell_of_an_application_has_no_text():
    """What every page's footer says is not the text of a page whose own a script would load."""
    links = "".join(f"<a href=/{n}>Sister site {n}</a>, " for n in range(15))
    html = f"<html><body><div id=root></div><footer><div>Group of companies</div><p>{links}</p></footer></body></html>"

    assert not extract(html, url="https://shop.example/item/1").text
