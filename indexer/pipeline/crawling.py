"""
The frontier at work: fetch side by side, read in workers, settle what becomes of each URL.

Everything runs in one event loop. A URL's page is durable before its outcome is handed
to the journal; a URL that redirects is settled when its target is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial

from indexer.artifacts import Outcome, Reason, Source, State
from indexer.crawl.frontier import Frontier, Lead, Refused
from indexer.crawl.llms import twins_of
from indexer.crawl.scope import step
from indexer.crawl.urls import netloc
from indexer.pipeline import evidence
from indexer.pipeline.discovery import RobotsFiles, Sitemaps
from indexer.pipeline.journal import SECONDS, Journal, as_outcome
from indexer.pipeline.ledger import page_stands
from indexer.pipeline.reading import Keeping, Readers, reading_of
from indexer.pipeline.rendering import Rendering
from indexer.pipeline.revisits import Budget
from indexer.pipeline.scrape_tools import ScrapeReport, Tools, first_error
from indexer.pipeline.seeds import Seeds
from indexer.pipeline.verdicts import PASSING
from indexer.pipeline.visiting import Visited, Visitor, kept, mirrored, takes_page
from indexer.ports import Response, UrlRow

log = logging.getLogger("indexer")

_UNDONE = PASSING | {Reason.LIMIT}  # what this visit has yet to deal with, if its turn comes


class Crawling:
    """One run over the seeds of a project; `all` does it, `report` says what was done."""

    def __init__(self, seeds: Seeds, tools: Tools) -> None:
        settings, fetch, catalogue, visit = tools.settings, tools.fetch, tools.catalogue, tools.visit
        self.seeds = seeds
        self.tools = tools
        self.crawl = settings.crawl
        self.catalogue = catalogue
        self.visit = visit
        self.progress = tools.progress
        self.report = ScrapeReport()
        self.journal = Journal(catalogue, tools.artifacts, visit)
        self.robots = RobotsFiles(fetch=fetch, catalogue=catalogue, visit=visit, crawl=self.crawl)
        self.sitemaps = Sitemaps(fetch=fetch, catalogue=catalogue, visit=visit, scope=seeds.scope)
        self.frontier = Frontier(
            scope=seeds.scope, max_pages=self.crawl.max_pages, blocked=self.robots.verdict
        )
        reading = reading_of(settings)
        width = max(1, settings.run.workers) + 1  # one batch waits for the first worker that is free
        keeping = Keeping(raw=tools.raw, visit=visit) if tools.raw is not None else None
        readers = Readers(
            tools.pool, artifacts=tools.artifacts, reading=reading, width=width, keeping=keeping
        )
        self.room = asyncio.Semaphore(readers.capacity)
        self.visitor = Visitor(
            fetch=fetch,
            robots=self.robots,
            artifacts=tools.artifacts,
            scope=seeds.scope,
            readers=Rendering(readers, tools.render, max_age_hours=settings.render.max_age_hours),
            follow=seeds.follow,
            force=tools.force,
            max_file=int(self.crawl.max_body_mb * 2**20),
            raw=tools.raw,
            visit=visit,
            whole=partial(page_stands, catalogue, tools.artifacts),
        )
        self.hosts: dict[str, asyncio.Queue[Source]] = {}
        self.workers: list[asyncio.Task[None]] = []
        self.waiting: dict[str, list[tuple[Source, Outcome]]] = {}
        self.hops: Counter[str] = Counter()
        self.tried: set[str] = set()
        self.outstanding: Counter[str] = Counter()
        self.done = 0
        self.budget = Budget(catalogue, limit=self.crawl.budget, visit=visit)
        self.journal.rested = self.budget.resting
        self.ends = time.monotonic() + 60 * self.crawl.max_minutes
        self._time_is_up = f"the time limit of {self.crawl.max_minutes:g} minutes was reached (--max-minutes)"
        self.idle = asyncio.Event()

    async def all(self) -> None:
        """The whole run; the first error of any part ends it."""
        try:
            async with asyncio.TaskGroup() as self.group:
                ticker = self.group.create_task(self._tick())
                await self._discover()
                await self._drain()
                if self.seeds.only is None:
                    self._revisit()
                    await self._drain()
                await self._confirm()
                for task in (ticker, *self.workers):
                    task.cancel()
        except BaseExceptionGroup as group:
            raise first_error(group) from None
        self.report.cut_off = self.frontier.cut_off
        self.report.notes += [self._time_is_up] if self._over else []
        self.report.notes += self.seeds.notes
        self.report.notes += [f"{trouble.where}: {trouble.what}" for trouble in self.sitemaps.troubles]

    async def _tick(self) -> None:
        """Keep the catalogue and the person who waits up to date."""
        while True:
            await asyncio.sleep(SECONDS)
            if self.journal.overdue:
                self.journal.flush()
            busiest = max(self.outstanding, key=self.outstanding.__getitem__, default="")
            self.progress(self.done, max(self.done, self.frontier.admitted), self.report.failed, busiest)

    # ── discovery ───────────────────────────────────────────────────────────────────────

    async def _discover(self) -> None:
        """Fill the frontier from the sources; stop reading sitemaps when it is full. Then links count."""
        self.frontier.hold()
        found = self.seeds.sources(robots=self.robots, sitemaps=self.sitemaps)
        async with contextlib.aclosing(found):
            async for source, named in found:
                listed = source.found_in.startswith("llms.txt:")
                if listed and any(twin in self.frontier for twin in twins_of(source.url)):
                    continue
                self._offer(source, named=named)
                if self._over:
                    break
                if self.frontier.full and self.sitemaps.unread:
                    self.report.notes.append(
                        f"{self.sitemaps.unread} more sitemaps were not read: the limit of "
                        f"{self.crawl.max_pages} pages is reached (--max-pages)"
                    )
                    break
        self._take_up(self.frontier.release())

    def _revisit(self) -> None:
        """What earlier runs knew and no source named this time: it may still be there."""
        self.journal.flush()
        due = [(row.url, row.found_in, row.depth) for row in self.catalogue.due(self.visit)]
        for url, found_in, depth in due:
            of_ours = url in self.seeds.files if url.startswith("file:") else self._on_a_site(url)
            if of_ours and url not in self.frontier:
                known = Source(url=url, found_in=found_in[0] if found_in else "", depth=depth)
                self._offer(known, anew=False)

    async def _confirm(self) -> None:
        """Ask again for pages that were not found; what goes leaves a tombstone. Flag what nothing names."""
        self.journal.flush()
        rows = list(evidence.doubted(self.catalogue, self.visit))
        if not self.tools.accept_loss:
            rows = evidence.believable(self.catalogue, self.visit, rows)
        found = [] if self._over else await evidence.confirm(
            self.visitor, rows, strikes=self.crawl.strikes, width=self.crawl.concurrency
        )  # fmt: skip
        for one in found:
            outcome = evidence.bury(one.outcome, one.row) if one.dead else one.outcome
            self.report.kept -= not outcome.reason or one.dead
            self.journal.settle(outcome, dead=one.dead)
        self.journal.flush()
        if self._whole:
            self.catalogue.flag_stale(self.visit)

    @property
    def _whole(self) -> bool:
        """Whether all sources were read, so that what none of them names is named nowhere."""
        limits = self._over or self.frontier.full or self.sitemaps.unread
        single = self.seeds.only is not None
        return not (single or limits or self.sitemaps.troubles or self.seeds.notes)

    def _on_a_site(self, url: str) -> bool:
        return url.startswith(("http://", "https://")) and self.seeds.scope.has(url)

    def _offer(self, source: Source, *, named: bool = False, anew: bool = True) -> None:
        """A URL of the sources: into the frontier, or refused. Not `anew`: nothing names it this time."""
        if source.url in self.frontier:
            return
        if anew:
            self.journal.found(source)
        local = source.url.startswith("file://")
        if not local and not source.url.startswith(("http://", "https://")):
            self._refuse(Refused(source, Reason.BAD_URL, "only http(s) addresses are fetched"))
        elif local and not named:
            self._refuse(Refused(source, Reason.OUT_OF_SCOPE, "a local file that is none of the sources"))
        else:
            refused = self.frontier.add(source, named=named)
            if refused:
                self._refuse(refused)
            for fresh in self.frontier.take():
                self._queue(fresh)

    # ── the frontier at work ────────────────────────────────────────────────────────────

    def _queue(self, source: Source) -> None:
        """Hand a URL to its host's workers."""
        host = _host(source)
        queue = self.hosts.get(host)
        if queue is None:
            queue = self.hosts[host] = asyncio.Queue()
            for _ in range(self.crawl.concurrency):
                self.workers.append(self.group.create_task(self._work(queue)))
        self.outstanding[host] += 1
        self.idle.clear()
        queue.put_nowait(source)

    async def _work(self, queue: asyncio.Queue[Source]) -> None:
        """One of a host's workers: fetch one after the other; reading goes on beside."""
        while True:
            source = await queue.get()
            row = self.catalogue.get(source.url)
            if self._over:
                self._cut(source, self._time_is_up)
                continue
            if row is not None and row.visit == self.visit and row.reason not in _UNDONE:
                self._replay(source, row)
                continue
            turn = self.budget.turn(source, row)
            if turn == "cut":
                self._cut(source, "the run's budget is spent (--budget)")
                continue
            if turn == "rest" and row is not None:
                self._replay(source, row)
                continue
            answer = await self.visitor.request(source, row)
            await self.room.acquire()  # bounds the bodies in memory
            self.group.create_task(self._finish(source, row, answer))

    @property
    def _over(self) -> bool:
        """Whether the run's time is up."""
        return bool(self.crawl.max_minutes) and time.monotonic() >= self.ends

    def _cut(self, source: Source, why: str) -> None:
        """Time or budget is up before a URL's turn came: what is known of it stands."""
        self.frontier.cut_off += 1
        self._refuse(Refused(source, Reason.LIMIT, why))
        self._lead_on(source, ())
        self._one_less(source)

    async def _finish(self, source: Source, row: UrlRow | None, answer: Response | Visited) -> None:
        try:
            visited = answer if isinstance(answer, Visited) else await self.visitor.read(source, row, answer)
        finally:
            self.room.release()
        self._settle(source, row, visited)

    async def _drain(self) -> None:
        """Wait until the frontier is empty and every redirect has come to an end."""
        while True:
            if self.outstanding:
                await self.idle.wait()
            if not self.waiting:
                return
            await self._break_circle()

    async def _break_circle(self) -> None:
        """
        URLs that redirect to each other: each is followed in one go, once; a cookie may open one.

        The others then share its fate. If none opens, all have failed.
        """
        waiting = {source.url: source for entries in self.waiting.values() for source, _ in entries}
        untried = sorted(waiting.keys() - self.tried)
        source = waiting[untried[0] if untried else min(waiting)]
        row = self.catalogue.get(source.url)
        if untried:
            self.tried.add(source.url)
            answer = await self.visitor.follow_through(source, row)
            visited = answer if isinstance(answer, Visited) else await self.visitor.read(source, row, answer)
            if visited.target:
                return
        else:
            visited = Visited(outcome=kept(_in_circles(source.url), row))
        for target, entries in list(self.waiting.items()):
            self.waiting[target] = [entry for entry in entries if entry[0].url != source.url]
            if not self.waiting[target]:
                del self.waiting[target]
        self.report.fetched += visited.fetched
        self.report.changed += visited.changed
        self._record(source, row, visited.outcome)
        for link in visited.links if self.seeds.follow else ():
            if self.seeds.scope.has(link):
                found_in, depth = f"link:{source.url}", source.depth + step(source.url, link)
                self._offer(Source(url=link, found_in=found_in, depth=depth))

    def _settle(self, source: Source, row: UrlRow | None, visited: Visited) -> None:
        """Record what became of a URL and admit what it leads to."""
        self.report.fetched += visited.fetched
        self.report.not_modified += visited.not_modified
        self.report.changed += visited.changed
        if visited.target:
            self._wait_for(source, visited)
        else:
            self._record(source, row, visited.outcome)
            feed = visited.outcome.reason is Reason.NOT_A_PAGE
            self._lead_on(source, visited.links, visited.alternates, feed=feed)
        self._one_less(source)

    def _record(self, source: Source, row: UrlRow | None, outcome: Outcome) -> None:
        """Write an outcome, and those of URLs that redirect here."""
        self.done += 1
        self.report.failed += outcome.state is State.FAILED
        standing = outcome.state in (State.FETCHED, State.INDEXED)
        self.report.kept += standing and bool(outcome.reason)
        if outcome.reason and standing:
            log.info("%s: %s", source.url, outcome.detail)
        dead = takes_page(outcome, row)
        said = evidence.bury(outcome, row) if dead else outcome
        self.journal.settle(said, dead=dead, weight=0 if outcome.not_modified else 1)
        self._settle_waiting(outcome)

    def _settle_waiting(self, target: Outcome) -> None:
        for source, outcome in self.waiting.pop(target.url, ()):
            row = self.catalogue.get(source.url)
            self._record(source, row, mirrored(outcome, target, row))

    def _wait_for(self, source: Source, visited: Visited) -> None:
        """A redirect: the target takes the URL's place, and its fate."""
        target = visited.target
        self.hops[target] = max(self.hops[target], self.hops[source.url] + 1)
        if self.hops[target] > self.crawl.max_redirects:
            row = self.catalogue.get(source.url)
            self._record(source, row, kept(_in_circles(source.url), row))
            self._lead_on(source, ())
            return
        self.waiting.setdefault(target, []).append((source, visited.outcome))
        self._admit(source, [Lead(target, f"redirect:{source.url}", source.depth, free=True)])
        settled = self.journal.settled(target) if target in self.frontier else None
        if settled is not None:
            self._settle_waiting(settled)

    def _lead_on(
        self, source: Source, links: Iterable[str], alternates: Iterable[str] = (), *, feed: bool = False
    ) -> None:
        """Admit what a URL leads to. A feed is a source itself: its entries are no deeper than it."""
        leads = []
        if self.seeds.follow:
            other = frozenset(alternates)
            for link in links:
                if self.seeds.scope.has(link) and link not in self.frontier:
                    way = "feed" if feed else "hreflang" if link in other else "link"
                    deeper = 0 if feed else step(source.url, link)
                    leads.append(Lead(link, f"{way}:{source.url}", source.depth + deeper))
        self._admit(source, leads)

    def _admit(self, source: Source, leads: list[Lead]) -> None:
        self._take_up(self.frontier.done(source.url, leads))

    def _take_up(self, refusals: Iterable[Refused]) -> None:
        for refused in refusals:
            self.journal.found(refused.source)
            self._refuse(refused)
        for fresh in self.frontier.take():
            self.journal.found(fresh)
            self._queue(fresh)

    def _refuse(self, refused: Refused) -> None:
        """Record a URL that will not be fetched; an exclude pattern takes its page away, a limit does not."""
        source = refused.source
        row = self.catalogue.get(source.url)
        outcome = Outcome(url=source.url, state=State.SKIPPED, reason=refused.reason, detail=refused.detail)
        if refused.reason is not Reason.OUT_OF_SCOPE:
            outcome = kept(outcome, row)
        dead = takes_page(outcome, row)
        self.journal.settle(evidence.bury(outcome, row) if dead else outcome, dead=dead, weight=0)
        self._settle_waiting(outcome)

    def _replay(self, source: Source, row: UrlRow) -> None:
        """A URL that this run dealt with before it was killed, or that rests: only go on from it."""
        self.done += 1
        self._settle_waiting(as_outcome(row))
        target = row.facts.get("redirect", "")
        if target:
            self._admit(source, [Lead(target, f"redirect:{source.url}", source.depth, free=True)])
        else:
            self._lead_on(source, *self.visitor.ways_of(row), feed=row.reason == Reason.NOT_A_PAGE)
        self._one_less(source)

    def _one_less(self, source: Source) -> None:
        host = _host(source)
        self.outstanding[host] -= 1
        if not self.outstanding[host]:
            del self.outstanding[host]
        if not self.outstanding:
            self.idle.set()


def _host(source: Source) -> str:
    return "" if source.url.startswith("file:") else netloc(source.url)


def _in_circles(url: str) -> Outcome:
    detail = "it redirects on and on"
    return Outcome(url=url, state=State.FAILED, reason=Reason.TOO_MANY_REDIRECTS, detail=detail)
