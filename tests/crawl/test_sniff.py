"""What a response is, by its bytes and by its words."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from indexer.artifacts import Reason
from indexer.crawl.sniff import Kind, is_challenge, is_login, is_shell, is_soft_404, kind_of, look_at

PROSE = "Мастерская работает ежедневно, первый визит лучше согласовать по телефону. " * 12
PAGE = b"<!DOCTYPE html><p>text"


def _look(html):
    return look_at(LexborHTMLParser(html))


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (PAGE, "text/html", "html"),
        (PAGE, "", "html"),
        (PAGE, "application/octet-stream", "html"),
        (PAGE, "text/html, text/html; charset=UTF-8", "html"),
        (b"<?xml version='1.0'?><html xmlns='x'><p>t", "application/xhtml+xml", "html"),
        ("<html><p>т".encode("utf-16-le"), "text/html", "html"),
        (b"<p>a\0b</p>" * 40, "text/html", "html"),
        (b"plain words", "text/plain", "text"),
        (b"plain words", "", "text"),
        (b"# Title\n\ntext", "text/markdown", "markdown"),
    ],
)
def test_pages_are_recognised_whatever_the_header_says(body, content_type, expected):
    assert kind_of(body, {"content-type": content_type}).name == expected


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        (b"", "text/html", Reason.EMPTY),
        (b"  \n\t", "text/html", Reason.EMPTY),
        (b"PK\x03\x04" + b"\0" * 30 + b"xl/workbook.xml", "text/html", Reason.UNSUPPORTED),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "application/msword", Reason.UNSUPPORTED),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "", Reason.ENCRYPTED),
        (b"PK\x03\x04" + bytes(range(256)), "text/html", Reason.NOT_A_PAGE),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "text/html", Reason.NOT_A_PAGE),
        (bytes(range(256)) * 4, "text/html", Reason.NOT_A_PAGE),
        (b'{"a": 1}', "application/json", Reason.NOT_A_PAGE),
        (b"<?xml version='1.0'?><rss><item/></rss>", "text/xml", Reason.NOT_A_PAGE),
        (b"whatever", "application/pdf", Reason.UNSUPPORTED),
        (b"var x = 1", "application/javascript", Reason.NOT_A_PAGE),
    ],
)
def test_what_is_no_page_is_named(body, content_type, reason):
    assert kind_of(body, {"content-type": content_type}).reason is reason


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"%PDF-1.7\n" + b"x" * 99, "pdf"), (b"\n%PDF-1.7\n", "pdf"), (b"\xef\xbb\xbf%PDF-1.4", "pdf"),
        (b"PK\x03\x04" + b"\0" * 30 + b"word/document.xml", "docx"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("content_type", ["text/html", "application/octet-stream", ""])
def test_documents_are_known_by_their_bytes(body, name, content_type):
    assert kind_of(body, {"content-type": content_type}) == Kind(name)


def test_a_feed_is_no_page_but_is_known_as_one():
    for body in (
        b"<?xml version='1.0'?><rss/>",
        b"\n<feed xmlns='http://www.w3.org/2005/Atom'/>",
        b"<!-- x --><rdf:RDF/>",
    ):
        assert (kind_of(body, {}).name, kind_of(body, {}).reason) == ("feed", Reason.NOT_A_PAGE)
    assert kind_of(b"<?xml version='1.0'?><urlset/>", {}).name == ""


@pytest.mark.parametrize(
    "start",
    [
        b"<!DOCTYPE html>", b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>", b"<HTML>", b"<head>", b"<body class=x>",
        b"<title>", b"<meta charset=utf-8>", b"<script>", b"<style>", b"<link rel=x>", b"<h1>", b"<div>", b"<p>", b"<table>",
        b"<article>", b"<main>", b"\xef\xbb\xbf\n <html>", b"<!-- saved from http://h/ --><!-- > --><html>",
        b"<?xml version='1.0' encoding='utf-8'?>\n<!-- x -->\n<!DOCTYPE html>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "image/png", "text/xml", ""])
def test_what_begins_as_a_page_is_one_whatever_the_server_calls_it(start, content_type):
    assert kind_of(start + b"text", {"content-type": content_type}) == Kind("html")


@pytest.mark.parametrize(
    "body",
    [
        b"The <html> tag opens a page",
        b"<htmlx>",
        b"<paragraph>",
        b"<header",
        b"<!-- <html> --> words",
        b"# <p> and <div>",
    ],
)
def test_what_only_speaks_of_markup_is_text(body):
    assert kind_of(body, {"content-type": "text/plain"}) == Kind("text")


def test_a_long_run_of_comments_and_blanks_is_judged_at_once():
    for body in (b"<!--" * 1200, b"<!---->" * 700, b" \n" * 2500, b"<?xml " * 800):
        assert kind_of(body + b"x", {"content-type": "text/plain"}).name in ("text", "")


def test_no_content_is_empty():
    assert kind_of(b"", {}, status=204).reason is Reason.EMPTY


@pytest.mark.parametrize(
    "html",
    [
        "<title>Страница не найдена</title><h1>Страница не найдена</h1><p>К сожалению, запрошенная страница не найдена или удалена.",
        "<title>404</title><h2>Упс! Такой страницы не существует</h2><p>Ошибка 404. Проверьте адрес.",
        "<title>Not found</title><p>The page you are looking for could not be found.",
        "<title>Oops</title><h1>404 - Not Found</h1><p>Sorry, this page doesn't exist.",
        "<title>Новости</title><p>Запрошенная страница не найдена.",
        "<title>Новости</title><p>Материал удалён.",
        "<title>Новости</title><p>Документы отсутствуют на сервере.",
        "<nav>" + PROSE + "</nav><h1>Ошибка</h1><p>Такая страница не существует.",
    ],
)
def test_an_error_page_with_status_200_is_seen(html):
    assert is_soft_404(_look(html))


@pytest.mark.parametrize(
    "html",
    [
        f"<title>Что значит ошибка 404</title><h1>Ошибка 404</h1><p>{PROSE} Код отдают, когда страница не найдена.",
        "<title>Нужной услуги нет?</title><p>Если услуга не найдена в прайсе, позвоните нам.",
        "<title>Возврат</title><p>Товар не найден на складе? Оформим возврат за день.",
        "<title>404 квартира</title><p>Сдаётся квартира 404, третий этаж.",
        "<title>Панель</title><p>Область страницы можно использовать для добавления, удаления и переноса слайдов.",
        "<title>Доступ</title><p>Раздел удалённого доступа: документы подписывают удалённо.",
        "<title>Отпуск</title><p>Документы за отсутствующих сотрудников подписывает их заместитель.",
        "<p>Работаем с 9 до 21.",
    ],
)
def test_a_page_about_something_not_found_is_a_page(html):
    assert is_soft_404(_look(html)) == ""


def test_a_login_form_is_a_login_wall_only_if_it_is_all_there_is():
    form = '<form><input name="u"><input type="PASSWORD"><button>Войти</button></form>'
    assert is_login(_look(f"<title>Вход</title>{form}"), "http://h/x")
    assert is_login(_look(f"<title>Клуб</title><p>Здравствуйте, друзья клуба</p>{form}"), "http://h/login")
    assert (
        is_login(_look(f"<title>Статья</title><header>{form}</header><main>{PROSE}</main>"), "http://h/x")
        == ""
    )
    contacts = "<main><h1>Контакты</h1>Телефон 12-34-56, адрес: проспект Абая, 10. Работаем с 9 до 18, приходите, будем рады вам помочь с выбором.</main>"
    assert (
        is_login(_look(f"<title>Контакты</title><header>Вход {form}</header>{contacts}"), "http://h/contacts")
        == ""
    )


@pytest.mark.parametrize(
    "html",
    [
        "<title>Just a moment...</title><h1>Checking your browser before accessing</h1><p>DDoS protection.",
        "<title>DDoS-Guard</title><h1>Проверка браузера перед переходом на сайт</h1>",
        "<title>x</title><p>Подождите</p><script src='/cdn-cgi/challenge-platform/x.js'></script>",
        "<title>Вы не робот?</title><p>Подтвердите, что запросы отправляли вы, а не робот.",
    ],
)
def test_a_bot_check_is_no_page(html):
    assert is_challenge(html, _look(html), {})


def test_an_article_about_bot_checks_is_a_page():
    html = f"<title>Как работает проверка браузера</title><main>{PROSE * 3}</main>"
    assert is_challenge(html, _look(html), {}) == ""
    assert is_challenge("<p>x", _look("<p>x"), {"cf-mitigated": "challenge"})


@pytest.mark.parametrize(
    "html",
    [
        '<div id="root"></div><script src="/app.js"></script><noscript>You need to enable JavaScript to run this app.</noscript>',
        '<app-root></app-root><script src="/main.js"></script>',
        "<noscript>Для работы сайта необходимо включить JavaScript</noscript><script>1</script>",
        "<script>document.write('x')</script>",
        '<div id="root"><div class="spinner">Loading…</div></div><script src="/app.js"></script>',
        "<div>Подождите, идёт загрузка страницы...</div><script src='/app.js'></script>",
        f'<header><a href="/">Главная</a> {PROSE}</header><div id="app"></div><footer>{PROSE}</footer><script>1</script>',
    ],
)
def test_a_shell_that_scripts_would_fill_is_named(html):
    assert is_shell(_look(html))


def test_a_form_that_is_not_shown_makes_no_login_wall_of_a_shell():
    form = '<form style="display: none"><input name="u"><input type="password"></form>'
    look = _look(f'<title>Тема</title><section id="main"></section>{form}<script src="/app.js"></script>')
    assert is_shell(look)
    assert is_login(look, "http://h/t/1") == ""


@pytest.mark.parametrize(
    "html",
    [
        f'<div id="root">{PROSE}</div><script></script>',
        "<p>Работаем с 9 до 21.</p><script>1</script>",
        "<h1>Контакты</h1><p>Тел. +7 495 111-22-33</p><noscript>Для работы сайта включите JavaScript</noscript>",
        '<div id="app"><p>Цена 5 000</p></div><script>1</script>',
        "<p>Загрузка вагонов: с 8 до 20, выгрузка круглосуточно. Адрес: ул. Мира, 5.</p><script>1</script>",
        f"<div id='app'></div><header>{PROSE}</header><p>Наш адрес: Тверь, улица Мира, дом 5, вход со двора.</p><script>1</script>",
    ],
)
def test_a_page_with_text_needs_no_rendering(html):
    assert is_shell(_look(html)) == ""
