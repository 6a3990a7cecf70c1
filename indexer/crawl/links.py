"""
What a page says to a crawler: links, base, canonical, refresh, robots directives.

Read from the parsed tree, as a browser without scripts would see it.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from indexer.crawl.labels import declared
from indexer.crawl.urls import path_of, resolve

MAX_LINKS = 5000
MAX_REFRESH = 10.0  # seconds: a slower refresh is a page that reloads itself
_REFRESH = re.compile(
    r"""\s*([\d.]*)\s*[;,\s]\s*(?:url\s*=\s*)?["']?\s*([^"']*?)\s*["']?\s*$""", re.IGNORECASE
)
_AGENT = re.compile(r"^\s*([\w-]+)\s*:\s*(.*)$", re.DOTALL)
_VALUED = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))
_FEEDS = ("application/rss+xml", "application/atom+xml")


class Directives(Struct, frozen=True, kw_only=True):
    """
    `links`: canonical URLs in order, without repeats, with other languages and feeds of the
    site at the end; empty under nofollow. `refresh`: where a quick meta refresh leads.
    `alternates`: hreflang → URL. `declared`: what meta tags say of the page as a source.
    """

    noindex: bool = False
    nofollow: bool = False
    links: tuple[str, ...] = ()
    canonical: str = ""
    refresh: str = ""
    alternates: dict[str, str] = {}
    declared: dict[str, str] = {}


def read_directives(
    tree: Any, *, url: str, token: str, header: str = "", charset: str = "utf-8", meta_prefix: str = ""
) -> Directives:
    """
    Directives of a parsed page at `url` (a selectolax tree).

    `token`: our product token; rules for it and for everybody count. `header`: the
    X-Robots-Tag lines, one per line. `meta_prefix`: of the meta tags that label a page.
    """
    rules = _robots(tree, token) | header_rules(header, token)
    nofollow = "nofollow" in rules
    base = base_of(tree, url)
    alternates = {
        node.attributes.get("hreflang") or "": target
        for node in tree.css("link[rel~=alternate][hreflang][href]")
        if (target := resolve(node.attributes.get("href") or "", base, charset=charset))
    }
    return Directives(
        noindex="noindex" in rules,
        nofollow=nofollow,
        links=()
        if nofollow
        else _links(tree, base, charset, (*alternates.values(), *_feeds(tree, base, url))),
        canonical=_canonical(tree, base),
        refresh=_refresh(tree, base),
        alternates=alternates,
        declared=declared(tree, meta_prefix) if meta_prefix else {},
    )


def _feeds(tree: Any, base: str, url: str) -> list[str]:
    """
    Feeds that the page names, but for those below its own address.

    What lies below an inner page is about that page: comments on it, its category.
    """
    own = url.partition("?")[0].rstrip("/") + "/"
    inner = path_of(url) != "/"
    found = []
    for node in tree.css("link[rel~=alternate][type][href]"):
        if (node.attributes.get("type") or "").strip().lower() in _FEEDS:
            target = resolve(node.attributes.get("href") or "", base)
            if target and not (inner and target.startswith(own)):
                found.append(target)
    return found


def base_of(tree: Any, url: str) -> str:
    """What relative links are resolved against: the first usable `<base href>`, else the page."""
    node = tree.css_first("base[href]")
    return (resolve(node.attributes.get("href") or "", url) if node is not None else "") or url


def header_rules(header: str, token: str) -> frozenset[str]:
    """Directives of X-Robots-Tag that concern us: `noindex` and the like."""
    rules: set[str] = set()
    for line in header.splitlines():
        agent, value = "", line
        match = _AGENT.match(line)
        if match and match.group(1).lower() not in _VALUED:
            agent, value = match.group(1).lower(), match.group(2)
        if agent in ("", "*", "robots", token.lower()):
            rules |= _words(value)
    return frozenset(rules)


def _robots(tree: Any, token: str) -> frozenset[str]:
    rules: set[str] = set()
    for node in tree.css("meta[name][content]"):
        name = (node.attributes.get("name") or "").strip().lower()
        if name in ("robots", token.lower()):
            rules |= _words(node.attributes.get("content") or "")
    return frozenset(rules)


def _words(text: str) -> frozenset[str]:
    words = {word.strip().lower() for word in text.replace(";", ",").split(",")}
    return frozenset(words | {"noindex", "nofollow"} if "none" in words else words)


def _links(tree: Any, base: str, charset: str, more: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in tree.css("a[href], area[href], frame[src], link[rel~=next][href], link[rel~=prev][href]"):
        attributes = node.attributes
        if "nofollow" in (attributes.get("rel") or "").lower().split():
            continue
        href = attributes.get("href") or attributes.get("src") or ""
        if not href.strip() or href.lstrip().startswith("#"):
            continue
        target = resolve(href, base, charset=charset)
        if target:
            found[target] = None
            if len(found) >= MAX_LINKS:
                break
    return tuple(dict.fromkeys((*found, *more)))


def _canonical(tree: Any, base: str) -> str:
    node = tree.css_first("link[rel~=canonical][href]")
    return resolve(node.attributes.get("href") or "", base) if node is not None else ""


def _refresh(tree: Any, base: str) -> str:
    for node in tree.css("meta[http-equiv][content]"):
        if (node.attributes.get("http-equiv") or "").strip().lower() != "refresh" or _in_noscript(node):
            continue
        match = _REFRESH.match(node.attributes.get("content") or "")
        if not match or not match.group(2):
            continue
        try:
            seconds = float(match.group(1) or 0)
        except ValueError:
            continue
        return resolve(match.group(2), base) if seconds <= MAX_REFRESH else ""
    return ""


def _in_noscript(node: Any) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.tag == "noscript":
            return True
        parent = parent.parent
    return False
