"""What a document says about itself: title, language, description, dates, canonical address, other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from indexer.extract import orders
from indexer.extract.page import PageFacts
from indexer.extract.text import squeeze, visible

_LANGUAGE = re.compile(r"^([a-z]{2,3})(?:[-_][a-z0-9]+)*$", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?")
_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "dcterms.created",
    "pubdate", "publishdate", "publish_date", "parsely-pub-date", "sailthru.date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified", "dc.date.modified",
    "revised", "modified",
)  # fmt: skip
_MAX_TITLE = 500
_MAX_DESCRIPTION = 2000
_SAMPLE = 3000  # characters, for guessing the language
_MIN_SAMPLE = 40


def title(tree: LexborHTMLParser, facts: PageFacts, ordered: list[str] | None = None) -> str:
    """
    The title element; without one the first heading, then what it is called on social networks.

    Orders to a language model are taken out and put into *ordered*, if that is given.
    """
    found = _clean(facts.title, ordered)
    if not found:
        for selector in ("h1", "h2"):
            node = tree.css_first(selector)
            found = _clean(node.text(separator=" "), ordered) if node is not None else ""
            if found:
                break
    return (found or _clean(facts.meta.get("og:title", ""), ordered))[:_MAX_TITLE]


def _clean(text: str, ordered: list[str] | None) -> str:
    line = squeeze(visible(text))
    if ordered is None:
        return line
    line, told = orders.without_sentences(line)
    if told:
        ordered.append(told)
    return line


def description(facts: PageFacts, ordered: list[str] | None = None) -> str:
    """The page's own summary; *ordered* as in `title`."""
    meta = facts.meta
    found = meta.get("description") or meta.get("og:description") or meta.get("twitter:description") or ""
    return _clean(found, ordered)[:_MAX_DESCRIPTION]


def declared_language(tree: LexborHTMLParser, facts: PageFacts) -> str:
    """ISO 639 code that the document declares; empty if none."""
    root = tree.root
    attributes = root.attributes if root is not None else {}
    meta = facts.meta
    for given in (
        attributes.get("lang"), attributes.get("xml:lang"), meta.get("content-language"), meta.get("og:locale"),
        meta.get("dc.language"), meta.get("inlanguage"),
    ):  # fmt: skip
        match = _LANGUAGE.match((given or "").strip())
        if match:
            return match.group(1).lower()
    return ""


def guess_language(text: str) -> str:
    """The language of *text* by py3langid; empty if there is too little of it."""
    sample = text[:_SAMPLE]
    if len(sample) < _MIN_SAMPLE:
        return ""
    import py3langid

    return str(py3langid.classify(sample)[0])


def dates(facts: PageFacts, found: Iterable[dict[str, Any]]) -> tuple[str, str]:
    """(published, modified) as the page declares them, ISO 8601; empty if it does not."""
    published = modified = ""
    for item in found:
        published = published or _iso(item.get("datePublished"))
        modified = modified or _iso(item.get("dateModified"))
    meta = facts.meta
    published = published or next(filter(None, (_iso(meta.get(k)) for k in _PUBLISHED)), "")
    modified = modified or next(filter(None, (_iso(meta.get(k)) for k in _MODIFIED)), "")
    return published, modified


def _iso(value: Any) -> str:
    match = _DATE.search(value) if isinstance(value, str) else None
    if match is None or not ("01" <= match[2] <= "12" and "01" <= match[3] <= "31"):
        return ""
    return match[0].replace(" ", "T")


def canonical(tree: LexborHTMLParser, url: str) -> str:
    """The absolute address that the document names as its own; empty if none."""
    for node in tree.css("link[rel][href]"):
        attributes = node.attributes
        if "canonical" in (attributes.get("rel") or "").lower().split():
            found = absolute(url, attributes.get("href"))
            if found:
                return found
    return ""


def alternates(tree: LexborHTMLParser, url: str) -> dict[str, str]:
    """Hreflang → absolute address."""
    out: dict[str, str] = {}
    for node in tree.css("link[hreflang][href]"):
        attributes = node.attributes
        code = (attributes.get("hreflang") or "").strip().lower()
        if code and "alternate" in (attributes.get("rel") or "").lower():
            found = absolute(url, attributes.get("href"))
            if found:
                out.setdefault(code, found)
    return out


def absolute(base: str, href: str | None) -> str:
    """*href* against *base* if that is http(s), else empty. Never raises."""
    try:
        joined = urljoin(base, (href or "").strip())
        return joined if urlsplit(joined).scheme in ("http", "https") else ""
    except ValueError:
        return ""
