"""How to reach a business is known by its form."""

import pytest

from indexer.contacts import ADDRESS, HOURS, KINDS, MAIL, PHONE, tells


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Мельничная улица, 3", {ADDRESS}),
        ("14 Willow Quay, Lakeside", {ADDRESS}),
        ("Абай көшесі 12", {ADDRESS}),
        ("Мы пришли в дом культуры на вечер", set()),
        ("Звоните +7 (555) 221-00-10", {PHONE}),
        ("Заказ 12345 от 2024 года", set()),
        ("priem@romashka.example", {MAIL}),
        ("| Понедельник–пятница | 9:00–21:00 |", {HOURS}),
        ("Работаем с 9 до 18", {HOURS}),
        ("Круглосуточно", {HOURS}),
        ("Sunday: closed", {HOURS}),
        ("9 am to 5 pm", {HOURS}),
        ("Приём длится 20 минут", set()),
    ],
)
def test_what_a_line_tells(text, kinds):
    assert {kind for kind in KINDS if tells(text, kind)} == kinds
