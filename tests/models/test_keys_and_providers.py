"""Names, keys and chains are resolved at once, and errors say what to set; keys stay hidden."""

from __future__ import annotations

import email.utils
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.adapters.attempts import Fault, Passing, Patience, retry_after
from indexer.adapters.keys import HIDDEN, KeyPool, open_pool
from indexer.adapters.openai_models import open_embed
from indexer.adapters.providers import endpoints
from indexer.errors import Misconfigured
from indexer.settings import Models, Provider, Settings
from tests.support.models import Clock, model_cache


def resolve(name: str, environ: dict[str, str] | None = None, **providers: Provider):
    return endpoints(
        [name], setting="models.extract", settings=Settings(providers=providers), environ=environ or {}
    )


def test_the_provider_is_what_stands_before_the_first_slash() -> None:
    (found,) = resolve("openrouter/meta/llama:free", {"OPENROUTER_API_KEY": "k"})
    assert found.model == "meta/llama:free"
    assert found.base_url.startswith("https://")


def test_a_table_replaces_a_well_known_provider() -> None:
    mine = Provider(base_url="http://localhost:1/v1", timeout=3)
    (found,) = resolve("openai/m", openai=mine)
    assert (found.base_url, found.timeout) == ("http://localhost:1/v1", 3)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere/m", r"\[providers\.nowhere\]"),
        ("just-a-model", "provider/model"),
        ("openai/", "provider/model"),
        ("openai/m", r"\$OPENAI_API_KEY is empty"),
        ("bad/m", "no http"),
    ],
)
def test_what_is_missing_is_named(name: str, says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        resolve(name, bad=Provider(base_url="localhost:8000"))


@pytest.mark.parametrize(
    ("chain", "says"),
    [
        (("a/text-embedding-3-small", "b/text-embedding-3-large"), "different models"),
        (("local/multilingual-e5-small", "a/multilingual-e5-small"), "different models"),
        (("local/other",), "local/multilingual-e5-small"),
        ((), "names no model"),
    ],
)
def test_an_embedding_chain_is_one_model(chain: tuple[str, ...], says: str) -> None:
    servers = {name: Provider(base_url="http://127.0.0.1:9/v1") for name in "ab"}
    settings = Settings(providers=servers, models=Models(embedding=chain))
    with pytest.raises(Misconfigured, match=says):
        open_embed(settings, cache_dir=model_cache(), environ={})


def test_the_same_model_may_be_spelled_with_its_maker() -> None:
    servers = {name: Provider(base_url="http://127.0.0.1:9/v1") for name in "ab"}
    chain = ("a/text-embedding-3-small", "b/openai/Text-Embedding-3-small")
    model = open_embed(
        Settings(providers=servers, models=Models(embedding=chain)), cache_dir=model_cache(), environ={}
    )
    assert model.model == "text-embedding-3-small"
    assert model.limits.max_tokens == 8192


def test_keys_come_from_variables_and_a_file_and_take_turns(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# mine\nthird-key\n\n")
    provider = Provider(base_url="http://x/v1", api_key_env=("A", "B"), api_key_file=str(file))
    pool = open_pool("x", provider, {"A": "first-key, second-key"})
    assert [pool.next() for _ in range(4)] == ["first-key", "second-key", "third-key", "first-key"]
    assert "key" not in repr(pool).replace("keys", "").replace("KeyPool", "")


def test_an_unreadable_key_file_is_named(tmp_path: Path) -> None:
    provider = Provider(base_url="http://x/v1", api_key_file=str(tmp_path / "none"))
    with pytest.raises(Misconfigured, match="none of provider 'x' cannot be read"):
        open_pool("x", provider, {})


def test_a_server_without_keys_gets_none() -> None:
    pool = open_pool("x", Provider(base_url="http://x/v1"), {})
    assert pool.next() == ""


def test_when_all_keys_are_refused_the_next_turn_still_gives_one() -> None:
    pool = KeyPool(["a", "b"])
    assert pool.refuse("a") is True
    assert pool.next() == "b"
    assert pool.refuse("b") is False
    assert pool.next() in {"a", "b"}


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_", min_size=12, max_size=60), st.data())
def test_no_run_of_four_of_a_key_survives_redaction(key: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(key) - 4))
    end = data.draw(st.integers(start + 4, len(key)))
    shown = KeyPool([key]).redact(f"Incorrect API key provided: {key[start:end]}***; full: {key}.")
    assert key[start:end] not in shown.replace(HIDDEN, "")


def test_headers_and_passwords_in_urls_are_redacted_too() -> None:
    pool = open_pool("x", Provider(base_url="http://x/v1", headers={"X-Key": "s e c"}), {})
    shown = pool.redact("s e c at https://user:pw@host/v1 with Authorization: Bearer abc.def")
    assert shown == f"{HIDDEN} at https://{HIDDEN}@host/v1 with Authorization: Bearer {HIDDEN}"


def test_three_attempts_with_growing_delays_and_at_most_ten_percent_more() -> None:
    clock, asked = Clock(), []

    def ask() -> None:
        asked.append(1)
        raise Passing("busy")

    with pytest.raises(Passing):
        Patience(sleep=clock.sleep, jitter=lambda: 1.0)(ask)
    assert len(asked) == 3
    assert clock.slept == pytest.approx([2.2, 4.4])


def test_anything_but_a_passing_fault_is_not_tried_again() -> None:
    asked = []

    def ask() -> None:
        asked.append(1)
        raise Fault("no")

    with pytest.raises(Fault):
        Clock().patience()(ask)
    assert len(asked) == 1


def test_a_server_that_asks_for_an_hour_gets_a_minute() -> None:
    clock, answers = Clock(), iter([Passing("busy", retry_after=3600), None])

    def ask() -> str:
        error = next(answers)
        if error:
            raise error
        return "done"

    assert clock.patience()(ask) == "done"
    assert clock.slept == [60.0]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("soon", None), ("", None), ("nan", None), ("inf", None)],
)
def test_retry_after_is_read_or_ignored(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, 0.0) == seconds


def test_retry_after_may_be_a_date() -> None:
    now = 1_700_000_000
    date = email.utils.formatdate(now + 7, usegmt=True)
    assert retry_after({"retry-after": date}, now) == 7.0
    assert retry_after({"retry-after": date}, now + 100) == 0.0
