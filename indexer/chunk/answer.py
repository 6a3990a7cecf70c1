"""
What a chat model answered: topics and first words, from whatever shape they come in.

Lines `TOPIC: X | STARTS: Y`, with or without bullets, bold marks, fences, prose around,
the bar, or translated keywords; or JSON in place of lines. Thinking is dropped, finished
or not. What fits nothing is no section: the caller falls back to paragraphs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from indexer.chunk.topics import clean, shorten

_LONGEST_ANSWER = 400_000
_LONGEST_ANCHOR = 300
_MAX_SECTIONS = 5_000
_JSON_STARTS = 8  # how many brackets are tried as the start of JSON

_THINK = re.compile(
    r"<(think|thinking|reasoning|thought|analysis)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL
)
_THOUGHT = re.compile(r"</(?:think|thinking|reasoning|thought|analysis)>", re.IGNORECASE)
_TOPIC = re.compile(r"(?:^|[^\w])(?:topic|тема|тақырып)\**\s*\d{0,3}\s*[:：=]\**", re.IGNORECASE)
_STARTS = re.compile(
    r"(?:^|[^\w])(?:(?-i:STARTS)(?:\s+WITH)?\**\s*[:：=]?|(?:starts?(?:\s+with)?|начало|начинается\s+с|басы)\**\s*[:：=])\**",
    re.IGNORECASE,
)
_OUTER = " \t|*_`"
_TOPIC_KEYS = ("topic", "title", "name", "heading")
_START_KEYS = ("starts", "start", "anchor", "starts_with", "text", "first_words")
_LIST_KEYS = ("sections", "chunks", "topics", "anchors", "items", "boundaries")


class Section(Struct, frozen=True):
    """A section as the model named it. `topic` may be empty; `starts` is not yet found anywhere."""

    topic: str
    starts: str


def parse(answer: str | None) -> list[Section]:
    """The sections of an answer in its order; empty if it has none."""
    text = _without_thinking((answer or "")[:_LONGEST_ANSWER])
    sections = list(_from_lines(text)) or list(_from_json(text))
    return [section for section in sections if section.starts][:_MAX_SECTIONS]


def _without_thinking(text: str) -> str:
    text = _THINK.sub("\n", text)
    ends = [match.end() for match in _THOUGHT.finditer(text)]
    return text[ends[-1] :] if ends else text  # before an end without a start, all was thought


def _from_lines(text: str) -> Iterator[Section]:
    topic = ""
    for line in text.splitlines():
        starts = _STARTS.search(line)
        named = _TOPIC.search(line, 0, starts.start() + 1 if starts else len(line))
        if named:
            topic = line[named.end() : starts.start() if starts else len(line)]
        if starts:
            yield _section(topic, line[starts.end() :])
            topic = ""


def _from_json(text: str) -> Iterator[Section]:
    decoder = json.JSONDecoder()
    for match in list(re.finditer(r"[\[{]", text))[:_JSON_STARTS]:
        for candidate in (text[match.start() :], re.sub(r",(\s*[\]}])", r"\1", text[match.start() :])):
            try:
                value, _ = decoder.raw_decode(candidate)
            except (ValueError, RecursionError):
                continue
            sections = list(_from_value(value))
            if sections:
                yield from sections
                return


def _from_value(value: Any) -> Iterator[Section]:
    if isinstance(value, dict):
        lists = [value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)]
        value = lists[0] if lists else [value]
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield _section("", item)
        elif isinstance(item, dict):
            fields = {str(key).lower(): part for key, part in item.items()}
            yield _section(_first(fields, _TOPIC_KEYS), _first(fields, _START_KEYS))


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((fields[key] for key in keys if isinstance(fields.get(key), str)), "")


def _section(topic: str, starts: str) -> Section:
    return Section(topic_line(topic), starts.strip(_OUTER)[:_LONGEST_ANCHOR])


def topic_line(topic: str) -> str:
    """A model's topic as one clean line within the limit; empty if nothing is left of it."""
    line = shorten(clean(topic[:2000]).strip(" \t|*_`\"'«»“”").strip())
    return line if any(letter.isalnum() for letter in line) else ""
