"""
Pages read anew from the answers that were kept, after the rules of reading changed.

Nothing is asked for. A page whose text stays the same costs nothing further: its digest,
and with it its chunks and vectors, stand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import Executor

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Reason, State
from indexer.ids import url_key
from indexer.phases import scrape
from indexer.phases.scrape import Reading, Scraped
from indexer.pipeline.drive import drive
from indexer.pipeline.duplicates import has_page, settle_duplicates
from indexer.pipeline.journal import Journal, as_outcome
from indexer.pipeline.pools import InlineExecutor
from indexer.pipeline.reading import reading_of
from indexer.pipeline.verdicts import KEPT
from indexer.pipeline.visiting import read_file, standing, takes_page
from indexer.ports import Artifacts, Catalogue, RawResponses, Response, UrlRow
from indexer.settings import Settings


class Rereading(Struct, frozen=True, kw_only=True):
    """What reading kept answers needs besides the URLs. `max_file`: bytes of a local document."""

    artifacts: Artifacts
    raw: RawResponses
    reading: Reading
    max_file: int


def rereading_of(settings: Settings, *, artifacts: Artifacts, raw: RawResponses) -> Rereading:
    """How kept answers are read under these settings."""
    return Rereading(
        artifacts=artifacts,
        raw=raw,
        reading=reading_of(settings),
        max_file=int(settings.crawl.max_body_mb * 2**20),
    )


class Reread(Struct, frozen=True, kw_only=True):
    """One URL read anew; `scraped` is `None` if its answer was not kept."""

    url: str
    scraped: Scraped | None = None


def outdated(catalogue: Catalogue, reading: Reading, only: Collection[str] | None = None) -> Iterator[UrlRow]:
    """Rows whose page, or whose having none, was found by other rules than these."""
    key = scrape.reading_key(reading)
    for row in catalogue.rows():
        if row.facts.get("reader") in (key, None) or (only is not None and row.url not in only):
            continue
        if has_page(row) or (row.state is State.SKIPPED and row.reason in KEPT):
            yield row


def worth_keeping(catalogue: Catalogue) -> set[str]:
    """Keys of the URLs whose answers may be read again."""
    return {row.key for row in catalogue.rows() if has_page(row) or row.reason in KEPT}


def reread_project(
    settings: Settings,
    *,
    catalogue: Catalogue,
    artifacts: Artifacts,
    raw: RawResponses | None,
    pool: Executor | None,
    visit: int,
) -> int:
    """`reread` for a run that asks the site for nothing; returns how many pages were read."""
    if raw is None:
        return 0
    journal = Journal(catalogue, artifacts, visit)
    job = rereading_of(settings, artifacts=artifacts, raw=raw)
    count = reread(job, catalogue=catalogue, journal=journal, pool=pool)
    if count:
        settle_duplicates(catalogue, artifacts, journal)
    return count


def reread(
    job: Rereading,
    *,
    catalogue: Catalogue,
    journal: Journal,
    pool: Executor | None,
    only: Collection[str] | None = None,
) -> int:
    """Bring outdated pages up to date from what is kept; returns how many were read."""
    urls = [row.url for row in outdated(catalogue, job.reading, only)]
    count = 0
    for result in drive(pool or InlineExecutor(), reread_slice, job, urls, poisoned=_poisoned):
        row = catalogue.get(result.url)
        if row is not None and result.scraped is not None:
            _settle(row, result.scraped, scrape.reading_key(job.reading), catalogue, journal)
            count += 1
    journal.flush()
    return count


def reread_slice(job: Rereading, urls: list[str]) -> list[Reread]:
    """Read kept answers and make their pages durable; the pages themselves stay in the worker."""
    results: list[Reread] = []
    staged = []
    for url in urls:
        response = _answer(job, url)
        if response is None:
            results.append(Reread(url=url))
            continue
        scraped = scrape.read(response, reading=job.reading)
        if scraped.page is not None:
            staged.append(job.artifacts.stage(url_key(scraped.page.url), scraped.page))
            scraped = replace(scraped, page=None)
        results.append(Reread(url=url, scraped=scraped))
    if staged:
        job.artifacts.commit(staged)
    return results


def _answer(job: Rereading, url: str) -> Response | None:
    if url.startswith("file:"):
        local = read_file(url, limit=job.max_file)
        return local if isinstance(local, Response) else None
    response = job.raw.load(url)
    if response is None:
        job.raw.delete(url)  # a damaged one would keep the next run from asking
    return response


def _settle(row: UrlRow, scraped: Scraped, reader: str, catalogue: Catalogue, journal: Journal) -> None:
    """Record what a URL's page came to. What only a request could tell stays as it is."""
    facts = {name: fact for name, fact in row.facts.items() if name not in ("canonical", "hidden", "site")}
    facts |= {"reader": reader, **scraped.outcome.facts}
    if scraped.canonical:
        facts["canonical"] = scraped.canonical
    found = scraped.outcome
    if found.state is State.FETCHED and has_page(row):
        catalogue.refile(row.url, content=found.content, facts=facts)
        return
    if found.reason is Reason.REDIRECT or found.state is State.FAILED:
        return  # the page stands until the site is asked again
    outcome = replace(
        as_outcome(row),
        state=standing(row) if found.state is State.FETCHED else found.state,
        reason=found.reason,
        detail=found.detail,
        final_url=row.url,
        content=found.content,
        facts=facts,
    )
    journal.settle(outcome, dead=takes_page(outcome, row))


def _poisoned(url: str) -> Reread:
    return Reread(url=url)
