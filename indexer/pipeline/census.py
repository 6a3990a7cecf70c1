"""
What a run would ask for, counted without asking: URLs by source and path, and why some are left out.

robots.txt and sitemaps are read as a run reads them; pages are not.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from indexer.artifacts import Reason, Source, State
from indexer.crawl.frontier import Frontier
from indexer.crawl.llms import twins_of
from indexer.crawl.urls import netloc, origin, path_of
from indexer.ids import digest
from indexer.pipeline.discovery import RobotsFiles, Sitemaps
from indexer.pipeline.duplicates import has_page
from indexer.pipeline.report import Progress
from indexer.pipeline.seeds import Seeds
from indexer.ports import Catalogue, RawResponses, UrlRow
from indexer.settings import Crawl

EARLIER = "earlier runs"
LOCAL = "local files"
EXAMPLES = 5
_STEP = 500  # URLs between two signs of life
_SPLIT = 0.5  # a path with more than this share of the URLs is shown by its second segment


class SourceCount(Struct, kw_only=True):
    """What one source names. `duplicates`: named before, by it or by another; `found` = `new` + those."""

    source: str
    found: int = 0
    new: int = 0
    duplicates: int = 0


class Left(Struct, kw_only=True):
    """URLs that would not be asked for, for one reason."""

    reason: str
    urls: int = 0
    examples: list[str] = []


class Sample:
    """The `size` URLs whose digests come first: the same whatever the order, and from all over the site."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[int, str]] = []

    def offer(self, url: str) -> None:
        """Take a URL in, if it is among the first."""
        rank = -int(digest(url)[:16], 16)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, (rank, url))
        elif self._size and rank > self._heap[0][0]:
            heapq.heapreplace(self._heap, (rank, url))

    def __iter__(self) -> Iterator[str]:
        return (url for _, url in sorted(self._heap, reverse=True))


class Census:
    """Counts of one plan; `take` fills them. `size`: of the samples of pages."""

    def __init__(
        self,
        seeds: Seeds,
        *,
        crawl: Crawl,
        catalogue: Catalogue,
        robots: RobotsFiles,
        size: int,
        stored: int,
        raw: RawResponses | None = None,
    ) -> None:
        self._raw = raw
        self.seeds = seeds
        self.robots = robots
        self.sources: dict[str, SourceCount] = {}
        self.left: dict[str, Left] = {}
        self.hosts: Counter[str] = Counter()
        self.found = self.asked = self.conditional = self.dealt = self.pages_known = 0
        self.fresh_sample, self.stored_sample = Sample(size), Sample(stored)
        self.notes: list[str] = []
        self.frontier = Frontier(scope=seeds.scope, max_pages=crawl.max_pages, blocked=robots.verdict)
        self._crawl = crawl
        self._catalogue = catalogue
        self._places: dict[str, None] = {}
        self._folders: Counter[tuple[str, str]] = Counter()
        self._within: Counter[tuple[str, str, str]] = Counter()

    async def take(self, sitemaps: Sitemaps, progress: Progress, *, reader: str) -> None:
        """Read the sources. `reader`: the key of how pages are read now; see `reading_key`."""
        found = self.seeds.sources(robots=self.robots, sitemaps=sitemaps)
        async for source, named in found:
            twins = twins_of(source.url) if source.found_in.startswith("llms.txt:") else ()
            if not any(twin in self.frontier for twin in twins):
                await self._count(source, named=named, reader=reader, progress=progress)
            if self.frontier.full and sitemaps.unread:
                self.notes.append(
                    f"{sitemaps.unread} more sitemaps would not be read: the limit of "
                    f"{self._crawl.max_pages} pages is reached (--max-pages)"
                )
                break
        await found.aclose()
        for row in self._catalogue.rows():
            of_ours = row.url.startswith(("http://", "https://")) and self.seeds.scope.has(row.url)
            if of_ours and row.url not in self.frontier:
                source = Source(url=row.url, found_in=EARLIER, depth=row.depth)
                await self._count(source, named=False, reader=reader, progress=progress)
        self.notes += self.seeds.notes
        self.notes += [f"{trouble.where}: {trouble.what}" for trouble in sitemaps.troubles]

    def places(self, host: str) -> list[str]:
        """The origins of a host that URLs were found at."""
        return [place for place in self._places if netloc(place) == host]

    def paths(self) -> dict[str, int]:
        """URLs to be asked for by first folder; one that holds most of them by its second."""
        several = len({host for host, _ in self._folders}) > 1
        large = {key for key, count in self._folders.items() if count > _SPLIT * self.asked}
        counts: Counter[str] = Counter()
        for (host, first), count in self._folders.items():
            if (host, first) not in large:
                counts[(host if several else "") + first] += count
        for (host, first, second), count in self._within.items():
            if (host, first) in large:
                counts[(host if several else "") + first + second] += count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    # ── one URL ─────────────────────────────────────────────────────────────────────────

    async def _count(self, source: Source, *, named: bool, reader: str, progress: Progress) -> None:
        count = self.sources.setdefault(source.found_in, SourceCount(source=source.found_in))
        count.found += 1
        if source.url in self.frontier:
            count.duplicates += 1
            return
        count.new += 1
        self.found += 1
        if self.found % _STEP == 0:
            progress.step("Planning", self.found, 0)
        local = source.url.startswith("file://")
        if not local and not source.url.startswith(("http://", "https://")):
            self._leave(source.url, Reason.BAD_URL)
            return
        refused = self.frontier.add(source, named=named)
        for fresh in self.frontier.take():
            reason, _ = (Reason.NONE, "") if local else await self.robots.allows(fresh.url)
            if reason:
                self._leave(fresh.url, reason)
            else:
                self._ask(fresh.url, self._catalogue.get(fresh.url), reader)
        if refused:
            self._leave(source.url, refused.reason)

    def _leave(self, url: str, reason: Reason) -> None:
        left = self.left.setdefault(reason.value, Left(reason=reason.value))
        left.urls += 1
        if len(left.examples) < EXAMPLES:
            left.examples = [*left.examples, url]

    def _ask(self, url: str, row: UrlRow | None, reader: str) -> None:
        self.asked += 1
        self.dealt += row is not None and row.state is not State.DISCOVERED
        if has_page(row):
            self.pages_known += 1
            self.stored_sample.offer(url)
        else:
            self.fresh_sample.offer(url)
        if row is not None and (row.etag or row.last_modified):
            at_hand = self._raw is not None and self._raw.has(url)
            self.conditional += at_hand or row.facts.get("reader") == reader
        if url.startswith("file:"):
            self._folders["", LOCAL] += 1
            self._within["", LOCAL, ""] += 1
            return
        host = netloc(url)
        self.hosts[host] += 1
        self._places[origin(url) + "/"] = None
        folders = [part for part in path_of(url).split("/")[1:-1] if part]
        first = f"/{folders[0]}/" if folders else "/"
        second = f"{folders[1]}/" if len(folders) > 1 else ""
        self._folders[host, first] += 1
        self._within[host, first, second] += 1
