"""Choices of a form: what is offered is read, what only sets something is not."""

from __future__ import annotations

import pytest

from indexer.extract import extract

PARAGRAPH = (
    "<p>Мы лечим зубы в Твери с 2005 года, гарантия на пломбы пять лет, первый осмотр бесплатно для всех.</p>"
)


def _read(select: str, options: tuple[str, ...]) -> str:
    listed = "".join(f"<option value={n}>{one}</option>" for n, one in enumerate(options))
    form = f"<form action=/book><p>Запись на приём</p><input name=fio><select {select}><option>Выберите…</option>{listed}</select></form>"
    html = f"<html lang=ru><title>Зубы</title><main><h1>Зубы</h1>{PARAGRAPH}{form}{PARAGRAPH}</main></html>"
    return extract(html, url="https://a.example/").text


@pytest.mark.parametrize(
    ("select", "options"),
    [
        ("name=service", ("Чистка — 5 000 руб.", "Пломба — 7 000 руб.", "Коронка — 24 000 руб.")),
        ("name=branch", ("Советская улица, 10", "проспект Победы, 5")),
        ("name=region", ("Тверь: доставка 500 руб.", "Торжок: доставка 900 руб.")),
        ("name=doctor class='sorted limited'", ("Иванов И. И., терапевт", "Петров П. П., хирург")),
        ("name=usluga", tuple(f"Услуга клиники под буквой {letter}" for letter in "абвгдежзиклмнопрстуфхцч")),
        ("name=size", ("38", "40", "41", "42", "44")),
    ],
)
def test_options_that_say_what_is_offered_are_read_in_a_form_too(select, options):
    assert " / ".join(options) in _read(select, options)


@pytest.mark.parametrize(
    ("select", "options"),
    [
        ("name=c", ("Германия", "Франция", "Италия", "Казахстан", "Россия")),
        ("name=c", ("Afghanistan", "Albania", "Algeria", "Kosovo (disputed)")),
        ("name=code", ("+7", "+1", "+44")),
        ("name=code", ("Казахстан (+7)", "USA (+1)", "UK +44")),
        ("name=n", ("10", "20", "50", "100")),
        ("name=q", tuple(map(str, range(1, 11)))),
        ("name=s", ("По популярности", "Сначала дешевле", "Сначала дороже")),
        ("name=s", ("Price: low to high", "Price: high to low", "Newest", "Featured")),
        ("name=m", ("января", "февраля", "марта")),
        ("name=m", ("January", "February", "March")),
        ("name=d", ("понедельник", "вторник", "среда")),
        ("name=y", tuple(map(str, range(1999, 2025)))),
        ("name=t", ("10:00", "11:00", "12:30")),
        ("name=tz", ("(GMT+05:00) Almaty", "(GMT+03:00) Moscow")),
        ("name=v", ("USD", "EUR", "KZT")),
        ("name=l", ("Русский", "Қазақша", "English")),
        ("name=z", ("Да", "Нет")),
        ("name=go onchange='location=this.value'", ("Раздел первый", "Раздел второй")),
        ("name=orderby", ("Свежее вперёд", "Старое вперёд")),
    ],
)
def test_options_that_are_the_same_on_every_site_are_not_read(select, options):
    text = _read(select, options)
    assert "первый осмотр бесплатно" in text
    assert not any(one in text.split("\n\n") or f"{one} /" in text for one in options)
