"""
What a page says to machines (JSON-LD, microdata) as readable lines.

Facts that the page's own text already holds are left out: structured data stands beside
the text, never instead of it. What the page does show, though no judge kept it, belongs to
its text.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from indexer.extract.blocks import Block
from indexer.extract.text import squeeze, visible

_MAX_SCRIPT = 1_000_000  # characters
_MAX_OBJECTS = 400
_MAX_LINES = 120
_ENCODED = 2  # spaces of a text that is written as part of an address
_TAG = re.compile(r"<[^<>]*>")
_TOKEN = re.compile(r"\w+")
_LABELS: dict[str, dict[str, str]] = {
    "ru": {
        "brand": "Бренд", "sku": "Артикул", "price": "Цена", "availability": "Наличие", "rating": "Рейтинг",
        "telephone": "Телефон", "email": "E-mail", "address": "Адрес", "openingHours": "Часы работы",
        "startDate": "Начало", "endDate": "Конец", "location": "Место", "jobTitle": "Должность", "salary": "Зарплата",
        "priceRange": "Цены", "organizer": "Организатор", "author": "Автор", "step": "Шаг", "ingredients": "Ингредиенты",
    },
    "en": {
        "brand": "Brand", "sku": "SKU", "price": "Price", "availability": "Availability", "rating": "Rating",
        "telephone": "Phone", "email": "E-mail", "address": "Address", "openingHours": "Opening hours",
        "startDate": "Start", "endDate": "End", "location": "Location", "jobTitle": "Position", "salary": "Salary",
        "priceRange": "Price range", "organizer": "Organizer", "author": "Author", "step": "Step", "ingredients": "Ingredients",
    },
}  # fmt: skip
_PRODUCTS = frozenset(
    [
        "Product",
        "ProductGroup",
        "IndividualProduct",
        "ProductModel",
        "Vehicle",
        "Car",
        "SoftwareApplication",
        "Book",
    ]
)
_PLACES = frozenset(
    [
        "LocalBusiness",
        "Organization",
        "Corporation",
        "Store",
        "Restaurant",
        "ProfessionalService",
        "Dentist",
        "MedicalClinic",
        "Hotel",
        "Hospital",
        "LegalService",
        "AutoRepair",
        "BeautySalon",
        "HealthClub",
        "TravelAgency",
        "RealEstateAgent",
        "School",
        "EducationalOrganization",
        "GovernmentOffice",
        "FinancialService",
        "HomeAndConstructionBusiness",
        "MedicalBusiness",
        "FoodEstablishment",
        "CafeOrCoffeeShop",
        "LodgingBusiness",
        "SportsActivityLocation",
        "EntertainmentBusiness",
        "AutomotiveBusiness",
        "Physician",
        "Pharmacy",
        "Bakery",
        "Library",
        "CollegeOrUniversity",
        "ContactPoint",
        "Place",
    ]
)
_EVENTS = frozenset(
    [
        "Event",
        "BusinessEvent",
        "MusicEvent",
        "EducationEvent",
        "SportsEvent",
        "TheaterEvent",
        "CourseInstance",
    ]
)


def objects(tree: LexborHTMLParser) -> list[dict[str, Any]]:
    """Every JSON-LD object of the page, nested ones after their parents."""
    found: list[dict[str, Any]] = []
    for node in tree.css('script[type="application/ld+json"]'):
        source = node.text() or ""
        if len(source) > _MAX_SCRIPT:
            continue
        try:
            value = json.loads(
                source.strip().removeprefix("<!--").removesuffix("-->").rstrip(";"), strict=False
            )
        except (ValueError, RecursionError):
            continue
        todo = [value]
        while todo and len(found) < _MAX_OBJECTS:
            item = todo.pop()
            if isinstance(item, dict):
                found.append(item)
                todo.extend(reversed([v for v in item.values() if isinstance(v, (dict, list))]))
            elif isinstance(item, list):
                todo.extend(reversed(item))
    return found + _microdata(tree)


def _microdata(tree: LexborHTMLParser) -> list[dict[str, Any]]:
    """Top-level items of the few types whose values may stand in attributes only."""
    found = []
    for node in tree.css("[itemscope][itemtype]")[:50]:
        kind = (node.attributes.get("itemtype") or "").rstrip("/").rpartition("/")[2]
        if kind not in _PRODUCTS and kind not in _PLACES and kind not in _EVENTS and kind != "Offer":
            continue
        item: dict[str, Any] = {"@type": kind}
        for inner in node.css("[itemprop]")[:80]:
            names = inner.attributes
            value = names.get("content") or names.get("datetime") or ""
            if value:
                item.setdefault(names.get("itemprop") or "", value)
        if kind in _PRODUCTS and "price" in item:
            item["offers"] = {"price": item["price"], "priceCurrency": item.get("priceCurrency", "")}
        found.append(item)
    return found


def kinds(item: dict[str, Any]) -> frozenset[str]:
    """The schema.org types of an object, without their address."""
    declared = item.get("@type")
    names = declared if isinstance(declared, list) else [declared]
    return frozenset(str(n).rpartition("/")[2] for n in names if n)


def types_of(found: list[dict[str, Any]]) -> set[str]:
    """All types that the objects declare."""
    return {name for item in found for name in kinds(item)}


class Facts:
    """The readable lines of a page's objects: `page` for the page, `site` for what the whole site repeats."""

    def __init__(self, found: list[dict[str, Any]], text: str, language: str) -> None:
        self.page: list[str] = []
        self.site: list[str] = []
        self._labels = _LABELS["ru" if language in ("ru", "kk", "ky", "be", "uk") else "en"]
        self._known = _Known(text)
        self._prices: set[str] = set()
        self._variants, others = _linked_products(found)
        for item in found:
            if id(item) in others:
                continue  # of another page: this one only names it
            types = kinds(item)
            if "Question" in types:
                self._question(item)
            elif types & _PRODUCTS:
                self._product(item)
            elif types & _PLACES:
                self._place(item)
            elif types & _EVENTS:
                self._event(item)
            elif "Person" in types and (item.get("telephone") or item.get("email")):
                self._lines(self.page, _text(item.get("name")), ("jobTitle", "telephone", "email"), item)
            elif "JobPosting" in types:
                self._job(item)
            if len(self.page) > _MAX_LINES:
                break

    def _add(self, to: list[str], line: str) -> None:
        if line and not self._known.holds(line) and line not in to:
            to.append(line)

    def _lines(self, to: list[str], name: str, keys: tuple[str, ...], item: dict[str, Any]) -> None:
        new = []
        for key in keys:
            value = _text(item.get(key))
            if value and not self._known.holds(value):
                new.append(f"{self._labels.get(key, key)}: {value}")
        if new:
            line = f"{name}. " if name else ""
            self._add(to, line + "; ".join(new))

    def _question(self, item: dict[str, Any]) -> None:
        answers = item.get("acceptedAnswer") or item.get("suggestedAnswer")
        first = answers[0] if isinstance(answers, list) and answers else answers
        question = _text(item.get("name") or item.get("text"))
        answer = _text(first.get("text")) if isinstance(first, dict) else ""
        if question and answer and not self._known.holds(answer):
            self.page.append(f"### {question}\n\n{answer}")

    def _product(self, item: dict[str, Any]) -> None:
        name = _text(item.get("name"))
        facts = dict(item)
        offers = item.get("offers")
        for offer in (offers if isinstance(offers, list) else [offers])[:20]:
            if isinstance(offer, dict):
                price = _text(offer.get("price") or offer.get("lowPrice"))
                told = id(item) in self._variants and price in self._prices
                if price and not told and not self._known.holds_number(price):
                    facts["price"] = f"{price} {_text(offer.get('priceCurrency'))}".strip()
                    self._prices.add(price)
                    break
        if id(item) in self._variants:  # a size more; worth a line if it costs something else
            if "price" in facts:
                self._lines(self.page, name, ("price",), facts)
            return
        facts = {k: facts.get(k) for k in ("price", "brand", "sku") if facts.get(k)}
        if "price" in facts or (name and not self._known.holds(name)):
            self._lines(self.page, name, ("price", "brand", "sku"), facts)
        description = _text(item.get("description"))
        if description and description != name and not self._known.holds(description):
            self._add(self.page, description)

    def _place(self, item: dict[str, Any]) -> None:
        hours = _hours(item)
        facts = {**item, "openingHours": hours} if hours else item
        self._lines(
            self.site,
            _text(item.get("name")),
            ("address", "telephone", "email", "openingHours", "priceRange"),
            facts,
        )

    def _event(self, item: dict[str, Any]) -> None:
        self._lines(self.page, _text(item.get("name")), ("startDate", "endDate", "location"), item)

    def _job(self, item: dict[str, Any]) -> None:
        description = _text(item.get("description"))
        if description and not self._known.holds(description):
            self._add(self.page, f"{_text(item.get('title'))}. {description}")


def divide(lines: list[str], blocks: Iterable[Block]) -> tuple[list[str], list[str]]:
    """*lines* apart: those whose words the page's *blocks* show, and those that it tells machines alone."""
    if not lines:
        return [], []
    seen = _Known("\n".join(block.text for block in blocks))
    shown = [line for line in lines if seen.holds(line)]
    return shown, [line for line in lines if line not in shown]


def _linked_products(found: list[dict[str, Any]]) -> tuple[set[int], set[int]]:
    """`id`s of the objects that are variants of a product of the page, and of other products it mentions."""
    variants: set[int] = set()
    others: set[int] = set()
    for item in found:
        for key, into in (("hasVariant", variants), ("isRelatedTo", others), ("isSimilarTo", others)):
            value = item.get(key) or []
            into.update(id(v) for v in (value if isinstance(value, list) else [value]))
    return variants, others


class _Known:
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
        if len(digits) >= 7 and len(digits) * 2 >= len(fact.replace(" ", "")):
            return digits[-9:] in self._digits
        known = sum(t in self._bag for t in tokens)
        return known >= len(tokens) * (0.9 if len(tokens) < 30 else 0.8)

    def holds_number(self, number: str) -> bool:
        """Whether an amount stands in the text, however its digits are grouped."""
        whole = re.sub(r"\D+", "", number.partition(".")[0] if "." in number[-3:] else number)
        return not whole or whole in self._digits


def _text(value: Any) -> str:
    """A readable string of a JSON-LD value: names of objects, parts of addresses, no markup."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, (int, float)):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, list):
        return ", ".join(filter(None, (_text(v) for v in value[:20])))
    if isinstance(value, dict):
        if "streetAddress" in value or "addressLocality" in value:
            parts = ("postalCode", "addressCountry", "addressRegion", "addressLocality", "streetAddress")
            return ", ".join(dict.fromkeys(filter(None, (_text(value.get(p)) for p in parts))))
        for key in ("name", "@value", "text", "address", "value", "telephone"):
            if value.get(key):
                return (
                    _text(value[key]) if not isinstance(value[key], (dict, list)) or key == "address" else ""
                )
        return ""
    text = html.unescape(html.unescape(str(value)))  # some programs escape what is escaped
    if " " not in text and text.count("%20") >= _ENCODED:
        text = unquote(text)
    if text.startswith(("http://", "https://", "data:", "#")) and " " not in text:
        return text.rpartition("/")[2] if "schema.org/" in text else ""
    return squeeze(visible(_TAG.sub(" ", text)))


def _hours(item: dict[str, Any]) -> str:
    given = item.get("openingHoursSpecification") or []
    lines = []
    for spec in (given if isinstance(given, list) else [given])[:14]:
        if isinstance(spec, dict) and spec.get("opens"):
            days = spec.get("dayOfWeek")
            names = ", ".join(
                str(d).rpartition("/")[2] for d in (days if isinstance(days, list) else [days]) if d
            )
            lines.append(f"{names} {_text(spec.get('opens'))}–{_text(spec.get('closes'))}".strip())
    return "; ".join(dict.fromkeys(lines)) or _text(item.get("openingHours"))
