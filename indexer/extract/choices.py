"""
Fields: which options and values say what is offered, and which only set something.

Services, branches, sizes, doctors are what a customer asks about. Countries, telephone
codes, languages, currencies, months, days, pages of so many results and their order are
not: they are the same on every site.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from selectolax.lexbor import LexborNode

from indexer.contacts import says_contact
from indexer.extract import phrases
from indexer.extract.text import squeeze
from indexer.money import names_money

_MANY, _MOST = (
    20,
    100,
)  # options; over the first they must be phrases or facts, over the second they are a directory
_SHARE = 0.6  # of the options that set something; then all do
_LISTED = 3  # countries: two of them may be two branches
_LOCALES = ("en", "ru", "kk", "uk", "de", "fr", "es", "it", "pt", "pl", "tr")
_OWN_NAMES = (
    "қазақша", "кыргызча", "oʻzbekcha", "o'zbekcha", "ўзбекча", "тоҷикӣ", "中文", "日本語", "한국어", "العربية",
)  # fmt: skip
_PIECES = re.compile(r"[A-Z]?[a-z]+")
_SETTINGS = frozenset((
    "sort", "sorting", "sortby", "orderby", "ordering", "limit", "perpage", "pagesize", "lang", "language", "locale", "currency",
    "country", "countries", "region", "state", "province", "timezone", "month", "year", "day", "birthday", "dob", "qty", "quantity",
    "jump", "jumpto", "jumpbox", "quickjump", "goto", "forum", "fid", "scope", "searchin", "theme", "skin", "archives",
))  # fmt: skip
_MACHINERY = _SETTINGS | frozenset((
    "count", "token", "csrf", "nonce", "captcha", "url", "link", "href", "share", "date", "search", "q",
))  # fmt: skip
_TYPED = frozenset(("text", "tel", "email"))  # fields whose value is text
_URL = re.compile(r"://|^www\.")
_LEADS = re.compile(r"location|href|window\.open", re.IGNORECASE)  # of a choice that is a menu
_WORD = re.compile(r"[^\W\d_]+")
_PHRASE = 2  # words
_NUMBER = re.compile(r"\d{1,4}")
_CODE = re.compile(r"[^\d+]*\(?\+\d{1,3}[\s-]?\d{0,3}\)?[^\d+]*")
_MOMENT = re.compile(
    r"\d{1,2}[:.]\d{2}(?:\s?[ap]\.?m\.?)?|\d{1,2}\s?[ap]\.?m\.?|\(?(?:GMT|UTC)\b.*|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}",
    re.IGNORECASE,
)
_YEARS = range(1900, 2100)
_ORDER = re.compile(
    r"\b(?:low(?:est)? to high|high(?:est)? to low|a\s?[-–—]\s?z|z\s?[-–—]\s?a|а\s?[-–—]\s?я|я\s?[-–—]\s?а|(?:a|de)scending|newest|oldest|latest|relevance|relevant"
    r"|featured|popular(?:ity)?|most recent|recently|best.?sell(?:ing|ers?)|top.?rated|(?:average|customer) rating|sort|default"
    r"|сначала|по (?:попул|цене|новизн|рейтинг|дате|возраст|убыв|алфавит|умолч|назван|релевант)\w*|новинки|популярн\w+"
    r"|yes|no|да|нет|иә|жоқ|per page|results|на странице)\b",
    re.IGNORECASE,
)
_ORDER_WORDS = 6


def is_setting(select: LexborNode) -> bool:
    """Whether a `select` says nothing of what is offered."""
    texts = [text for option in select.css("option") if (text := squeeze(option.text() or ""))]
    texts = [text for text in dict.fromkeys(texts) if not phrases.is_placeholder(text)]
    if not texts or len(texts) > _MOST:
        return True
    if any(_WORD.search(text) and (names_money(text) or says_contact(text)) for text in texts):
        return _mostly(texts, _CODE)
    if _names_setting(select) or _sets(texts):
        return True
    spoken = sum(len(_WORD.findall(text)) >= _PHRASE for text in texts)
    return len(texts) > _MANY and 2 * spoken < len(texts)


def fixed_value(field: LexborNode) -> str:
    """What an `input` shows that nobody can change: an account number, a code; empty for others."""
    attributes = field.attributes
    if "readonly" not in attributes or (attributes.get("type") or "text").lower() not in _TYPED:
        return ""
    value = (attributes.get("value") or "").strip()
    told = len(value) > 2 and not _URL.search(value) and _MACHINERY.isdisjoint(_words(field, "class"))
    return value if told else ""


def begins_option(field: LexborNode, before: str) -> bool:
    """Whether a field is the button of an option that follows another one on the line."""
    kind = (field.attributes.get("type") or "").lower()
    return kind in ("radio", "checkbox") and before.rstrip()[-1:] not in (":", "/", "")


def _names_setting(select: LexborNode) -> bool:
    if _LEADS.search(select.attributes.get("onchange") or ""):
        return True
    return not _SETTINGS.isdisjoint(_words(select, "aria-label"))


def _words(field: LexborNode, also: str) -> set[str]:
    """The words of a field's id, name and one more attribute, in lower case, and each two as one."""
    said = " ".join(filter(None, (field.attributes.get(name) for name in ("id", "name", also))))
    words = [word.lower() for word in _PIECES.findall(said)]
    return {*words, *map("".join, pairwise(words))}


def _sets(texts: Sequence[str]) -> bool:
    """Whether the options are values that are the same everywhere."""
    numbers = [int(text) for text in texts if _NUMBER.fullmatch(text)]
    if len(numbers) >= _SHARE * len(texts):
        return _counts(numbers)
    if any(_mostly(texts, pattern) for pattern in (_CODE, _MOMENT)):
        return True
    if sum(1 for t in texts if len(t.split()) <= _ORDER_WORDS and _ORDER.search(t)) >= _SHARE * len(texts):
        return True
    known = sum(text.lower() in _common() for text in texts)
    return known >= _SHARE * len(texts) and known >= min(_LISTED, len(texts))


def _mostly(texts: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return sum(pattern.fullmatch(text) is not None for text in texts) >= _SHARE * len(texts)


def _counts(numbers: Sequence[int]) -> bool:
    """Whether numbers are quantities, days, years, or results a page; sizes begin elsewhere."""
    steps = {abs(after - before) for before, after in pairwise(numbers)}
    if min(numbers) <= 1 and steps <= {1}:
        return True
    tens = all(number % 4 == 0 or number % 5 == 0 for number in numbers)
    return (tens and len(steps) > 1) or all(number in _YEARS for number in numbers)


@cache
def _common() -> frozenset[str]:
    """Names of countries, languages, currencies, months and weekdays, in lower case."""
    from babel import Locale

    found = set(_OWN_NAMES)
    for name in _LOCALES:
        locale = Locale(name)
        found.update(locale.territories.values(), locale.languages.values())
        found.update((*locale.currencies, locale.get_language_name(name) or ""))
        for forms in (locale.months, locale.days):
            for widths in forms.values():
                for width in ("wide", "abbreviated"):
                    found.update(widths[width].values())
    for name in list(found):
        found.add(name.rstrip("."))
    return frozenset(one.lower() for one in found if len(one) > 1)
