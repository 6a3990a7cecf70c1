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
