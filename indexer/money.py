"""Amounts of money in text: what the judges of blocks, the drafts of questions and the digest look for."""

import re

_MONEY = re.compile(
    r"[$€£¥₹₽₸₴]\s?\d|\d\s?(?:[$€£¥₹₽₸₴]|руб\b|тг\b|тенге|USD\b|EUR\b|kr\b|zł\b)", re.IGNORECASE
)
_SIGN = re.compile(r"[$€£¥₹₽₸₴]|руб|тг|тенге|USD|EUR|kr\b|zł")


def names_money(text: str) -> bool:
    """Whether `text` names an amount of money."""
    return _SIGN.search(text) is not None and _MONEY.search(text) is not None


def begins_with_currency(text: str) -> bool:
    """Whether `text` begins with a sign or a name of money."""
    return _SIGN.match(text.lstrip()) is not None
