"""
What the next generation must not lose unasked: pure arithmetic over what two generations hold.

`losses` compares whole generations; `halved` and `one_text` find changed pages whose old
version is better kept: a redesign that halves what a template says, and one text (a
maintenance page, a consent wall) in place of many.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from indexer.records import Edition

PAGES = 5  # a loss that touches more pages than this …
SHARE = 0.1  # … and takes more than this share is not published unasked
HALF = 0.5  # what a template may lose of its text before its pages are held back
GROUP = 3  # fewer pages of a template say nothing about it
ALL = ""  # the group of all pages

_VARIES = re.compile(r"\d|%|.{25}")


class Loss(Struct, frozen=True, kw_only=True):
    """What a group of pages lost. `measure`: pages, chunks or text (characters); `template` empty: all."""

    template: str
    measure: str
    before: int
    after: int
    urls: tuple[str, ...]


def template_of(url: str) -> str:
    """
    The family of pages that a URL belongs to: its last part, and parts with digits, left open.

    `https://a.example/blog/2024/how-to` → `a.example/blog/*/*`.
    """
    parts = urlsplit(url)
    *folders, _ = [part for part in parts.path.split("/") if part] or [""]
    return "/".join([parts.netloc, *("*" if _VARIES.search(part) else part for part in folders), "*"])


def losses(before: Mapping[str, Edition], after: Mapping[str, Edition]) -> list[Loss]:
    """
    Losses that are too large, of all pages first, then per template.

    A page whose text is now under another URL is not lost. Chunks count only where the
    text changed: other settings give other chunks.
    """
    texts = {one.content for one in after.values()}
    groups: dict[str, list[Edition]] = defaultdict(list)
    for one in before.values():
        groups[ALL].append(one)
        groups[template_of(one.url)].append(one)
    found = []
    for template, editions in sorted(groups.items()):
        for measure in ("pages", "chunks", "text"):
            loss = _loss(template, measure, editions, after, texts)
            if loss is not None:
                found.append(loss)
                break
    return found


def _loss(
    template: str, measure: str, editions: list[Edition], after: Mapping[str, Edition], texts: set[str]
) -> Loss | None:
    total = left = 0
    hurt = []
    for one in editions:
        had = _size(one, measure)
        new = after.get(one.key)
        if new is not None:
            now = had if new.content == one.content else _size(new, measure)
        else:
            now = had if one.content in texts else 0
        total, left = total + had, left + min(had, now)
        if had - now > SHARE * had:
            hurt.append(one.url)
    if len(hurt) <= PAGES or total - left <= SHARE * total:
        return None
    return Loss(template=template, measure=measure, before=total, after=left, urls=tuple(sorted(hurt)))


def _size(edition: Edition, measure: str) -> int:
    return {"pages": 1, "chunks": edition.chunks, "text": edition.characters}[measure]


def halved(before: Mapping[str, Edition], lengths: Mapping[str, int]) -> dict[str, str]:
    """
    Pages to hold back → why: those that shrank, of templates that lost half of their text.

    `lengths`: characters now, by key, of the pages that are still there; those that did
    not change may have any value near the old one.
    """
    held: dict[str, str] = {}
    groups: dict[str, list[str]] = defaultdict(list)
    for key in lengths.keys() & before.keys():
        groups[ALL].append(key)
        groups[template_of(before[key].url)].append(key)
    for template, keys in groups.items():
        had = sum(before[key].characters for key in keys)
        now = sum(lengths[key] for key in keys)
        if len(keys) < GROUP or now > HALF * had:
            continue
        name = f"{template} pages" if template else "all pages"
        why = f"{name} lost {round(100 * (1 - now / had))} % of their text at once"
        for key in keys:
            if lengths[key] <= 0.75 * before[key].characters:
                held.setdefault(key, why)
    return held


def one_text(before: Mapping[str, Edition], contents: Mapping[str, str]) -> dict[str, str]:
    """
    Pages to hold back → why: those that had texts of their own and now all have the same.

    `contents`: digests now, by key, of the pages that changed.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for key in contents.keys() & before.keys():
        groups[contents[key]].append(key)
    held: dict[str, str] = {}
    for keys in groups.values():
        if len({before[key].content for key in keys}) >= GROUP:
            why = f"{len(keys)} pages that differed now have one and the same text"
            held |= dict.fromkeys(keys, why)
    return held
