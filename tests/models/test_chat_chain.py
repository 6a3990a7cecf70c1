"""A chat chain gives an answer's text, the reason why there is none, or what failed where."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from indexer.errors import AllProvidersExhausted, Misconfigured, Permanent
from indexer.settings import Models, Settings
from tests.support.model_api import ModelApi
from tests.support.models import ENVIRON, Clock, api_settings, chat_chain

PAGE = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"


@pytest.fixture(scope="module")
def api() -> Iterator[ModelApi]:
    with ModelApi() as server:
        yield server


@pytest.mark.parametrize(
    "mode",
    [
        "ok",
        "fence",
        "think",
        "prose",
        "notfound",
        "reworded",
        "order",
        "repeat",
        "badjson",
        "quote",
        "many",
        "number",
        "obey",
        "context",
    ],
)
def test_what_the_model_says_is_handed_on_as_it_is(api: ModelApi, mode: str) -> None:
    said = chat_chain(api.base_url("llm", mode))("Answer with TOPIC: X | STARTS: Y", PAGE)
    assert said.strip()
    if mode == "ok":
        assert said.startswith("TOPIC: Topic 1 | STARTS: five six seven eight\n")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("refuse", "refusal"),
        ("filter", "content-filter"),
        ("truncated", "length"),
        ("fenceopen", "length"),
        ("thinkopen", "length"),
        ("empty", "empty"),
        ("null", "empty"),
        ("reasoning", "reasoning-only"),
    ],
)
def test_what_is_no_answer_is_permanent_and_says_why(api: ModelApi, mode: str, reason: str) -> None:
    clock = Clock()
    with pytest.raises(Permanent) as failure:
        chat_chain(api.base_url("llm", mode), clock=clock)("system", PAGE)
    assert failure.value.reason == reason
    assert "srv/org/test-chat" in str(failure.value)
    assert clock.slept == []


@pytest.mark.parametrize(
    ("mode", "says", "requests", "passing"),
    [
        ("nochoices", "without choices", 3, True),
        ("down", "HTTP 500", 3, True),
        ("html", "HTTP 502: an HTML page", 3, True),
        ("notjson", "not the JSON of this protocol", 3, True),
        ("soft", "HTTP 502: Provider returned error", 3, True),
        ("context", "maximum context length", 1, False),
    ],
)
def test_a_chain_that_is_at_its_end_names_what_failed(
    mode: str, says: str, requests: int, passing: bool
) -> None:
    with ModelApi() as api:
        with pytest.raises(AllProvidersExhausted, match=says) as failure:
            chat_chain(api.base_url("llm", mode))("system", PAGE * 50)
        assert len(api.calls()) == requests
    assert failure.value.passing is passing


def test_rate_limits_are_waited_out_as_long_as_the_server_says() -> None:
    clock = Clock()
    with ModelApi() as api:
        assert chat_chain(api.base_url("llm", "rate"), clock=clock)("system", PAGE)
    assert clock.slept == [1.0, 1.0]


def test_a_hanging_server_is_given_up_after_its_timeout() -> None:
    with ModelApi() as api, pytest.raises(AllProvidersExhausted, match=r"no answer within 0\.2 s"):
        chat_chain(api.base_url("llm", "hang"), timeout=0.2)("system", PAGE)


def test_a_wrong_key_goes_to_the_next_provider_at_once() -> None:
    clock = Clock()
    with ModelApi() as api:
        settings = api_settings(api.base_url("llm", "auth"), api.base_url("llm", "ok"))
        from indexer.adapters.openai_models import open_chat

        chat = open_chat(settings, environ={"TEST_MODEL_KEY": "sk-wrong"}, patience=clock.patience())
        assert chat("system", PAGE).startswith("TOPIC")
        assert [call.mode for call in api.calls()] == ["auth", "ok"]
    assert clock.slept == []


def test_a_model_that_gives_no_answer_is_passed_over_for_one_that_does(api: ModelApi) -> None:
    chat = chat_chain(api.base_url("llm", "reasoning"), api.base_url("llm", "ok"))
    assert chat("system", PAGE).startswith("TOPIC")


def test_a_model_that_takes_no_temperature_is_asked_without_one() -> None:
    with ModelApi() as api:
        chat = chat_chain(api.base_url("llm", "fixedtemp"))
        assert chat("system", PAGE).startswith("TOPIC")
        assert chat("system", PAGE).startswith("TOPIC")
        assert ["temperature" in call.body for call in api.calls()] == [True, False, False]


def test_the_temperature_is_sent_and_keys_take_turns() -> None:
    from indexer.adapters.openai_models import open_chat

    with ModelApi() as api:
        chat = open_chat(
            api_settings(api.base_url("llm", "ok")), environ={"TEST_MODEL_KEY": "one, two,three"}
        )
        for _ in range(6):
            chat("system", PAGE)
        assert [call.key for call in api.calls()] == ["one", "two", "three"] * 2
        assert api.calls()[0].body["temperature"] == 0.1
        assert api.calls()[0].body["model"] == "org/test-chat"
    assert chat.calls == 6


def test_a_revoked_key_of_several_is_left_out() -> None:
    from indexer.adapters.openai_models import open_chat

    with ModelApi() as api:
        chat = open_chat(
            api_settings(api.base_url("llm", "auth")), environ={"TEST_MODEL_KEY": "revoked,good"}
        )
        for _ in range(3):
            assert chat("system", PAGE)
        assert [call.key for call in api.calls()] == ["revoked", "good", "good", "good"]


def test_calls_may_run_side_by_side(api: ModelApi) -> None:
    chat = chat_chain(api.base_url("llm", "ok"))
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(chat("system", PAGE))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 8
    assert len(set(said)) == 1
    assert chat.calls == 8


def test_surrogates_in_a_page_do_not_break_the_request(api: ModelApi) -> None:
    assert chat_chain(api.base_url("llm", "ok"))("system", PAGE + " \ud800\x00")


def test_an_empty_chain_is_a_wrong_configuration() -> None:
    from indexer.adapters.openai_models import open_chat

    with pytest.raises(Misconfigured, match=r"models\.extract names no model"):
        open_chat(Settings(models=Models(extract=())), environ=ENVIRON)
