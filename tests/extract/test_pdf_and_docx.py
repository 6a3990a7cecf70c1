"""PDF and DOCX become markdown with title and structure, whatever they are made of."""

import contextlib
import io
import time
from concurrent.futures import ThreadPoolExecutor

import pypdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.artifacts import Reason
from indexer.errors import Permanent
from indexer.extract.deadline import within
from indexer.extract.documents import read_document
from tests.support.documents import WORDS, docx, paragraph, pdf, raw_pdf, run

LONG = "Клиника работает ежедневно с девяти до шести, первый визит лучше согласо"


def _pdf(*pages, **options):
    return read_document(pdf(*pages, **options), kind="pdf")


def _docx(body, **options):
    return read_document(docx(body, **options), kind="docx")


def _refused(body, kind, **options):
    with pytest.raises(Permanent) as caught:
        read_document(body, kind=kind, **options)
    return caught.value.reason


def _page(*lines, top=""):
    return f"{top}\n" + "\n".join(lines)


# An alarm may ring within a callback of the garbage collector (hypothesis has one): it is lost, another follows.
alarms = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


# ── PDF ─────────────────────────────────────────────────────────────────────────────────


def test_lines_become_paragraphs_and_larger_ones_headings():
    found = _pdf(
        _page(
            "50 780 20 Прейскурант",
            f"50 740 12 {LONG}-",
            "50 726 12 вать по телефону, гарантия действует один год со дня оказания услуги.",
            "50 690 *12 Порядок оплаты",
            "50 666 12 Оплата принимается наличными и картой, рассрочка предоставляется на",
            "50 652 12 шесть месяцев.",
            "50 630 12 • первый пункт",
            "50 616 12 • второй пункт",
        )
    )
    assert found.title == "Прейскурант"
    assert found.language == "ru"
    assert found.text == (
        f"# Прейскурант\n\n{LONG}вать по телефону, гарантия действует один год со дня оказания услуги.\n\n"
        "## Порядок оплаты\n\n"
        "Оплата принимается наличными и картой, рассрочка предоставляется на шесть месяцев.\n\n"
        "- первый пункт\n- второй пункт"
    )


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("a long line of words that ends in the mid-", "dle of a word.", "the middle of"),
        ("a long line that names the town of Санкт-", "Петербург at its end.", "Санкт-Петербург at"),
        (
            "a well-known thing that is known to all well, and it is well-",
            "known indeed.",
            "is well-known indeed",
        ),
        ("длинная строка, в которой сказано что-", "то о погоде.", "что-то о погоде"),
        ("длинная строка, в которой на тему стомато\u00ad", "логии.", "на тему стоматологии"),
        ("a long line with a range of the years 2019-", "2024 in it.", "2019- 2024"),
    ],
)
def test_words_torn_at_a_line_end_are_whole_again(first, second, joined):
    assert joined in _pdf(_page(f"50 700 12 {first}", f"50 686 12 {second}")).text


def test_running_heads_and_page_numbers_go_and_numbers_in_the_text_stay():
    pages = [
        _page(
            f"50 700 12 Услуга номер {number * 7 + 3} стоит {number} рублей за один полный час работы мастера",
            f"50 686 12 и ещё {number} рублей за выезд.",
            f"50 30 10 {number}",
            f"300 30 10 стр. {number} из 6",
            top="50 810 10 ООО «Ромашка», прайс-лист",
        )
        for number in range(1, 7)
    ]
    text = _pdf(*pages).text
    assert "Ромашка" not in text
    assert "стр." not in text
    for number in range(1, 7):
        assert f"номер {number * 7 + 3} стоит {number} рублей" in text
        assert f"и ещё {number} рублей за выезд." in text
    assert len(text.split("\n\n")) == 6


def test_a_table_that_starts_every_page_is_no_running_head():
    pages = [
        _page(*(f"50 {780 - 20 * row} 12 Пломба, категория {20 * page + row}" for row in range(20)))
        for page in range(4)
    ]
    text = _pdf(*pages).text
    assert all(f"категория {number}" in text for number in range(80))


def test_pages_that_are_all_alike_keep_their_text():
    assert "Тот же текст" in _pdf(*["50 700 12 Тот же текст на каждой странице"] * 4).text


def test_what_stands_side_by_side_is_a_table_and_wrapped_cells_are_whole():
    rows = []
    for number in range(4):
        y = 700 - 40 * number
        rows += [
            f"50 {y} 12 Лечение кариеса {number}", f"50 {y - 13} 12 с анестезией",
            f"300 {y} 12 {number + 1} 000", f"420 {y} 12 {number} дня",
        ]  # fmt: skip
    text = _pdf(_page("50 740 12 Услуга", "300 740 12 Цена", "420 740 12 Срок", *rows)).text
    assert text.splitlines() == [
        "| Услуга | Цена | Срок |",
        "| --- | --- | --- |",
        *(f"| Лечение кариеса {n} с анестезией | {n + 1} 000 | {n} дня |" for n in range(4)),
    ]


def test_columns_of_text_are_read_one_after_the_other():
    left = [f"50 {700 - 14 * n} 12 левая колонка, строка {n} с текстом подлиннее" for n in range(12)]
    right = [f"320 {700 - 14 * n} 12 правая колонка, строка {n} с текстом" for n in range(12)]
    text = _pdf(_page(*left, *right)).text
    assert "|" not in text
    assert text.index("левая колонка, строка 11") < text.index("правая колонка, строка 0")


@pytest.mark.parametrize(
    ("declared", "title"),
    [
        ("Прейскурант на услуги", "Прейскурант на услуги"),
        ("", "Цены"), ("Microsoft Word - прайс.doc", "Цены"), ("price_final2.indd", "Цены"), ("Без имени", "Цены"),
        ("Ïðåéñêóðàíò", "Цены"), ("...", "Цены"),
    ],
)  # fmt: skip
def test_a_title_is_one_or_the_first_heading_is(declared, title):
    page = _page("50 780 20 Цены", f"50 740 12 {LONG}", "50 726 12 и так далее.")
    assert _pdf(page, title=declared).title == title


def test_dot_leaders_are_short():
    assert "Борщ … 250" in _pdf(_page("50 700 12 Борщ ................................ 250")).text


def test_pages_and_text_over_the_limit_are_left_out_and_that_is_said():
    body = pdf(*(f"50 700 12 Страница под номером {number}" for number in range(5)))
    found = read_document(body, kind="pdf", max_pages=2)
    assert ("номером 1" in found.text, "номером 2" in found.text) == (True, False)
    assert "2 of 5" in found.notes[0]
    assert read_document(body, kind="pdf", max_characters=30).notes


def test_one_broken_page_is_a_note():
    found = _pdf("50 700 12 Страница, которую можно прочесть", b"BT /F 12 Tf <<<< [[[ (")
    assert "можно прочесть" in found.text
    assert found.notes[0].startswith("page 2:")


def _encrypted(password, **options):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("50 700 12 Секретный тариф")))
    writer.encrypt(password, "owner", **options)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_pdf_that_is_only_restricted_is_read_and_one_with_a_password_is_not(algorithm):
    assert "Секретный тариф" in read_document(_encrypted("", algorithm=algorithm), kind="pdf").text
    assert _refused(_encrypted("word", algorithm=algorithm), "pdf") == Reason.ENCRYPTED


def test_a_scan_has_no_text_and_says_so():
    assert _refused(pdf(b"q 100 0 0 100 0 0 cm /Im0 Do Q", b""), "pdf") == Reason.NO_TEXT


@pytest.mark.parametrize(
    "body",
    [
        b"%PDF-1.4", b"%PDF-1.4\n" + b"x" * 999, b"%PDF-1.4\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF", pdf("50 700 12 abc")[:300],
        raw_pdf([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>"]),
        pdf(b" " * 50_000_000), pdf(b" " * 50_000_000, times=2), b"%PDF-1.7\n1 0 obj\n" + b"(" * 200_000, pdf(b"[" * 50_000),
    ],
)  # fmt: skip
def test_a_damaged_or_hostile_pdf_is_named_in_no_time(body):
    start = time.monotonic()
    assert _refused(body, "pdf") == Reason.DAMAGED
    assert time.monotonic() - start < 20


@alarms
def test_a_pdf_that_takes_too_long_is_given_up():
    slow = pdf(b"BT /F 12 Tf 10 700 Td " + b"(word word) Tj " * 100_000 + b"ET")
    start = time.monotonic()
    assert _refused(slow, "pdf", max_seconds=0.2) == Reason.EXTRACT_FAILED
    assert time.monotonic() - start < 10


@alarms
def test_a_deadline_never_strikes_after_the_work():
    def many(_):
        for number in range(200):
            with contextlib.suppress(TimeoutError):
                within(0.0002 * (number % 5), lambda: sum(range(2000)))
        return sum(range(200_000))

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(many, range(4)))) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_mutation_raises_anything_but_a_reason(data):
    body = bytearray(
        data.draw(
            st.sampled_from([pdf("50 700 12 Текст страницы", title="Т"), docx(paragraph("Текст", style="1"))])
        )
    )
    kind = "pdf" if body.startswith(b"%PDF") else "docx"
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(body) - 1), st.integers(0, 255)), max_size=20)
    ):
        body[place] = value
    cut = data.draw(st.integers(0, len(body)))
    reason = ""
    try:
        assert read_document(bytes(body[cut // 2 :] if cut % 5 == 0 else body), kind=kind).text
    except Permanent as error:
        reason = error.reason
    assert reason in ("", Reason.DAMAGED, Reason.NO_TEXT, Reason.ENCRYPTED, Reason.EXTRACT_FAILED)


# ── DOCX ────────────────────────────────────────────────────────────────────────────────


def _table(*rows):
    cells = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows
    )
    return f"<w:tbl>{cells}</w:tbl>"


def test_headings_lists_and_tables_of_a_docx_are_kept():
    found = _docx(
        paragraph("Договор", style="T")
        + paragraph("Содержание 1", style="C")
        + paragraph("Предмет", style="1", number="1")
        + paragraph("Исполнитель оказывает услуги.", number="1", depth=1)
        + paragraph("Заказчик их оплачивает.", number="1", depth=1)
        + paragraph("Цены", style="1", number="1")
        + paragraph("пломбы", number="2")
        + paragraph("световые", number="2", depth=1)
        + paragraph("цементные", number="2", depth=1)
        + _table(("Услуга", "Цена"), ("Пломба | коронка", "1 000"))
    )
    assert found.title == "Договор"
    assert found.text == (
        "# Договор\n\n# 1. Предмет\n\n1.1. Исполнитель оказывает услуги.\n1.2. Заказчик их оплачивает.\n\n"
        "# 2. Цены\n\n- пломбы\n  а) световые\n  б) цементные\n\n"
        "| Услуга | Цена |\n| --- | --- |\n| Пломба \\| коронка | 1 000 |"
    )


def test_the_declared_title_of_a_docx_wins():
    assert _docx(paragraph("Раздел", style="1"), title="Устав").title == "Устав"
    assert _docx(paragraph("Просто первая строка")).title == "Просто первая строка"


def test_only_what_a_reader_of_a_docx_sees_is_text():
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>тайное</w:t></w:r>"
    field = "<w:r><w:instrText>PAGEREF</w:instrText></w:r>"
    deleted = "<w:del><w:r><w:delText>старое</w:delText></w:r></w:del>"
    inserted, inside = (
        f"<w:ins>{run('новое')}</w:ins>",
        f"<w:sdt><w:sdtContent>{run(' поле')}</w:sdtContent></w:sdt>",
    )
    found = _docx(f"<w:p>{hidden}{field}{deleted}{inserted}{inside}</w:p>")
    assert found.text == "новое поле"


def test_merged_cells_and_notes_of_a_docx_are_read():
    def cell(text, properties=""):
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"

    restart, going, wide = '<w:vMerge w:val="restart"/>', "<w:vMerge/>", '<w:gridSpan w:val="3"/>'
    rows = (
        f"<w:tr>{cell('Раздел')}{cell('Услуга')}{cell('Цена')}</w:tr>"
        f"<w:tr>{cell('Терапия', restart)}{cell('Пломба')}{cell('10')}</w:tr>"
        f"<w:tr>{cell('', going)}{cell('Чистка')}{cell('20')}</w:tr>"
        f"<w:tr>{cell('Скидок нет', wide)}</w:tr>"
    )
    note = f'<w:footnotes {WORDS}><w:footnote w:id="2">{paragraph("без НДС")}</w:footnote></w:footnotes>'
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    found = _docx(
        f"<w:tbl>{rows}</w:tbl><w:p>{run('Цены в рублях')}{reference}</w:p>",
        parts={"word/footnotes.xml": note},
    )
    assert found.text.splitlines()[2:] == [
        "| Терапия | Пломба | 10 |", "| Терапия | Чистка | 20 |", "| Скидок нет |  |  |",
        "", "Цены в рублях[1]", "", "[1] без НДС",
    ]  # fmt: skip


def test_a_text_box_is_read_once():
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = f"<w:txbxContent>{paragraph('в рамке')}</w:txbxContent>"
    ways = f"<mc:AlternateContent {mc}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    assert _docx(f"<w:p><w:r><w:t>до</w:t>{ways}</w:r></w:p>").text == "до\n\nв рамке"


@pytest.mark.parametrize(
    "part",
    [
        "<w:document", f"<w:document {WORDS}/>", b"\0\1\2", " " * 60_000_000,
        f'<!DOCTYPE x [<!ENTITY a "aaaa">]><w:document {WORDS}><w:body>{paragraph("&a;")}</w:body></w:document>',
        f'<!DOCTYPE x SYSTEM "file:///etc/passwd"><w:document {WORDS}><w:body>{paragraph("x")}</w:body></w:document>',
        f"<w:document {WORDS}><w:body>{'<w:sdt>' * 5000}{'</w:sdt>' * 5000}</w:body></w:document>",
    ],
)  # fmt: skip
def test_a_damaged_or_hostile_docx_is_named_in_no_time(part):
    start = time.monotonic()
    assert _refused(docx("", parts={"word/document.xml": part}), "docx") == Reason.DAMAGED
    assert time.monotonic() - start < 10


def test_a_docx_of_images_has_no_text_and_a_long_one_is_cut():
    assert _refused(docx("<w:p/>"), "docx") == Reason.NO_TEXT
    long = docx("".join(paragraph(f"Абзац {number} " + "слово " * 100) for number in range(50)))
    found = read_document(long, kind="docx", max_pages=1)
    assert len(found.text) < 6000
    assert found.notes
