"""
What comes next: breadth first, each URL once, the same order however fast pages come back.

Pages are fetched side by side, but their links are admitted in the order in which the
pages were admitted, and after all that the sources name. So which URLs a limit cuts off
does not depend on timing, and a killed run that is run again takes the same way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from indexer.artifacts import Reason, Source
from indexer.crawl.scope import Scope

Verdict = tuple[Reason, str]


class Lead(Struct, frozen=True):
    """A URL that a page leads to. `free`: it takes the page's place and costs nothing (redirects)."""

    url: str
    found_in: str
    depth: int
    free: bool = False


class Refused(Struct, frozen=True):
    """A URL that was found and will not be fetched, and why."""

    source: Source
    reason: Reason
    detail: str


class Frontier:
    """
    The queue of one run.

    `blocked`: what robots.txt says of a URL, as far as it is known yet. A page budget of
    `max_pages` counts URLs to be fetched.
    """

    def __init__(self, *, scope: Scope, max_pages: int, blocked: Callable[[str], Verdict]) -> None:
        self.scope = scope
        self.max_pages = max_pages
        self.counted = 0
        self.admitted = 0
        self.cut_off = 0
        self._blocked = blocked
        self._seen: set[str] = set()
        self._too_deep: set[str] = set()
        self._held = False
        self._fresh: deque[Source] = deque()
        self._order: deque[str] = deque()
        self._leads: dict[str, Sequence[Lead]] = {}

    def __contains__(self, url: str) -> bool:
        return url in self._seen

    @property
    def full(self) -> bool:
        """Whether the page budget is used up."""
        return self.counted >= self.max_pages

    def add(self, source: Source, *, named: bool = False, free: bool = False) -> Refused | None:
        """
        Queue a URL, once. `named`: given by a person, so patterns and robots by scope do not apply.

        Returns why it is refused; `None` if it is queued or was seen before. One that is too
        deep here may be found by a shorter way later: it counts as seen once that has come.
        """
        if source.url in self._seen:
            return None
        if not named and self.scope.too_deep(source.url, source.depth):
            return self._refuse_for_now(source)
        self._seen.add(source.url)
        self._forgive(source.url)
        reason, detail = (Reason.NONE, "") if named else self._judge(source)
        if not reason and not free:
            if self.full:
                reason, detail = Reason.LIMIT, f"over the limit of {self.max_pages} pages (--max-pages)"
                self.cut_off += 1
            else:
                self.counted += 1
        if reason:
            return Refused(source, reason, detail)
        self.admitted += 1
        self._fresh.append(source)
        self._order.append(source.url)
        return None

    def _refuse_for_now(self, source: Source) -> Refused | None:
        """Too deep: said once, however often it is found."""
        if source.url in self._too_deep:
            return None
        self._too_deep.add(source.url)
        return Refused(source, *self._judge(source))

    def _forgive(self, url: str) -> None:
        if url in self._too_deep:
            self._too_deep.remove(url)
            self.cut_off -= 1

    def _judge(self, source: Source) -> Verdict:
        reason, detail = self.scope.verdict(source.url, depth=source.depth)
        if reason is Reason.LIMIT:
            self.cut_off += 1
        return (reason, detail) if reason else self._blocked(source.url)

    def take(self) -> Iterator[Source]:
        """URLs queued since the last call, in order."""
        while self._fresh:
            yield self._fresh.popleft()

    def done(self, url: str, leads: Sequence[Lead] = ()) -> Iterator[Refused]:
        """
        A queued URL was dealt with; admit what is next in order.

        Yields what is refused. To be exhausted by the caller.
        """
        self._leads[url] = leads
        yield from self._advance()

    def hold(self) -> None:
        """What pages lead to has to wait until `release`: sources go first."""
        self._held = True

    def release(self) -> Iterator[Refused]:
        """All sources are in. As `done`."""
        self._held = False
        yield from self._advance()

    def _advance(self) -> Iterator[Refused]:
        while not self._held and self._order and self._order[0] in self._leads:
            for lead in self._leads.pop(self._order.popleft()):
                refused = self.add(
                    Source(url=lead.url, found_in=lead.found_in, depth=lead.depth), free=lead.free
                )
                if refused:
                    yield refused
