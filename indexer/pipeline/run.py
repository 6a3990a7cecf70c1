"""
The main path: scrape → chunk → embed → index → publish → register, for one project.

Each step asks what is owed (a missing artifact, or one whose signature does not match),
does that, and leaves the rest alone. Killed anywhere and run again, it ends the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from indexer.artifacts import ChunkedPage, EmbeddedPage, Manifest, Page, Sources, State
from indexer.errors import Exit, Misconfigured, NothingListed, Permanent, Refused, Retryable
from indexer.pipeline import publish, work
from indexer.pipeline.chunking import chunk_pages
from indexer.pipeline.datasets import label_pages
from indexer.pipeline.embedding import Embedding
from indexer.pipeline.listed import note_listed
from indexer.pipeline.live import LATER, live_rows
from indexer.pipeline.pools import open_processes, swept
from indexer.pipeline.removal import leave_removed
from indexer.pipeline.report import Progress, Report, count
from indexer.pipeline.same_model import live_to_keep
from indexer.pipeline.sites import site_documents
from indexer.pipeline.telling import Telling
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue, Project

PHASES = ("scrape", "chunk", "embed", "index")


class Request(Struct, frozen=True, kw_only=True):
    """
    What to do: sources, first and last phase, `only` these URLs, `force` without signatures.

    `allow_shrink`: no gate refuses; `new_model`: another embedding model than the live index has
    is wanted, if it differs; `reason`: why, as a person said it.
    """

    sources: Sources
    first: str = PHASES[0]
    last: str = PHASES[-1]
    only: tuple[str, ...] = ()
    force: bool = False
    register: bool = True
    allow_shrink: bool = False
    new_model: bool = True
    reason: str = ""
    command: str = "seed"

    def wants(self, phase: str) -> bool:
        """Whether a phase is part of this run."""
        return PHASES.index(self.first) <= PHASES.index(phase) <= PHASES.index(self.last)


def check_order(first: str, last: str) -> None:
    """Raises `Misconfigured` if the phases are in the wrong order."""
    if PHASES.index(first) > PHASES.index(last):
        raise Misconfigured(
            f"--from-phase {first} comes after --until-phase {last}; the order is {', '.join(PHASES)}"
        )


def run(wiring: Wiring, project: Project, request: Request, progress: Progress) -> tuple[Report, Exit]:
    """
    Bring a project up to date.

    Raises `Busy` if another run holds it, `Misconfigured` where a person must act,
    `Refused` if the new index must not replace the old one. What single URLs came to is
    in the catalogue, not in an exception.
    """
    with (
        wiring.lock(project),
        wiring.catalogue(project) as catalogue,
        swept(wiring.artifacts(project)),
        open_processes(wiring.settings.run.workers) as pool,
    ):
        telling = Telling(
            wiring,
            project,
            command=request.command,
            reason=request.reason,
            catalogue=catalogue,
            progress=progress,
        )
        one = _Run(wiring, project, request, progress, catalogue, pool, telling.report, telling)
        with telling:
            telling.code = one.all_phases()
    return telling.report, telling.code


class _Trouble(Struct, frozen=True):
    """Why a page did not pass a later phase."""

    reason: str
    detail: str


@dataclass
class _Run:
    """One run over one project, under its lock."""

    wiring: Wiring
    project: Project
    request: Request
    progress: Progress
    catalogue: Catalogue
    pool: Executor
    report: Report
    telling: Telling
    troubles: dict[str, _Trouble] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def artifacts(self) -> Artifacts:
        return self.wiring.artifacts(self.project)

    def all_phases(self) -> Exit:
        kept = live_to_keep(self.wiring, self.project, self.request, say=self.progress.say)
        self.artifacts.sweep()
        visit, whole = self.open_visit()
        self.wiring.forget_raw(self.project)
        if self.request.wants("scrape"):
            self.scrape(visit)
            self.require_pages(visit if whole else 0)
        elif self.request.wants("chunk"):
            self.reread(visit)
        if self.request.wants("chunk"):
            self.hold_back(visit)
        live = {row.key: row.url for row in live_rows(self.catalogue)}
        renew = self.request.wants("scrape") or self.request.wants("chunk")
        if renew:
            label_pages(self.project, self.catalogue, self.artifacts, live)
            if leave_removed(self.project, self.catalogue, self.artifacts):
                live = {row.key: row.url for row in live_rows(self.catalogue)}
            note_listed(self.catalogue, self.artifacts, live_rows(self.catalogue))
        rows = live_rows(self.catalogue)
        sites = site_documents(self.project, self.artifacts, rows, renew=renew)
        live |= sites
        if self.request.wants("chunk"):
            self.chunk(live)
        exit_code = Exit.DONE
        try:
            if self.request.wants("embed"):
                self.embed(live, kept)
            if self.request.wants("index"):
                exit_code = self.index(sites)
        except Refused:
            self.end(visit if whole else 0)
            raise
        self.settle()
        self.end(visit if whole else 0)
        held = Exit.REFUSED if self.report.quarantined else Exit.DONE
        return max(exit_code, held, Exit.PARTIAL if self.report.failed or self.report.kept else Exit.DONE)

    def end(self, visit: int) -> None:
        """Count; what is asked for next is another visit (0: this one goes on)."""
        if visit:
            self.catalogue.close_visit(visit)
        count(self.report, self.catalogue.counts())

    def require_pages(self, visit: int) -> None:
        """A visit that found no page is over too: the next one asks again, maybe otherwise."""
        from indexer.pipeline.scraping import require_pages

        try:
            require_pages(self.catalogue)
        except (Permanent, Retryable):
            self.end(visit)
            raise

    def hold_back(self, visit: int) -> None:
        """Keep the last good version of pages whose new one is not to be believed unasked."""
        from indexer.pipeline.quarantine import hold_back, release

        shelves = self.wiring.shelves(self.project)
        if self.request.allow_shrink:
            for url in release(self.catalogue, self.artifacts, shelves):
                self.progress.say(f"Believed now: {url}")
            return
        current = self.wiring.store(self.project).current()
        before = {one.key: one for one in self.catalogue.editions(current.generation)} if current else {}
        if not before:
            return
        held = hold_back(
            before,
            catalogue=self.catalogue,
            artifacts=self.artifacts,
            shelves=shelves,
            raw=self.wiring.raw(self.project),
            visit=visit,
        )
        self.report.quarantined, self.telling.held = len(held), held
        for one in held:
            self.progress.say(f"Held back: {one.url}: {one.why}")

    def open_visit(self) -> tuple[int, bool]:
        """
        The visit to work on, and whether this run may close it.

        A run over single URLs leaves an interrupted whole run open for the next one.
        """
        before, _, closed = self.catalogue.last_visit()
        if not self.request.wants("scrape"):
            return before, False
        visit = self.catalogue.open_visit(self.wiring.settings.run.resume_hours)
        resumed = visit == before and not closed
        return visit, not (self.request.only and resumed)

    def scrape(self, visit: int) -> None:
        """Source → Page."""
        import asyncio

        from indexer.pipeline.scraping import scrape_all

        self.say_manners()

        async def scraping() -> Any:
            render = self.wiring.render(self.request.sources)
            fetch = self.wiring.fetch(self.request.sources)
            try:
                return await scrape_all(
                    self.request.sources,
                    settings=self.wiring.settings,
                    catalogue=self.catalogue,
                    artifacts=self.artifacts,
                    fetch=fetch,
                    render=render,
                    raw=self.wiring.raw(self.project),
                    pool=self.pool,
                    visit=visit,
                    only=self.request.only or None,
                    force=self.request.force,
                    accept_loss=self.request.allow_shrink,
                    progress=lambda done, total, failed, host: self.progress.step(
                        "Scraping", done, total, _waiting(failed, host)
                    ),
                )
            finally:
                await fetch.aclose()
                if render is not None:
                    await render.aclose()

        try:
            done = asyncio.run(scraping())
        except NothingListed as error:
            if next(live_rows(self.catalogue), None) is None:
                raise
            raise Refused(f"{error}. The live index stays as it is") from None
        self.report.fetched, self.report.not_modified = done.fetched, done.not_modified
        self.report.kept = done.kept
        pages = sum(1 for _ in live_rows(self.catalogue))
        self.progress.say(f"Scraping completed: {pages} pages")

    def reread(self, visit: int) -> None:
        """Pages that other rules found: read anew from the answers that were kept, without a request."""
        from indexer.pipeline.rereading import reread_project

        count = reread_project(
            self.wiring.settings,
            catalogue=self.catalogue,
            artifacts=self.artifacts,
            raw=self.wiring.raw(self.project),
            pool=self.pool,
            visit=visit,
        )
        if count:
            self.progress.say(f"Read again from what is kept: {count} pages")

    def say_manners(self) -> None:
        """What this run does that a site's owner should have agreed to."""
        if self.wiring.settings.crawl.ignore_robots:
            self.progress.say("Ignoring robots.txt (--ignore-robots): only for a site of your own")
        places = self.wiring.credentials(self.request.sources).origins
        if len(places) > 1:
            self.progress.say(
                f"Credentials are sent to {', '.join(places)}; crawl.private_origins can narrow that"
            )

    def chunk(self, live: dict[str, str]) -> None:
        """Page → chunks."""
        chat = self.wiring.chat
        job = work.ChunkJob(
            artifacts=self.artifacts, settings=self.wiring.settings.chunk, chat=chat, force=self.request.force
        )
        calls = chat.calls if chat else 0
        workers = self.wiring.settings.run.workers
        chunking = chunk_pages(job, sorted(live), catalogue=self.catalogue, pool=self.pool, workers=workers)
        with closing(chunking) as results:
            self.report.chunks = self.gather("Chunking", results, live)
        self.report.chat_calls = (chat.calls if chat else 0) - calls
        if self.notes:
            self.progress.say(
                f"The chat model's answer was of no full use for {len(self.notes)} pages, "
                f"for example {self.notes[0]}"
            )
        self.drop_dead(ChunkedPage, live)
        self.progress.say(f"Chunking completed: {self.report.chunks} chunks")

    def embed(self, live: dict[str, str], kept: Manifest | None) -> None:
        """Chunks → embedded chunks; `kept`: the generation whose model they must be of."""
        force, say = self.request.force, self.progress.say
        embedding = Embedding(self.wiring, self.artifacts, self.catalogue, force=force, say=say, live=kept)
        keys = [key for key in sorted(live) if live[key] not in self.troubles]
        try:
            done = embedding.all(keys, lambda count: self.progress.step("Embedding", count, len(keys)))
        finally:
            self.report.embedded, self.report.embed_cached = (
                embedding.counts.embedded,
                embedding.counts.cached,
            )
        vectors = self.gather("Embedding", iter(done), live)
        self.report.chunks = self.report.chunks or vectors
        self.drop_dead(EmbeddedPage, live)
        self.progress.say(f"Embeddings completed: {vectors} vectors")

    def index(self, sites: dict[str, str]) -> Exit:
        """Embedded chunks → a published generation, registered with the bot."""
        contents = {
            row.key: "" if row.url in self.troubles else row.content for row in live_rows(self.catalogue)
        }
        contents |= {key: self.artifacts.signature(Page, key) for key in sites}
        published = publish.publish(
            self.wiring,
            self.project,
            self.artifacts,
            contents,
            catalogue=self.catalogue,
            force=self.request.force,
            allow_shrink=self.request.allow_shrink,
            new_model=self.request.new_model,
        )
        changes = self.telling.published(published)
        self.report.stale = sum(1 for _ in self.catalogue.stale())
        manifest = published.manifest
        self.report.published = True
        self.report.points, self.report.generation = manifest.points, manifest.generation
        self.progress.say(f"Upload completed: {manifest.pages} pages, {manifest.points} chunks indexed")
        if not self.request.register:
            return Exit.DONE
        self.report.registered, exit_code = publish.register(
            self.wiring, published.project, self.progress, changes=changes
        )
        return exit_code

    def gather(self, phase: str, results: Iterator[work.Done], live: dict[str, str]) -> int:
        """Count chunks and note troubles as results come in."""
        chunks = 0
        for number, done in enumerate(results, 1):
            chunks += done.count
            if done.reason:
                self.troubles[live[done.key]] = _Trouble(done.reason, done.detail)
            if done.note:
                self.notes.append(f"{live[done.key]}: {done.note}")
            self.progress.step(phase, number, len(live))
        return chunks

    def drop_dead(self, kind: type[Any], live: Collection[str]) -> None:
        """Remove artifacts of pages that are no more."""
        dead = [key for key in self.artifacts.keys(kind) if key not in live]
        for key in dead:
            self.artifacts.delete(kind, key)
        if dead:
            self.catalogue.strike(dead)

    def settle(self) -> None:
        """
        Set every page's final state.

        A page that failed a later phase keeps its last good version in the index, if
        there is one, and says why.
        """
        indexed = State.INDEXED if self.request.last == "index" else State.FETCHED
        changes = []
        for row in live_rows(self.catalogue):
            trouble = self.troubles.get(row.url)
            state, reason, detail = indexed, row.reason, row.detail
            if row.reason in LATER:
                reason = detail = ""
            if trouble:
                kept = self.artifacts.signature(EmbeddedPage, row.key)
                state = indexed if kept else State.FAILED
                reason, detail = trouble.reason, trouble.detail
            if (state, reason, detail) != (row.state, row.reason, row.detail):
                changes.append((row.url, state, reason, detail))
        if changes:
            self.catalogue.settle(changes)


def _waiting(failed: int, host: str) -> str:
    """How a scrape goes on: errors so far, and the host that most URLs are still to come from."""
    parts = [f"{failed} failed" if failed else "", f"waiting for {host}" if host else ""]
    return ", ".join(part for part in parts if part)
