"""What a text says, for asking whether a fact is new."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\w+")
_PHONE = 7  # digits


class Known:
    """What the text says, for asking whether a fact is new."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text.lower())
        self._flat = " " + " ".join(self._tokens) + " "
        self._bag = frozenset(self._tokens)
        self._digits = re.sub(r"[^\d]+", "", text)

    def holds(self, fact: str) -> bool:
        """Whether the words of *fact* stand in the text: in a row, or nearly all of them."""
        tokens = _TOKEN.findall(fact.lower())
        if not tokens:
            return True
        if " " + " ".join(tokens[:12]) + " " in self._flat:
            return True
        digits = re.sub(r"\D+", "", fact)
        if all(token.isdigit() for token in tokens) and len(digits) < _PHONE:
            return False  # a time or an amount: its figures may stand anywhere
        if len(digits) >= _PHONE and len(digits) * 2 >= len(fact.replace(" ", "")):
            return digits[-9:] in self._digits
        known = sum(t in self._bag for t in tokens)
        return known >= len(tokens) * (0.9 if len(tokens) < 30 else 0.8)

    def holds_number(self, number: str) -> bool:
        """Whether an amount stands in the text, however its digits are grouped."""
        whole = re.sub(r"\D+", "", number.partition(".")[0] if "." in number[-3:] else number)
        return not whole or whole in self._digits
