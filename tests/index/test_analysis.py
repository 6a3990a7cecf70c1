"""Text → terms."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import Misconfigured
from indexer.index import analysis
from indexer.index.analysis import ANALYZERS, analyzer, base_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \n—…!?_", []),
        ("Цена: 1 200 ₽/час", ["цена", "1", "200", "час"]),
        ("snake_case e-mail", ["snake", "case", "e", "mail"]),
        ("Ёлка И\u0306ОД", ["ёлка", "йод"]),  # a decomposed й is one letter
        ("STRASSE Straße", ["strasse", "straße"]),  # lower case, not case folding
        ("x² №5 ½", ["x²", "5", "½"]),
        ("日本語 テスト", ["日本語", "テスト"]),
        ("a\u200bb c\u00a0d", ["a", "b", "c", "d"]),
    ],
)
def test_base_tokens_are_lower_case_runs_of_letters_and_digits(text: str, tokens: list[str]) -> None:
    """NFC, lower case, split on whatever is neither letter nor digit."""
    assert base_tokens(text) == tokens
    assert analyzer("plain")(text) == tokens


@given(st.text())
def test_plain_is_the_contract(text: str) -> None:
    """`plain` equals the contract's definition, character by character."""
    lower = unicodedata.normalize("NFC", text).lower()
    expected = "".join(c if c.isalnum() else " " for c in lower).split(" ")

    assert analyzer("plain")(text) == [token for token in expected if token]


@given(st.text())
def test_stems_pair_with_base_tokens(text: str) -> None:
    """`stem` gives one term per base token, whatever the script; none is empty."""
    terms = analyzer("stem")(text)

    assert len(terms) == len(base_tokens(text))
    assert all(terms)


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("дверь двери дверью дверями", "двер"),
        ("ёлка елка Ёлки", "елк"),
        ("цена ценой цены", "цен"),
        ("repair repairs repaired Repairing", "repair"),
        ("b2b", "b2b"),
        ("2026", "2026"),
    ],
)
def test_forms_of_a_word_share_a_stem(words: str, stem: str) -> None:
    """Snowball by script: Cyrillic is Russian, anything else English; ё is е; pinned for `version`."""
    assert analyzer("stem").version == 1
    assert set(analyzer("stem")(words)) == {stem}


def test_a_mixed_text_is_stemmed_token_by_token() -> None:
    """One text may hold both languages; a token with any Cyrillic letter is Russian."""
    assert analyzer("stem")("Ремонт engines, web-сайтами") == ["ремонт", "engin", "web", "сайт"]


def test_the_pure_python_stemmer_gives_the_same_stems() -> None:
    """Where PyStemmer is not installed, snowballstemmer's own code is used: same terms."""
    text = "двери ремонтами ёлками running services цены прайс-листов organizations"
    program = (
        "import sys; sys.modules['Stemmer'] = None\n"
        "from indexer.index.analysis import analyzer\n"
        f"print(*analyzer('stem')({text!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == analyzer("stem")(text)


def test_threads_get_the_same_stems() -> None:
    """The analyzer may be used by many threads at once."""
    words = [f"{stem}{end}" for stem in ("двер", "ремонт", "цен") for end in ("ами", "ой", "ы", "а", "у")]
    text = " ".join(word + str(n) + " " + word for n in range(60) for word in words)
    analysis._stem.cache_clear()
    expected = analyzer("stem")(text)
    analysis._stem.cache_clear()
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(analyzer("stem")(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 8


def test_an_unknown_analyzer_or_version_is_refused() -> None:
    """The message says what exists, or that the index has to be rebuilt."""
    with pytest.raises(Misconfigured, match=r"no analyzer 'porter'.*stem, plain"):
        analyzer("porter")
    with pytest.raises(Misconfigured, match=r"version 7 of the analyzer 'stem'.*--from-phase index"):
        analyzer("stem", version=7)
    for name, known in ANALYZERS.items():
        assert analyzer(name, version=known.version) is known
        assert re.fullmatch("[a-z]+", name)
