"""
Sources → pages, for a whole project.

The order of a run: robots.txt of the sources' sites; files, start pages, lists and
sitemaps into the frontier; pages (with links where they are to be followed) until the
frontier is empty; then what earlier runs knew and nothing named this time; then one
document per text. A killed run takes the same way again and skips what is done.

Read first: `scrape_all`, then `crawling` (the loop), `visiting` (one URL), `duplicates`.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Executor

from indexer.artifacts import Reason, Sources, State
from indexer.errors import Permanent, Retryable
from indexer.pipeline.crawling import Crawling
from indexer.pipeline.duplicates import settle_duplicates
from indexer.pipeline.evidence import settle_moves
from indexer.pipeline.rereading import reread, rereading_of, worth_keeping
from indexer.pipeline.scrape_tools import ScrapeProgress, ScrapeReport, Tools
from indexer.pipeline.seeds import Seeds
from indexer.pipeline.verdicts import PASSING
from indexer.ports import Artifacts, Catalogue, Fetch, RawResponses, Render
from indexer.settings import Settings

__all__ = ["ScrapeProgress", "ScrapeReport", "scrape_all"]


async def scrape_all(  # noqa: PLR0913 - one argument per port: the wiring reads like the design
    sources: Sources,
    *,
    settings: Settings,
    catalogue: Catalogue,
    artifacts: Artifacts,
    fetch: Fetch,
    render: Render | None = None,
    raw: RawResponses | None = None,
    pool: Executor | None,
    visit: int,
    only: Collection[str] | None = None,
    force: bool = False,
    accept_loss: bool = False,
    progress: ScrapeProgress = lambda *_: None,
) -> ScrapeReport:
    """
    Bring the pages of a project up to date.

    `render`: fills pages that are empty without their scripts; `None`: they are skipped.
    `raw`: keeps answers, from which pages are read again when the rules of reading change.
    `only`: these URLs and where they redirect to, nothing else. `force`: unconditionally.
    `accept_loss`: what is not found twice goes, even if most of the site does.
    `progress(done, total, failed, host)` is called a few times a second.
    Raises `Misconfigured` for sources that name nothing, `Permanent` or `Retryable` if
    nothing can be discovered or no page at all can be had; nothing is lost then.
    """
    tools = Tools(
        settings=settings,
        catalogue=catalogue,
        artifacts=artifacts,
        fetch=fetch,
        render=render,
        raw=raw, pool=pool, visit=visit, force=force, accept_loss=accept_loss, progress=progress,
    )  # fmt: skip
    crawling = Crawling(Seeds(sources, crawl=settings.crawl, only=only), tools)
    try:
        await crawling.all()
    finally:
        crawling.journal.flush()
    if raw is not None:
        job = rereading_of(settings, artifacts=artifacts, raw=raw)
        reread(job, catalogue=catalogue, journal=crawling.journal, pool=pool, only=only)
        if only is None:
            raw.prune(worth_keeping(catalogue))
    settle_duplicates(catalogue, artifacts, crawling.journal)
    settle_moves(catalogue, crawling.journal, visit)
    return crawling.report


def require_pages(catalogue: Catalogue) -> None:
    """
    Raise `Permanent` if the project has no page at all, saying what became of its URLs.

    `Retryable` if all reasons may pass.
    """
    counts = catalogue.counts()
    if counts.get(State.FETCHED, 0) + counts.get(State.INDEXED, 0):
        return
    reasons = catalogue.reasons()
    summary = ", ".join(f"{count} {reason or state}" for (state, reason), count in reasons.items())
    example = next((row for row in catalogue.rows() if row.detail), None)
    told = f"; for example {example.url}: {example.detail}" if example else ""
    message = f"not one page could be indexed ({summary or 'no URL was found'}{told})"
    if reasons and all(reason in PASSING - {Reason.EXTRACT_FAILED} for _, reason in reasons):
        raise Retryable(f"{message}. Run again when the site answers")
    raise Permanent(f"{message}. See `indexer export` for every URL's reason")
