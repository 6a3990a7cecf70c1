"""
Facts of the whole site that stand outside a page's own text: address, phones, e-mail, opening hours.

Footers and headers are furniture of every page, yet what stands there is asked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from indexer.contacts import EMAIL, says_contact
from indexer.extract.blocks import Block, Frame
from indexer.extract.markup import Inside
from indexer.extract.text import squeeze

# In a footer a number, names and a comma are enough: "14 Heron Rise, Lakeside".
_PLACE = re.compile(r"\b\d{1,5}[A-Za-z]?,? (?:[A-Z][\w.'-]+ ?){1,4}, ?[A-Z][\w.'-]+")
_MAX_LINES = 60
_MAX_WORDS = 60
_MAX_COLUMN = 8  # lines of a column whose first one labels the others
_MAX_LABEL = 5  # words
_REGIONS = frozenset(("body", "main", "article", "header", "footer", "aside"))


def facts(blocks: Sequence[Block], keep: Sequence[bool], contacts: Iterable[str], known: str) -> list[str]:
    """
    Lines of *blocks* that are not kept in the text and say how to reach the business, with what
    labels them, and the numbers and addresses of `tel:` and `mailto:` links; each once, none that
    *known* has.
    """
    flat = squeeze(known).lower()
    digits = re.sub(r"\D", "", known)
    out: dict[str, None] = {}
    for at, block in enumerate(blocks):
        if keep[at] or block.words > _MAX_WORDS or len(out) >= _MAX_LINES:
            continue
        text = squeeze(block.text)
        inside = block.frame.inside
        told = (
            says_contact(text) or inside & Inside.ADDRESS or (inside & Inside.FOOTER and _PLACE.search(text))
        )
        if told and text.lower() not in flat:
            label = label_of(blocks, at)
            out[f"{squeeze(blocks[label].text).rstrip(':')}: {text}" if label is not None else text] = None
    so_far = " ".join(out).lower()
    digits += re.sub(r"\D", "", so_far)
    for contact in contacts:
        scheme, _, value = contact.partition(":")
        value = unquote(value.partition("?")[0]).strip()
        if scheme == "tel":
            number = re.sub(r"\D", "", value)
            if len(number) >= 5 and number[-9:] not in digits:
                out[value] = None
                digits += number
        elif EMAIL.fullmatch(value) and value.lower() not in flat and value.lower() not in so_far:
            out[value] = None
            so_far += " " + value.lower()
    return list(out)[:_MAX_LINES]


def label_of(blocks: Sequence[Block], at: int) -> int | None:
    """
    Which block says whose phone or hours `blocks[at]` gives: "Service", above a number in one column.

    The first of the smallest element that holds more than this line, if it is short and says
    nothing of the kind itself.
    """
    frame: Frame | None = blocks[at].frame
    while frame is not None and (frame.last - frame.first < 2 or frame.first == at):
        frame = frame.parent if frame.tag not in _REGIONS else None
    if frame is None or frame.last - frame.first > _MAX_COLUMN or frame.tag in ("nav", "form"):
        return None
    label = blocks[frame.first]
    short = 0 < label.words <= _MAX_LABEL and label.text[-1] not in ".!?…" and "\n" not in label.text
    plain = label.kind in ("p", "h", "dt", "li") and any(map(str.isalpha, label.text))
    return frame.first if short and plain and not says_contact(label.text) else None


def unprotected(code: str) -> str:
    """The e-mail address that Cloudflare wrote as hexadecimal *code*, whose first byte is XORed with the others; or empty."""
    try:
        key, *rest = bytes.fromhex(code)
        found = bytes(byte ^ key for byte in rest).decode()
    except ValueError:
        return ""
    return found if EMAIL.fullmatch(found) else ""
