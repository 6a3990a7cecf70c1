"""
Headings that markdown does not mark: legal divisions and lines set in bold.

`Раздел II`, `Глава 3. Права`, `Статья 23`, `23-бап`, `Article 23`, `§ 5`. A line counts
only where it stands like a heading: the number is followed by the end of the line or by
punctuation, so that "Статья 23 гласит, что" stays prose. Points and sub-points (`1.`,
`1)`, `а)`) are list items to the block scanner.
"""

from __future__ import annotations

import re

SECTION, CHAPTER, PARAGRAPH, ARTICLE, BOLD = 7, 8, 9, 10, 11
_LONGEST_HEADING = 160
_LONGEST_BOLD = 100
_MARKS = "*_# \t"

_NUMBER = r"(?:\d{1,4}(?:[-–.]\d{1,3})*(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}|\^\d{1,2})?|(?-i:[IVXLCDM]{1,7}))"
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹–", "0123456789-")
_LEVELS = {
    SECTION: r"раздел|часть|бөлім|part|title|teil|приложение|қосымша|annex|appendix",
    CHAPTER: r"глава|тарау|chapter|kapitel|chapitre",
    PARAGRAPH: r"параграф|§",
    ARTICLE: r"статья|бап|article|art\.|artikel|section",
}
_WORD_LEVEL = {word.replace("\\", ""): level for level, words in _LEVELS.items() for word in words.split("|")}
_WORDS = "|".join(words for words in _LEVELS.values())
# "Статья 23 ...", or with the number first, as in Kazakh: "23-бап".
_LEGAL = re.compile(
    rf"(?:(?P<word>{_WORDS})\s*№?\s*(?P<behind>{_NUMBER})|(?P<number>{_NUMBER})\s*[-–]?\s*(?P<after>бөлім|тарау|бап))"
    r"(?P<rest>[^\w].*)?$",
    re.IGNORECASE | re.DOTALL,
)
_FIRST = frozenset(word[0] for word in _WORDS.split("|")) | frozenset("0123456789ivxlcdm")


def legal_heading(line: str) -> tuple[int, str] | None:
    """(level, label) of a line that opens a legal division, else `None`. Levels go below markdown's six."""
    line = line.strip(_MARKS)
    match = _match(line)
    if match is None:
        return None
    rest = (match["rest"] or "").strip(_MARKS)
    name = line[: match.start("rest")] if match["rest"] else line[: _LONGEST_HEADING + 1]
    whole = len(line) <= _LONGEST_HEADING and not rest.endswith((";", ","))
    return _level(match), (line if whole else name).strip().rstrip(".:")


def division(label: str) -> tuple[int, str]:
    """Level and number of the legal division that a heading opens: `83-1`, `II`; (0, "") for others."""
    match = _match(label.strip(_MARKS))
    if match is None:
        return 0, ""
    number = match["behind"] or match["number"]
    plain = number.partition("^")[0].rstrip("⁰¹²³⁴⁵⁶⁷⁸⁹")
    raised = number[len(plain) :].lstrip("^")
    return _level(match), (plain + f"-{raised}" * bool(raised)).translate(_RAISED)


def _match(line: str) -> re.Match[str] | None:
    if not line or line[0].lower() not in _FIRST:
        return None
    match = _LEGAL.match(line[: _LONGEST_HEADING + 1])
    if match is None:
        return None
    rest = (match["rest"] or "").strip(_MARKS)
    return None if rest and rest[0] not in ".:—–-(" and not _is_title(rest) else match


def _level(match: re.Match[str]) -> int:
    return _WORD_LEVEL[(match["word"] or match["after"]).lower()]


def stands_alone(level: int, label: str) -> bool:
    """Whether a heading opens what is asked for by itself: an article, or a question with its answer."""
    return level == ARTICLE or asks(label) or division(label)[0] == ARTICLE


def asks(label: str) -> bool:
    """Whether a heading is a question."""
    return label.endswith(("?", "？", "؟"))


def bold_heading(block: str) -> str:
    """The label of a block that is one short line, all of it in bold; else an empty string."""
    for mark in ("**", "__"):
        inside = block[2:-2].strip()
        if (
            len(block) <= _LONGEST_BOLD
            and block.startswith(mark)
            and block.endswith(mark)
            and mark not in inside
            and "\n" not in inside
            and any(letter.isalpha() for letter in inside)
        ):
            return inside
    return ""


def _is_title(rest: str) -> bool:
    """Whether what follows a number reads as a name: capital letter, and no full stop at the end."""
    return rest[0].isupper() and len(rest) <= _LONGEST_BOLD and not rest.endswith((".", ";", ",", ":"))
