"""What stands within a line: marks of lists, old prices struck out, exponents, elements set apart from each other."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase

from selectolax.lexbor import LexborNode

from indexer.extract.markup import INLINE
from indexer.money import SIGNS, begins_with_currency, ends_with_amount, names_money

STRUCK = frozenset(("del", "s", "strike"))
OPEN_STRUCK, CLOSE_STRUCK = " ~~", "~~ "  # an old price must not read as the price, nor run into the new one
SETS_APART = frozenset(("img", "input"))  # not read, but what stands before and after is not one word
_POWER = re.compile(r"\s*[+\-−–]?\d{1,3}\s*")
_CENTS = re.compile(r"\s*\d{2}\s*")
_VALUE = re.compile(rf"\+?\(?\d|[{SIGNS}]")  # how a value begins that follows its name
_CELLS = frozenset((
    "a", "abbr", "b", "big", "data", "em", "font", "i", "ins", "label", "mark", "small", "span", "strong", "time", "u",
))  # fmt: skip
_ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN_END = 40  # where tens have a sign of their own
_PARTS = 2  # elements with text that make a link a card
_CELL = re.compile(r"@(?:cell|gridcell|columnheader|rowheader)\b")
_OF_TWO = frozenset(("li", "dd", "dt"))
_NAME = re.compile(r"[^\W\d_]{2}[:.]?$")  # how a name ends


def list_mark(number: int, kind: str) -> str:
    """How an item of an ordered list is marked; `kind`: the list's `type`. Letters end in a bracket, numbers in a stop."""
    if kind in ("a", "A") and number <= len(ascii_lowercase):
        return f"{(ascii_lowercase if kind == 'a' else ascii_uppercase)[number - 1]})"
    if kind in ("i", "I") and number < _ROMAN_END:
        roman = "x" * (number // 10) + _ROMAN[number % 10]
        return f"{roman if kind == 'i' else roman.upper()})"
    return f"{number}."


def is_card(link: LexborNode) -> bool:
    """Whether a link is one of several that follow each other, each of several elements: a name, a price."""
    if not _has_parts(link):
        return False
    return any(other is not None and other.tag == "a" and _has_parts(other) for other in beside(link))


def beside(node: LexborNode) -> tuple[LexborNode | None, LexborNode | None]:
    """The elements before and after, with nothing but space between."""
    before, after = node.prev, node.next
    while before is not None and before.tag == "-text" and (before.text_content or "").isspace():
        before = before.prev
    while after is not None and after.tag == "-text" and (after.text_content or "").isspace():
        after = after.next
    return before, after


def _has_parts(link: LexborNode) -> bool:
    """Whether at least two of a link's elements hold text."""
    found, child = 0, link.child
    while child is not None and found < _PARTS:
        if child.tag in INLINE and (child.text() or "").strip():
            found += 1
        child = child.next
    return found >= _PARTS


def raised(node: LexborNode, before: str) -> str:
    """
    What stands for a superscript being one, after the text *before*.

    `^` for an exponent (10 to the sixth, not one hundred and six), `.` for the small change of a price.
    """
    if not before[-1:].isdigit() or _POWER.fullmatch(node.text() or "") is None:
        return ""
    return "." if _is_cents(node, before) else "^"


def _is_cents(node: LexborNode, before: str) -> bool:
    """`7<sup>99</sup> €`, `$7<sup>99</sup>`."""
    if _CENTS.fullmatch(node.text() or "") is None or node.css_first("a") is not None:  # a footnote
        return False
    if ends_with_amount(before):
        return True
    after, parent = node.next, node.parent
    if after is None and parent is not None:
        after = parent.next
    return after is not None and begins_with_currency(after.text_content or after.text() or "")


def is_apart(node: LexborNode, tag: str, names: str) -> bool:
    """
    Whether style sheets set an element of the line apart from the one that touches it.

    Two links, or two elements with classes and no bare text beside them, are cells: name
    and price, author and date. So are, without classes, a name and a number, or phrases.
    Formatting inside a word has no class, or text beside it.
    """
    before = node.prev
    if before is None or before.tag not in INLINE:
        return False
    if tag == "a" and before.tag == "a":
        return True
    parent = node.parent
    if parent is None or parent.tag in ("code", "pre", "kbd", "samp", "tt"):
        return False
    if _CELL.search(names) is not None or "flex" in (parent.attributes.get("style") or ""):
        return True
    if tag == "time" and _NAME.search((before.text() or "").rstrip()):
        return True
    for other in (before.prev, node.next):
        if other is not None and other.tag == "-text" and not (other.text_content or "").isspace():
            return False
    if not names or not before.attributes.get("class"):
        if not {tag, before.tag} <= _CELLS:
            return False
        left, right = before.text() or "", node.text() or ""
        listed = parent.tag in _OF_TWO and before.prev is None and node.next is None
        return _are_cells(left, right, listed=listed or _of_three(before, node))
    first = before.child
    return not (first is not None and first.tag == "-text" and len((first.text_content or "").strip()) < 2)


def _of_three(before: LexborNode, node: LexborNode) -> bool:
    """Whether a third element of their kind touches one of two elements, all of several letters: a row of cells."""
    others = [one for one in (before.prev, node.next) if one is not None and one.tag == node.tag]
    return bool(others) and all(len((one.text() or "").strip()) > 1 for one in (*others, before, node))


def _are_cells(left: str, right: str, *, listed: bool) -> bool:
    """
    Whether two texts that touch are a name and its value, or phrases of which one has several words.

    `listed`: they are all of an item, so that one word each will do.
    """
    left, right = left.rstrip(), right.lstrip()
    if not left or not right:
        return False
    if left[-1].isdigit() and _VALUE.match(right):  # "Headlights 2" for "1500 ₽", not for 21,500
        return " " in left or names_money(right)
    if _VALUE.match(right):
        return _NAME.search(left) is not None
    if left[-1] in SIGNS:  # a price, then what it is for
        return right[0].isalpha()
    ends = left[-1].islower() or left[-1].isdigit()
    return ends and right[0].isupper() and (listed or " " in left or " " in right)
