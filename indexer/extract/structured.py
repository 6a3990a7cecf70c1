"""
What a page says to machines (JSON-LD, microdata) as readable lines.

Facts that the page's own text already holds are left out: structured data stands beside
the text, never instead of it. What the page does show, though no judge kept it, belongs to
its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from indexer.extract.blocks import Block
from indexer.extract.known import Known
from indexer.extract.schema_values import (
    duration_of,
    features_of,
    hours_of,
    measure_of,
    named_offers,
    price_of,
    rating_of,
    salary_of,
    several,
    steps_of,
    text_of,
)

_MAX_SCRIPT = 1_000_000  # characters
_MAX_OBJECTS = 400
_MAX_LINES = 120
_LABELS: dict[str, dict[str, str]] = {
    "ru": {
        "brand": "Бренд", "sku": "Артикул", "price": "Цена", "availability": "Наличие", "rating": "Рейтинг",
        "telephone": "Телефон", "email": "E-mail", "address": "Адрес", "openingHours": "Часы работы",
        "startDate": "Начало", "endDate": "Конец", "location": "Место", "jobTitle": "Должность", "salary": "Зарплата",
        "priceRange": "Цены", "organizer": "Организатор", "author": "Автор", "step": "Шаги", "recipeIngredient": "Ингредиенты",
        "checkinTime": "Заезд", "checkoutTime": "Выезд", "amenityFeature": "Удобства", "paymentAccepted": "Оплата",
        "areaServed": "Где работает", "numberOfRooms": "Номеров", "starRating": "Звёзд", "employmentType": "Занятость",
        "jobLocation": "Место работы", "validThrough": "Действует до", "courseMode": "Формат", "courseWorkload": "Объём",
        "provider": "Исполнитель", "performer": "Выступает", "doorTime": "Вход", "totalTime": "Время", "duration": "Длительность",
        "color": "Цвет", "material": "Материал", "weight": "Вес", "size": "Размер", "model": "Модель", "offers": "Цены",
        "closed": "закрыто",
    },
    "en": {
        "brand": "Brand", "sku": "SKU", "price": "Price", "availability": "Availability", "rating": "Rating",
        "telephone": "Phone", "email": "E-mail", "address": "Address", "openingHours": "Opening hours",
        "startDate": "Start", "endDate": "End", "location": "Location", "jobTitle": "Position", "salary": "Salary",
        "priceRange": "Price range", "organizer": "Organizer", "author": "Author", "step": "Steps", "recipeIngredient": "Ingredients",
        "checkinTime": "Check-in", "checkoutTime": "Check-out", "amenityFeature": "Amenities", "paymentAccepted": "Payment",
        "areaServed": "Area served", "numberOfRooms": "Rooms", "starRating": "Stars", "employmentType": "Employment",
        "jobLocation": "Job location", "validThrough": "Valid through", "courseMode": "Format", "courseWorkload": "Workload",
        "provider": "Provider", "performer": "Performer", "doorTime": "Doors", "totalTime": "Time", "duration": "Duration",
        "color": "Colour", "material": "Material", "weight": "Weight", "size": "Size", "model": "Model", "offers": "Prices",
        "closed": "closed",
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


_SERVICES = frozenset(
    ("Service", "FinancialProduct", "Course", "TouristTrip", "Accommodation", "HotelRoom", "Trip", "MenuItem")
)
_HOW_TO = frozenset(("HowTo", "Recipe"))
_OF_PRODUCTS = (
    "rating",
    "color",
    "material",
    "size",
    "weight",
    "width",
    "height",
    "depth",
    "model",
    "warranty",
)
_OF_PLACES = (
    "address", "telephone", "email", "openingHours", "priceRange", "checkinTime", "checkoutTime", "amenityFeature",
    "numberOfRooms", "starRating", "paymentAccepted", "areaServed", "rating",
)  # fmt: skip


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
    """
    The readable lines of a page's objects.

    `page`: of the page's text where the page shows them; `beside`: of its facts, shown or
    not (lines put together of single values); `site`: what the whole site repeats.
    """

    def __init__(self, found: list[dict[str, Any]], text: str, language: str) -> None:
        self.page: list[str] = []
        self.beside: list[str] = []
        self.site: list[str] = []
        self._language = "ru" if language in ("ru", "kk", "ky", "be", "uk") else "en"
        self._labels = _LABELS[self._language]
        self._known = Known(text)
        self._prices: set[str] = set()
        self._variants, others = _linked_products(found)
        told_there = _told_with_others(found)
        for item in found:
            if id(item) in others or id(item) in told_there:
                continue  # of another page: this one only names it; or told with what it belongs to
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
                self._lines(self.page, text_of(item.get("name")), ("jobTitle", "telephone", "email"), item)
            elif "JobPosting" in types:
                self._job(item)
            elif types & _SERVICES:
                self._service(item)
            elif "Offer" in types and isinstance(item.get("itemOffered"), dict):
                self._priced(text_of(item["itemOffered"].get("name")), item)
            elif types & _HOW_TO:
                self._how_to(item)
            if len(self.page) + len(self.beside) > _MAX_LINES:
                break

    def _add(self, to: list[str], line: str) -> None:
        if line and not self._known.holds(line) and line not in to:
            to.append(line)

    def _lines(self, to: list[str], name: str, keys: tuple[str, ...], item: dict[str, Any]) -> None:
        new = []
        for key in keys:
            value = text_of(item.get(key))
            if value and not self._known.holds(value):
                new.append(f"{self._labels.get(key, key)}: {value}")
        if new:
            self._add(to, (f"{name}. " if name else "") + "; ".join(new))

    def _question(self, item: dict[str, Any]) -> None:
        answers = item.get("acceptedAnswer") or item.get("suggestedAnswer")
        first = answers[0] if isinstance(answers, list) and answers else answers
        question = text_of(item.get("name") or item.get("text"))
        answer = text_of(first.get("text")) if isinstance(first, dict) else ""
        if question and answer and not self._known.holds(answer):
            self.page.append(f"### {question}\n\n{answer}")

    def _product(self, item: dict[str, Any]) -> None:
        name = text_of(item.get("name"))
        facts: dict[str, Any] = {"brand": item.get("brand"), "sku": item.get("sku")}
        for offer in several(item.get("offers")):
            price, written = price_of(offer)
            told = id(item) in self._variants and price in self._prices
            if price and not told and not self._known.holds_number(price):
                facts["price"] = written
                self._prices.add(price)
                break
        if id(item) in self._variants:  # a size more; worth a line if it costs something else
            if "price" in facts:
                self._lines(self.page, name, ("price",), facts)
            return
        if "price" in facts or (name and not self._known.holds(name)):
            self._lines(self.page, name, ("price", "brand", "sku"), facts)
        for offered, offer in named_offers(item):
            self._priced(f"{name}, {offered}", offer)
        told_of = {key: measure_of(item.get(key)) for key in _OF_PRODUCTS}
        told_of["rating"] = rating_of(item.get("aggregateRating"))
        self._lines(self.beside, name, _OF_PRODUCTS, told_of)
        for feature in several(item.get("additionalProperty")):
            self._add(self.beside, features_of([feature]))
        description = text_of(item.get("description"))
        if description and description != name and not self._known.holds(description):
            self._add(self.page, description)

    def _priced(self, name: str, offer: dict[str, Any]) -> None:
        """A line for something with a price: both are the fact."""
        price, written = price_of(offer)
        if name and price and not (self._known.holds(name) and self._known.holds_number(price)):
            self._add(self.beside, f"{name}. {self._labels['price']}: {written}")

    def _service(self, item: dict[str, Any]) -> None:
        name = text_of(item.get("name"))
        for offer in several(item.get("offers")):
            if isinstance(offer, dict):
                self._priced(text_of(offer.get("name")) or name, offer)
        course = {
            **item,
            **next((one for one in several(item.get("hasCourseInstance")) if isinstance(one, dict)), {}),
        }
        told = {
            "provider": item.get("provider"),
            "areaServed": item.get("areaServed"),
            "startDate": course.get("startDate"),
            "courseMode": course.get("courseMode"),
            "courseWorkload": self._duration(course.get("courseWorkload")),
            "duration": self._duration(item.get("duration") or item.get("timeRequired")),
            "amenityFeature": features_of(item.get("amenityFeature")),
        }
        self._lines(self.beside, name, tuple(told), told)
        description = text_of(item.get("description"))
        if description and not self._known.holds(description):
            self._add(self.beside, f"{name}. {description}" if name else description)

    def _how_to(self, item: dict[str, Any]) -> None:
        told = {
            "totalTime": self._duration(item.get("totalTime")),
            "recipeIngredient": item.get("recipeIngredient"),
            "step": steps_of(item.get("step") or item.get("recipeInstructions")),
        }
        self._lines(self.beside, text_of(item.get("name")), tuple(told), told)

    def _place(self, item: dict[str, Any]) -> None:
        told = {
            **{key: item.get(key) for key in _OF_PLACES},
            "openingHours": hours_of(item, self._labels["closed"]),
            "amenityFeature": features_of(item.get("amenityFeature")),
            "starRating": rating_of(item.get("starRating")),
            "rating": rating_of(item.get("aggregateRating")),
        }
        self._lines(self.site, text_of(item.get("name")), _OF_PLACES, told)

    def _event(self, item: dict[str, Any]) -> None:
        name = text_of(item.get("name"))
        keys = ("startDate", "endDate", "doorTime", "location", "performer")
        places = [
            f"{text_of(one)}, {text_of(one['address'])}"
            for one in several(item.get("location"))
            if isinstance(one, dict) and one.get("name") and one.get("address")
        ]
        self._lines(self.page, name, keys, {**item, "location": places or item.get("location")})
        for offer in several(item.get("offers")):
            if isinstance(offer, dict):
                self._priced(" – ".join(filter(None, (name, text_of(offer.get("name"))))), offer)

    def _job(self, item: dict[str, Any]) -> None:
        title = text_of(item.get("title"))
        place = [one.get("address") for one in several(item.get("jobLocation")) if isinstance(one, dict)]
        told = {
            "salary": salary_of(item.get("baseSalary"), self._language),
            "employmentType": text_of(item.get("employmentType")).replace("_", " ").lower(),
            "jobLocation": place,
            "validThrough": item.get("validThrough"),
        }
        self._lines(self.beside, title, tuple(told), told)
        description = text_of(item.get("description"))
        if description and not self._known.holds(description):
            self._add(self.page, f"{title}. {description}")

    def _duration(self, value: Any) -> str:
        return duration_of(value, self._language)


def divide(lines: list[str], blocks: Iterable[Block]) -> tuple[list[str], list[str]]:
    """*lines* apart: those whose words the page's *blocks* show, and those that it tells machines alone."""
    if not lines:
        return [], []
    seen = Known("\n".join(block.text for block in blocks))
    shown = [line for line in lines if seen.holds(line)]
    return shown, [line for line in lines if line not in shown]


def _told_with_others(found: list[dict[str, Any]]) -> set[int]:
    """`id`s of places of events and jobs, which are not the site's own, and of the dates of courses."""
    belonging: list[Any] = []
    for item in found:
        if kinds(item) & (_EVENTS | {"JobPosting"}):
            belonging += [*several(item.get("location")), *several(item.get("jobLocation"))]
        belonging += several(item.get("hasCourseInstance"))
    inner = [one.get("address") for one in belonging if isinstance(one, dict)]
    return {id(one) for one in (*belonging, *inner) if isinstance(one, dict)}


def _linked_products(found: list[dict[str, Any]]) -> tuple[set[int], set[int]]:
    """`id`s of the objects that are variants of a product of the page, and of other products it mentions."""
    variants: set[int] = set()
    others: set[int] = set()
    for item in found:
        for key, into in (("hasVariant", variants), ("isRelatedTo", others), ("isSimilarTo", others)):
            value = item.get(key) or []
            into.update(id(v) for v in (value if isinstance(value, list) else [value]))
    return variants, others
