"""
Facts of the whole site that stand outside a page's own text: address, phones, e-mail, opening hours.

Footers and headers are furniture of every page, yet what stands there is asked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from indexer.extract.blocks import Block
from indexer.extract.markup import Inside
from indexer.extract.text import squeeze

_PHONE = re.compile(r"(?<![\w/.-])\+?(?:\(?\d{1,4}\)?[\s.\u2010-\u2015-]{0,2}){2,6}\d{2,4}(?![\w/-])")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_DAY = (
    r"mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays|daily|mo|di|mi|do|fr|sa|so"
    r"|пн|вт|ср|чт|пт|сб|вс|понедельник\w*|вторник\w*|сред[аыу]|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|ежедневно|будни"
    r"|дс|сс|сб|бс|жм|жс|жексенбі|дүйсенбі|жұма|сенбі|күн сайын"
)
_HOURS = re.compile(
    rf"\b(?:{_DAY})\b\.?.{{0,40}}?\b\d{{1,2}}(?:[:.]\d{{2}}\b|[:.]?\d{{0,2}}\s?(?:am|pm|a\.m|p\.m|uhr|ч)\b)",
    re.IGNORECASE,
)
_SHUT = r"closed|выходн(?:ой|ые)|не работа\w+|закрыт\w*|жабық|демалыс\w*|жұмыс істемей\w+"
_CLOSED = re.compile(
    rf"\b(?:{_DAY})\b\.?\W{{1,6}}(?:(?:is|are|we are|we’re|we're) )?(?:{_SHUT})\b", re.IGNORECASE
)
_STREET = re.compile(
    r"\b\d{1,5}[\w/-]*,? (?:[A-Z][\w.'-]+ ){1,4}(?:st|street|ave|avenue|rd|road|blvd|boulevard|dr|drive|ln|lane|way|suite|hwy|highway|pkwy|ct|court|plaza|square|sq|quay|wharf|terrace|crescent|mews|esplanade|embankment)\b"
    r"|\b[A-Z]{2} \d{5}\b|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b"
    r"|\b(?:ул|улица|пр|просп|проспект|пер|переулок|бульвар|б-р|шоссе|наб|набережная|площадь|пл|мкр|микрорайон|дом|көшесі|даңғылы)\b[.,]? ?[\w«\"-]",
    re.IGNORECASE,
)
# In a footer a number, names and a comma are enough: "14 Heron Rise, Lakeside".
_PLACE = re.compile(r"\b\d{1,5}[A-Za-z]?,? (?:[A-Z][\w.'-]+ ?){1,4}, ?[A-Z][\w.'-]+")
_HINT = re.compile(
    r"[\d@]|ул|пр|пер|бул|наб|пл|мкр|көш|даң|дом|closed|выходн|не раб|закрыт|жабық|демалыс|істемей",
    re.IGNORECASE,
)
_MAX_LINES = 60
_MAX_WORDS = 60


def facts(blocks: Iterable[Block], contacts: Iterable[str], known: str) -> list[str]:
    """
    Lines of *blocks* (those left out of the text) that say how to reach the business, and
    the numbers and addresses of `tel:` and `mailto:` links; each once, none that *known* has.
    """
    flat = squeeze(known).lower()
    digits = re.sub(r"\D", "", known)
    out: dict[str, None] = {}
    for block in blocks:
        if block.words > _MAX_WORDS or len(out) >= _MAX_LINES:
            continue
        text = squeeze(block.text)
        inside = block.frame.inside
        told = (
            says_contact(text) or inside & Inside.ADDRESS or (inside & Inside.FOOTER and _PLACE.search(text))
        )
        if told and text.lower() not in flat:
            out[text] = None
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
        elif _EMAIL.fullmatch(value) and value.lower() not in flat and value.lower() not in so_far:
            out[value] = None
            so_far += " " + value.lower()
    return list(out)[:_MAX_LINES]


def unprotected(code: str) -> str:
    """The e-mail address that Cloudflare wrote as hexadecimal *code*, whose first byte is XORed with the others; or empty."""
    try:
        key, *rest = bytes.fromhex(code)
        found = bytes(byte ^ key for byte in rest).decode()
    except ValueError:
        return ""
    return found if _EMAIL.fullmatch(found) else ""


def says_contact(text: str) -> bool:
    """Whether a line holds a phone, an e-mail address, a street or opening hours."""
    if _HINT.search(text) is None:
        return False
    if _EMAIL.search(text) or _HOURS.search(text) or _CLOSED.search(text) or _STREET.search(text):
        return True
    return any(7 <= sum(c.isdigit() for c in m.group()) <= 15 for m in _PHONE.finditer(text))
