"""What the page as a whole says of itself: title, description, declared types, shape of its address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

_ITEMTYPE = re.compile(r"schema\.org/(\w+)")
_TOKEN = re.compile(r"[^\W_]+")
_GROUPS: dict[str, frozenset[str]] = {
    "article": frozenset(
        [
            "Article",
            "NewsArticle",
            "BlogPosting",
            "TechArticle",
            "Report",
            "ScholarlyArticle",
            "ReportageNewsArticle",
        ]
    ),
    "product": frozenset(["Product", "ProductGroup", "IndividualProduct", "Offer", "AggregateOffer"]),
    "list": frozenset(["ItemList", "CollectionPage", "SearchResultsPage", "OfferCatalog", "Blog"]),
    "question": frozenset(["QAPage", "DiscussionForumPosting", "Question"]),
    "faq": frozenset(["FAQPage"]),
    "business": frozenset(
        [
            "LocalBusiness",
            "Organization",
            "Service",
            "ProfessionalService",
            "Restaurant",
            "Store",
            "Corporation",
        ]
    ),
    "webpage": frozenset(["WebPage"]),
    "rating": frozenset(["Review", "AggregateRating"]),
    "event": frozenset(["Event", "Course", "JobPosting"]),
}
_PATHS: dict[str, re.Pattern[str]] = {
    "blog": re.compile(r"blog|news|article|story|post|/20\d\d/|press|novosti|stat[yi]"),
    "product": re.compile(r"product|/p/|/dp/|/itm/|item|tovar|/pd/"),
    "collection": re.compile(r"collection|categor|/c/|shop|catalog|browse|/t/|katalog"),
    "forum": re.compile(r"forum|thread|topic|question|community|/t/|discuss|viewtopic"),
    "docs": re.compile(r"docs?\b|documentation|reference|manual|guide|tutorial|api|wiki|help|learn"),
    "service": re.compile(r"service|solution|about|pricing|contact|uslug|consult"),
    "list": re.compile(r"tag|archive|search|list|directory|events|jobs|page/\d|category"),
}
_SOFTWARE = re.compile(
    r"wordpress|shopify|woocommerce|discourse|vbulletin|xenforo|phpbb|drupal|wix|squarespace|webflow|sphinx|docusaurus|mediawiki",
    re.IGNORECASE,
)
_SOFTWARES = [
    "wordpress",
    "shopify",
    "woocommerce",
    "discourse",
    "vbulletin",
    "xenforo",
    "phpbb",
    "drupal",
    "wix",
    "squarespace",
    "webflow",
    "sphinx",
    "docusaurus",
    "mediawiki",
]


class PageFacts:
    """Facts of one page; `declared`: schema.org types of its JSON-LD. `numbers()` pairs with `NUMBERS`."""

    NUMBERS: ClassVar[tuple[str, ...]] = (
        *(f"type_{k}" for k in _GROUPS), "og_article", "og_product", "og_website", "has_h1", "mains", "forms",
        *(f"path_{k}" for k in _PATHS), "path_depth", "path_root", "query", "path_html",
        *(f"by_{k}" for k in _SOFTWARES),
    )  # fmt: skip

    def __init__(self, tree: LexborHTMLParser, declared: Iterable[str], url: str) -> None:
        self.url = url
        self.title = ""
        self.meta: dict[str, str] = {}
        self.types = frozenset(declared) | frozenset(_itemtypes(tree))
        body = tree.body
        self._counts = {tag: len(body.css(tag)) if body is not None else 0 for tag in ("h1", "main", "form")}
        head = tree.head
        if head is not None:
            title = head.css_first("title")
            self.title = " ".join((title.text() or "").split()) if title is not None else ""
        for node in tree.css("meta[content]"):
            attributes = node.attributes
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
            if name:
                self.meta.setdefault(name.lower(), attributes.get("content") or "")
        description = self.meta.get("description") or self.meta.get("og:description") or ""
        self.title_words = frozenset(
            _TOKEN.findall((self.title + " " + self.meta.get("og:title", "")).lower())
        )
        self.description_words = frozenset(_TOKEN.findall(description.lower()))

    def declares_article(self) -> bool:
        """Whether the page calls itself an article, for social networks or search engines."""
        return "article" in self.meta.get("og:type", "").lower() or bool(self.types & _GROUPS["article"])

    def numbers(self) -> list[float]:
        """The page-wide features."""
        parts = urlsplit_safe(self.url)
        path, query = parts
        kind = self.meta.get("og:type", "").lower()
        counts = self._counts
        generator = " ".join(m.lower() for m in _SOFTWARE.findall(self.meta.get("generator", "")))
        low = path.lower()
        return [
            *(float(bool(self.types & group)) for group in _GROUPS.values()),
            float("article" in kind), float("product" in kind), float("website" in kind),
            float(counts["h1"] > 0), float(min(counts["main"], 3)), float(min(counts["form"], 10)),
            *(float(pattern.search(low) is not None) for pattern in _PATHS.values()),
            float(min(path.strip("/").count("/"), 8)), float(path in ("", "/")), float(bool(query)),
            float(low.endswith((".html", ".htm", ".php"))),
            *(float(name in generator) for name in _SOFTWARES),
        ]  # fmt: skip


def urlsplit_safe(url: str) -> tuple[str, str]:
    """Path and query, empty for what is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.path, parts.query


def _itemtypes(tree: LexborHTMLParser) -> list[str]:
    found: list[Any] = []
    for node in tree.css("[itemtype]"):
        found += _ITEMTYPE.findall(node.attributes.get("itemtype") or "")
    return found
