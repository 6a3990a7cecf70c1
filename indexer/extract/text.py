"""Text as a reader sees it: no characters without a shape, no run of spaces, words countable in every script."""

from __future__ import annotations

import re

# Soft hyphens, zero-width spaces, direction marks, byte order marks, controls, private use, non-characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ue000-\uf8ff\ud800-\udfff"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
# Joiners carry meaning between letters of Arabic and Indic scripts and in emoji; elsewhere they hide.
_JOINERS = re.compile("(?<![\u0600-\u0dff\u2600-\u27ff\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]")
_LINE_BREAKS = re.compile("[\x0c\x85\u2028\u2029\r]")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_NARROW = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\u00ad\u034f-\uffff\U00010000-\U0010ffff]")


def visible(text: str) -> str:
    """*text* without what has no shape; line breaks of all kinds become newlines."""
    if text.isascii() and text.isprintable():
        return text
    if not _NARROW.search(text):
        return text
    text = _LINE_BREAKS.sub("\n", text)
    return _JOINERS.sub("", _UNSEEN.sub("", text))


def smuggled(raw: bytes) -> list[str]:
    """What Unicode tag characters in UTF-8 spell: ASCII that no reader sees and a language model reads."""
    if b"\xf3\xa0\x80" not in raw and b"\xf3\xa0\x81" not in raw:
        return []
    runs = _TAGS.findall(raw.decode("utf-8", "ignore"))
    return ["".join(chr(ord(c) - 0xE0000) for c in run) for run in runs]


def squeeze(text: str) -> str:
    """One line: every run of white space is one space."""
    return " ".join(text.split())


def count_words(text: str) -> int:
    """Words between spaces; in scripts without spaces, two characters count as one."""
    words = len(text.split())
    if not text.isascii():
        unspaced = len(_CJK.findall(text))
        if unspaced:
            words += unspaced // 2
    return words
