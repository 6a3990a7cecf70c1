"""
How to reach a business, known by its form: phone, e-mail, street, opening hours.

Extraction keeps such lines wherever they stand on a page; retrieval knows by them that a text
answers where, when and by which number, in whatever words the question asks.
"""

from __future__ import annotations

import re

PHONE, MAIL, ADDRESS, HOURS = "phone", "mail", "address", "hours"
KINDS = (PHONE, MAIL, ADDRESS, HOURS)

EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_NUMBER = re.compile(r"(?<![\w/.-])\+?(?:\(?\d{1,4}\)?[\s.\u2010-\u2015-]{0,2}){2,6}\d{2,4}(?![\w/-])")
_DAY = (
    r"mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays|daily|mo|di|mi|do|fr|sa|so"
    r"|пн|вт|ср|чт|пт|сб|вс|понедельник\w*|вторник\w*|сред[аыу]|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|ежедневно|будни"
    r"|дс|сс|сб|бс|жм|жс|жексенбі|дүйсенбі|жұма|сенбі|күн сайын"
)
_TIMES = re.compile(
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
    r"|\b(?:ул|улица|пр|просп|проспект|пер|переулок|бульвар|б-р|шоссе|наб|набережная|площадь|пл|мкр|микрорайон|дом|көшесі|даңғылы)\b[.,]{0,2} ?[\w«\"-]",
    re.IGNORECASE,
)
# From when to when without a day beside it, and what needs no time.
_SPAN = re.compile(
    r"\bс \d{1,2}(?:[:.]\d{2})? до \d{1,2}\b|\b\d{1,2}(?:[:.]\d{2})? ?(?:am|pm) ?(?:[-–—]|to) ?\d{1,2}|круглосуточно|тәулік бойы|\b24/7\b",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"(?i)\b\d{1,2}[:.]\d{2}\b|\bс\s+\d{1,2}\s+до\s+\d{1,2}\b|\b\d{1,2}\s?(?:am|pm)\b|круглосуточно|выходной|"
    r"(?:пн|вт|ср|чт|пт|сб|вс|mon|tue|wed|thu|fri|sat|sun)[а-яa-z]*\s?[-–—:]"
)
_DIGIT = re.compile(r"\d")
_NEAR = 40  # characters between a street and its number
_DIGITS = range(7, 16)  # of a phone number
_HINT = re.compile(
    r"[\d@]|ул|пр|пер|бул|наб|пл|мкр|көш|даң|дом|closed|выходн|не раб|закрыт|жабық|демалыс|істемей",
    re.IGNORECASE,
)


def says_contact(text: str) -> bool:
    """Whether a line may hold a phone, an e-mail address, a street or opening hours."""
    if _HINT.search(text) is None:
        return False
    return any(form.search(text) for form in (EMAIL, _TIMES, _CLOSED, _STREET)) or _has_phone(text)


def tells(text: str, kind: str) -> bool:
    """Whether a text surely holds something of one of the `KINDS`: a street stands near a number."""
    if kind == MAIL:
        return EMAIL.search(text) is not None
    if kind == HOURS:
        return (_TIMES.search(text) or _CLOSED.search(text) or _SPAN.search(text)) is not None
    if kind == ADDRESS:
        streets = _STREET.finditer(text)
        return any(_DIGIT.search(text, max(0, one.start() - _NEAR), one.end() + _NEAR) for one in streets)
    return _has_phone(text)


def names_hours(line: str) -> bool:
    """Whether a line that changed may be about opening hours: it names a time, or a day and what holds then."""
    return _LINE.search(line) is not None


def _has_phone(text: str) -> bool:
    return any(len(_DIGIT.findall(found.group())) in _DIGITS for found in _NUMBER.finditer(text))
