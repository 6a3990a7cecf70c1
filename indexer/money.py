"""Amounts of money in text: what extraction, the drafts of questions and the digest look for."""

import re

SIGNS = "$€£¥₹₽₸₴"
_NAMES = r"руб|тг|тенге|USD|EUR|kr\b|zł"
_MONEY = re.compile(
    rf"[{SIGNS}]\s?\d|\d\s?(?:[{SIGNS}]|руб\b|тг\b|тенге|USD\b|EUR\b|kr\b|zł\b)", re.IGNORECASE
)
_CURRENCY = re.compile(rf"[{SIGNS}]|{_NAMES}")
_SIGN_AND_AMOUNT = re.compile(rf"[{SIGNS}]\s?[\d\s.,]+$")
_NAMED_AMOUNT = re.compile(
    rf"[^\W\d_]{{2}}.*\d[\d\s.,]*\s*(?:[{SIGNS}]|руб\.?|р\.?|тг|тенге|USD|EUR)?$", re.IGNORECASE
)


def names_money(text: str) -> bool:
    """Whether `text` names an amount of money."""
    return _CURRENCY.search(text) is not None and _MONEY.search(text) is not None


def begins_with_currency(text: str) -> bool:
    """Whether `text` begins with a sign or a name of money."""
    return _CURRENCY.match(text.lstrip()) is not None


def ends_with_amount(text: str) -> bool:
    """Whether `text` ends with a sign of money and an amount: `from $1,200`."""
    return _SIGN_AND_AMOUNT.search(text) is not None


def prices(line: str) -> bool:
    """Whether a line is a name and a number, of some currency or of none: `Borscht 450`."""
    return _NAMED_AMOUNT.search(line) is not None
