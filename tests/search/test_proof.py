"""What `eval` and `questions` say: intervals, groups, reports, comparisons, drafts."""

from __future__ import annotations

import json

import pytest

from indexer.search.confidence import difference, interval, verdict
from indexer.search.drafts import drafts
from tests.support.shop import html, open_shop, sources

PRICES = (
    "<table><tr><th>Услуга</th><th>Цена</th></tr><tr><td>Замена масла</td><td>1 500 руб.</td></tr></table>"
)


def test_an_interval_holds_the_mean_and_narrows_with_more_questions():
    few, many = [0.0, 1.0] * 5, [0.0, 1.0] * 200
    low, high = interval(few)
    assert low < 0.5 < high
    narrower = interval(many)
    assert narrower[1] - narrower[0] < high - low
    assert interval(many) == narrower
    assert interval([0.25]) == (0.25, 0.25)


def test_a_difference_is_judged_question_by_question():
    before = [0.1 * (n % 10) for n in range(40)]
    gain, bounds = difference(before, [value + 0.05 for value in before])
    assert gain == pytest.approx(0.05)
    assert verdict(bounds) == "better"
    assert verdict(difference(before, before[1:] + before[:1])[1]) == "same"
    assert verdict(difference(before, [value - 0.05 for value in before])[1]) == "worse"


def test_drafts_come_from_what_a_page_asks_its_prices_and_headings():
    text = (
        "# Мастерская\n\n## Сколько длится ремонт?\n\nДва дня.\n\n**Даёте ли гарантию?**\n\n- [Где вы?](/kontakty)\n\n"
        "| Услуга | Цена |\n| --- | --- |\n| Замена масла | 1 500 руб. |\n| Осмотр | бесплатно |\n\n"
        "## Кузовной ремонт\n\n```\n# Это код?\n```\n"
    )
    found = [(draft.origin, draft.question) for draft in drafts(text, title="Мастерская", language="ru")]
    assert found == [
        ("question", "Сколько длится ремонт?"),
        ("question", "Даёте ли гарантию?"),
        ("price", "Сколько стоит: Замена масла?"),
        ("heading", "Мастерская: Кузовной ремонт"),
    ]


@pytest.fixture
def shop():
    with open_shop(
        {
            "/oil": ("Замена масла", f"<h2>Как часто менять масло?</h2><p>Раз в десять тысяч.</p>{PRICES}"),
            "/tyres": ("Шины", "<p>Сезонная замена шин и хранение колёс на складе до весны.</p>"),
        }
    ) as site:
        yield site


def test_drafts_are_accepted_evaluated_reported_and_compared(indexer, shop, tmp_path):
    indexer("init-project", "--name", "p", *sources(shop), "--no-register").ok()
    indexer("questions", "--project-name", "p", "--out", "drafts.jsonl").ok()
    lines = [json.loads(line) for line in (tmp_path / "drafts.jsonl").read_text().splitlines()]
    assert {line["question"] for line in lines} >= {"Как часто менять масло?", "Сколько стоит: Замена масла?"}
    nobody = indexer("eval", "--project-name", "p", "--questions", "drafts.jsonl")
    nobody.fails(2, "no questions that are accepted")
    for line in lines:
        line["accepted"] = True
    (tmp_path / "accepted.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    words = ["eval", "--project-name", "p", "--questions", "accepted.jsonl"]
    first = indexer(*words, "--report", "one.json", "--report", "one.html", "--json").ok().json
    hybrid = next(one for one in first if one["mode"] == "hybrid")
    low, high = hybrid["interval"]["ndcg@10"]
    assert low <= hybrid["ndcg@10"] <= high
    assert hybrid["language"]["ru"]["questions"] == len(lines)
    assert "Как часто менять масло?" in (tmp_path / "one.html").read_text()
    again = indexer(*words, "--compare", "one.json", "--json").ok().json
    assert {change["verdict"] for change in again["changes"]} == {"same"}
    indexer(*words, "--compare", "accepted.jsonl").fails(2, "no report")
    indexer(*words, "--report", "one.pdf").fails(2, "FILE.json or FILE.html")


def test_a_page_of_text_can_be_no_markup_of_a_report(indexer, tmp_path):
    page = html(
        "Опасное", "<h2>Правда ли, что &lt;script&gt;alert(1)&lt;/script&gt; опасен?</h2><p>Да, очень.</p>"
    )
    with open_shop({"/": ("Опасное", page)}) as site:
        indexer("init-project", "--name", "p", *sources(site), "--no-register").ok()
        question = {"question": "<script>alert(1)</script>", "relevant": [site.url("/")]}
        (tmp_path / "q.jsonl").write_text(json.dumps(question))
        indexer("eval", "--project-name", "p", "--questions", "q.jsonl", "--report", "r.html").ok()
        assert "<script>" not in (tmp_path / "r.html").read_text()
