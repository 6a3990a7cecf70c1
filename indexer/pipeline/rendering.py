"""
Which pages a browser fills, and for how long what it made of them stands.

A shell says nothing of what its scripts fetch: an unchanged one (304, or the same bytes)
means an unchanged page only for `max_age_hours`; then it is rendered again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from indexer.artifacts import Outcome, Reason, State
from indexer.clock import now
from indexer.crawl.urls import redact, resolve
from indexer.errors import Permanent, Retryable
from indexer.phases import scrape
from indexer.phases.scrape import Scraped
from indexer.pipeline.reading import Readers
from indexer.ports import Render, Response, UrlRow

FACTS = ("rendered", "shell")  # when a browser last filled the page, and from what


class Rendering:
    """Reads responses; those that are shells are filled first, if there is a browser: `render`."""

    def __init__(self, readers: Readers, render: Render | None, *, max_age_hours: float) -> None:
        self.reading = readers.reading
        self._readers = readers
        self._render = render
        self._max_age = timedelta(hours=max_age_hours)

    async def read(self, response: Response) -> Scraped:
        """
        What a response came to; its page is durable when this returns.

        The outcome's `facts` are those of a page that was rendered.
        """
        scraped = await self._readers.read(response)
        if self._render is None or scraped.outcome.reason is not Reason.NEEDS_RENDERING:
            return scraped
        try:
            rendered = await self._render(response)
        except (Permanent, Retryable) as error:
            return replace(scraped, outcome=_failed(scraped.outcome, error))
        moved = resolve(rendered.final_url, "") if rendered.final_url != response.final_url else ""
        if moved and moved != scrape.page_url(response):
            outcome = replace(scraped.outcome, reason=Reason.REDIRECT, detail="", final_url=moved)
            return replace(scraped, outcome=outcome)
        filled = await self._readers.read(replace(rendered, final_url=response.final_url))
        facts = {"rendered": now(), "shell": self._mark(response)}
        return replace(filled, outcome=replace(filled.outcome, facts=facts))

    def due(self, row: UrlRow) -> bool:
        """Whether a URL is to be rendered (again) although its shell may not have changed."""
        if self._render is None:
            return False
        rendered = str(row.facts.get("rendered", ""))
        if not rendered:
            return row.reason == Reason.NEEDS_RENDERING
        return datetime.now(UTC) - datetime.fromisoformat(rendered) >= self._max_age

    def known(self, row: UrlRow | None, shell: Response) -> bool:
        """Whether this very shell was rendered, and not too long ago."""
        mark = row.facts.get("shell") if row is not None else None
        return row is not None and bool(mark) and mark == self._mark(shell) and not self.due(row)

    def _mark(self, shell: Response) -> str:
        return scrape.signature_of(shell, reading=self.reading)


def _failed(shell: Outcome, error: Permanent | Retryable) -> Outcome:
    reason = Reason(error.reason or Reason.RENDER_FAILED)
    return replace(shell, state=State.FAILED, reason=reason, detail=redact(str(error))[:500])
