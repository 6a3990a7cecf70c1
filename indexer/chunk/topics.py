"""Topics: one line that says what a chunk is about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest

LONGEST_TOPIC = 120
SEPARATOR = " › "
_LONGEST_PART = 70
_LONGEST_HEADING = 1000  # what lies behind cannot reach a topic
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`+")
_SITE_NAME = re.compile(r"\s+[|—–·•»:\-]+\s+")
_NUMBERING = re.compile(r"^\W*(?:\w+\s+)?\d+(?:\.\d+)*\W+")
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str) -> str:
    """One line without markdown marks, control characters and needless white space."""
    text = _EMPHASIS.sub("", _IMAGE_OR_LINK.sub(r"\1", text))
    text = "".join(" " if letter.isspace() else letter for letter in text if _is_drawn(letter))
    return " ".join(text.split())


def shorten(text: str, length: int = LONGEST_TOPIC) -> str:
    """`text` cut at a word, with an ellipsis, if it is over `length`."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    space = head.rfind(" ", length // 2)
    return (head[:space] if space > 0 else head).rstrip(" ,;:.-–—") + "…"


def label_of(heading: str) -> str:
    """A heading's text as a part of a topic."""
    return shorten(clean(heading[:_LONGEST_HEADING]))


def heading_topic(
    title: str, paths: Sequence[tuple[str, ...]], *, number: int, keep_parent: bool = False
) -> str:
    """
    Title and heading path of a chunk that covers the sections `paths`; else `Part N`.

    `Title › H2 › H3`; of several sections, what they share and then their own names:
    `Title › H2; H2`. Repeats are dropped, and the middle if it gets too long; with
    `keep_parent` not the last heading but one.
    """
    paths = [path for path, below in zip_longest(paths, paths[1:]) if not below or below[: len(path)] != path]
    shared = _shared(paths)
    names = list(dict.fromkeys(path[len(shared)] for path in paths if len(path) > len(shared)))
    line = _without_repeats([label_of(title), *shared])
    names = [name for name in names if not line or not _same(name, line[-1])]
    if len(names) == 1 and line and _bare(names[0]) == _bare(line[-1]):
        line.pop() if len(names[0]) >= len(line[-1]) else names.clear()
    while names and len("; ".join(names)) > _LONGEST_PART and len(names) > 1:
        names.pop()
    if names:
        line.append("; ".join(names))
    return _join(line, kept=2 if keep_parent else 1) or f"Part {number}"


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    if not paths:
        return ()
    first, last = min(paths), max(paths)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def _without_repeats(parts: Sequence[str]) -> list[str]:
    line: list[str] = []
    for part in parts:
        if not part or any(_same(part, before) for before in line):
            continue
        if line and _bare(part) == _bare(line[-1]):
            line[-1] = max(part, line[-1], key=len)  # "5. Prices" and "Chapter 5 - Prices": the fuller one
        else:
            line.append(part)
    return line


def _bare(text: str) -> str:
    """`text` without the numbering in front: `Chapter 5 - Prices` and `5. Prices` are `prices`."""
    return (_NUMBERING.sub("", text) or text).casefold()


def _same(part: str, before: str) -> bool:
    """Whether `part` says what `before` says already, which may have a site's name beside it."""
    folded = part.casefold()
    return folded == before.casefold() or folded in (half.casefold() for half in _SITE_NAME.split(before))


def _join(line: list[str], *, kept: int) -> str:
    """The first part and the last `kept`, those between as far as there is room."""
    line = [shorten(part, _LONGEST_PART) for part in line] if len(line) > 1 else line
    while len(SEPARATOR.join(line)) > LONGEST_TOPIC and len(line) > 1 + kept:
        del line[1]
    if len(SEPARATOR.join(line)) > LONGEST_TOPIC:
        share = (LONGEST_TOPIC - len(SEPARATOR) * (len(line) - 1)) // len(line)
        line = [shorten(part, share) for part in line]
    return SEPARATOR.join(line)


def _is_drawn(letter: str) -> bool:
    return letter in "\n\r\t" or letter == "\u200d" or unicodedata.category(letter) not in _INVISIBLE
