"""Cards, fields and columns: what belongs to whom can be read from the text."""

from __future__ import annotations

from indexer.extract import extract
from indexer.phases.chunk import chunk_record
from indexer.settings import Settings

PARAGRAPH = (
    "<p>Мы ставим пластиковые окна в Твери с 2005 года, гарантия на монтаж пять лет, замер бесплатно.</p>"
)


def _read(body: str, after: str = ""):
    html = f"<html lang=ru><title>Окна</title><main><h1>Окна</h1>{PARAGRAPH}{body}</main>{after}</html>"
    return extract(html, url="https://a.example/")


def test_links_that_are_cards_stand_on_lines_of_their_own():
    goods = [("Насос Вихрь-1", "4 500 руб."), ("Насос Гейзер", "12 300 руб."), ("Насос Малыш", "2 100 руб.")]
    cards = "".join(f"<a href=/{n}><span>{n}</span> <span>{p}</span></a>" for n, p in goods)
    text = _read(f"<div>{cards}</div><p>Все <a href=/x>насосы <b>в наличии</b></a> на складе.</p>").text
    assert [line for line in text.splitlines() if "Насос" in line] == [f"{n} {p}" for n, p in goods]
    assert "Все насосы в наличии на складе." in text


def test_a_field_that_cannot_be_changed_is_read_and_one_to_fill_in_is_not():
    body = (
        "<div><label>БИК</label><input readonly value=044525225></div>"
        "<div><label>Количество</label><input readonly name=qty value=100></div>"
        "<div><label>Ссылка</label><input readonly value=https://a.example/share></div>"
        "<div><label>Имя</label><input value=Иванов></div>"
        "<table><tr><th>Счёт</th><th>Номер</th></tr><tr><td>Рубли</td><td><input readonly value=40702810900></td></tr></table>"
    )
    text = _read(body).text
    assert "БИК 044525225" in text
    assert "| Рубли | 40702810900 |" in text
    assert not any(word in text for word in ("100", "share", "Иванов"))


def test_a_column_of_the_footer_keeps_what_its_first_line_says():
    footer = (
        "<footer><div><div>Отдел продаж</div><a href=tel:+74822111111>+7 (4822) 11-11-11</a></div>"
        "<div><div>Сервисная служба:</div><a href=tel:+74822222222>+7 (4822) 22-22-22</a></div>"
        "<div><h4>Режим работы</h4><ul><li>Пн–Пт 9:00–18:00</li><li>Сб 10:00–14:00</li></ul></div></footer>"
    )
    assert _read("", footer).site.splitlines() == [
        "Отдел продаж: +7 (4822) 11-11-11",
        "Сервисная служба: +7 (4822) 22-22-22",
        "Режим работы: Пн–Пт 9:00–18:00",
        "Сб 10:00–14:00",
    ]


def test_rows_of_a_long_table_keep_the_section_that_they_stand_in():
    def section(name: str, rows: int) -> str:
        priced = "".join(f"<tr><td>{name} {n}</td><td>{1000 + n}</td></tr>" for n in range(rows))
        return f"<tr><td colspan=2>{name}</td></tr>{priced}"

    bold = "<tr><td><b>Ортопедия</b></td><td></td></tr><tr><td>Коронка</td><td>15000</td></tr>"
    table = f"<table><tr><th>Услуга</th><th>Цена</th></tr>{section('Терапия', 90)}{section('Хирургия', 90)}{bold}</table>"
    text = _read(table).text
    assert "| **Хирургия** |  |" in text
    chunks = chunk_record({"id": "a", "text": text}, settings=Settings().chunk, chat=None)["chunks"]
    header = "| Услуга | Цена |\n| --- | --- |\n"
    for one in chunks:
        first = one["text"].splitlines()[0]
        for name in ("Терапия", "Хирургия"):
            if first.startswith(f"| {name}"):
                assert one["context"] == f"{header}| **{name}** | |"
        assert not one["text"].endswith("** |  |"), "a section is not cut from its first row"
        assert text[one["start"] : one["end"]] == one["text"]
    assert sum("context" in one for one in chunks) > 2
    plain = "<table><tr><th>Цвет</th><th>Размер</th></tr><tr><td>Белый</td><td></td></tr><tr><td>Синий</td><td>5</td></tr></table>"
    assert "**" not in _read(plain).text


def test_small_change_is_part_of_the_price_and_exponents_and_footnotes_are_not():
    body = (
        "<p>Вино <span>7<sup>99</sup></span> €, масло $12<sup>49</sup>, билет <b>500</b><sup>00</sup> руб.</p>"
        "<p>10<sup>6</sup> бактерий, площадь 64 м<sup>2</sup>, выручка $25<sup><a href=#n>12</a></sup>.</p>"
    )
    text = _read(body).text
    assert "Вино 7.99 €, масло $12.49, билет 500.00 руб." in text
    assert "10^6 бактерий" in text
    assert "25.12" not in text


def test_options_of_a_choice_are_set_apart():
    body = "<p>Зал: <label><input type=radio>Терраса (без отопления)</label><label><input type=radio>Зимний сад</label></p>"
    assert "Зал: Терраса (без отопления) / Зимний сад" in _read(body).text


def test_prices_that_a_switch_shows_in_turn_are_read_and_other_hidden_lines_are_not():
    body = (
        "<div><h3>Тариф Команда</h3><p class='price month'>1 200 руб. в месяц</p>"
        "<p class='price year' style='display:none'>11 500 руб. в год</p>"
        "<p class='price note' style='display:none'>секретное слово</p></div>"
        "<div><p>Стоит 5 руб.</p><p style='display:none'>Стоит 1 руб.</p></div>"
    )
    found = _read(body)
    assert "11 500 руб. в год" in found.text
    assert set(found.hidden) == {"секретное слово", "Стоит 1 руб."}


def test_marks_in_cells_say_what_they_show():
    """An icon's name, a drawing's title, words for who does not see the tick; beside text they say nothing."""
    rows = (
        "<tr><td>Базовый</td><td><i title=нет></i></td><td><span class=sr-only>есть</span><svg></svg></td></tr>"
        "<tr><td>Полный</td><td><svg><title>есть</title><path/></svg></td><td>100 ₽ <i title=сноска></i></td></tr>"
    )
    text = _read(f"<table><tr><th>Тариф</th><th>Бассейн</th><th>Парковка</th></tr>{rows}</table>").text
    assert "| Базовый | нет | есть |" in text
    assert "| Полный | есть | 100 ₽ |" in text


def test_a_day_and_its_hours_are_two_words():
    body = (
        "<ul><li><span>Monday</span><span>Closed</span></li><li><span>Tuesday</span><time>10:00</time>–<time>18:00</time></li></ul>"
        "<p><span>Запись: +7 (3812) 111-222</span><span>Круглосуточно: 8-913-000-00-01</span></p>"
        "<p>Мы пишем на <b>Java</b><i>Script</i>.</p>"
    )
    text = _read(body).text
    assert "- Monday Closed\n- Tuesday 10:00–18:00" in text
    assert "111-222 Круглосуточно" in text
    assert "JavaScript." in text


def test_every_kind_that_a_product_is_offered_in_is_told():
    offers = '[{"@type":"Offer","name":"Малая","price":"12.50","priceCurrency":"EUR"},{"@type":"Offer","name":"Большая","price":15,"priceCurrency":"EUR"}]'
    data = f'{{"@context":"https://schema.org","@type":"Product","name":"Кружка","offers":{offers}}}'
    facts = _read(f'<script type="application/ld+json">{data}</script>').facts
    assert "Кружка, Большая. Цена: 15 EUR" in facts
    assert "12.50 EUR" in facts


def test_a_number_in_a_name_is_no_digit_of_its_price():
    body = "<p><span>Замена фар 2</span><span>1500 ₽</span></p><p><span>R15</span><span>3000 ₽</span></p>"
    body += "<div role=row><span role=cell>Работа 3</span><span role=cell>3100 ₽</span></div>"
    body += "<div style='display:flex'><b>Корпус 1</b><b>2 этаж</b></div><p><span>$1,250</span><span>$2,100</span></p>"
    text = _read(body).text
    assert "Замена фар 2 1500 ₽" in text
    assert "Работа 3 3100 ₽" in text
    assert "Корпус 1 2 этаж" in text
    assert "$1,250 $2,100" in text
    assert "R15 3000 ₽" in text


def test_the_menu_of_a_restaurant_is_content():
    dishes = "<li><span>Эспрессо</span> <span>150</span></li><li><a href=/raf>Раф</a> <span>260 ₽</span></li>"
    site = "<nav class=menu><ul><li><a href=/>Главная</a></li><li><a href=/2>Цены 2026</a></li></ul></nav>"
    html = f"<html lang=ru><title>Кофейня</title>{site}<main><h1>Наше меню</h1><ul class=menu>{dishes}</ul></main></html>"
    text = extract(html, url="https://a.example/").text
    assert "Эспрессо 150" in text
    assert "Раф 260 ₽" in text
    assert "2026" not in text


def test_parts_of_cards_are_not_run_together():
    goods = [
        ("Самса", "350 ₸", "с мясом"),
        ("Лагман", "1 500 ₸", "по-уйгурски"),
        ("Плов", "1 700 ₸", "ташкентский"),
    ]
    touching = "".join(
        f"<a href=/{n}><span>{n}</span><span>{p}</span><span>{t}</span></a>" for n, p, t in goods
    )
    text = _read(f"<div>{touching}</div>{PARAGRAPH}").text
    assert [line for line in text.splitlines() if "₸" in line] == [f"{n} {p} {t}" for n, p, t in goods]
    priced = "".join(f"<a href=/{n}><span>{n}</span><span>{p}</span></a>" for n, p, _ in goods)
    text = _read(f"<div>{priced}</div>{PARAGRAPH}").text
    assert [line for line in text.splitlines() if "₸" in line] == [f"{n} {p}" for n, p, _ in goods]
    head = "<div><span>Услуга</span><span>Срок</span><span>Цена</span></div>"
    assert "Услуга Срок Цена" in _read(head).text
