"""Whole sites of various make, from the first request to an answer."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.shop import sources, unconditional
from tests.support.site import EXAMPLE, asked, folder_site, statuses

QUESTIONS = EXAMPLE.parent / "questions.jsonl"


def _rows(indexer, name):
    """Records of `export` by unquoted path."""
    rows = indexer("export", "--project-name", name).ok().lines
    return {unquote(urlsplit(row["url"]).path): row for row in rows}


def _best(indexer, name, question):
    return indexer("search", "--project-name", name, "--json", "--limit", "1", question).ok().json[0]


def test_cyrillic_addresses_an_old_encoding_and_a_table_without_headings(indexer):
    with folder_site("dental_ru") as site:
        report = indexer("init-project", "--name", "ромашка", *sources(site), "--json").ok().json
        assert (report["found"], report["indexed"]) == (6, 6)
        rows = _rows(indexer, "ромашка")

        assert "Лечение во сне" in rows["/услуги/детям.html"]["text"]
        assert "Черновик" not in rows["/услуги/имплантация.html"]["text"]
        for price in ("4 600", "13 900", "6 200", "38 000", "61 500", "27 000", "5 400", "45 000"):
            assert price in rows["/цены.html"]["text"].replace("\xa0", " ")
        hit = _best(indexer, "ромашка", "сколько стоит удалить зуб мудрости?")
        assert unquote(urlsplit(hit["url"]).path) == "/цены.html"
        assert "6 200" in hit["text"]

        _who_asks_how_to_reach_it_is_answered(indexer)
        site.reset()
        again = indexer("seed", "--project-name", "ромашка", "--json").ok().json
        assert unconditional(site.log) == []
        assert set(statuses(site)) == {304}
        assert max(asked(site).values()) == 1
        assert (again["embedded"], again["generation"]) == (0, report["generation"])


REACH = {
    "Где вы находитесь?": "Мельничная улица, 3",
    "Как к вам проехать?": "Мельничная улица, 3",
    "Здравствуйте! Подскажите, где ваш офис?": "Мельничная улица, 3",
    "Ваш телефон?": "221-00-10",
    "Какая у вас электронная почта?": "priem@romashka.example",
    "График работы": "9:00–21:00",
    "Во сколько вы открываетесь?": "9:00–21:00",
    "Вы работаете в воскресенье?": "10:00–14:00",
}
ELSEWHERE = ("Где находится Эрмитаж?", "Какой телефон у полиции?", "Есть ли скидка в понедельник?")


def _who_asks_how_to_reach_it_is_answered(indexer):
    """In whatever words, by what the page shows; what lies elsewhere is not answered by the clinic's own."""
    asking = [{"id": question, "question": question} for question in (*REACH, *ELSEWHERE)]
    path = indexer.projects.parent / "asking.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in asking), encoding="utf-8")
    rows = indexer("context", "--project-name", "ромашка", "--in", str(path)).ok().lines
    told = {row["id"]: (row["sufficiency"], row["fragments"][0]["body"]) for row in rows}
    for question, answer in REACH.items():
        assert told[question][0] == "sufficient", question
        assert answer in told[question][1]
    assert {told[question][0] for question in ELSEWHERE} == {"weak"}


def test_what_a_shop_keeps_out_stays_out_and_says_why(indexer):
    with folder_site("shop_en") as site:
        report = indexer("init-project", "--name", "shop", *sources(site), "--json").ok().json
        rows = _rows(indexer, "shop")

        assert (report["found"], report["indexed"], report["skipped"], report["failed"]) == (8, 5, 3, 0)
        assert rows["/cart.html"]["reason"] == "noindex"
        assert rows["/account/"]["reason"] == "robots"
        assert rows["/kettles/copper-1l/print.html"]["reason"] in ("canonical", "duplicate")
        assert asked(site)["/account/"] == 0
        hit = _best(indexer, "shop", "how much does the steel kettle for two litres weigh?")
        assert urlsplit(hit["url"]).path == "/kettles/steel-2l/"
        assert "1,240 g" in rows["/kettles/steel-2l/"]["text"]


def test_an_old_manual_is_read_by_following_its_links(indexer):
    with folder_site("manual_en") as site:
        words = ["--crawl", site.url("/"), "--allow-private", site.host, "--delay", "0"]
        indexer("init-project", "--name", "manual", *words, "--json").ok()
        rows = _rows(indexer, "manual")

        indexed = {path for path, row in rows.items() if row["status"] == "indexed"}
        assert {"/passage.html", "/water.html", "/gates.html"} <= indexed
        assert "2024-05-01 312 148" in " ".join(rows["/water.html"]["text"].split())
        assert "before pleasure boats" in rows["/passage.html"]["text"]
        hit = _best(indexer, "manual", "what must be done when the water rises to red level?")
        assert urlsplit(hit["url"]).path == "/water.html"


@pytest.fixture
def example(indexer):
    with folder_site(EXAMPLE) as site:
        yield indexer("init-project", "--name", "example", *sources(site), "--json").ok().json


def test_the_example_answers_its_questions_in_both_languages(indexer, example):
    assert (example["found"], example["indexed"]) == (20, 20)
    command = ("eval", "--project-name", "example", "--questions", str(QUESTIONS), "--json")
    hybrid = next(score for score in indexer(*command).ok().json if score["mode"] == "hybrid")
    assert hybrid["recall@5"] >= 0.85  # a floor against a fall, not a goal


def test_the_questions_of_the_example_name_pages_that_exist():
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert len(questions) >= 24
    for question in questions:
        for path in question["relevant"]:
            assert (EXAMPLE / Path(path.lstrip("/") + "index.html" * path.endswith("/"))).is_file()
