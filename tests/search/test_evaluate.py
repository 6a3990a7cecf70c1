"""Retrieval figures against their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import Misconfigured
from indexer.hits import Hit
from indexer.search.evaluate import Question, evaluate, load_questions, relevant_ranks, score, summary


def hits_of(*urls: str) -> list[Hit]:
    return [
        Hit(id=str(n), score=-n, url=url, title="", topic="", text="", context="", language="")
        for n, url in enumerate(urls)
    ]


def test_a_page_ranks_by_its_best_chunk() -> None:
    """Later chunks of the same page count for nothing, also not as places."""
    found = score(Question("?", ("https://e.org/b",)), hits_of(*["https://e.org/a"] * 5, "https://e.org/b"))

    assert found.ranks == (2,)
    assert found.mrr == 0.5
    assert found.ndcg == pytest.approx(1 / math.log2(3))
    assert found.recall == 1.0


def test_figures_follow_their_definitions() -> None:
    """Three relevant pages, of which two are found, at 1 and 4."""
    question = Question("?", ("https://e.org/a", "https://e.org/d", "https://e.org/x"))
    found = score(question, hits_of(*(f"https://e.org/{letter}" for letter in "abcd")))
    best = 1 + 1 / math.log2(3) + 1 / 2

    assert found.ndcg == pytest.approx((1 + 1 / math.log2(5)) / best)
    assert found.recall == pytest.approx(2 / 3)
    assert found.mrr == 1.0


def test_what_is_too_deep_does_not_count() -> None:
    """nDCG and MRR look at ten pages, recall at five."""
    urls = [f"https://e.org/{n}" for n in range(30)]
    sixth = score(Question("?", (urls[5],)), hits_of(*urls))
    eleventh = score(Question("?", (urls[10],)), hits_of(*urls))

    assert (sixth.recall, sixth.mrr) == (0.0, pytest.approx(1 / 6))
    assert sixth.ndcg == pytest.approx(1 / math.log2(7))
    assert (eleventh.ndcg, eleventh.recall, eleventh.mrr, eleventh.ranks) == (0.0, 0.0, 0.0, (11,))


@given(st.permutations(range(8)), st.sets(st.integers(0, 9), min_size=1))
def test_figures_lie_between_0_and_1(order: Sequence[int], relevant: set[int]) -> None:
    """A perfect ranking gets 1, none is beyond, nothing found is 0."""
    found = score(
        Question("?", tuple(f"https://e.org/{n}" for n in relevant)),
        hits_of(*(f"https://e.org/{n}" for n in order)),
    )
    perfect = score(
        Question("?", tuple(f"https://e.org/{n}" for n in range(3))),
        hits_of(*(f"https://e.org/{n}" for n in range(8))),
    )

    assert 0 <= found.ndcg <= 1 + 1e-12
    assert 0 <= found.recall <= 1
    assert 0 <= found.mrr <= 1
    assert (perfect.ndcg, perfect.recall, perfect.mrr) == (pytest.approx(1), 1, 1)


@pytest.mark.parametrize(
    ("relevant", "url"),
    [
        ("https://e.org/цены", "https://e.org/%D1%86%D0%B5%D0%BD%D1%8B"),
        ("HTTPS://E.org:443/a/", "https://e.org/a"),
        ("http://e.org/a#part", "https://e.org/a"),
        ("https://кафе.рф/меню", "https://xn--80akn5b.xn--p1ai/меню"),
        ("https://e.org", "https://e.org/"),
        ("e.org/a", "https://e.org/a"),
        ("/a/b", "https://e.org/x/a/b"),
        ("b?page=2", "https://e.org/b?page=2"),
        ("d000001.md", "file:///tmp/docs/d000001.md"),
    ],
)
def test_spellings_of_a_url_are_one(relevant: str, url: str) -> None:
    """Escapes, host case, IDN, default port, scheme, fragment, trailing slash; or the path's ending."""
    assert relevant_ranks([relevant], ["https://other.org/", url]) == [2]


@pytest.mark.parametrize(
    ("relevant", "url"),
    [
        ("https://e.org/a", "https://e.org/x/a"),
        ("https://e.org/a", "https://www.e.org/a"),
        ("https://e.org/b?page=2", "https://e.org/b"),
        ("a", "https://e.org/ba"),
        ("https://e.org:8080/a", "https://e.org/a"),
        ("e.org/a", "https://the.e.org/a"),
    ],
)
def test_other_pages_are_not_taken_for_it(relevant: str, url: str) -> None:
    """An ending begins at a slash; a whole URL is no ending."""
    assert relevant_ranks([relevant], [url]) == []


def test_each_relevant_page_counts_once() -> None:
    """An ending that fits two pages is found with the first; the longest ending goes first."""
    assert relevant_ranks(["a", "a"], ["https://e.org/a", "https://e.org/x/a"]) == [1]
    assert relevant_ranks(["a", "x/a"], ["https://e.org/x/a", "https://e.org/a"]) == [1, 2]


def test_batches_are_asked_and_only_figures_are_kept() -> None:
    """All questions are scored, in order, in batches; the summary holds the means."""
    questions = [Question(f"q{n}", (f"https://e.org/{n}",)) for n in range(150)]
    batches: list[int] = []

    def ask(batch: list[str]) -> list[list[Hit]]:
        batches.append(len(batch))
        return [
            hits_of(f"https://e.org/{name[1:]}" if int(name[1:]) % 2 else "https://e.org/no")
            for name in batch
        ]

    scores = evaluate(questions, ask)

    assert [one.question for one in scores] == [one.question for one in questions]
    assert sum(batches) == 150
    assert max(batches) <= 64
    figures = summary(scores)
    low, high = figures.pop("interval")["ndcg@10"]
    assert figures == {"ndcg@10": 0.5, "recall@5": 0.5, "mrr@10": 0.5, "questions": 150}
    assert 0.4 < low < 0.5 < high < 0.6


def test_questions_are_read_line_by_line(tmp_path: Path) -> None:
    """Blank lines and unknown fields are fine."""
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"question": "Сколько?", "relevant": ["https://e.org/цены"]}\n\n'
        '{"id": 7, "question": "Где?", "relevant": ["a", "b"]}\n',
        encoding="utf-8",
    )

    assert load_questions(path) == [
        Question("Сколько?", ("https://e.org/цены",)),
        Question("Где?", ("a", "b")),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"question": "x"}', "relevant"),
        ('{"question": "x", "relevant": "https://e.org"}', "relevant"),
        ('{"question": "x", "relevant": []}', "must not be empty"),
        ('{"question": "x", "relevant": ["/"]}', "must not be empty"),
        ('{"question": " ", "relevant": ["a"]}', "must not be empty"),
        ('{"question": 5, "relevant": ["a"]}', "question"),
        ('{"question": "x"', "malformed|truncated|ended"),
        ("[]", "object"),
        ("\udcff", "utf-8|malformed|invalid"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str, words: str) -> None:
    """File, line, and what is wrong."""
    path = tmp_path / "q.jsonl"
    good = '{"question": "x", "relevant": ["a"]}\n'
    path.write_bytes((good + line + "\n").encode("utf-8", "surrogateescape"))
    with pytest.raises(Misconfigured, match=rf"q.jsonl, line 2: (?i:.*({words}))"):
        load_questions(path)


def test_no_questions_and_no_file_are_said(tmp_path: Path) -> None:
    """An empty or missing file is an error, not a perfect score."""
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(Misconfigured, match="holds no questions"):
        load_questions(tmp_path / "empty.jsonl")
    with pytest.raises(Misconfigured, match="No such file"):
        load_questions(tmp_path / "missing.jsonl")
