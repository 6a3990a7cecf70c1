"""
Changed pages that are held back: the last good version stands, the new one waits for a person.

Done between scraping and chunking, so that what is held back costs nothing, and undone by
`indexer publish --force`. The site is asked for such a page without conditions until
its new version is believed or the old one is back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from indexer.artifacts import Outcome, Page, Reason, State
from indexer.index import gates
from indexer.pipeline.duplicates import has_page, settle_duplicates
from indexer.pipeline.journal import Journal
from indexer.ports import Artifacts, Catalogue, Edition, RawResponses, UrlRow


class Shelves(Struct, frozen=True, kw_only=True):
    """Where pages wait: `previous`, as published, of those that changed; `held`: not believed yet."""

    previous: Artifacts
    held: Artifacts


class Held(Struct, frozen=True, kw_only=True):
    """A page whose new version is held back, and why."""

    url: str
    why: str


def hold_back(
    before: Mapping[str, Edition],
    *,
    catalogue: Catalogue,
    artifacts: Artifacts,
    shelves: Shelves,
    raw: RawResponses | None,
    visit: int,
) -> list[Held]:
    """Put the last good version of pages back that `suspects` names; returns them."""
    rows = {row.key: row for row in catalogue.rows() if row.key in before and has_page(row)}
    changed = {key: row for key, row in rows.items() if row.content != before[key].content}
    held = []
    journal = Journal(catalogue, artifacts, visit)
    for key, why in suspects(before, rows, changed, artifacts=artifacts, shelves=shelves).items():
        old = shelves.previous.load(Page, key)
        new = artifacts.load(Page, key)
        if old is None or new is None or old.content != before[key].content:
            continue  # the version that is live is not at hand: nothing to put back
        shelves.held.save(key, new)
        artifacts.save(key, old)
        if raw is not None:
            raw.delete(old.url)  # else the same answer would count as known
        journal.settle(_kept(changed[key], old, why))
        held.append(Held(url=old.url, why=why))
    journal.flush()
    if held:
        settle_duplicates(catalogue, artifacts, journal)
    for key in list(shelves.held.keys(Page)):
        row = rows.get(key)
        if row is None or (row.reason != Reason.QUARANTINED and key not in {*map(_key, held)}):
            shelves.held.delete(Page, key)
    return sorted(held, key=lambda one: one.url)


def suspects(
    before: Mapping[str, Edition],
    rows: Mapping[str, UrlRow],
    changed: Mapping[str, UrlRow],
    *,
    artifacts: Artifacts,
    shelves: Shelves,
) -> dict[str, str]:
    """Keys of changed pages that are not to be believed unasked → why."""
    if not changed:
        return {}
    lengths = {key: before[key].characters for key in rows}
    found: dict[str, str] = {}
    for key in changed:
        page = artifacts.load(Page, key)
        lengths[key] = len(page.text) if page else 0
        if page is not None and page.hidden and _new_orders(page, shelves.previous.load(Page, key)):
            found[key] = "it now holds orders to a language model, which its last version did not"
    halved = gates.halved(before, lengths)
    found |= {key: why for key, why in halved.items() if key in changed}
    return found | gates.one_text(before, {key: row.content for key, row in changed.items()})


def release(catalogue: Catalogue, artifacts: Artifacts, shelves: Shelves) -> Iterator[str]:
    """Believe all that is held back: the new versions take their places. Gives their URLs."""
    for key in list(shelves.held.keys(Page)):
        page = shelves.held.load(Page, key)
        row = catalogue.get(page.url) if page else None
        if page is not None and row is not None and has_page(row):
            artifacts.save(key, page)
            catalogue.refile(row.url, content=page.content, facts=row.facts)
            catalogue.settle([(row.url, State.FETCHED, "", "")])
            yield row.url
        shelves.held.delete(Page, key)


def _new_orders(page: Page, old: Page | None) -> bool:
    from indexer.extract.orders import gives_orders

    known = set(old.hidden) if old else set()
    return any(gives_orders(text) for text in page.hidden if text not in known)


def _kept(row: UrlRow, old: Page, why: str) -> Outcome:
    """Without validators: the next run must see the whole answer again."""
    return Outcome(
        url=row.url,
        state=State.INDEXED,
        reason=Reason.QUARANTINED,
        detail=f"kept the last good version: {why}; believe the new one with `indexer publish --force`",
        final_url=row.url,
        status=row.status,
        content=old.content,
        facts=row.facts,
    )


def _key(held: Held) -> str:
    from indexer.ids import url_key

    return url_key(held.url)
