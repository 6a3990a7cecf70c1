"""
Batched writes to the URL catalogue: the driver's one pen.

An outcome is handed in only when what it stands for is durable, so a kill loses at most
the batch in the buffer, and those URLs are simply dealt with again.
"""

from __future__ import annotations

import time

from indexer.artifacts import Outcome, Page, Source
from indexer.ids import url_key
from indexer.ports import Artifacts, Catalogue, UrlRow

BATCH = 8
BATCH_FOUND = 1000
SECONDS = 0.05


class Journal:
    """Writes for one visit. `settled` tells what became of a URL in this visit."""

    def __init__(self, catalogue: Catalogue, artifacts: Artifacts, visit: int) -> None:
        self._catalogue = catalogue
        self._artifacts = artifacts
        self._visit = visit
        self._found: list[Source] = []
        self._outcomes: dict[str, Outcome] = {}
        self._dead: list[str] = []
        self._weight = 0
        self.rested: set[str] = set()  # URLs that this visit does not ask for: what is known stands
        self._last = time.monotonic()

    def row(self, url: str) -> UrlRow | None:
        """The URL's row, as last written."""
        return self._catalogue.get(url)

    def found(self, source: Source) -> None:
        """A URL was discovered."""
        self._found.append(source)
        if len(self._found) >= BATCH_FOUND:
            self.flush()

    def settle(self, outcome: Outcome, *, dead: bool = False, weight: int = 1) -> None:
        """
        What became of a URL. `dead`: its page is no more, the artifact goes first.

        `weight` 0: a URL that cost no request, or one that is cheap to make again, may wait for
        a fuller batch.
        """
        self._outcomes[outcome.url] = outcome
        if dead:
            self._dead.append(outcome.url)
        self._weight += weight
        if self._weight >= BATCH or len(self._outcomes) >= BATCH_FOUND:
            self.flush()

    def settled(self, url: str) -> Outcome | None:
        """What became of a URL in this visit; `None` if nothing yet."""
        outcome = self._outcomes.get(url)
        if outcome is not None:
            return outcome
        row = self._catalogue.get(url)
        if row is None or (row.visit != self._visit and url not in self.rested):
            return None
        return as_outcome(row)

    @property
    def overdue(self) -> bool:
        """Whether outcomes have waited long enough."""
        return bool(self._outcomes) and time.monotonic() - self._last >= SECONDS

    def flush(self) -> None:
        """Write what is buffered: dead artifacts, then found URLs, then outcomes."""
        for url in self._dead:
            self._artifacts.delete(Page, url_key(url))
        if self._found:
            self._catalogue.discover(self._found, self._visit)
        if self._outcomes:
            self._catalogue.mark(self._outcomes.values(), self._visit)
        self._dead, self._found, self._outcomes, self._weight = [], [], {}, 0
        self._last = time.monotonic()


def as_outcome(row: UrlRow) -> Outcome:
    """A row as the outcome that wrote it."""
    from indexer.artifacts import Reason

    return Outcome(
        url=row.url,
        state=row.state,
        reason=Reason(row.reason),
        detail=row.detail,
        final_url=row.final_url,
        status=row.status,
        etag=row.etag,
        last_modified=row.last_modified,
        content=row.content,
        facts=row.facts,
    )
