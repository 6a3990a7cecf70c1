"""A question in other words than the index is asked without what all questions share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from indexer.errors import Retryable
from indexer.index.analysis import analyzer
from indexer.search.generic import STRENGTH, Generic
from indexer.search.hybrid import Extras, search_many
from indexer.search.vocabulary import load
from indexer.settings import Search
from tests.search.test_hybrid import axis, page, reader_of

STEM = analyzer("stem")


def unit(*numbers: float) -> np.ndarray:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


HUB, ANSWER = unit(0.2, 0, 1), unit(0.8, 0.6, 0)
QUESTION = unit(0.6, 0.45, 0.9)  # most of it is what all questions are


class Model:
    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []

    def __call__(self, questions: Sequence[str]) -> list[np.ndarray]:
        self.asked.append(questions)
        return [unit(0, 0, 1) for _ in questions]


def test_the_common_part_is_taken_out_of_a_questions_vector() -> None:
    """The rest has length 1; each language's questions are embedded once, and unknown ones not at all."""
    model = Model()
    generic = Generic(load, model, default="en")
    found = generic.without("how much is it", QUESTION)

    assert found is not None
    assert found == pytest.approx(unit(*(QUESTION - STRENGTH * np.array([0, 0, 1]))), abs=1e-6)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)
    assert generic.without("where is it", QUESTION) is not None
    assert len(model.asked) == 1
    assert generic.without("Қазақстанда баға қанша тұрады?", QUESTION) is None
    assert generic.without("сколько это стоит", QUESTION) is not None
    assert len(model.asked) == 2
    assert len(load().languages["ru"].generic) == len(load().languages["en"].generic) > 20


def test_a_model_that_fails_leaves_the_question_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """Once: it is not asked again for the next question."""
    asked: list[Sequence[str]] = []

    def fails(questions: Sequence[str]) -> list[np.ndarray]:
        asked.append(questions)
        raise Retryable("no provider answered")

    generic = Generic(load, fails, default="en")
    assert generic.without("how much is it", QUESTION) is None
    assert generic.without("where is it", QUESTION) is None
    assert len(asked) == 1
    assert "asked as it is" in caplog.text


def test_only_a_question_in_other_words_is_asked_again(tmp_path: Path) -> None:
    """There the chunk that is near to every question yields to the answer; where words fit, nothing changes."""
    pages = [
        page("https://e.org/hub", ["Вопросы и ответы обо всём"], [HUB]),
        page("https://e.org/answer", ["Доставка стоит 700 рублей"], [ANSWER]),
        page("https://e.org/other", ["Окна и двери"], [axis(1, 3)]),
    ]
    reader = reader_of(tmp_path, pages)

    def ask(question: str, generic: Generic | None) -> list[str]:
        (hits,) = search_many(
            reader,
            [question],
            analyze=STEM,
            embed_queries=lambda questions: [QUESTION],
            settings=Search(),
            extras=Extras(generic=generic),
        )
        return [hit.url.rpartition("/")[2] for hit in hits]

    model = Model()
    generic = Generic(load, model, default="ru")
    assert ask("how much is delivery", None)[0] == "hub"
    assert ask("how much is delivery", generic)[0] == "answer"
    asked = len(model.asked)
    assert ask("вопросы и ответы", generic) == ask("вопросы и ответы", None)
    assert len(model.asked) == asked
    reader.close()
