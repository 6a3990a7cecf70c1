"""
Articles, points and sub-points as people write them: `статья 23`, `п. 2 ст. 42`,
`23-й статье`, `двадцать третьей статье`, `42-баптың 2-тармағы`, `Article 42(2)(a)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from indexer.search.vocabulary import Words

_LONGEST_RANGE = 30
_ABBREVIATED = 2  # letters of `ст`, `п`: no ordinal stands beside these
_SECTION = re.compile(r"§\s*(\d+)")
_ROMAN = r"(?:[IVXLC]{2,}|[VX])"  # not a lone I, which is a word
_ROMANS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_NUMBER = r"(?:№\s*)?\d+(?:-\d{1,2})?(?!\d)"
_LIST = rf"{_NUMBER}(?:\s*(?:,|;|[–—-]|и|және|and|to)\s*{_NUMBER}(?![.\d]*\))(?!-?\w*(?:\s+пункт|\s+point)))*"


class Reference(Struct, frozen=True):
    """An article and a place in it; `point` and `subpoint` are empty where none is named."""

    article: str = ""
    point: str = ""
    subpoint: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """How chunks may name the place: `2`, `2/4)`, `4)`."""
        if self.subpoint and self.point:
            return (f"{self.point}/{self.subpoint})",)
        if self.subpoint:
            return (f"{self.subpoint})",)
        return (self.point, f"{self.point})") if self.point else ()


def references(text: str, languages: Iterable[Words]) -> list[Reference]:
    """Those in `text`, in order, without repeats. A point without an article has none."""
    found: list[Reference] = []
    for words in languages:
        articles, points, subs = _read(text, words)[:3]
        point, sub = next(iter(points), ""), next(iter(subs), "")
        if articles:
            only = len(articles) == 1
            found += [Reference(article, point if only else "", sub if only else "") for article in articles]
            break
        if point or sub:
            found.append(Reference("", point, sub))
    named = [one for one in found if one.article]
    return list(dict.fromkeys(named or found))


def without_references(text: str, languages: Iterable[Words]) -> str:
    """`text` without what `references` reads."""
    for words in languages:
        text = _read(text, words)[3]
    return text


def _read(text: str, words: Words) -> tuple[list[str], list[str], list[str], str]:
    """Numbers of articles, points and sub-points, and what is left of the text without them."""
    rest = _in_figures(_roman(text, words), words)
    inner, rest = _inner(rest, words)
    found: dict[str, list[str]] = {}
    for kind in (
        "subpoint",
        "point",
        "article",
    ):  # the innermost first: `2 статьи` is no article in `пункт 2 статьи 42`
        found[kind], rest = _numbers(rest, words, kind)
    points = found["point"] or [part for part in inner[:1] if part]
    subs = found["subpoint"] or [part for part in inner[1:] if part]
    return found["article"], points, subs, rest


@cache
def _patterns(
    language: str, names: tuple[str, ...], suffixes: tuple[str, ...]
) -> tuple[re.Pattern[str], ...]:
    name = rf"(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"
    suffix = rf"(?:-?(?:{'|'.join(suffixes)}))?" if suffixes else ""
    dotted = r"(\d{1,3}(?:\.\d{1,3}){1,4})"
    after = re.compile(rf"(?<![^\W_]){name}\.?\s*(?:{dotted}|({_LIST}))\)?", re.IGNORECASE)
    mark = rf"(?<![\d.])({_NUMBER}){suffix}\)?[\s-]*{name}(?![^\W_])"
    return (
        (after, re.compile(mark, re.IGNORECASE)) if language != "kk" else (re.compile(mark, re.IGNORECASE),)
    )


def _numbers(text: str, words: Words, kind: str) -> tuple[list[str], str]:
    """Numbers of one kind of division, and the text without them."""
    found: list[str] = []
    reference = words.reference
    patterns = _patterns(words.language, tuple(reference[kind]), tuple(reference["suffix"]))
    if kind == "article":
        patterns = (_SECTION, *patterns)
    for pattern in patterns:
        matches = list(pattern.finditer(text))
        for match in matches:
            found += _listed(next(group for group in match.groups() if group))
        text = pattern.sub(" ", text)
        if matches and pattern is not _SECTION:
            break
    return list(dict.fromkeys(found)), text


def _listed(text: str) -> Iterator[str]:
    """`52–54` → 52, 53, 54; `23 и 24` → 23, 24; `83-1` is one number."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{1,3})+", text):
        yield text
        return
    parts = re.findall(r"\d+(?:-\d{1,2}(?!\d))?|[–—]", text)
    if (
        len(parts) == 1
        and (match := re.fullmatch(r"(\d+)-(\d+)", parts[0]))
        and int(match[2]) > int(match[1])
    ):
        parts = [match[1], "–", match[2]]
    for index, part in enumerate(parts):
        if part not in "–—":
            yield part
        elif 0 < index < len(parts) - 1 and parts[index - 1].isdigit() and parts[index + 1].isdigit():
            first, last = int(parts[index - 1]), int(parts[index + 1])
            if last - first <= _LONGEST_RANGE:
                yield from map(str, range(first + 1, last))


def _inner(text: str, words: Words) -> tuple[tuple[str, str], str]:
    """`23(2)(a)`: point and sub-point behind the article's number, and the text without them."""
    names = "|".join(sorted(map(re.escape, words.reference["article"]), key=len, reverse=True))
    pattern = rf"((?<![^\W_])(?:{names})\.?\s*\d+)\s*\((\w{{1,3}})\)(?:\s*\((\w{{1,3}})\))?"
    match = re.search(pattern, text, re.IGNORECASE)
    if match is None:
        return ("", ""), text
    return (match[2], match[3] or ""), text.replace(match[0], match[1])


def _roman(text: str, words: Words) -> str:
    """Roman numerals (capitals) behind a word for an article or before it become figures."""
    name = "|".join(sorted(map(re.escape, words.reference["article"]), key=len, reverse=True))
    behind = re.compile(rf"(?<![^\W_])((?i:{name})\.?\s*)({_ROMAN})(?![^\W_])")
    before = re.compile(rf"(?<![^\W_])({_ROMAN})(?=[\s-]+(?i:{name})(?![^\W_]))")
    text = behind.sub(lambda match: f"{match[1]}{_value(match[2])}", text)
    return before.sub(lambda match: str(_value(match[1])), text)


def _value(numeral: str) -> int:
    """12 for `XII`."""
    digits = [_ROMANS[letter] for letter in numeral]
    following = [*digits[1:], 0]
    return sum(-one if one < after else one for one, after in zip(digits, following, strict=True))


def _in_figures(text: str, words: Words) -> str:
    """Ordinals beside a word for a division become figures: `двадцать третьей статье` → `23 статье`."""
    ordinals = sorted(words.ordinals, key=len, reverse=True)
    tens = sorted(words.tens, key=len, reverse=True)
    ending = r"[^\W\d_]{0,4}"
    ordinal = rf"(?:({'|'.join(tens)})[\s-]+)?(?:({'|'.join(tens)})[\s-]+)?({'|'.join(ordinals)}){ending}"
    kinds = ("article", "point", "subpoint")
    names = [name for kind in kinds for name in words.reference[kind] if len(name) > _ABBREVIATED]
    name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))

    def figure(match: re.Match[str]) -> str:
        value = sum(words.tens[ten.lower()] for ten in (match[1], match[2]) if ten)
        return str(value + words.ordinals[match[3].lower()])

    before = re.compile(rf"(?<![^\W_]){ordinal}(?=\s+(?:{name})(?![^\W_]))", re.IGNORECASE)
    text = before.sub(figure, text)
    after = re.compile(rf"(?<![^\W_])({name})\s+{ordinal}(?![^\W_])", re.IGNORECASE)

    def behind(match: re.Match[str]) -> str:
        value = sum(words.tens[ten.lower()] for ten in (match[2], match[3]) if ten)
        return f"{match[1]} {value + words.ordinals[match[4].lower()]}"

    return after.sub(behind, text)
