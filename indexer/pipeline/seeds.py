"""
What a person named, and all that it leads to before a page is fetched: lists, files, sitemaps.

The union, never one instead of another: a broken sitemap beside a good one is a note.
Only if nothing at all can be found is it an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Iterator

from indexer.artifacts import Source, Sources
from indexer.crawl.scope import Scope, scope_of
from indexer.crawl.urls import canonical, origin
from indexer.errors import IndexerError, Misconfigured, NothingListed, Permanent, Retryable
from indexer.pipeline.discovery import RobotsFiles, Sitemaps
from indexer.settings import Crawl

_DEFAULT_SITEMAP = "/sitemap.xml"
_LLMS = "/llms.txt"


class Seeds:
    """
    The sources of a run in canonical spelling, and the scope they span.

    `only`: single URLs instead of everything. Raises `Misconfigured` for what is no URL.
    """

    def __init__(self, sources: Sources, *, crawl: Crawl, only: Collection[str] | None) -> None:
        self.starts = _canonical(sources.crawl, "--crawl")
        self.lists = _canonical(sources.urls, "--urls")
        self.maps = _canonical(sources.sitemaps, "--sitemap-url")
        self.files = sources.files
        self.only = only
        self.notes: list[str] = []
        self._crawl = crawl
        pages = [url for url in only or () if not url.startswith("file:")]
        self.scope: Scope = scope_of(
            (*self.starts, *self.lists, *self.maps, *_canonical(pages, "--urls")), crawl
        )

    @property
    def follow(self) -> bool:
        """Whether links are followed: start pages were named."""
        return bool(self.starts) and self.only is None

    async def sources(
        self, *, robots: RobotsFiles, sitemaps: Sitemaps
    ) -> AsyncGenerator[tuple[Source, bool], None]:
        """
        URLs in order, each with whether a person named it.

        Raises `Misconfigured` or `Retryable` if sitemaps are the only source and list nothing.
        """
        for source in self._named():
            yield source, source.found_in != "list" or self.only is not None
        if self.only is not None:
            return
        places = dict.fromkeys(origin(url) for url in (*self.starts, *self.lists, *self.maps))
        await asyncio.gather(*(robots.of(place + "/") for place in places))
        listed = 0
        for url in self.maps:
            if await self._open(url, robots, sitemaps):
                async for source in sitemaps.entries(url):
                    listed += 1
                    yield source, False
        if self.maps and not listed and not (self.files or self.starts or self.lists):
            raise _nothing(sitemaps)
        for start in self.starts:
            async for source in self._of_site(start, robots, sitemaps):
                yield source, False

    def _named(self) -> Iterator[Source]:
        """What a person named, one by one."""
        if self.only is not None:
            for url in self.only:
                yield Source(url=url if url.startswith("file:") else canonical(url), found_in="list")
            return
        for found_in, urls in (("file", self.files), ("start", self.starts), ("list", self.lists)):
            for url in urls:
                yield Source(url=url, found_in=found_in)

    async def _of_site(self, start: str, robots: RobotsFiles, sitemaps: Sitemaps) -> AsyncIterator[Source]:
        """
        What a start page's site says of itself: robots' Sitemap lines, the usual place, llms.txt.

        Lines that are all good are the site's word on where its sitemaps are: the usual place,
        where an old one may lie, is then not asked.
        """
        place = origin(start)
        if not await self._open(start, robots, sitemaps):
            return
        named = (await robots.of(start)).sitemaps
        good, troubles = bool(named), len(sitemaps.troubles)
        for line in named:
            try:
                url = canonical(line, place + "/")
            except Permanent as error:
                self.notes.append(f"{place}/robots.txt: {error}")
                good = False
                continue
            async for source in sitemaps.entries(url):
                yield source
        if not good or len(sitemaps.troubles) > troubles:
            async for source in sitemaps.entries(place + _DEFAULT_SITEMAP, optional=True):
                yield source
        if not (await robots.allows(place + _LLMS))[0]:
            async for source in sitemaps.llms(place + _LLMS):
                yield source

    async def _open(self, url: str, robots: RobotsFiles, sitemaps: Sitemaps) -> bool:
        """Whether the site lets anybody in at all."""
        if self._crawl.ignore_robots:
            return True
        rules = await robots.of(url)
        if rules.closed:
            sitemaps.refuse(url, rules.verdict(url)[1])
        return not rules.closed


def _canonical(urls: Iterable[str], option: str) -> tuple[str, ...]:
    named = []
    for url in urls:
        try:
            named.append(canonical(url))
        except Permanent as error:
            raise Misconfigured(f"{option}: {error}; write it as https://example.com/page") from None
    return tuple(dict.fromkeys(named))


def _nothing(sitemaps: Sitemaps) -> IndexerError:
    troubles = "; ".join(f"{t.where}: {t.what}" for t in sitemaps.troubles) or "no entries"
    message = f"no page could be found ({troubles}). Nothing was changed"
    if any(trouble.passing for trouble in sitemaps.troubles):
        return Retryable(f"{message}; run again when the site answers")
    return NothingListed(f"{message}; check --sitemap-url, or give --crawl URL to follow links instead")
