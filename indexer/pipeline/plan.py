"""
A dry run: what the next run would ask for, read, embed and pay, before it does any of it.

robots.txt and sitemaps are read, and a few pages to learn their size, politely and within
all limits of a run. Nothing is written.

Read first: `plan`, then `census` (URLs), `gauge` (pages), `estimate` (sums, and the result).
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from indexer.artifacts import Reason, Sources
from indexer.crawl.urls import netloc, resolve
from indexer.errors import Misconfigured, Permanent, Retryable
from indexer.phases import scrape
from indexer.pipeline.census import Census
from indexer.pipeline.discovery import RobotsFiles, Sitemaps
from indexer.pipeline.estimate import Estimate, Plan, Sampled, cost_of, extrapolate
from indexer.pipeline.gauge import Gauge, Measured
from indexer.pipeline.reading import reading_of
from indexer.pipeline.report import Progress
from indexer.pipeline.seeds import Seeds
from indexer.pipeline.visiting import Visited, read_file
from indexer.pipeline.wiring import Wiring
from indexer.ports import Catalogue, Fetch, Project, Response

STORED_SAMPLE = 200  # pages of an existing project that are measured; the rest is extrapolated


def plan(wiring: Wiring, project: Project, sources: Sources, *, sample: int, progress: Progress) -> Plan:
    """
    What a run over `sources` would do; `project` has an empty name if there is none yet.

    Raises `Misconfigured` or `Retryable` where a run would find no page at all.
    """
    if sources == Sources():
        raise Misconfigured("there is nothing to plan: name --sitemap-url, --urls, --urls-file or --crawl")
    with (
        tempfile.TemporaryDirectory(prefix="indexer-plan-") as folder,
        wiring.catalogue_copy(project) as catalogue,
    ):
        planning = _Planning(wiring, Gauge(wiring.dry(Path(folder))), project, sources, progress)
        return asyncio.run(planning.all(catalogue, sample))


class _Planning:
    def __init__(
        self, wiring: Wiring, gauge: Gauge, project: Project, sources: Sources, progress: Progress
    ) -> None:
        self.wiring = wiring
        self.settings = wiring.settings
        self.gauge = gauge
        self.project = project
        self.progress = progress
        self.sources = sources
        self.seeds = Seeds(sources, crawl=self.settings.crawl, only=None)
        self.free_at: dict[str, float] = {}

    async def all(self, catalogue: Catalogue, size: int) -> Plan:
        """Count, sample, extrapolate."""
        visit = catalogue.last_visit()[0] + 1
        crawl = self.settings.crawl
        fetch = self.wiring.fetch(self.sources)
        try:
            self.robots = RobotsFiles(fetch=fetch, catalogue=catalogue, visit=visit, crawl=crawl)
            sitemaps = Sitemaps(fetch=fetch, catalogue=catalogue, visit=visit, scope=self.seeds.scope)
            self.reading = reading_of(self.settings)
            self.census = Census(
                self.seeds,
                crawl=crawl,
                catalogue=catalogue,
                robots=self.robots,
                size=size,
                stored=STORED_SAMPLE,
                raw=self.wiring.raw(self.project) if self.project.name else None,
            )
            await self.census.take(sitemaps, self.progress, reader=scrape.reading_key(self.reading))
            self.sampled = Sampled()
            stored = self.measure_stored()
            fresh = Measured() if stored.pages else await self.measure_fresh(fetch)
            gaps = {host: await self.gap(host) for host in self.census.hosts}
        finally:
            await fetch.aclose()
        measured = stored + fresh
        return self.result(
            extrapolate(self.census, self.sampled, measured, settings=self.settings, gaps=gaps)
        )

    # ── pages to learn from ─────────────────────────────────────────────────────────────

    def measure_stored(self) -> Measured:
        """The sum over a sample of the project's pages."""
        total = Measured()
        if not self.project.name:
            return total
        artifacts = self.wiring.artifacts(self.project)
        for number, url in enumerate(self.census.stored_sample, 1):
            self.progress.step("Measuring", number, 0)
            measured = self.gauge.stored(artifacts, url)
            if measured is not None:
                total += measured
        self.sampled.stored = total.pages
        return total

    async def measure_fresh(self, fetch: Fetch) -> Measured:
        """The sum over a few pages that are asked for, one after the other."""
        total = Measured()
        answers: list[float] = []
        for url in self.census.fresh_sample:
            self.sampled.asked += 1
            self.progress.step("Sampling", self.sampled.asked, 0)
            scraped = await self.ask(fetch, url, answers)
            if isinstance(scraped, str) or scraped.page is None:
                reason = scraped if isinstance(scraped, str) else scraped.outcome.reason.value
                self.sampled.others[reason] = self.sampled.others.get(reason, 0) + 1
                continue
            links = {link for link in scraped.links if self.seeds.scope.has(link)}
            self.sampled.new_links += sum(link not in self.census.frontier for link in links)
            total += self.gauge.page(scraped.page)
        self.sampled.pages = total.pages
        self.sampled.seconds = round(statistics.median(answers), 3) if answers else 0.0
        return total

    async def ask(self, fetch: Fetch, url: str, answers: list[float]) -> scrape.Scraped | str:
        """One page, or the reason why there is none."""

        async def allow(target: str) -> str:
            final = resolve(target, "")
            if not final or not self.seeds.scope.has(final):
                return Reason.OUT_OF_SCOPE
            return (await self.robots.allows(final))[0]

        if url.startswith("file:"):
            local = read_file(url, limit=int(self.settings.crawl.max_body_mb * 2**20))
            return local.outcome.reason.value if isinstance(local, Visited) else self.read(local)
        began = time.monotonic()
        wait = max(0.0, self.free_at.get(netloc(url), 0.0) - began)
        self.free_at[netloc(url)] = began + wait + await self.gap(netloc(url))
        try:
            response = await fetch(url, allow=allow)
        except (Permanent, Retryable) as error:
            return error.reason or Reason.BAD_RESPONSE.value
        answers.append(max(0.0, time.monotonic() - began - wait))
        return self.read(response)

    def read(self, response: Response) -> scrape.Scraped:
        """As a run reads it."""
        return scrape.read(response, reading=self.reading)

    async def gap(self, host: str) -> float:
        """Seconds between the starts of two requests to a host."""
        return max(self.settings.crawl.delay, await self.crawl_delay(host))

    async def crawl_delay(self, host: str) -> float:
        """As robots.txt asks, up to the configured cap."""
        if self.settings.crawl.ignore_robots:
            return 0.0
        delays = [(await self.robots.of(url)).crawl_delay for url in self.census.places(host)]
        return min(max(delays, default=0.0), self.settings.crawl.max_crawl_delay)

    def result(self, estimate: Estimate) -> Plan:
        """All of it."""
        census, settings = self.census, self.settings
        costs = [cost_of(settings, settings.models.embedding[0], estimate.tokens_owed)]
        if self.gauge.chat is not None:
            costs.append(cost_of(settings, settings.models.extract[0], estimate.chat_tokens))
        return Plan(
            project=self.project.name,
            sources=list(census.sources.values()),
            found=census.found,
            asked=census.asked,
            conditional=census.conditional,
            known=census.pages_known,
            paths=census.paths(),
            left=sorted(census.left.values(), key=lambda left: (-left.urls, left.reason)),
            max_pages=settings.crawl.max_pages,
            ignore_robots=settings.crawl.ignore_robots,
            follows_links=self.seeds.follow,
            sample=self.sampled,
            estimate=estimate,
            costs=costs,
            notes=[*census.notes, *self.obstacles()],
        )

    def obstacles(self) -> list[str]:
        """What would stop a run that a plan can do without."""
        notes = []
        for open_model in (lambda: self.wiring.embed, lambda: self.wiring.chat):
            try:
                open_model()
            except Misconfigured as error:
                notes.append(f"a run would stop: {error}")
        return notes
