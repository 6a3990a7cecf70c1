"""Response → page: pure, and never raising for what a server sent."""

import pickle

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.artifacts import Reason, State
from indexer.phases.scrape import Reading, read, signature_of
from indexer.ports import Response

URL = "http://h/page"
READING = Reading()
PROSE = "Мастерская работает ежедневно с девяти до шести, первый визит лучше согласовать по телефону. " * 6


def _response(body, *, status=200, url=URL, **headers):
    data = body if isinstance(body, bytes) else body.encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(
        url=url,
        final_url=url,
        status=status,
        headers={"content-type": "text/html; charset=utf-8", **names},
        body=data,
    )


def _html(text=PROSE, head=""):
    return f"<!DOCTYPE html><html lang=ru><head><title>Услуги</title>{head}</head><body><main><h1>Услуги</h1><p>{text}</p><a href='/next'>x</a></main></body></html>"


def test_a_page_is_read_with_its_links_and_validators():
    got = read(_response(_html(), etag='"1"', last_modified="Mon"), reading=READING)
    assert got.page is not None
    assert (got.page.url, got.page.title, got.page.charset) == (URL, "Услуги", "utf-8")
    assert PROSE.strip() in got.page.text
    assert got.links == got.page.links == ("http://h/next",)
    outcome = got.outcome
    assert (outcome.state, outcome.etag, outcome.last_modified) == (State.FETCHED, '"1"', "Mon")
    assert outcome.content == got.page.content


def test_the_same_response_gives_the_same_bytes_and_travels_between_processes():
    response = _response(_html())
    one = read(response, reading=READING)
    other = pickle.loads(pickle.dumps(read(pickle.loads(pickle.dumps(response)), reading=READING)))
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_the_signature_covers_body_type_directives_address_and_reading():
    base = signature_of(_response("a"), reading=READING)
    changed = [
        signature_of(_response("b"), reading=READING),
        signature_of(_response("a", content_type="text/plain"), reading=READING),
        signature_of(_response("a", x_robots_tag="noindex"), reading=READING),
        signature_of(_response("a", url="http://h/other"), reading=READING),
        signature_of(_response("a"), reading=Reading(favor_recall=False)),
    ]
    assert len({base, *changed}) == 6
    assert signature_of(_response("a", etag="moved", date="now"), reading=READING) == base


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        (404, State.FAILED, Reason.NOT_FOUND), (410, State.FAILED, Reason.GONE), (401, State.SKIPPED, Reason.LOGIN),
        (403, State.FAILED, Reason.HTTP_CLIENT), (429, State.FAILED, Reason.RATE_LIMITED), (500, State.FAILED, Reason.HTTP_SERVER),
        (503, State.FAILED, Reason.HTTP_SERVER), (304, State.FAILED, Reason.BAD_RESPONSE), (204, State.SKIPPED, Reason.EMPTY),
    ],
)  # fmt: skip
def test_only_success_is_content(status, state, reason):
    got = read(_response("" if status == 204 else _html(), status=status), reading=READING)
    assert got.page is None
    assert (got.outcome.state, got.outcome.reason, got.outcome.status) == (state, reason, status)


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (_html(head='<meta name="robots" content="noindex">'), {}, Reason.NOINDEX),
        (_html(), {"x_robots_tag": "none"}, Reason.NOINDEX),
        ("<title>Страница не найдена</title><p>Такой страницы не существует.", {}, Reason.SOFT_404),
        ("<title>Вход</title><form><input type=password></form>", {}, Reason.LOGIN),
        ('<div id="root"></div><script src=a.js></script>', {}, Reason.NEEDS_RENDERING),
        ("<html><body><img src=x.png></body></html>", {}, Reason.EMPTY),
        ("%PDF-1.4 ...", {}, Reason.DAMAGED),
        ("<title>Just a moment...</title><p>Checking your browser", {}, Reason.CHALLENGE),
        ("text", {"content_type": "text/plain", "x_robots_tag": "noindex"}, Reason.NOINDEX),
    ],
)
def test_what_is_not_to_be_indexed_says_why(body, headers, reason):
    got = read(_response(body, **headers), reading=READING)
    assert got.page is None
    assert got.outcome.reason is reason


def test_noindex_pages_still_lead_on_unless_they_say_nofollow():
    assert read(_response(_html(head='<meta name="robots" content="noindex">')), reading=READING).links == (
        "http://h/next",
    )
    assert read(_response(_html(), x_robots_tag="none"), reading=READING).links == ()


def test_a_quick_refresh_is_a_redirect_and_a_page_that_names_another_says_so():
    moved = read(_response('<meta http-equiv=refresh content="0;url=/new">'), reading=READING)
    assert (moved.outcome.reason, moved.outcome.final_url) == (Reason.REDIRECT, "http://h/new")
    assert (
        read(_response(_html(head='<link rel=canonical href="/main">')), reading=READING).canonical
        == "http://h/main"
    )
    assert (
        read(_response(_html(head=f'<link rel=canonical href="{URL}#x">')), reading=READING).canonical == ""
    )


def test_plain_text_and_markdown_are_pages():
    markdown = read(
        _response("# Заголовок\r\n\r\nтекст\r\n", content_type="text/markdown"), reading=READING
    ).page
    assert (markdown.title, markdown.text, markdown.content_type) == (
        "Заголовок",
        "# Заголовок\n\nтекст",
        "text/markdown",
    )
    plain = read(
        _response("Цена 5 000".encode("cp1251"), content_type="text/plain; charset=cp1251"), reading=READING
    ).page
    assert (plain.title, plain.text) == ("Цена 5 000", "Цена 5 000")


def test_a_reader_that_breaks_is_an_outcome(monkeypatch):
    def broken(*arguments, **options):
        raise RecursionError("too deep")

    monkeypatch.setattr("indexer.extract.extract", broken)
    outcome = read(_response(_html()), reading=READING).outcome
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.EXTRACT_FAILED)
    assert "RecursionError" in outcome.detail


@settings(max_examples=40, deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from(["", "text/html", "text/plain; charset=utf-16", "application/xml", "x/y"]),
    st.integers(100, 599),
)
def test_any_response_is_read(body, content_type, status):
    got = read(_response(body, status=status, content_type=content_type), reading=READING)
    assert got.page is not None or got.outcome.reason
    msgspec.json.encode(got)
