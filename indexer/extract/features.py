"""
What the classifier sees of each block: its words, its neighbours, what it stands in, its page.

`describe()` → float32 matrix of shape (blocks, len(NAMES)). Everything is a count, a share
or a flag; nothing names a site, and only `phrases` knows words of a language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.extract import phrases
from indexer.extract.blocks import KINDS, Block, Frame
from indexer.extract.markup import Inside
from indexer.extract.page import PageFacts
from indexer.money import names_money

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

_PHONE = re.compile(r"\+?(?:\d[\s().-]{0,2}){9,}")
_DIGITS = {c: None for c in range(0x20, 0x3000) if not chr(c).isdigit()}
_TITLE = 8  # words of a line that titles what follows
_SHORT = 40  # words; what furniture says is shorter
LONG = 20  # words; a paragraph
_MAX_NAMES = 600  # characters; more are the utility classes of a style sheet
MANY_LINKS = 0.4  # share of words in links; more is navigation
_LEVELS = 5  # ancestors looked at, each wider than the one before

_OWN = (
    "words", "chars", "linked", "links", "word_length", "sentences", "ends", "commas", "digits", "upper", "money",
    "reach", "copies", "in_title", "in_description", "level", "number", "lines", "starts_lower", "colon",
)  # fmt: skip
_NEAR = (
    "words-2", "words-1", "words+1", "words+2", "linked-2", "linked-1", "linked+1", "linked+2", "head-1", "head+1",
    "same-1", "same+1", "mean4", "mean10", "linked4", "linked10", "long4", "long10",
)  # fmt: skip
_PLACE = (
    "index", "from_end", "words_before", "after_h1", "words_after_h1", "from_first_long", "to_last_long",
    "since_heading", "heading_level", "to_long_before", "to_long_after",
)  # fmt: skip
_CHAIN = ("words", "linked", "blocks", "per_block", "share", "repeats", "hint", "long", "heads", "money")
_FRAME = ("depth", "hint_sum", "hint_min", "hint_max", "hint_inner", "repeats_max", "articles")
FLAGS = tuple(Inside)

NAMES: tuple[str, ...] = (
    *_OWN,
    *(f"is_{k}" for k in KINDS),
    *(f"says_{k}" for k in phrases.NAMES),
    *(f"under_{k}" for k in phrases.NAMES),
    *(f"within_{k}" for k in phrases.NAMES),
    *_NEAR,
    *_PLACE,
    *_FRAME,
    *(f"in_{str(flag.name).lower()}" for flag in FLAGS),
    *(f"{name}@{level}" for level in range(_LEVELS) for name in _CHAIN),
    *(f"page_{name}" for name in PageFacts.NUMBERS),
    "page_words", "page_blocks", "page_linked", "page_long", "page_heads", "page_money", "page_main", "page_article",
)  # fmt: skip


def describe(blocks: list[Block], frames: list[Frame], facts: PageFacts, hints: dict[str, float]) -> Array:
    """The matrix for one page."""
    matrix = np.empty((len(blocks), len(NAMES)), dtype=np.float32)
    at = 0
    for part in _parts(blocks, frames, facts, hints):  # all at once they would be four times the matrix
        matrix[:, at : at + part.shape[1]] = part
        at += part.shape[1]
    return matrix


def _parts(
    blocks: list[Block], frames: list[Frame], facts: PageFacts, hints: dict[str, float]
) -> Iterator[Any]:
    """The matrix in groups of columns, in the order of NAMES."""
    words = np.array([b.words for b in blocks], dtype=np.float64)
    linked = np.array([min(b.linked, b.words) for b in blocks], dtype=np.float64)
    texts = [b.text if len(b.text) < 400 else b.text[:400] for b in blocks]
    tokens = [phrases.tokens_of(t) if b.words <= _SHORT else [] for b, t in zip(blocks, texts, strict=True)]
    says = [phrases.kinds_of(t) for t in tokens]
    for block, bits in zip(blocks, says, strict=True):
        block.says = bits
    yield _own(blocks, texts, tokens, words, linked, facts)
    yield _flags([KINDS.index(b.kind) for b in blocks], len(KINDS))
    yield _bits(says, len(phrases.NAMES))
    del texts, tokens
    heading = _headings(blocks)
    yield _bits([says[h] if h >= 0 else 0 for h in heading], len(phrases.NAMES))
    yield _bits(_within(blocks, frames, says), len(phrases.NAMES))
    yield _near(blocks, words, linked)
    yield _place(blocks, words, linked, heading)
    yield from _frames(blocks, frames, words, linked, hints)
    page = np.concatenate([facts.numbers(), _page(blocks, words, linked)])
    yield np.broadcast_to(page, (len(blocks), len(page)))


def _own(
    blocks: list[Block], texts: list[str], lists: list[list[str]], words: Any, linked: Any, facts: PageFacts
) -> Any:
    copies = Counter(b.text for b in blocks)
    rows = []
    for b, text, tokens in zip(blocks, texts, lists, strict=True):
        size = len(text)
        count = len(tokens) or 1
        rows.append((
            size / (min(b.words, 80) or 1),
            text.count(". ") + text.count("! ") + text.count("? ") + (text[-1] in ".!?…"),
            text[-1] in '.!?…:;"”»)',
            text.count(",") / (b.words or 1),
            len(text.translate(_DIGITS)) / size,
            text.isupper(),
            names_money(text),
            has_reach(text),
            min(copies[b.text], 9),
            sum(t in facts.title_words for t in tokens) / count,
            sum(t in facts.description_words for t in tokens) / count,
            b.level,
            min(b.number, 30),
            min(b.text.count("\n"), 30),
            text[0].islower(),
            text[-1] == ":",
        ))  # fmt: skip
    rest = np.array(rows, dtype=np.float64)
    chars = np.log1p([len(b.text) for b in blocks])
    links = np.minimum([b.links for b in blocks], 20)
    return np.column_stack([np.log1p(words), chars, linked / np.maximum(words, 1), links, rest])


def has_reach(text: str) -> bool:
    """Whether *text* holds an e-mail address or a phone number."""
    return "@" in text or (len(text) < 200 and _PHONE.search(text) is not None)


def _flags(codes: list[int], count: int) -> Any:
    out = np.zeros((len(codes), count))
    out[np.arange(len(codes)), codes] = 1
    return out


def _bits(values: list[int], count: int) -> Any:
    column = np.array(values, dtype=np.int64)[:, None]
    return (column >> np.arange(count)) & 1


def _headings(blocks: list[Block]) -> list[int]:
    """For each block the index of the heading above it, -1 if none."""
    out, last = [], -1
    for k, b in enumerate(blocks):
        out.append(last)
        if b.kind in ("h", "summary"):
            last = k
    return out


def _within(blocks: list[Block], frames: list[Frame], says: list[int]) -> list[int]:
    """
    For each block what the titles of the sections around it say.

    A title is a heading of a higher rank above, or the short line that leads an element:
    "You may also like" speaks for every card under it, though each has a heading of its own.
    """
    half = sum(b.words for b in blocks) / 2
    sizes = np.concatenate([[0], np.cumsum([b.words for b in blocks])])
    led: dict[int, int] = {}
    for frame in frames:
        bits = led[id(frame.parent)] if frame.parent is not None else 0
        if frame.last - frame.first > 1 and sizes[frame.last] - sizes[frame.first] < half:
            leader = blocks[frame.first]
            if leader.kind == "h" or leader.words <= _TITLE:
                bits |= says[frame.first]
        led[id(frame)] = bits
    out = []
    ranks = [0] * 8  # what the last heading of each rank says
    for block, own in zip(blocks, says, strict=True):
        if block.kind == "h":
            ranks[block.level] = own
            ranks[block.level + 1 :] = [0] * (7 - block.level)
            above = ranks[: block.level]
        else:
            above = ranks
        bits = led[id(block.frame)]
        for rank in above:
            bits |= rank
        out.append(bits)
    return out


def _shift(values: Any, by: int, fill: float) -> Any:
    out = np.full(len(values), fill, dtype=np.float64)
    if abs(by) < len(values):
        if by > 0:
            out[:-by] = values[by:]
        else:
            out[-by:] = values[:by]
    return out


def _window(values: Any, radius: int) -> Any:
    """Sum over the `radius` values on each side and the value itself."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    return total[np.minimum(at + radius + 1, len(values))] - total[np.maximum(at - radius, 0)]


def _near(blocks: list[Block], words: Any, linked: Any) -> Any:
    size = np.log1p(words)
    share = linked / np.maximum(words, 1)
    heads = np.array([b.kind == "h" for b in blocks], dtype=np.float64)
    parents = np.array([id(b.frame.parent) for b in blocks])
    long = words * (words >= LONG) * (share < MANY_LINKS)
    same = parents[1:] == parents[:-1] if len(blocks) > 1 else np.zeros(0)
    ones = np.ones(len(blocks))
    around = []
    for radius in (4, 10):
        around.append(np.log1p(_window(words, radius) / _window(ones, radius)))
    for radius in (4, 10):
        around.append(_window(linked, radius) / np.maximum(_window(words, radius), 1))
    for radius in (4, 10):
        around.append(np.log1p(_window(long, radius)))
    return np.column_stack([
        *(_shift(size, k, -1) for k in (-2, -1, 1, 2)),
        *(_shift(share, k, -1) for k in (-2, -1, 1, 2)),
        _shift(heads, -1, -1), _shift(heads, 1, -1),
        np.concatenate([[0], same]), np.concatenate([same, [0]]),
        *around,
    ])  # fmt: skip


def _place(blocks: list[Block], words: Any, linked: Any, heading: list[int]) -> Any:
    n = len(blocks)
    at = np.arange(n)
    before = np.cumsum(words) - words
    total = max(float(words.sum()), 1.0)
    first_h1 = next((k for k, b in enumerate(blocks) if b.kind == "h" and b.level == 1), -1)
    long = np.flatnonzero((words >= LONG) & (linked / np.maximum(words, 1) < MANY_LINKS))
    head = np.array(heading)
    levels = np.array([b.level if b.kind == "h" else 0 for b in blocks])
    gap_before, gap_after = np.full(n, 200.0), np.full(n, 200.0)
    if len(long):
        k = np.searchsorted(long, at, side="right")
        has = k > 0
        gap_before[has] = at[has] - long[k[has] - 1]
        k = np.searchsorted(long, at, side="left")
        has = k < len(long)
        gap_after[has] = long[k[has]] - at[has]
    start = before[first_h1] if first_h1 >= 0 else 0.0
    return np.column_stack([
        at / n, (n - at) / n, before / total,
        np.sign(at - first_h1) if first_h1 >= 0 else np.full(n, -2.0),
        np.clip(before - start, -500, 5000) if first_h1 >= 0 else np.full(n, -501.0),
        np.clip(at - long[0], -60, 60) if len(long) else np.full(n, -61.0),
        np.clip(long[-1] - at, -60, 60) if len(long) else np.full(n, -61.0),
        np.where(head >= 0, np.minimum(at - head, 60), 61), np.where(head >= 0, levels[head], 0),
        np.minimum(gap_before, 60), np.minimum(gap_after, 60),
    ])  # fmt: skip


def _page(blocks: list[Block], words: Any, linked: Any) -> Any:
    total = max(float(words.sum()), 1.0)
    inside = np.array([b.frame.inside for b in blocks])
    long = words * (words >= LONG) * (linked / np.maximum(words, 1) < MANY_LINKS)
    return np.array([
        np.log1p(total), np.log1p(len(blocks)), linked.sum() / total, long.sum() / total,
        sum(b.kind == "h" for b in blocks) / len(blocks),
        sum(b.words < 12 and names_money(b.text) for b in blocks) / len(blocks),
        words[(inside & Inside.MAIN.value) != 0].sum() / total, words[(inside & Inside.ARTICLE.value) != 0].sum() / total,
    ])  # fmt: skip


def _frames(
    blocks: list[Block], frames: list[Frame], words: Any, linked: Any, hints: dict[str, float]
) -> Iterator[Any]:
    index = {id(f): k for k, f in enumerate(frames)}
    parent = [index[id(f.parent)] if f.parent is not None else -1 for f in frames]
    first = np.array([f.first for f in frames])
    last = np.maximum(np.array([f.last for f in frames]), first)
    own = np.array([index[id(b.frame)] for b in blocks])
    wider, chain = _widen(frames, parent, hints)
    share = linked / np.maximum(words, 1)
    sums = {
        "words": words,
        "linked": linked,
        "long": words * (words >= LONG) * (share < MANY_LINKS),
        "heads": np.array([b.kind == "h" for b in blocks], dtype=np.float64),
        "money": np.array([b.words < 12 and names_money(b.text) for b in blocks], dtype=float),
    }
    inside = {}
    for name, values in sums.items():
        total = np.concatenate([[0.0], np.cumsum(values)])
        inside[name] = total[last] - total[first]
    count = np.maximum(last - first, 1)
    whole = max(float(words.sum()), 1.0)
    per_frame = np.column_stack([
        np.log1p(inside["words"]),
        inside["linked"] / np.maximum(inside["words"], 1),
        np.log1p(count),
        np.log1p(inside["words"] / count),
        inside["words"] / whole,
        chain["repeats"],
        chain["hint"],
        inside["long"] / np.maximum(inside["words"], 1),
        inside["heads"] / count,
        inside["money"] / count,
    ])  # fmt: skip
    said = {names: _hint(names, hints) for names in {b.inner for b in blocks}}
    inner = np.array([said[b.inner] for b in blocks])
    articles = sum(f.tag == "article" for f in frames)
    general = np.column_stack([
        chain["depth"][own], chain["sum"][own], chain["min"][own], chain["max"][own], inner,
        chain["repeats_max"][own], np.full(len(blocks), min(articles, 30)),
    ])  # fmt: skip
    flags = np.array([b.frame.inside for b in blocks], dtype=np.int64)[:, None]
    yield general
    yield (flags & np.array([int(f) for f in FLAGS])) != 0
    at = own
    for _ in range(_LEVELS):
        yield per_frame[at]
        at = wider[at]


def _widen(frames: list[Frame], parent: list[int], hints: dict[str, float]) -> tuple[Any, dict[str, Any]]:
    """For each frame the nearest ancestor with more blocks, and what its chain of ancestors says."""
    n = len(frames)
    wider = [0] * n
    hint, total, least, most = [0.0] * n, [0.0] * n, [0.0] * n, [0.0] * n
    repeats, repeats_max, depth = [0.0] * n, [0.0] * n, [0] * n
    known: dict[str, float] = {}
    for k, frame in enumerate(frames):
        up = parent[k]
        names = frame.names
        value = known.get(names)
        if value is None:
            value = known[names] = _hint(names, hints) if names else 0.0
        if up < 0:
            hint[k] = total[k] = least[k] = most[k] = value
            continue
        above = frames[up]
        wider[k] = wider[up] if (above.first, above.last) == (frame.first, frame.last) else up
        # an element that wraps the same blocks speaks for them too
        hint[k] = value or (hint[up] if wider[k] == wider[up] else 0.0)
        total[k] = total[up] + value
        least[k] = min(least[up], value)
        most[k] = max(most[up], value)
        same = min(above.children.get(frame.shape, 1), 50)
        repeats[k] = max(same, repeats[up]) if wider[k] == wider[up] else same
        repeats_max[k] = max(repeats_max[up], same)
        depth[k] = frame.depth
    return np.array(wider), {
        "hint": np.array(hint), "sum": np.array(total), "min": np.array(least), "max": np.array(most),
        "repeats": np.array(repeats), "repeats_max": np.array(repeats_max), "depth": np.minimum(np.array(depth), 60),
    }  # fmt: skip


_NAME_PART = re.compile(r"[#@]?[A-Za-z0-9]+")
_NAME = re.compile(r"[#@]?[A-Za-z][a-z]+|[A-Z]{2,}")
# of a build or of a record: says nothing
_HASH = re.compile(r"\d[A-Za-z]|^[#@]?(?:[a-f0-9]{3,}|[A-Za-z]{1,2})$")


def name_tokens(names: str) -> set[str]:
    """The words that class, id and role names are made of: `siteNav_top` → site, nav, top."""
    out: set[str] = set()
    if len(names) < _MAX_NAMES:
        out.update(*map(_tokens_of_name, names.split()))
    return out


@lru_cache(maxsize=1 << 15)  # the same few names stand on all pages of a site
def _tokens_of_name(name: str) -> tuple[str, ...]:
    parts = (part for part in _NAME_PART.findall(name) if _HASH.search(part) is None)
    return tuple(t.lower() for part in parts for t in _NAME.findall(part) if len(t) > 2)


def _hint(names: str, hints: dict[str, float]) -> float:
    """How strongly names speak for content (> 0) or furniture (< 0): the two strongest words."""
    values = sorted((hints[t] for t in name_tokens(names) if t in hints), key=_strength, reverse=True)
    return sum(values[:2])


def _strength(hint: float) -> tuple[float, float]:
    return abs(hint), hint  # of two as strong always the same: sets have no order
