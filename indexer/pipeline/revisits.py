"""
Which pages a run with a budget asks for: those most likely to have changed since they were last asked for.

A page that was found changed `turned` times in the T days since it is known changes at a rate of
(turned + 0.5) / (T + 1) a day (the estimator of Cho & Garcia-Molina 2003, for checks a day
apart), so that after a days it has changed with probability 1 - exp(-rate * a). A page that
changes often is asked for often, one that never did seldom, none is forgotten.
"""

from __future__ import annotations

import heapq
import math
from datetime import UTC, datetime
from typing import Literal

from indexer.artifacts import Source
from indexer.pipeline.duplicates import has_page
from indexer.ports import Catalogue, UrlRow

Turn = Literal["", "rest", "cut"]
_DAY = 86_400.0


class Budget:
    """
    `limit` requests for pages in run `visit`; 0: no limit. New pages come first, then the riskiest.

    Redirects and robots.txt do not count. Memory: the URLs that rest.
    """

    def __init__(self, catalogue: Catalogue, *, limit: int, visit: int) -> None:
        self._limit = limit
        self._left = limit
        self.resting: set[str] = set()
        if limit:
            now = datetime.now(UTC)
            known = [(-risk(row, now), row.url) for row in catalogue.due(visit) if _is_known(row)]
            chosen = {url for _, url in heapq.nsmallest(limit, known)}
            self.resting = {url for _, url in known if url not in chosen}

    def turn(self, source: Source, row: UrlRow | None) -> Turn:
        """Whether a URL is asked for now (and paid for), rests, or is new and has to wait for a next run."""
        if not self._limit or source.url.startswith("file:"):
            return ""
        known = row is not None and _is_known(row)
        if source.url in self.resting or (known and not self._left):
            self.resting.add(source.url)
            return "rest"
        if not self._left:
            return "cut"
        self._left -= 1
        return ""


def risk(row: UrlRow, now: datetime) -> float:
    """The probability that what is known of a URL is no longer true; 1 where something is amiss."""
    age = _days(row.checked_at, now)
    if age is None or (has_page(row) and (row.reason or row.stale)):
        return 1.0
    rate = (row.turned + 0.5) / ((_days(row.since, now) or 0.0) + 1.0)
    return 1.0 - math.exp(-rate * age)


def _is_known(row: UrlRow) -> bool:
    return bool(row.checked_at) and row.url.startswith(("http://", "https://"))


def _days(text: str, now: datetime) -> float | None:
    try:
        return max(0.0, (now - datetime.fromisoformat(text)).total_seconds() / _DAY)
    except (ValueError, TypeError):
        return None
