"""
How many tokens a text will be for an embedding model, without its tokenizer: rather too many.

Counted by kind of run: words by their script and letter case, digits, marks one by one. The
shares are those of multilingual-e5's vocabulary, rounded up: over 8,000 pages in ten
languages a chunk has 0.78 of the tokens that this says (median; 99 of 100: under 1.02), and
none that is cut to 512 by it has more than 501.
"""

from __future__ import annotations

import regex

# `name`: a part of an identifier (`icSigGreen`, `print_line(`), which words are not.
_RUN = regex.compile(
    r"(?P<name>(?<=[_\d%\p{Ll}])\p{Latin}\p{Ll}*|\p{Latin}\p{Ll}*(?=[_\d(]))|(?P<lower>\p{Latin}[\p{Ll}\p{M}]*)"
    r"|(?P<latin>\p{Latin}[\p{Latin}\p{M}]*)|(?P<cyrillic>[\p{Cyrillic}\p{M}]+)|(?P<digits>\d+)"
    r"|(?P<east>[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー]+)|(?P<south>[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+)"
    r"|(?P<letters>[\p{L}\p{M}]+)|(?P<same>([^\w\s])\10+)|(?P<apart>(?:(?<=\s)|^)[|.,;:!?])|(?P<mark>\S)"
)
# Characters that one token holds of a run, at least: the first token, then one for each so many.
_STEP = {
    "name": 2,
    "lower": 4,
    "latin": 2,
    "cyrillic": 3,
    "digits": 2,
    "east": 1.3,
    "south": 2,
    "letters": 2,
    "same": 2,
    "mark": 1,
}


def estimate(text: str) -> int:
    """Tokens of `text`, from above."""
    total = 0
    for match in _RUN.finditer(text):
        length = match.end() - match.start()
        kind = match.lastgroup or "mark"
        total += 2 if kind == "apart" else 1 + int((length - 1) / _STEP[kind])
    return total
