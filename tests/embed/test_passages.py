"""A chunk's text is embedded whole or in parts within the limit, and nothing of it is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.artifacts import Chunk
from indexer.embed import passages
from indexer.embed.adapters import ADAPTERS, adapter_for
from indexer.embed.batches import batches
from indexer.errors import Misconfigured


def words(text: str) -> int:
    return len(text.split())


def chunk(text: str, topic: str = "Prices", context: str = "") -> Chunk:
    return Chunk(ordinal=0, topic=topic, text=text, start=0, end=len(text), context=context)


def test_the_text_is_the_topic_the_context_and_the_chunk() -> None:
    parts = passages.parts_of(
        chunk("| Oil | 100 |", context="| Service | Price |"), prefix="passage: ", limit=99, count=words
    )
    assert parts == ["passage: Topic: Prices\n\n| Service | Price |\n| Oil | 100 |"]
    assert passages.parts_of(chunk("text"), prefix="", limit=99, count=words) == ["Topic: Prices\n\ntext"]
    assert passages.parts_of(chunk("text", topic=""), prefix="", limit=99, count=words) == ["text"]


def test_a_long_text_is_halved_at_sentences_and_every_half_keeps_the_topic() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    parts = passages.parts_of(chunk(text), prefix="p: ", limit=9, count=words)
    assert parts == [
        "p: Topic: Prices\n\nOne two three. Four five six.",
        "p: Topic: Prices\n\nSeven eight nine. Ten eleven twelve.",
    ]


def test_a_head_that_fills_half_of_the_limit_is_not_repeated() -> None:
    parts = passages.parts_of(chunk("one two three four", topic="a b c d e"), prefix="", limit=8, count=words)
    assert len(parts) == 2
    assert " ".join(" ".join(parts).split()) == "Topic: a b c d e one two three four"


@given(
    st.text(alphabet=st.sampled_from("ab яж. \n!?。日é\u0301"), max_size=300),
    st.integers(3, 40),
    st.sampled_from([len, words]),
)
def test_parts_are_within_the_limit_and_hold_all_that_is_not_space(text: str, limit: int, count) -> None:
    parts = passages.split(text, prefix="", limit=limit, count=count)
    assert all(count(part) <= limit or len(part) <= 1 for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.text(min_size=2, max_size=200))
def test_both_halves_are_shorter_than_the_whole(text: str) -> None:
    left, right = passages.halves(text)
    assert left
    assert right
    assert max(len(left), len(right)) < len(text)


def test_a_long_word_is_cut_between_characters_and_not_before_a_combining_one() -> None:
    left, right = passages.halves("e\u0301" * 51)
    assert left + right == "e\u0301" * 51
    assert right[0] == "e"


@given(
    st.lists(st.integers(0, 30), max_size=60),
    st.integers(1, 9),
    st.integers(1, 50),
)
def test_batches_keep_order_and_limits_and_lose_nothing(counts: list[int], items: int, tokens: int) -> None:
    pairs = [(str(i), count) for i, count in enumerate(counts)]
    made = list(batches(pairs, items=items, tokens=tokens))
    assert [text for batch in made for text in batch] == [text for text, _ in pairs]
    for batch in made:
        assert 1 <= len(batch) <= items
        assert len(batch) == 1 or sum(counts[int(text)] for text in batch) <= tokens


@pytest.mark.parametrize(
    ("model", "adapter"),
    [
        ("multilingual-e5-small", "e5"),
        ("intfloat/multilingual-e5-large", "e5"),
        ("e5-base-v2", "e5"),
        ("intfloat/multilingual-e5-large-instruct", "e5-instruct"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3"),
        ("text-embedding-3-small", "none"),
        ("BAAI/bge-m3", "none"),
        ("model-e55", "none"),
        ("e5/other-model", "none"),
        ("qwen3-8b", "none"),
    ],
)
def test_the_adapter_follows_from_the_last_part_of_the_name(model: str, adapter: str) -> None:
    assert adapter_for(model).name == adapter


def test_only_e5_marks_passages_and_instructions_are_for_queries() -> None:
    assert ADAPTERS["e5"].query_prefix == "query: "
    assert ADAPTERS["e5"].passage_prefix == "passage: "
    for name in ("e5-instruct", "qwen3"):
        assert ADAPTERS[name].passage_prefix == ""
        assert ADAPTERS[name].query_prefix.startswith("Instruct: ")
        assert ADAPTERS[name].query_prefix.endswith("\nQuery: ")


def test_the_setting_overrides_the_name() -> None:
    assert adapter_for("text-embedding-3-small", "e5").name == "e5"
    assert adapter_for("multilingual-e5-small", "none").passage_prefix == ""
    with pytest.raises(Misconfigured, match="e5-instruct"):
        adapter_for("m", "e6")
