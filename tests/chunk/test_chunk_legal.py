"""Articles, points and sub-points of legal text are boundaries and fields; other texts have none."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.artifacts import Chunk
from indexer.chunk.numbering import Outline, marks
from indexer.chunk.structure import division
from indexer.phases.chunk import Cut, chunk_text
from indexer.settings import Chunking

LAW = """# Закон о лодочных станциях

## Раздел II. Прокат

### Глава 3. Правила

#### Статья 22. Станции

Станция выдаёт лодки напрокат.

#### Статья 23. Договор проката

1. Лодка выдаётся по договору. Форма договора определяется настоящим законом.

2. Станция обязана:

1) проверить лодку;

2) выдать жилеты, в том числе:

а) взрослым;

б) детям;

3) записать время выдачи.

Запись хранится год.

3. Требования пункта 2 распространяются на вёсла.

#### Статья 24-1. Ответственность

Наниматель отвечает за лодку.
"""

ACT = """Part I. Boats

Article 4
(1) A station shall keep a register of its boats.
(2) The register contains:
(a) the number of each boat;
(b) its last inspection, as set out in paragraph (1).
Article 5
A boat without a number shall not leave the pier.
"""

KAZAKH = """II бөлім. Жалға беру
13-бап.
1. Қайық шарт бойынша беріледі.
2. Осы бап ескектерге де қолданылады.
14-бап.
Қайық уақытында қайтарылады.
"""

OFFER = """# Публичная оферта

1. Общие положения

1.1. Настоящие правила определяют порядок, в котором станция выдаёт лодки напрокат посетителям.

1.2. Посетитель принимает оферту, когда оплачивает первый час проката в кассе или на сайте станции.

2. Обязанности сторон

2.1. Станция выдаёт исправную лодку, два весла и спасательный жилет каждому из посетителей лодки.

2.1.1. Детский жилет выдаётся на каждого ребёнка, который младше двенадцати лет, без доплаты.

2.2. Посетитель возвращает лодку к причалу не позже времени, которое указано в его квитанции.

3. Споры

3.1. Стороны решают споры переговорами, а если те не привели к согласию, в суде по месту станции.
"""


def cut(text: str, *, limit: int = 1500, title: str = "", legal: str = "auto") -> Cut:
    return chunk_text(
        text, title=title, settings=msgspec.convert({"max_chars": limit, "legal": legal}, Chunking)
    )


def places(text: str, **how) -> list[tuple[str, str]]:
    return [(chunk.article, chunk.point) for chunk in cut(text, **how).chunks]


def at(text: str, words: str, **how) -> Chunk:
    return next(chunk for chunk in cut(text, **how).chunks if words in chunk.text)


def test_articles_and_points_are_chunks_with_their_names():
    """A point is a chunk; the article's heading is with the first one, and in every topic."""
    assert cut(LAW).mode == "legal"
    assert places(LAW) == [("22", ""), ("23", "1"), ("23", "2"), ("23", "3"), ("24-1", "")]
    first, second = at(LAW, "по договору"), at(LAW, "Станция обязана")
    assert first.text.startswith("#### Статья 23. Договор проката")
    assert second.topic.endswith("Статья 23. Договор проката")
    assert first.parent == second.parent == "Закон о лодочных станциях › Раздел II. Прокат › Глава 3. Правила"


def test_a_point_keeps_its_sub_points_and_what_is_written_under_it():
    """What a sentence enumerates stays with it while it fits; a paragraph without a number as well."""
    second = at(LAW, "Станция обязана")
    assert "Запись хранится год." in second.text
    assert second.points == ("2", "2/1)", "2/2)", "2/2)/а)", "2/2)/б)", "2/3)")
    assert second.context == ""


def test_a_point_too_long_is_cut_between_sub_points_with_what_announces_them():
    """Each part has the words before the colon as its context, and the names of what it holds."""
    filler = "проверить лодку, вёсла и уключины до начала дня и ещё раз после обеда" * 2
    items = "\n\n".join(f"{number}) {filler};" for number in range(1, 9))
    text = f"{LAW}\n#### Статья 25. Осмотр\n\n4. Смотритель:\n\n{items}\n".replace("4. С", "1. С")
    parts = [chunk for chunk in cut(text, limit=400).chunks if chunk.article == "25"]
    assert len(parts) > 2
    assert parts[0].text.startswith("#### Статья 25")
    assert all(part.context == "1. Смотритель:" for part in parts[1:])
    assert {name for part in parts for name in part.points} == {"1", *(f"1/{n})" for n in range(1, 9))}
    assert all(part.point.startswith("1") for part in parts)


def test_points_are_written_in_many_ways():
    """Numbers in brackets and letters; the number first, as in Kazakh."""
    assert places(ACT) == [("4", "1)"), ("4", "2)"), ("5", "")]
    assert at(ACT, "The register contains").points == ("2)", "2)/a)", "2)/b)")
    assert places(KAZAKH) == [("13", "1"), ("13", "2"), ("14", "")]
    assert at(KAZAKH, "уақытында").parent == "II бөлім. Жалға беру"


def test_clauses_of_a_document_without_articles_are_points():
    """Dotted clauses are named as they are written; their chapter's name is their parent."""
    assert places(OFFER) == [("", point) for point in ("1.1", "1.2", "2.1", "2.1.1", "2.2", "3.1")]
    deep = at(OFFER, "Детский жилет")
    assert deep.points == ("2.1", "2.1.1")
    assert deep.parent == "Публичная оферта › 2. Обязанности сторон"
    assert deep.topic.endswith("2. Обязанности сторон")


def test_paragraph_signs_are_articles_where_there_are_no_others():
    """`§ 5` is what one asks for in a text that has no articles."""
    text = "Kapitel 1\n\n§ 1 Boote\n\n(1) Ein Boot hat eine Nummer.\n\n(2) Absatz 1 gilt auch für Flöße.\n\n§ 2 Ruder\n\nRuder sind frei."
    assert places(text) == [("1", "1)"), ("1", "2)"), ("2", "")]


def test_a_table_of_contents_is_no_article():
    """Only the place where an article's text stands has its name."""
    contents = "Статья 22. Станции\n\nСтатья 23. Договор проката\n\nСтатья 24-1. Ответственность"
    text = LAW.replace("## Раздел II", f"{contents}\n\n## Раздел II", 1)
    chunks = cut(text).chunks
    assert sum(chunk.article == "22" for chunk in chunks) == 1
    assert sum(chunk.article == "23" for chunk in chunks) == 3


def test_a_page_of_one_article_is_legal_if_it_is_written_so():
    """Its first heading is the article; points follow and refer to each other."""
    one = "# Статья 23. Договор\n\n1. Лодка выдаётся.\n\n2. Пункт 1 не касается вёсел."
    assert places(one) == [("23", "1"), ("23", "2")]
    assert places("# I бөлім. Қайықтар\n\n## 1-бап\n\nҚайық ағаштан жасалады.") == [("1", "")]


ORDINARY = {
    "list": "# Как выбрать лодку\n\n1. Измерьте причал.\n2. Посчитайте друзей.\n3. Купите жилеты.\n\nСтатья 5 минут чтения.",
    "series": "# Блог\n\n## Статья 1: Как грести\n\nГребите ровно.\n\n## Статья 2: Как чинить\n\nЧините вовремя.",
    "prices": "# Цены\n\n1.1. Прокат лодки, час — 500 р.\n1.2. Прокат весла — 50 р.\n\n2.1. Якорь — 90 р.\n2.2. Жилет — 0 р.\n2.3. Ключ — 10 р.\n",
    "versions": "# Changes\n\n## 1.2\n\n1.2.1 fixed the oar.\n\n1.2.2 fixed the pier.\n\n## 1.3\n\n1.3.1 new boats.",
    "manual": "# Manual\n\n## Chapter 1. Start\n\n1. Unpack the boat.\n2. Pump it up.\n\n## Chapter 2. Row\n\n1. Sit down.\n2. Row.",
    "course": "# Course\n\n## Part 1\n\n### Section 1\n\nBoats.\n\n### Section 2\n\nOars.\n\n### Section 3\n\nPiers.",
    "mention": "# Новости\n\nСтатья 23 закона о лодках изменилась.\n\n1. Теперь можно ночью.\n2. Пункт 2 отменён.",
    "comment": "# Что значит статья 23\n\nПункт 1 говорит о договоре.\n\n## Коротко\n\n1. Нужен договор.\n2. Нужен жилет.",
    "faq": "# Вопросы\n\n**1. Можно ли с собакой?**\n\nДа.\n\n**2. Можно ли ночью?**\n\nНет, по статье 23.",
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_pages_are_not_legal(name):
    """Numbered lists, series of posts, prices, versions, manuals and talk about a law have no articles."""
    found = cut(ORDINARY[name])
    assert found.mode == "paragraph"
    assert not any(chunk.article or chunk.point or chunk.points or chunk.parent for chunk in found.chunks)


def test_the_setting_forces_and_forbids():
    """`never` cuts a law as any text; `always` takes any numbering at its word."""
    assert cut(LAW, legal="never").mode == "paragraph"
    assert set(places(LAW, legal="never")) == {("", "")}
    assert ("", "1") in places(ORDINARY["list"], legal="always")


@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "Статья 3.",
                    "# Статья 4. Имя",
                    "23-бап",
                    "§ 5",
                    "Глава 1. Имя",
                    "Article 7",
                    "# H",
                    "**B**",
                ),
                *(
                    "1. один.",
                    "2. два:",
                    "1) раз;",
                    "2) два",
                    "а) аз",
                    "(a) one",
                    "(iv) four",
                    "п. 2 ещё",
                    "1.1. x",
                ),
                *(
                    "1.1.1 y",
                    "9.9.9. z",
                    "настоящая статья",
                    "текст: ",
                    "| a | b |\n|---|---|\n| 1 | 2 |",
                    "```\n1. x\n```",
                ),
                *("слово " * 40, "- bullet", "   1. deep", "В?", "***"),
            ]
        ),
        max_size=30,
    ),
    st.sampled_from(["\n", "\n\n", "\r\n"]),
    st.sampled_from(["auto", "always"]),
    st.sampled_from([200, 1500]),
)
@settings(max_examples=150, deadline=None)
def test_any_numbering_gives_exact_slices_that_cover_the_text(lines, joint, legal, limit):
    """Slices are exact, in order, within the limit, and nothing but white space lies between them."""
    text = joint.join(lines)
    end = 0
    for chunk in cut(text, limit=limit, legal=legal).chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert not text[end : chunk.start].strip()
        assert len(chunk.text) + len(chunk.context) < limit + 1
        assert not chunk.point or chunk.point in chunk.points
        end = chunk.end
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("Статья 83-1", (10, "83-1")),
        ("Статья 15². Имя", (10, "15-2")),
        ("23-бап. Атауы", (10, "23")),
        ("§ 5 Name", (9, "5")),
        ("Раздел II. Права", (7, "II")),
        ("Цены", (0, "")),
    ],
)
def test_a_divisions_number_is_read_from_its_heading(label, found):
    """Also raised numbers and numbers written first."""
    assert division(label) == found


@pytest.mark.parametrize(
    ("bodies", "labels"),
    [
        (["1. a", "1) b", "2) c", "2. d", "1) e"], ["1", "1/1)", "1/2)", "2", "2/1)"]),
        (["(h) a", "(a) b", "(i) c", "(ii) d", "(b) e"], ["", "a)", "a)/i)", "a)/ii)", "b)"]),
        (["23.1. a", "23.1.1. b", "1) c", "23.2. d"], ["23.1", "23.1.1", "23.1.1/1)", "23.2"]),
        (["4-1) a", "1) a", "4) b", "4-1) c", "5) d", "1995. e"], ["", "1)", "4)", "4-1)", "5)", "5)"]),
        (["п. 2 a", "пункт 3. b", "text"], ["2", "3", "3"]),
    ],
)
def test_marks_go_on_with_the_list_that_they_continue(bodies, labels):
    """A mark that no list has room for, such as a year, is text."""
    outline, found = Outline(), []
    for body in bodies:
        outline.read(body, announced=False)
        found.append(outline.label)
    assert found == labels


def test_a_mark_may_be_read_in_two_ways():
    """`(i)` is a letter or a number, as the list around it says."""
    assert {mark.order for mark in marks("(i) text")} == {(9,), (1,)}
    assert marks("word) text") == marks("12 boats") == []
