"""
The text of a chunk that is embedded, and its parts where the model's limit asks for them.

    Topic: {topic}

    {context}
    {text}

A text over the limit is cut in two at the sentence end nearest to its middle (else at
white space, else between characters), and each half again while it is too long. Every
part keeps the topic and the context, unless they alone would fill half of the limit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from indexer.artifacts import Chunk

Count = Callable[[str], int]

_FRAME = 8  # tokens that a model may put around a text, and more than any does
HEAD_SHARE = 2  # a head of more than 1/2 of the limit is not repeated

_SENTENCE_END = re.compile(r"[.!?…]+[\"'»”)\]]*(?=\s)|[。！？｡]+|\n+")
_SPACE = re.compile(r"\s+")


def head_of(chunk: Chunk) -> str:
    """What stands before a chunk's own text: its topic and its context."""
    topic = f"Topic: {chunk.topic}\n\n" if chunk.topic else ""
    return topic + (f"{chunk.context}\n" if chunk.context else "")


def parts_of(chunk: Chunk, *, prefix: str, limit: int, count: Count) -> list[str]:
    """
    The texts that stand for a chunk: one, or several that are within `limit` tokens each.

    `prefix` is the model family's; `count` gives tokens of a whole text. Nothing of the
    chunk is left out but white space at the cuts.
    """
    head = head_of(chunk)
    whole = prefix + head + chunk.text
    if within(whole, limit, count):
        return [whole]
    if head and count(prefix + head) * HEAD_SHARE > limit:
        return split(head + chunk.text, prefix=prefix, limit=limit, count=count)
    return split(chunk.text, prefix=prefix + head, limit=limit, count=count)


def most_tokens(text: str) -> int:
    """What no tokenizer exceeds: a token for each byte, and those that frame a text."""
    return len(text.encode("utf-8", "surrogatepass")) + _FRAME


def within(text: str, limit: int, count: Count) -> bool:
    """Whether a text is within `limit` tokens: counted only where its length does not tell."""
    return most_tokens(text) <= limit or count(text) <= limit


def split(text: str, *, prefix: str, limit: int, count: Count) -> list[str]:
    """Halves of `text`, halved again until `prefix + part` is within `limit` tokens."""
    if len(text) <= 1 or within(prefix + text, limit, count):
        return [prefix + text]
    left, right = halves(text)
    return [
        *split(left, prefix=prefix, limit=limit, count=count),
        *split(right, prefix=prefix, limit=limit, count=count),
    ]


def halves(text: str) -> tuple[str, str]:
    """Two non-empty parts of a text of two characters or more, cut where it reads best."""
    middle = len(text) // 2
    quarter = len(text) // 4
    window = text[quarter : len(text) - quarter]
    for pattern in (_SENTENCE_END, _SPACE):
        ends = [quarter + found.end() for found in pattern.finditer(window)]
        cut = min(ends, key=lambda end: abs(end - middle), default=0)
        left, right = text[:cut].rstrip(), text[cut:].lstrip()
        if left and right:
            return left, right
    cut = middle
    while cut > quarter + 1 and unicodedata.combining(text[cut]):
        cut -= 1
    return text[:cut], text[cut:]
