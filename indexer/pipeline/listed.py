"""What sitemaps say of pages in other languages (`xhtml:link hreflang`), put on the pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from indexer.artifacts import FROM_SITEMAP, Page
from indexer.errors import Permanent
from indexer.ids import digest
from indexer.ports import Artifacts, Catalogue, Entry, UrlRow

PHASE = "listed"
_MARK = b"hreflang"
_BATCH = 500


def note_listed(catalogue: Catalogue, artifacts: Artifacts, rows: Iterable[UrlRow]) -> int:
    """
    Put on each live page what the sitemaps, as last read, say of it; returns how many pages changed.

    A page whose file and whose entries are those of the last time is not read.
    """
    live = {row.url: row for row in rows}
    told = _told(catalogue, live)
    noted: list[Entry] = []
    changed = 0
    for url, row in live.items():
        listed = told.get(url, {})
        known = catalogue.entry(PHASE, row.key)
        if known is None and not listed:
            continue
        basis = digest(msgspec.json.encode(listed)) if listed else ""
        stamp = artifacts.stamp(Page, row.key)
        if known is not None and (known.basis, known.target) == (basis, stamp):
            continue
        page = artifacts.load(Page, row.key)
        if page is None:
            continue
        if page.listed != listed:
            artifacts.save(row.key, replace(page, listed=listed))
            changed += 1
        target = artifacts.stamp(Page, row.key)
        noted.append(Entry(phase=PHASE, key=row.key, basis=basis, source="", target=target))
        if len(noted) >= _BATCH:
            catalogue.enter(noted)
            noted = []
    if noted:
        catalogue.enter(noted)
    return changed


def _told(catalogue: Catalogue, live: dict[str, UrlRow]) -> dict[str, dict[str, str]]:
    """What is told (hreflang → URL), by the URL of a live page. Sitemaps without any are not parsed again."""
    maps = dict.fromkeys(
        found.removeprefix(FROM_SITEMAP)
        for row in live.values()
        for found in row.found_in
        if found.startswith(FROM_SITEMAP)
    )
    told: dict[str, dict[str, str]] = {}
    for where in maps:
        known = catalogue.resource(where)
        if known is not None and _MARK in known.body:
            for url, languages in _entries(known.body, where):
                if url in live:
                    told.setdefault(url, {}).update(languages)
    return {url: dict(sorted(languages.items())) for url, languages in told.items()}


def _entries(body: bytes, where: str) -> Iterator[tuple[str, dict[str, str]]]:
    from indexer.crawl.sitemaps import read_sitemap
    from indexer.crawl.urls import resolve

    try:
        for entry in read_sitemap(body):
            if entry.languages:
                found: Any = {code: resolve(url, where) for code, url in entry.languages.items()}
                yield resolve(entry.url, where), {code: url for code, url in found.items() if url}
    except Permanent:
        return  # what came before it was broken stands
