"""
What counts as evidence that a page is no more, and what is left where it was.

410 and noindex count at once. Not found (404, or a page that says so with status 200) counts
when a second request later in the same run says it again while the rest of the site
answers, on as many days as `strikes` says. All else is no evidence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Outcome, Reason, Source, State
from indexer.clock import now
from indexer.crawl.urls import netloc
from indexer.pipeline.duplicates import has_page
from indexer.pipeline.journal import Journal, as_outcome
from indexer.pipeline.verdicts import DOUBTED
from indexer.pipeline.visiting import Visitor
from indexer.ports import Catalogue, UrlRow

FEW = 5  # doubted pages of a host that one good answer of it is enough for
_PROOF = DOUBTED | {Reason.GONE, Reason.NOINDEX}


class Finding(Struct, frozen=True, kw_only=True):
    """What the second request came to; `dead`: the page goes."""

    row: UrlRow
    outcome: Outcome
    dead: bool = False


def doubted(catalogue: Catalogue, visit: int) -> Iterator[UrlRow]:
    """Pages that run `visit` did not find, once."""
    return (row for row in catalogue.rows() if row.visit == visit and row.reason in DOUBTED and has_page(row))


def believable(catalogue: Catalogue, visit: int, rows: list[UrlRow]) -> list[UrlRow]:
    """
    Those of `rows` whose host otherwise answers: with one page, or, where more than a few
    are doubted, with at least as many.
    """
    answered = Counter(
        netloc(row.url)
        for row in catalogue.rows()
        if row.visit == visit and row.state in (State.FETCHED, State.INDEXED) and not row.reason
    )
    missing = Counter(netloc(row.url) for row in rows)
    return [
        row
        for row in rows
        if answered[netloc(row.url)] >= (1 if missing[netloc(row.url)] <= FEW else missing[netloc(row.url)])
    ]


async def confirm(visitor: Visitor, rows: list[UrlRow], *, strikes: int, width: int) -> list[Finding]:
    """Ask for each of `rows` again, `width` at a time, and judge."""
    room = asyncio.Semaphore(width)

    async def one(row: UrlRow) -> Finding:
        async with room:
            again = await visitor.again(Source(url=row.url, found_in=""))
        return judge(row, again, strikes=strikes)

    return list(await asyncio.gather(*map(one, rows)))


def judge(row: UrlRow, again: Outcome, *, strikes: int) -> Finding:
    """What a page's second answer makes of it."""
    if again.state is State.FETCHED and again.final_url in ("", row.url):
        return Finding(row=row, outcome=replace(again, facts={**_plain(row), **again.facts}))
    days = sorted({*row.facts.get("strikes", ()), _today()})
    facts = {**_plain(row), "strikes": days}
    if again.reason not in _PROOF:
        return Finding(row=row, outcome=_standing(row, row.facts, row.detail))
    if len(days) < strikes and again.reason in DOUBTED:
        told = f"kept the last good version: not found on {len(days)} of {strikes} days (crawl.strikes)"
        return Finding(row=row, outcome=_standing(row, facts, told))
    gone = replace(again, state=State.SKIPPED, detail=again.detail or "not found twice", facts=facts)
    return Finding(row=row, outcome=gone, dead=True)


def bury(outcome: Outcome, row: UrlRow | None) -> Outcome:
    """The outcome that takes a page away, with what remembers it: since when, and which text it had."""
    if row is None or "tombstone" in outcome.facts:
        return outcome
    stone = {"since": now(), "content": row.content}
    return replace(outcome, facts={**(outcome.facts or row.facts), "tombstone": stone})


def settle_moves(catalogue: Catalogue, journal: Journal, visit: int) -> None:
    """For pages that went in run `visit` and whose text is now at another URL: say where they moved."""
    for row in catalogue.rows(state=State.SKIPPED):
        stone = row.facts.get("tombstone")
        if row.visit != visit or not stone or stone.get("moved_to"):
            continue
        target = catalogue.by_content(stone["content"]) if stone["content"] else ""
        if target and target != row.url:
            told = f"moved: the same text is at {target}"
            facts = {**row.facts, "tombstone": {**stone, "moved_to": target}}
            journal.settle(replace(as_outcome(row), detail=told, final_url=target, facts=facts))
    journal.flush()


def _standing(row: UrlRow, facts: dict[str, object], detail: str) -> Outcome:
    return replace(as_outcome(row), detail=detail[:500], facts=facts, not_modified=True)


def _plain(row: UrlRow) -> dict[str, object]:
    return {name: fact for name, fact in row.facts.items() if name not in ("strikes", "tombstone")}


def _today() -> str:
    return now()[:10]
