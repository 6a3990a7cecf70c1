"""How much of a question a text holds."""

import pytest

from indexer.artifacts import Bm25Snapshot
from indexer.index.analysis import analyzer
from indexer.search.sufficiency import Matcher, alike, counted, names_in
from indexer.search.vocabulary import load

RU, KK = load()["ru"], load()["kk"]
MATCHER = Matcher(
    analyzer("stem"),
    Bm25Snapshot(
        analyzer="stem",
        analyzer_version=1,
        k1=1.5,
        b=0.75,
        avg_dl=10.0,
        num_docs=9,
        vocab={"катер": 0, "стоянк": 1, "президент": 2},
        idf={"катер": 1.0, "стоянк": 2.0, "президент": 0.5},
    ),
)


def test_words_count_in_any_form_and_by_their_weight():
    text = MATCHER.text(["Стоянки у причала нет"])
    assert MATCHER.coverage(["стоянка", "катера"], text) == pytest.approx(2 / 3)
    assert MATCHER.coverage([], text) == 1.0
    reach = MATCHER.text(["Причал, ул. Портовая, 7, ежедневно 9:00–18:00. Стоянка."])
    assert MATCHER.coverage(["адрес"], reach, {"адрес": "address"}) == 1.0
    assert MATCHER.coverage(["телефон"], reach, {"телефон": "phone"}) == 0.0
    assert MATCHER.coverage(["адрес", "стоянка"], reach, {"адрес": "address"}) == 1.0
    assert MATCHER.coverage(["адрес", "марсианин"], reach, {"адрес": "address"}) == 0.0
    assert MATCHER.coverage(["марсианин", "стоянка"], text) == pytest.approx(0.5)  # unknown: the rarest


def test_a_word_that_no_text_has_in_any_form_is_unknown():
    assert MATCHER.unknown(["марсианин", "стоянке", "президенту"]) == ["марсианин"]
    assert MATCHER.share(["марсианин"], ["марсианин", "президент"]) == pytest.approx(0.8)


def test_forms_without_a_stemmer_are_known_by_their_beginning():
    assert alike("президенттің", "президент")
    assert not alike("право", "правительство")
    assert MATCHER.text(["Президенттің өкілеттігі"]).has("президент")
    assert MATCHER.text(["жеті жыл мерзімге"]).has_root("жылға")


def test_names_of_several_words_must_stand_together():
    assert names_in("Что сказано о Верховном Совете?") == [["верховном", "совете"]]
    assert names_in("Верховный Совет?") == []  # its first word begins the sentence
    text = MATCHER.text(["Верховный Суд и Высший Судебный Совет"])
    assert not text.has_name(["верховном", "совете"])
    assert text.has_name(["верховного", "суда"])


def test_what_is_counted_is_known_and_a_number_is_figures_or_words():
    assert counted("На сколько часов можно задержать?", RU) == "часов"
    assert counted("Какой размер платы?", RU) == "размер"
    assert counted("Президент қанша жылға сайланады?", KK) == "жылға"
    assert MATCHER.text(["сроком на семь лет"]).has_number(RU)
    assert MATCHER.text(["семья и шествие"]).has_number(RU) is False
