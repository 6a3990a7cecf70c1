"""
Values of schema.org objects as a reader would write them.

    {"@type": "AggregateOffer", "lowPrice": 1200, "highPrice": "1900", "priceCurrency": "RUB"} → 1200–1900 RUB
    PT1H30M → 1 h 30 min        {"ratingValue": 4.7, "bestRating": 5, "reviewCount": 128} → 4.7/5 (128)
"""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import unquote

from indexer.extract.text import squeeze, visible

_ENCODED = 2  # spaces of a text that is written as part of an address
_MANY = 20  # values of a list
_DAYS = 14
_TAG = re.compile(r"<[^<>]*>")
_DURATION = re.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+(?:\.\d+)?S)?)?"
)
_UNITS = {"ru": ("г.", "мес.", "нед.", "дн.", "ч", "мин"), "en": ("y", "mo", "wk", "d", "h", "min")}
_PER = {
    "ru": {"HOUR": "в час", "DAY": "в день", "WEEK": "в неделю", "MONTH": "в месяц", "YEAR": "в год"},
    "en": {"HOUR": "an hour", "DAY": "a day", "WEEK": "a week", "MONTH": "a month", "YEAR": "a year"},
}
_CODES = {"KGM": "kg", "GRM": "g", "CMT": "cm", "MTR": "m", "MMT": "mm", "LTR": "l", "MTK": "m²", "WTT": "W"}
_PRICED = ("price", "lowPrice", "minPrice")


def several(value: Any) -> list[Any]:
    """A value that may be given as one or as a list, as a list of the first ones."""
    return value[:_MANY] if isinstance(value, list) else [] if value is None else [value]


def text_of(value: Any) -> str:
    """A readable string of a JSON-LD value: names of objects, parts of addresses, no markup."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, (int, float)):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, list):
        return ", ".join(filter(None, (text_of(v) for v in value[:_MANY])))
    if isinstance(value, dict):
        if "streetAddress" in value or "addressLocality" in value:
            parts = ("postalCode", "addressCountry", "addressRegion", "addressLocality", "streetAddress")
            return ", ".join(dict.fromkeys(filter(None, (text_of(value.get(p)) for p in parts))))
        for key in ("name", "@value", "text", "address", "value", "telephone"):
            if value.get(key):
                return (
                    text_of(value[key])
                    if not isinstance(value[key], (dict, list)) or key == "address"
                    else ""
                )
        return ""
    text = html.unescape(html.unescape(str(value)))  # some programs escape what is escaped
    if " " not in text and text.count("%20") >= _ENCODED:
        text = unquote(text)
    if text.startswith(("http://", "https://", "data:", "#")) and " " not in text:
        return text.rpartition("/")[2] if "schema.org/" in text else ""
    return squeeze(visible(_TAG.sub(" ", text)))


def price_of(offer: Any) -> tuple[str, str]:
    """The amount of an offer (of two, the lower) and how it is written, with the range and the currency."""
    if not isinstance(offer, dict):
        return "", ""
    given = [offer, *(one for one in several(offer.get("priceSpecification")) if isinstance(one, dict))]
    for one in given:
        low = next((text_of(one[key]) for key in _PRICED if text_of(one.get(key))), "")
        if low:
            high = text_of(one.get("highPrice") or one.get("maxPrice"))
            amount = f"{low}–{high}" if high and high != low else low
            currency = text_of(one.get("priceCurrency") or offer.get("priceCurrency"))
            unit = text_of(one.get("unitText"))
            return low, f"{amount} {currency}".strip() + (f" / {unit}" if unit else "")
    return "", ""


def salary_of(value: Any, language: str) -> str:
    """`60000–90000 RUB в месяц` of a MonetaryAmount; a bare number or text as it is."""
    if not isinstance(value, dict):
        return text_of(value)
    inner = value.get("value")
    amount = inner if isinstance(inner, dict) else value
    low = text_of(amount.get("minValue") or (inner if not isinstance(inner, dict) else amount.get("value")))
    high = text_of(amount.get("maxValue"))
    span = "–".join(filter(None, (low, high if high != low else "")))
    if not span:
        return ""
    per = _PER[language].get(text_of(amount.get("unitText") or value.get("unitText")).upper(), "")
    return " ".join(filter(None, (span, text_of(value.get("currency")), per)))


def rating_of(value: Any) -> str:
    """`4.7/5 (128)`: of what, and of how many where that is said."""
    if not isinstance(value, dict):
        return text_of(value)
    rating, best = text_of(value.get("ratingValue")), text_of(value.get("bestRating"))
    if not rating:
        return ""
    count = text_of(value.get("reviewCount") or value.get("ratingCount"))
    return rating + (f"/{best}" if best else "") + (f" ({count})" if count else "")


def duration_of(value: Any, language: str) -> str:
    """ISO 8601 durations in words; what is none as it is."""
    text = text_of(value)
    match = _DURATION.fullmatch(text) if text.startswith("P") else None
    if match is None:
        return text
    named = zip(match.groups(), _UNITS[language], strict=True)
    return " ".join(f"{number.lstrip('0')} {unit}" for number, unit in named if number and number.strip("0"))


def measure_of(value: Any) -> str:
    """`1.2 kg` of a QuantitativeValue; a text as it is."""
    if not isinstance(value, dict) or "value" not in value:
        return text_of(value)
    unit = text_of(value.get("unitText")) or _CODES.get(text_of(value.get("unitCode")), "")
    return f"{text_of(value['value'])} {unit}".strip()


def features_of(value: Any) -> str:
    """Names of what there is; with its value where that is more than yes."""
    told = []
    for one in several(value):
        given = one.get("value") if isinstance(one, dict) else None
        if given is False or str(given).lower() in ("false", "no", "нет"):
            continue
        name = text_of(one.get("name")) if isinstance(one, dict) else text_of(one)
        more = (
            ""
            if given is None or given is True or str(given).lower() in ("true", "yes", "да")
            else measure_of(one)
        )
        told.append(f"{name}: {more}" if name and more else name)
    return ", ".join(filter(None, told))


def steps_of(value: Any) -> str:
    """Steps of a HowTo or a recipe in one line, numbered; sections are opened."""
    todo = list(reversed(several(value)))
    told: list[str] = []
    while todo and len(told) < _MANY:
        one = todo.pop()
        inner = one.get("itemListElement") if isinstance(one, dict) else None
        if inner:
            todo.extend(reversed(several(inner)))
            continue
        name = text_of(one.get("name")) if isinstance(one, dict) else ""
        text = text_of(one.get("text")) if isinstance(one, dict) else text_of(one)
        told.append(text if not name or text.startswith(name) else f"{name}: {text}" if text else name)
    told = [one for one in told if one]
    return (
        " ".join(f"{number}. {one}" for number, one in enumerate(told, 1)) if len(told) > 1 else "".join(told)
    )


def hours_of(item: dict[str, Any], closed: str) -> str:
    """Opening hours by days; days that are closed (opens when it closes) as `closed`, special days with dates."""
    lines = []
    specs = [
        *several(item.get("openingHoursSpecification")),
        *several(item.get("specialOpeningHoursSpecification")),
    ]
    for spec in specs[:_DAYS]:
        if not isinstance(spec, dict):
            continue
        days = ", ".join(text_of(day).rpartition("/")[2] for day in several(spec.get("dayOfWeek")) if day)
        span = "–".join(
            dict.fromkeys(filter(None, (text_of(spec.get("validFrom")), text_of(spec.get("validThrough")))))
        )
        opens, closes = text_of(spec.get("opens")), text_of(spec.get("closes"))
        when = " ".join(filter(None, (days, span)))
        if opens and opens != closes:
            lines.append(f"{when} {opens}–{closes}".strip())
        elif when and (opens or span):
            lines.append(f"{when} {closed}")
    return "; ".join(dict.fromkeys(lines)) or text_of(item.get("openingHours"))


def named_offers(item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Of a product that is offered in several kinds: the name of each, and what it costs."""
    offers = [one for one in several(item.get("offers")) if isinstance(one, dict)]
    named = [(text_of(one.get("name")), one) for one in offers]
    return [(name, one) for name, one in named if name] if len(named) > 1 else []
