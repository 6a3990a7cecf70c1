"""Small facts about slices: trimmed, blank, and safe places to cut between characters."""

from __future__ import annotations

import re

import regex

# White space, controls, and format characters that have no width of their own.
BLANK = (
    r"\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
# What continues the user-perceived character before it.
JOINER = r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]"
_VISIBLE = re.compile(f"[^{BLANK}]")
_GRAPHEME = regex.compile(r"\X")
_JOINER = regex.compile(JOINER)


def is_blank(text: str, start: int, end: int) -> bool:
    """Whether nothing in `text[start:end]` would be seen."""
    return _VISIBLE.search(text, start, end) is None


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends; (start, start) if there is nothing else."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def joins(text: str, at: int) -> bool:
    """Whether the character at `at` continues the one before it (an accent, a joined emoji)."""
    return _JOINER.match(text, at) is not None


def grapheme_cut(text: str, start: int, stop: int, *, limit: int) -> int:
    """
    The last place in (start, stop] that is not inside a user-perceived character.

    `start` must be such a place. If there is none, the first after `stop`, or `limit` if
    that comes first: an accent repeated without end is no reason to exceed it.
    """
    if stop >= len(text):
        return len(text)
    last = start
    for match in _GRAPHEME.finditer(text, start, stop + 1):
        last = match.start()
    if last > start:
        return last
    only = _GRAPHEME.match(text, start, limit + 1)
    return min(only.end(), limit) if only else limit
