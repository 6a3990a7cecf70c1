"""No chunk is over the limit in characters or tokens, whatever it is written in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.chunk.fitting import _MARKS
from indexer.chunk.tokens import estimate
from indexer.phases.chunk import chunk_text
from indexer.settings import Chunking

DENSE = {
    "chinese": "我们修理汽车和发动机没有休息日" * 400,
    "japanese": "車を修理します。エンジンも直します。" * 300,
    "thai": "เราซ่อมรถยนต์และเครื่องยนต์ทุกวัน" * 200,
    "georgian": "ჩვენ ვარემონტებთ მანქანებს ყოველდღე " * 200,
    "codes": "B0GCH8VJQQ B06VVM12NK 0xDEADBEEF " * 300,
    "table": "| a | b | c |\n|---|---|---|\n" + "| 1 | x | 2,5 |\n" * 500,
    "marks": "= / . , ; : ( ) | [ ] " * 400,
    "unbroken": "ъ" * 9000,
}
PIECES = st.sampled_from(
    [
        *(
            "слово ",
            "word ",
            "车辆",
            "| a | b |\n",
            "|---|---|\n",
            "# H\n\n",
            "\n\n",
            "\n",
            "- x\n",
            "1.5;",
            "ABCxyz09",
        ),
        *(
            "…",
            "👩‍👩‍👧 ",
            "Список:\n\n",
            "```\ncode\n```\n",
            "| " + "широкая ячейка " * 20 + "| b |\n|---|---|\n",
        ),
    ]
)


def check(text: str, *, chars: int, tokens: int, title: str = "") -> None:
    end = 0
    for chunk in chunk_text(text, title=title, settings=Chunking(max_chars=chars, max_tokens=tokens)).chunks:
        context = chunk.context + "\n" if chunk.context else ""
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.start >= end
        assert not text[end : chunk.start].strip()
        assert len(context) + len(chunk.text) <= chars
        if len(chunk.text) > 8:
            assert estimate(context) + estimate(chunk.text) <= max(
                tokens - _MARKS - estimate(f"Topic: {chunk.topic}"), (tokens - _MARKS) // 2
            )
        end = chunk.end
    assert not text[end:].strip()


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("tokens", [128, 512])
def test_dense_scripts_and_signs_keep_within_the_limit_in_tokens(name, tokens):
    """Scripts without spaces, codes, tables and marks have many tokens for their length."""
    check(DENSE[name], chars=1500, tokens=tokens, title="Заголовок страницы")


@given(
    st.lists(st.tuples(PIECES, st.integers(1, 80)), max_size=12),
    st.sampled_from([200, 600]),
    st.sampled_from([128, 200]),
)
@settings(max_examples=80, deadline=None)
def test_any_mixture_keeps_within_both_limits_with_its_context(pieces, chars, tokens):
    """Text and context together; nothing is lost or torn out of order."""
    check("".join(piece * count for piece, count in pieces), chars=chars, tokens=tokens)


def test_ordinary_text_is_cut_by_characters_alone():
    """A page of plain sentences has room for all of its characters."""
    text = "The station lends boats to people who can swim and gives them a vest. " * 60
    by_chars = chunk_text(text, settings=Chunking(max_tokens=100_000))
    assert by_chars == chunk_text(text, settings=Chunking())


def test_parts_of_a_dense_section_are_of_one_size():
    """No short rest is left at the end of what is cut for its tokens."""
    chunks = chunk_text("修理" * 500, settings=Chunking()).chunks
    sizes = [len(chunk.text) for chunk in chunks]
    assert len(sizes) == 2
    assert min(sizes) > 0.5 * max(sizes)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("We repair cars every day.", 6, 12),
        ("Мы чиним машины каждый день.", 6, 14),
        ("我们修理汽车", 4, 8),
        ("| 1 | 2 |", 6, 9),
        ("-----", 1, 4),
    ],
)
def test_estimates_are_of_the_right_size(text, least, most):
    """From above, but not by far."""
    assert least <= estimate(text) <= most
