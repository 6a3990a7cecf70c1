"""Sentences that come twice for a reason, scripts without spaces, old prices, exponents."""

from __future__ import annotations

import pytest

from indexer.extract import extract


def _text(body: str, language: str = "ru") -> str:
    page = f'<!DOCTYPE html><html lang="{language}"><head><title>Условия</title></head><body><main>{body}</main></body></html>'
    return extract(page, url="https://e.org/usloviya").text


def test_two_questions_may_have_the_same_answer():
    answer = "Да, конечно, это бесплатно для всех клиентов."
    text = _text(
        f"<h2>Есть доставка по городу?</h2><p>{answer}</p><h2>Есть подача машины?</h2><p>{answer}</p>"
    )
    assert text.count(answer) == 2


def test_each_tariff_keeps_its_conditions():
    deposit = "Залог за автомобиль составляет пять тысяч рублей и возвращается в день сдачи."
    mileage = "Пробег в сутки ограничен двумястами километрами, дальше по тарифу."
    cards = "".join(
        f"<div><p><b>{name}</b></p><p>{deposit}</p><p>{mileage}</p></div>"
        for name in ("Эконом", "Комфорт", "Бизнес")
    )
    text = _text(cards)
    assert (text.count(deposit), text.count(mileage)) == (3, 3)


def test_each_point_of_a_law_keeps_its_sub_points():
    points = "".join(
        f"<p>{number}. Заявление подаётся в письменной форме по месту учёта лица номер {number}:</p>"
        "<p>1) для граждан, если это предусмотрено настоящим законом;</p>"
        "<p>2) для организаций, если это предусмотрено настоящим законом.</p>"
        for number in range(1, 4)
    )
    assert _text(f"<h2>Статья 1. Порядок подачи</h2>{points}").count("2) для организаций") == 3


def test_the_second_rendering_of_a_section_is_left_out():
    section = (
        "<h2>О нас</h2><p>Мы чиним велосипеды в старом городе с тысяча девятьсот девяносто восьмого года.</p>"
    )
    assert _text(section * 2).count("Мы чиним велосипеды") == 1


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("zh", "我们的修理厂在老城区已经经营了二十多年。"),
        ("ja", "当店は旧市街で二十年以上自転車を修理しています。"),
        ("th", "ร้านของเราซ่อมจักรยานในเมืองเก่ามานานกว่ายี่สิบปี"),
    ],
)
def test_a_long_paragraph_without_spaces_is_no_address(language, sentence):
    assert sentence * 12 in _text(f"<h1>店</h1><p>{sentence * 12}</p>", language)


def test_an_old_price_is_struck_out_and_apart_from_the_new_one():
    text = _text(
        "<h1>Цены на услуги</h1><p>Замена масла: <del>5 000 ₽</del><ins>4 000 ₽</ins> до конца месяца, запись по телефону.</p>"
    )
    assert "~~5 000 ₽~~ 4 000 ₽" in text


def test_an_exponent_is_no_further_digit():
    text = _text(
        "<h1>Свойства воды</h1><p>В образце 10<sup>6</sup> клеток на миллилитр, площадь цеха 25 м<sup>2</sup> и больше.</p>"
    )
    assert "10^6 клеток" in text
    assert "25 м2" in text
