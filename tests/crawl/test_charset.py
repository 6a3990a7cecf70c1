"""Bytes to text: what is declared, what is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.crawl.charset import decode

RUSSIAN = (
    "<p>В городе работает мастерская: первый визит лучше согласовать по телефону, администратор "
    "перезвонит в течение часа. Гарантия действует двенадцать месяцев, оплата картой или переводом.</p>"
)
CODECS = {
    "windows-1251": "cp1251",
    "koi8-r": "koi8-r",
    "iso-8859-5": "iso8859-5",
    "ibm866": "cp866",
    "utf-8": "utf-8",
}


@pytest.mark.parametrize("header", ["", "utf-8", "iso-8859-1", "us-ascii", "windows-1252"])
@pytest.mark.parametrize("name", CODECS)
def test_russian_is_read_whatever_a_servers_default_says(name, header):
    content_type = f"text/html; charset={header}" if header else "text/html"
    text, charset = decode(RUSSIAN.encode(CODECS[name]), content_type)
    assert text == RUSSIAN
    assert charset == name


@pytest.mark.parametrize("declared", ["", *CODECS])
@pytest.mark.parametrize("name", CODECS)
def test_a_text_in_capitals_is_read_as_well(name, declared):
    page = f'<meta charset="{declared}">' if declared else ""
    page += "<h1>ВНИМАНИЮ ЖИТЕЛЕЙ ДОМА</h1><p>С ПЕРВОГО ОКТЯБРЯ ВОДА ОТКЛЮЧАЕТСЯ НА ВРЕМЯ РЕМОНТА НАСОСНОЙ СТАНЦИИ. ПРИЁМ ЗАЯВОК ПО ТЕЛЕФОНУ</p>"
    assert decode(page.encode(CODECS[name])) == (page, name)


@pytest.mark.parametrize("declared", CODECS)
@pytest.mark.parametrize("name", CODECS)
def test_a_declaration_that_the_bytes_do_not_fit_loses(name, declared):
    page = f'<meta charset="{declared}">{RUSSIAN}'
    assert decode(page.encode(CODECS[name]))[0] == page


@pytest.mark.parametrize(
    "declaration",
    [
        '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">',
        '<?xml version="1.0" encoding="koi8-r"?>',
        "<META CHARSET=koi8-r>",
        "<title>x<meta charset=koi8-r></title>",
        "<!-- " + "x" * 5000 + " --><meta charset='koi8-r'>",
    ],
)
def test_declarations_inside_the_page_are_found(declaration):
    page = declaration + "<p>Цена</p>"
    assert decode(page.encode("koi8-r"), "text/html") == (page, "koi8-r")


def test_a_charset_in_a_comment_is_none():
    page = "<!-- <meta charset=koi8-r> -->" + RUSSIAN
    assert decode(page.encode("cp1251"))[1] == "windows-1251"


def test_byte_order_marks_win_over_everything():
    for mark, codec, name in (
        (b"\xff\xfe", "utf-16-le", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be", "utf-16-be"),
        (b"\xef\xbb\xbf", "utf-8", "utf-8"),
    ):
        page = "<meta charset=windows-1251>" + RUSSIAN
        assert decode(mark + page.encode(codec), "text/html; charset=koi8-r") == (page, name)


def test_utf16_without_a_mark_is_seen_by_its_zeros():
    assert decode(RUSSIAN.encode("utf-16-le"))[0] == RUSSIAN
    assert decode(("<html><body>" + RUSSIAN).encode("utf-16-be"))[1] == "utf-16-be"


def test_utf16_declared_inside_ascii_means_utf8():
    page = "<meta charset=utf-16>" + RUSSIAN
    assert decode(page.encode()) == (page, "utf-8")


def test_one_broken_byte_changes_one_character():
    text, charset = decode(b"\xd0 " + RUSSIAN.encode(), "text/html; charset=utf-8")
    assert charset == "utf-8"
    assert text == "\ufffd " + RUSSIAN


@pytest.mark.parametrize("pasted", ["windows-1251", "windows-1252"])
def test_a_paragraph_pasted_in_another_charset_ruins_no_page(pasted):
    """A page of UTF-8 stays UTF-8, and the paragraph is read in its own charset."""
    foreign = {"windows-1251": "Приём ведёт врач высшей категории, запись по телефону регистратуры.",
               "windows-1252": "Café à la crème, déjà prêt, à côté de l’hôtel, où l’été s’achève."}[pasted]  # fmt: skip
    own = "Анализ крови стоит шестьсот рублей, результат готов на следующий день."
    body = f"<p>{own}</p><p>".encode() + foreign.encode(pasted) + f"</p><p>{own}</p>".encode()
    for content_type in ("text/html; charset=utf-8", "text/html"):
        text, name = decode(body, content_type)
        assert name == "utf-8"
        assert text == f"<p>{own}</p><p>{foreign}</p><p>{own}</p>"


def test_labels_are_read_as_people_write_them():
    for label in ('"win-1251"', "cp1251", "WINDOWS-1251", "x-cp1251"):
        assert decode("<p>Цена".encode("cp1251"), f"text/html; charset={label}")[0] == "<p>Цена"
    assert decode("é".encode("cp1252") + b"\x97", "text/html; charset=iso-8859-1")[0] == "é—"


def test_other_languages_are_not_taken_for_russian():
    german = "<p>Grüße aus München, schöne Straße, größere Möglichkeiten für alle Gäste</p>"
    assert decode(german.encode("cp1252"))[0] == german
    polish = "<p>Zażółć gęślą jaźń, proszę bardzo, książka</p>"
    assert decode(polish.encode("cp1250"), "text/html; charset=windows-1250")[0] == polish
    japanese = "<p>営業時間のご案内。当店は平日の午前十時から営業しております。</p>"
    for codec in ("shift_jis", "euc-jp"):
        assert decode(japanese.encode(codec), f"text/html; charset={codec}")[0] == japanese


def test_zero_bytes_are_dropped():
    assert decode(b"<p>a\0b</p>")[0] == "<p>ab</p>"


@given(
    st.binary(max_size=500),
    st.sampled_from(["", "text/html", "text/html; charset=utf-8", "x; charset=gbk", "x; charset=??"]),
)
def test_any_bytes_become_text_that_can_be_stored(body, content_type):
    text, _ = decode(body, content_type)
    assert "\0" not in text
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300))
def test_utf8_is_read_back(text):
    page = "<meta charset=utf-8><p>" + text
    assert decode(page.encode("utf-8"), "text/html; charset=utf-8")[0] == page
