"""What the scanner sees, what is not torn, and what a chunk is called."""

from __future__ import annotations

import pytest

from indexer.artifacts import Chunk
from indexer.chunk.blocks import Kind, scan
from indexer.chunk.cuts import Gap, parts
from indexer.chunk.structure import ARTICLE, CHAPTER, PARAGRAPH, SECTION, bold_heading, legal_heading
from indexer.chunk.topics import clean, heading_topic, shorten
from indexer.phases.chunk import chunk_text
from indexer.settings import Chunking

SENTENCE = "Мастер приезжает в тот же день и чинит на месте. "


def cut(text: str, limit: int = 1500, title: str = "") -> list[Chunk]:
    return list(chunk_text(text, title=title, settings=Chunking(max_chars=limit)).chunks)


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind.value, text[block.start : block.end]) for block in scan(text)]


# ── blocks ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_are_told_apart_with_any_line_end(end):
    """Headings, text, items, tables, code and rules, with LF, CRLF and CR."""
    lines = [
        "# Цены",
        "",
        "Текст",
        "в две строки",
        "",
        "- один",
        "  ещё",
        "- два",
        "",
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
    ]
    lines += ["", "***", "```", "# не заголовок", "", "```", "", "Итог", "----"]
    text = end.join(lines)
    assert [kind for kind, _ in kinds(text)] == [
        "heading",
        "text",
        "item",
        "item",
        "table",
        "rule",
        "code",
        "heading",
    ]
    assert scan(text)[0].label == "Цены"
    assert scan(text)[-1][3:] == (2, "Итог")


def test_a_hash_without_a_space_is_no_heading():
    """`#tag` and seven marks are text."""
    assert kinds("#скидка\n\n####### семь") == [("text", "#скидка"), ("text", "####### семь")]


def test_a_fence_that_nothing_closes_is_text():
    """An open fence does not swallow the headings after it; a longer one closes a shorter."""
    assert [block.kind for block in scan("```py\nx\n\n# Дальше")] == [Kind.TEXT, Kind.HEADING]
    assert [block.kind for block in scan("```\n``\n# x\n````\n\nb")] == [Kind.CODE, Kind.TEXT]
    assert [block.kind for block in scan("````\n```\n# x\n````\nb")] == [Kind.CODE, Kind.TEXT]
    assert [block.kind for block in scan("~~~\n```\n~~~\n# x")] == [Kind.CODE, Kind.HEADING]


def test_what_is_indented_under_an_item_belongs_to_it():
    """A second paragraph and code inside an item stay with it; unindented text does not."""
    text = "1. шаг\n\n   пояснение\n   ```\n   # код\n   ```\n2. шаг\n\nдалее"
    assert [body for _, body in kinds(text)] == [text[: text.index("2.")].strip(), "2. шаг", "далее"]


def test_rows_without_outer_bars_are_a_table():
    """A table may begin in the last line of a paragraph, and lack outer bars or a delimiter."""
    assert kinds("Прайс\nКод | Цена\n--- | ---\n1 | 200\n\nвсё")[1] == (
        "table",
        "Код | Цена\n--- | ---\n1 | 200",
    )
    assert kinds("год | доход\n2017 | 5\n2018 | 6") == [("table", "год | доход\n2017 | 5\n2018 | 6")]
    assert kinds("выбор: да | нет")[0][0] == "text"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Статья 23", (ARTICLE, "Статья 23")),
        ("**Статья 83-1. Гарантии**", (ARTICLE, "Статья 83-1. Гарантии")),
        ("23-бап.", (ARTICLE, "23-бап")),
        ("I бөлім. Негіздері", (SECTION, "I бөлім. Негіздері")),
        ("Глава 3 Права граждан", (CHAPTER, "Глава 3 Права граждан")),
        ("Раздел II", (SECTION, "Раздел II")),
        ("Article 23: Speech", (ARTICLE, "Article 23: Speech")),
        ("§ 5", (PARAGRAPH, "§ 5")),
        ("Статья 5. " + SENTENCE * 5, (ARTICLE, "Статья 5")),
        ("Статья 23 Конституции гласит, что каждый вправе.", None),
        ("статьями 23 и 24", None),
        ("Article 5 of the agreement applies", None),
        ("Part mid-season", None),
        ("Статья", None),
        ("2017", None),
    ],
)
def test_legal_divisions_count_only_where_they_stand_like_headings(line, found):
    """A number must be followed by the end, punctuation or a name; prose about an article is prose."""
    assert legal_heading(line) == found


def test_a_line_amid_a_sentence_is_no_legal_heading():
    """A reference that a line break puts at the start of a line stays text."""
    assert kinds("Read what is listed at\nSection 26.3.1.\nIt ends.") == [
        ("text", "Read what is listed at\nSection 26.3.1.\nIt ends.")
    ]
    assert [kind for kind, _ in kinds("Article 1.\nIt begins.\nArticle 2.\nIt ends.")] == [
        *("heading", "text", "heading", "text"),
    ]


def test_a_short_line_in_bold_is_a_heading():
    """`**Доставка**` alone is one; bold inside a sentence, a long line and marks alone are not."""
    assert bold_heading("**Доставка**") == "Доставка"
    assert bold_heading("**Цена** и **срок**") == ""
    assert bold_heading("**" + "а" * 200 + "**") == ""
    assert bold_heading("****") == ""
    assert [chunk.topic for chunk in cut("**Доставка**\n\nЗавтра.")] == ["Доставка"]


# ── sentences ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Да. Нет! «Как?» Так… Всё", ["Да.", "Нет!", "«Как?»", "Так…", "Всё"]),
        (
            "Офис на ул. Абая, д. 5. Вход с ул. Сейфуллина.",
            ["Офис на ул. Абая, д. 5.", "Вход с ул. Сейфуллина."],
        ),
        ("Dr. A. Smith met Mr. B. He left.", ["Dr. A. Smith met Mr. B. He left."]),
        ("営業します。「はい。」次です", ["営業します。", "「はい。」", "次です"]),
        ("Версия 2.5 вышла.И ещё", ["Версия 2.5 вышла.И ещё"]),
        ("1. Первый\n2. Второй", ["1. Первый", "2. Второй"]),
        ("یہ ہے۔ دوسرا؟ تیسرا", ["یہ ہے۔", "دوسرا؟", "تیسرا"]),
    ],
)
def test_sentences_end_at_stops_of_their_script(text, sentences):
    """Abbreviations, initials, numbering and decimals do not end a sentence."""
    assert [text[part.start : part.end] for part in parts(text, 0, len(text), limit=500)] == sentences


def test_a_sentence_over_the_limit_is_cut_at_clauses_then_spaces_then_characters():
    """The best gap is known for each cut, and nothing is over the limit."""
    text = "слово, " * 40 + "слово " * 40 + "а" * 300
    found = parts(text, 0, len(text), limit=200)
    assert {Gap.CLAUSE, Gap.WORD, Gap.CHARACTER} <= {part.gap for part in found}
    assert max(part.end - part.start for part in found) <= 200


def test_numbers_written_with_spaces_are_not_torn_at_a_space():
    """`5 000` stays together, with a plain and with a no-break space."""
    for space in (" ", "\u00a0"):
        text = f"цена 125{space}000{space}тенге за день " * 60
        for chunk in cut(text, limit=300):
            assert not chunk.text.startswith("000")


# ── what stays together ─────────────────────────────────────────────────────────────────


def test_short_paragraphs_are_merged_and_long_ones_cut_at_sentences():
    """A page without headings becomes chunks near the limit that end with sentences."""
    text = "\n\n".join([SENTENCE * 3] * 5 + [SENTENCE * 60] + [SENTENCE] * 3)
    chunks = cut(text)
    assert all(chunk.text.startswith("Мастер") and chunk.text.endswith("месте.") for chunk in chunks)
    assert min(len(chunk.text) for chunk in chunks) > 375
    assert [chunk.topic for chunk in chunks] == [f"Part {number}" for number in range(1, len(chunks) + 1)]


def test_a_heading_stays_with_what_follows():
    """Even where the text below fills the limit, its first sentences stay under the heading."""
    text = f"{SENTENCE * 20}\n\n# Услуги\n\n## Ремонт\n\n{SENTENCE * 30}"
    holder = next(chunk for chunk in cut(text) if "# Услуги" in chunk.text)
    assert holder.text.startswith("# Услуги\n\n## Ремонт\n\nМастер")
    assert holder.topic == "Услуги › Ремонт"


def test_sections_of_some_length_stand_alone_and_small_ones_join_their_neighbours():
    """Small siblings share a chunk named after all of them; a larger section keeps its own."""
    text = f"# Цены\n\n## Окна\n\n{SENTENCE}\n\n## Двери\n\n{SENTENCE}\n\n## Полы\n\n{SENTENCE * 20}"
    assert [chunk.topic for chunk in cut(text)] == ["Цены › Окна; Двери", "Цены › Полы"]


def test_a_question_stays_with_its_answer():
    """Wherever the limit falls, the paragraph after a question is in its chunk."""
    pairs = [f"Сколько стоит услуга {number}?\n\n{SENTENCE * 4}Ответ {number}." for number in range(40)]
    chunks = cut("\n\n".join(pairs), limit=700)
    for number in range(40):
        assert any(f"услуга {number}?" in chunk.text and f"Ответ {number}." in chunk.text for chunk in chunks)


def test_a_question_heading_and_an_article_are_chunks_of_their_own():
    """What is asked for by itself is not mixed with its neighbours, however short."""
    text = "# Вопросы\n\n### Есть ли парковка?\n\nДа.\n\n### Можно с собакой?\n\nМожно.\n\nСтатья 1.\nО себе.\nСтатья 2.\nО других."
    assert [chunk.topic for chunk in cut(text)] == [
        "Вопросы › Есть ли парковка?",
        "Вопросы › Можно с собакой?",
        "Вопросы › Можно с собакой? › Статья 1",
        "Вопросы › Можно с собакой? › Статья 2",
    ]


def test_the_question_is_the_context_of_what_its_answer_was_cut_into():
    """A piece of a long answer says what was asked."""
    chunks = cut(f"Как оплатить?\n\n{SENTENCE * 60}")
    assert chunks[0].context == ""
    assert {chunk.context for chunk in chunks[1:]} == {"Как оплатить?"}


def test_a_table_is_cut_between_rows_and_its_header_repeated():
    """600 rows: each whole in one chunk, each chunk but the first with the header beside it."""
    rows = [f"| Артикул {1000 + number} | Доска {number} | {number * 37} тенге |" for number in range(600)]
    chunks = cut("Прайс:\n\n| Код   | Имя | Цена |\n|-------|-----|------|\n" + "\n".join(rows))
    assert chunks[0].text.startswith("Прайс:\n\n| Код ")
    assert chunks[0].context == ""
    assert {chunk.context for chunk in chunks[1:]} == {"Прайс:\n| Код | Имя | Цена |\n|---|---|---|"}
    for row in rows:
        assert sum(row in chunk.text for chunk in chunks) == 1
    assert max(len(chunk.context) + 1 + len(chunk.text) for chunk in chunks) <= 1500


def test_a_row_without_room_for_its_header_is_cut_under_the_header_of_its_own_columns():
    """Whoever reads a price of a wide table also reads what it is the price of, and how much of it."""
    columns, rows = 60, 8
    header = [f"до {number} кг" for number in range(1, columns)]
    lines = [f"| Город | {' | '.join(header)} |", f"|{'---|' * columns}"]
    for row in range(1, rows + 1):
        prices = " | ".join(f"{row}{number:02} ₽" for number in range(1, columns))
        lines += [f"| Город-{row} | {prices} |"]
    chunks = cut("\n".join(lines))
    told = 0
    for chunk in chunks:
        shown = f"{chunk.context}\n{chunk.text}".strip().split("\n")
        named = [cell.strip() for cell in shown[0].strip("| ").split("|")]
        cells = [line.strip("| ").split("|") for line in shown[2:]]
        if chunk.context and not chunk.text.startswith("|"):  # the row's name ends the context
            cells = [[*shown[2].strip("| ").split("|"), *shown[3].strip("| ").split("|")]]
        for row in cells if chunk.context else []:
            city, *prices = (cell.strip() for cell in row)
            told += len(prices)
            for price, weight in zip(prices, named[1:], strict=True):
                assert price == f"{city[6:]}{int(weight[3:-3]):02} ₽"
    assert told == (columns - 1) * (rows - 1) + len(header) - chunks[1].text.count("₽")


def test_a_line_that_names_a_table_is_said_with_each_of_its_chunks():
    """Three tables of one shape differ in their captions alone."""
    rows = "\n".join(f"| Работа {number} | {number}00 |" for number in range(200))
    chunks = cut(f"# Монтаж\n\nЦены для юридических лиц, без НДС\n\n| Вид | Цена |\n|---|---|\n{rows}")
    assert len(chunks) > 2
    assert all(chunk.context.startswith("Цены для юридических лиц, без НДС\n| Вид") for chunk in chunks[1:])


def test_a_row_over_the_limit_is_cut_between_cells():
    """Only a row that alone is too long is torn, and its pieces keep the header."""
    chunks = cut("| Код | Текст |\n|---|---|\n| 1 | " + "ячейка с текстом | " * 40 + "\n", limit=300)
    assert all(chunk.text.endswith("|") for chunk in chunks)
    assert all(chunk.context for chunk in chunks[1:])


def test_a_header_too_wide_to_repeat_is_left_out():
    """A header over the limit is text like any other, and no context."""
    chunks = cut("| " + "колонка | " * 60 + "\n|" + "---|" * 60 + "\n| 1 |\n| 2 |", limit=200)
    assert {chunk.context for chunk in chunks} == {""}


def test_items_and_code_are_whole_unless_they_alone_are_too_long():
    """List items and fences that fit lie in one chunk; a long list keeps its lead-in as context."""
    items = "\n".join(f"- пункт {number}: {SENTENCE * 3}" for number in range(30))
    fence = "```\n" + "".join(f"x{number} = {number}\n" for number in range(90)) + "```"
    long_fence = "```\n" + "".join(f"y{number} = {number}\n" for number in range(400)) + "```"
    chunks = cut(f"Входит в стоимость:\n\n{items}\n\n{SENTENCE * 10}\n\n{fence}\n\n{long_fence}")
    for item in items.splitlines():
        assert any(item.strip() in chunk.text for chunk in chunks)
    assert any(fence in chunk.text for chunk in chunks)
    lines = [line for chunk in chunks for line in chunk.text.splitlines() if line.startswith("y")]
    assert lines == [f"y{number} = {number}" for number in range(400)]
    assert "Входит в стоимость:" in {chunk.context for chunk in chunks}


def test_repeated_sections_keep_their_own_text():
    """Forty sections with the same heading and first sentence: nothing is confused or lost."""
    text = "\n\n".join(
        f"## Филиал\n\nРаботает ежедневно. {SENTENCE * 3} МЕТКА-{number}" for number in range(40)
    )
    chunks = cut(text, title="Филиалы")
    for number in range(40):
        assert sum(f"МЕТКА-{number}" in chunk.text.split() for chunk in chunks) == 1
    assert {chunk.topic for chunk in chunks} == {"Филиалы › Филиал"}


# ── topics ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("title", "paths", "topic"),
    [
        ("Окна Плюс", [("Окна Плюс", "Цены")], "Окна Плюс › Цены"),
        ("Цены — Окна Плюс", [("Цены", "Двери")], "Цены — Окна Плюс › Двери"),
        ("", [()], "Part 7"),
        ("Т", [()], "Т"),
        ("Т", [("А", "Б"), ("А", "В"), ("А", "В", "Г")], "Т › А › Б; В"),
        ("Т", [("А",), ("А", "Б"), ("А", "Б", "В")], "Т › А › Б › В"),
        ("Т", [("А",), ("Б",)], "Т › А; Б"),
        ("5. Цены", [("Глава 5 - Цены", "1. Масло")], "Глава 5 - Цены › 1. Масло"),
        ("5. Цены", [("Глава 5 - Цены",)], "Глава 5 - Цены"),
        ("Закон", [("Статья 23", "Пункт 1")], "Закон › Статья 23 › Пункт 1"),
    ],
)
def test_the_topic_is_the_title_and_what_the_sections_share(title, paths, topic):
    """Repeats of the title are dropped; several sections are named side by side."""
    assert heading_topic(title, paths, number=7) == topic


def test_a_long_topic_keeps_its_ends():
    """The middle of the path goes first; what still does not fit is cut at a word."""
    topic = heading_topic("Название " * 30, [("средний раздел " * 3, "последний раздел " * 30)], number=1)
    assert len(topic) <= 120
    assert topic.startswith("Название")
    assert "последний" in topic


def test_topics_are_one_clean_line():
    """Links, emphasis, control characters and line ends leave nothing behind."""
    assert (
        clean("**[Цены](https://a.example/x)**\n `и`\x1b[31m\u202e скидки_2024 *!*")
        == "Цены и[31m скидки_2024 !"
    )
    assert shorten("слово " * 40).endswith("слово…")


def test_a_heading_at_the_end_stays_with_the_answer_before_it():
    """It has nothing to head, and a line alone answers nothing."""
    text = (
        "# Вопросы\n\n"
        + "Слово. " * 60
        + "\n\n## Что делать?\n\n"
        + "Ждать. " * 60
        + "\n\nГлава 2. Установка"
    )
    found = chunk_text(text, title="Вопросы", settings=Chunking()).chunks

    assert found[-1].text.startswith("## Что делать?")
    assert found[-1].text.endswith("Глава 2. Установка")


def test_what_a_rule_sets_apart_is_not_about_the_heading_above_it():
    """A card's name is not the topic of the text after the cards."""
    text = (
        "# Лодки\n\n## Покраска\n\n"
        + "Красим лодки. " * 40
        + "\n\n---\n\n"
        + "Мы работаем без выходных. " * 30
    )
    found = chunk_text(text, title="Лодки", settings=Chunking()).chunks

    assert [part.topic for part in found] == ["Лодки › Покраска", "Лодки"]
    assert (
        chunk_text("# Лодки\n\nодна\n\n---\n\nдве", title="Лодки", settings=Chunking()).chunks[0].topic
        == "Лодки"
    )
