"""A chat model may refine the route of a question, and loosen nothing."""

import json

import pytest

from indexer.errors import AllProvidersExhausted
from indexer.search.forgiving import TRIES
from indexer.search.refine import Refiner
from indexer.search.routing import Router
from indexer.search.vocabulary import load

MANY = "Нужны стоянка катера, электричество и хранение лодки зимой"


class Model:
    """Says one thing, or fails."""

    model = "fake/m"
    calls = 0

    def __init__(self, said):
        self.said = said

    def __call__(self, system, user, *, temperature=0.1):
        self.calls += 1
        if self.said is None:
            raise AllProvidersExhausted("models.route: fake/m: down")
        return self.said if isinstance(self.said, str) else json.dumps(self.said)


@pytest.fixture(scope="module")
def router():
    return Router(load(), ())


def _routed(router, question, said):
    model = Model(said)
    return Refiner(model, router)(router.read(question)), model


@pytest.mark.parametrize(
    "said",
    [
        {"route": "historical"},
        {"route": "comparison"},
        {"route": "exact_lookup"},
        {"route": "admin"},
        {"route": "mixed_topic"},
        {"route": "mixed_topic", "aspects": ["Сколько стоит стоянка катера"]},
        {"route": "mixed_topic", "aspects": ["стоянка катера", "пароль от архива"]},
        {"route": "mixed_topic", "aspects": ["стоит", "стоянка"]},
        {"route": "mixed_topic", "aspects": ["стоянка", 5]},
        {"aspects": []},
        "",
        "I cannot say.",
        '{"route": "bro',
        "[" * 100_000,
    ],
)
def test_a_word_that_would_open_or_drop_something_is_not_taken(router, said):
    question = "Сколько стоит стоянка катера у причала?"
    after, model = _routed(router, question, said)
    assert after == router.read(question)
    assert model.calls == 1


@pytest.mark.parametrize("question", ["Что в статье 9?", "Чем отличается новая редакция от прежней?"])
def test_places_and_editions_are_the_rules_alone(router, question):
    after, model = _routed(router, question, {"route": "ordinary"})
    assert (after, model.calls) == (router.read(question), 0)


def test_parts_are_taken_that_say_all_in_the_words_of_the_question(router):
    parts = ["Нужны стоянка катера", "электричество", "хранение лодки зимой"]
    after, _ = _routed(
        router, MANY, f"```json\n{json.dumps({'route': 'mixed_topic', 'aspects': parts})}\n```"
    )
    assert (after.route, after.refined, list(after.aspects)) == ("mixed_topic", True, parts)
    part, _ = _routed(router, MANY, {"route": "mixed_topic", "aspects": parts[:2]})
    assert part == router.read(MANY)


def test_a_model_that_fails_is_left_alone_after_a_while(router, caplog):
    model = Model(None)
    refine = Refiner(model, router)
    question = router.read("Сколько стоит стоянка катера?")
    assert all(refine(question) == question for _ in range(TRIES + 2))
    assert model.calls == TRIES
    assert "not asked again" in caplog.text
