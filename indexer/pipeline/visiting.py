"""
What becomes of one URL: what is known of it, the request, the judgement, the outcome.

A page that cannot be had for a passing reason keeps its last good version. Only evidence
takes a page away: gone, not found, not to be indexed, moved, or turned into no page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Outcome, Page, Reason, Source, State
from indexer.crawl.scope import Scope
from indexer.crawl.urls import canonical, redact, resolve
from indexer.errors import Permanent, Retryable
from indexer.ids import url_key
from indexer.phases import scrape
from indexer.pipeline.duplicates import has_page
from indexer.pipeline.journal import as_outcome
from indexer.pipeline.rendering import FACTS, Rendering
from indexer.pipeline.verdicts import ABSENT, DOUBTED, FINAL, LASTING, SKIPPING
from indexer.ports import Artifacts, Fetch, RawResponses, Response, UrlRow, Validators

if TYPE_CHECKING:
    from indexer.pipeline.discovery import RobotsFiles

_HOPS = 3  # redirects that a second request follows
_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".md": "text/markdown"}


class Visited(Struct, frozen=True, kw_only=True):
    """
    One URL dealt with. `target`: where it redirects to; its own fate then follows.

    `fetched`: a body was read; `not_modified`: the server said so, or the body is the
    one that the page was made from; `changed`: a page was written.
    """

    outcome: Outcome
    links: tuple[str, ...] = ()
    alternates: tuple[str, ...] = ()
    target: str = ""
    fetched: bool = False
    not_modified: bool = False
    changed: bool = False


class Visitor:
    """Deals with URLs, one call each; any number side by side."""

    def __init__(  # noqa: PLR0913 - one argument per port and setting
        self,
        *,
        fetch: Fetch,
        robots: RobotsFiles,
        artifacts: Artifacts,
        scope: Scope,
        readers: Rendering,
        follow: bool,
        force: bool,
        max_file: int,
        raw: RawResponses | None = None,
        visit: int = 0,
        whole: Callable[[str], bool] | None = None,
    ) -> None:
        """`whole`: whether a page's artifact is in order, if there is a quicker way than to read it."""
        self._whole = whole or (lambda key: bool(artifacts.signature(Page, key)))
        self._raw = raw
        self._visit = visit
        self._fetch = fetch
        self._robots = robots
        self._artifacts = artifacts
        self._scope = scope
        self._reading = readers.reading
        self._reader = scrape.reading_key(readers.reading)
        self._readers = readers
        self._follow = follow
        self._force = force
        self._max_file = max_file

    async def request(self, source: Source, row: UrlRow | None) -> Response | Visited:
        """The response to read, or what became of the URL without one."""
        if source.url.startswith("file:"):
            local = read_file(source.url, limit=self._max_file)
            return replace(local, outcome=kept(local.outcome, row)) if isinstance(local, Visited) else local
        reason, detail = await self._robots.allows(source.url)
        if reason:
            return self._without(source, row, reason, detail)
        return self._had(source.url, row) or await self._ask(source, row)

    async def _ask(self, source: Source, row: UrlRow | None) -> Response | Visited:
        validators = self._validators(row)
        hop = ""

        async def allow(target: str) -> str:
            nonlocal hop
            hop = target
            final = resolve(target, "")
            if final == source.url:
                return ""  # a detour: a cookie, a session id
            if not final:
                return Reason.BAD_URL
            return Reason.REDIRECT if self._scope.has(final) else Reason.OUT_OF_SCOPE

        try:
            response = await self._fetch(source.url, validators=validators, allow=allow)
        except (Permanent, Retryable) as error:
            reason = Reason(error.reason) if error.reason else Reason.BAD_RESPONSE
            if reason is Reason.REDIRECT:
                return self._redirected(source, row, canonical(hop))
            final = redact(hop) if reason is Reason.OUT_OF_SCOPE else ""
            return self._without(source, row, reason, redact(str(error)), final_url=final)
        if response.status == 304:  # noqa: PLR2004 - HTTP
            return self._unchanged(source, row)
        return response

    async def follow_through(self, source: Source, row: UrlRow | None) -> Response | Visited:
        """A URL of a redirect circle, followed in one go: a cookie on the way may open it."""

        async def allow(target: str) -> str:
            return "" if self._scope.has(resolve(target, "") or source.url) else Reason.OUT_OF_SCOPE

        try:
            return await self._fetch(source.url, allow=allow)
        except (Permanent, Retryable) as error:
            reason = Reason(error.reason or Reason.TOO_MANY_REDIRECTS)
            visited = self._without(source, row, reason, redact(str(error)))
            circle = reason is Reason.TOO_MANY_REDIRECTS
            return replace(visited, target=source.url) if circle else visited

    async def read(self, source: Source, row: UrlRow | None, response: Response) -> Visited:
        """Judge a response; its page is durable when this returns."""
        known = self._known(source, row, response)
        if known is not None:
            return known
        final = source.url if response.final_url == source.url else scrape.page_url(response)
        if final != source.url:  # followed in one go
            return self._redirected(source, row, final)
        scraped = await self._readers.read(response)
        outcome = replace(scraped.outcome, url=source.url)
        if outcome.reason is Reason.REDIRECT:
            target = outcome.final_url
            if not self._scope.has(target):
                detail = f"it sends its visitors to {target}"
                return self._without(source, row, Reason.OUT_OF_SCOPE, detail, final_url=target)
            return self._redirected(source, row, target)
        if outcome.state is State.FETCHED:
            facts = self._facts(row, (), scraped.canonical) | outcome.facts
            outcome = replace(outcome, url=source.url, final_url=source.url, facts=facts)
            links, alternates = scraped.links, scraped.alternates
            return Visited(outcome=outcome, links=links, alternates=alternates, fetched=True, changed=True)
        outcome = replace(outcome, facts=self._facts(row, scraped.links) | outcome.facts)
        return Visited(outcome=kept(outcome, row), links=scraped.links, fetched=response.status == 200)  # noqa: PLR2004

    async def again(self, source: Source) -> Outcome:
        """
        What a URL comes to if nothing is known of it: asked once more, without conditions.

        A redirect is followed within the scope, and its end told under the URL's own name.
        """
        url, hops = source.url, 0
        while True:
            one = replace(source, url=url)
            reason, detail = await self._robots.allows(url)
            answer = await self._ask(one, None) if not reason else self._without(one, None, reason, detail)
            visited = answer if isinstance(answer, Visited) else await self.read(one, None, answer)
            hops += 1
            if not visited.target or hops > _HOPS:
                return replace(visited.outcome, url=source.url)
            url = visited.target

    def _known(self, source: Source, row: UrlRow | None, response: Response) -> Visited | None:
        """What a response comes to that need not be read again; `None` if it must."""
        if response.status != 200 or self._force:  # noqa: PLR2004 - HTTP
            return None
        old = self._artifacts.load(Page, url_key(source.url))
        if old is not None and old.signature == scrape.signature_of(response, reading=self._reading):
            return self._same(source, row, response, old)
        if self._readers.known(row, response) and self._stands(row):
            return self._unchanged(source, row)
        return None

    # ── what is known ───────────────────────────────────────────────────────────────────

    def _validators(self, row: UrlRow | None) -> Validators:
        """Conditions, if an unchanged answer would leave nothing to do."""
        if row is None or self._force:
            return Validators()
        if row.facts.get("reader") != self._reader and not (self._raw and self._raw.has(row.url)):
            return Validators()  # what is kept is read again under the new rules, after the crawl
        if self._readers.due(row) or not self._stands(row):
            return Validators()
        return Validators(etag=row.etag, last_modified=row.last_modified)

    def _had(self, url: str, row: UrlRow | None) -> Response | None:
        """The answer that this very run got before it was killed. One of another killed run is forgotten."""
        kept = self._raw.visit(url) if self._raw is not None else 0
        if self._raw is None or not kept:
            return None
        if kept == self._visit:
            return self._raw.load(url)
        if row is None or row.visit < kept:
            self._raw.delete(url)  # no page was ever made of it
        return None

    def _stands(self, row: UrlRow | None) -> bool:
        """Whether what is known of a URL is all that its response can give."""
        if has_page(row):
            return self._whole(row.key)
        return row is not None and row.state is State.SKIPPED and row.reason in LASTING

    def ways_of(self, row: UrlRow) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Where a URL led when it was last read: links, and which of them are alternates."""
        page = self._artifacts.load(Page, row.key) if self._follow and has_page(row) else None
        if page is not None:
            return page.links, tuple(page.alternates.values())
        return tuple(row.facts.get("links", ())) if self._follow and not has_page(row) else (), ()

    def _unchanged(self, source: Source, row: UrlRow | None) -> Visited:
        if row is None:
            detail = "304 to an unconditional request"
            return self._without(source, row, Reason.BAD_RESPONSE, detail)
        links, alternates = self.ways_of(row)
        outcome = replace(as_outcome(row), not_modified=True)
        if has_page(row):
            outcome = replace(
                outcome,
                state=standing(row),
                reason=Reason.NONE,
                detail="",
                final_url=row.url,
                facts=_cleared(row),
            )
        return Visited(outcome=outcome, links=links, alternates=alternates, not_modified=True)

    def _same(self, source: Source, row: UrlRow | None, response: Response, old: Page) -> Visited:
        """The very body that the page was made from: nothing to read, nothing to write."""
        outcome = Outcome(
            url=source.url,
            state=standing(row),
            final_url=source.url,
            status=response.status,
            etag=response.headers.get("etag", ""),
            last_modified=response.headers.get("last-modified", ""),
            content=old.content,
            facts=self._facts(row, (), old.canonical if old.canonical != old.url else "")
            | scrape.facts_of(old),
        )
        alternates = tuple(old.alternates.values())
        return Visited(outcome=outcome, links=old.links, alternates=alternates, fetched=True)

    def _without(
        self, source: Source, row: UrlRow | None, reason: Reason, detail: str, *, final_url: str = ""
    ) -> Visited:
        outcome = Outcome(
            url=source.url,
            state=State.SKIPPED if reason in SKIPPING else State.FAILED,
            reason=reason,
            detail=detail[:500],
            final_url=final_url,
        )
        return Visited(outcome=kept(outcome, row))

    def _redirected(self, source: Source, row: UrlRow | None, target: str) -> Visited:
        outcome = Outcome(
            url=source.url,
            state=State.SKIPPED,
            reason=Reason.REDIRECT,
            final_url=target,
            facts={**_foreign(row), "redirect": target},
        )
        return Visited(outcome=outcome, target=target)

    def _facts(self, row: UrlRow | None, links: tuple[str, ...], canonical: str = "") -> dict[str, object]:
        facts = {**_foreign(row), "reader": self._reader}
        if links and self._follow:
            facts["links"] = links
        if canonical:
            facts["canonical"] = canonical
        return facts


def kept(outcome: Outcome, row: UrlRow | None) -> Outcome:
    """
    The outcome, or that the last good page stands although the URL cannot be had just now.

    A page that was there and is no more is skipped, not failed: nobody has to look into it.
    That it is not found takes a second request to be believed: see `evidence`.
    """
    if row is not None and "tombstone" in row.facts and outcome.state is not State.FETCHED:
        outcome = replace(outcome, facts={**outcome.facts, "tombstone": row.facts["tombstone"]})
    if outcome.reason in ABSENT and row is not None and _absent(row):
        return replace(outcome, state=State.SKIPPED)
    if outcome.reason is Reason.GONE and has_page(row):
        return replace(outcome, state=State.SKIPPED)
    if row is None or not has_page(row) or outcome.reason in FINAL or outcome.state is State.FETCHED:
        return outcome
    doubt = ", to be confirmed" if outcome.reason in DOUBTED else ""
    facts = {name: value for name, value in row.facts.items() if name != "redirect"}
    if "redirect" in outcome.facts:
        facts["redirect"] = outcome.facts["redirect"]
    return Outcome(
        url=row.url,
        state=standing(row),
        reason=outcome.reason,
        detail=f"kept the last good version{doubt}: {outcome.detail}".removesuffix(": "),
        final_url=row.url,
        status=outcome.status,
        facts=facts,
    )


def _absent(row: UrlRow) -> bool:
    return row.state is State.SKIPPED and row.reason in ABSENT


def standing(row: UrlRow | None) -> State:
    """The state of a URL whose page stands: indexed stays indexed, all else has yet to be."""
    return State.INDEXED if row is not None and row.state is State.INDEXED else State.FETCHED


def mirrored(outcome: Outcome, target: Outcome, row: UrlRow | None) -> Outcome:
    """
    The fate of a URL that redirects to `target`, once that is settled.

    Where the target has the text, that is where it is; where it has none, the reason is
    the same, and so is whether it speaks against a page that was here before.
    """
    final_url = target.final_url or target.url
    copy = target.reason in (Reason.DUPLICATE, Reason.CANONICAL, Reason.REDIRECT)
    if target.state in (State.FETCHED, State.INDEXED) or (target.state is State.SKIPPED and copy):
        return replace(outcome, final_url=final_url, detail="")
    end = final_url if target.facts.get("redirect") else target.url
    told = target.detail if target.facts.get("redirect") else f"redirects to {end}: {target.detail}"
    mirror = replace(
        outcome,
        state=target.state,
        reason=target.reason,
        detail=told.removesuffix(": ")[:500],
        final_url=end,
        status=target.status,
    )
    return kept(mirror, row)


def takes_page(outcome: Outcome, row: UrlRow | None) -> bool:
    """Whether the outcome takes away the page that the URL had."""
    return has_page(row) and outcome.state in (State.SKIPPED, State.FAILED)


def read_file(url: str, *, limit: int) -> Response | Visited:
    """A local document of at most `limit` bytes as a response."""
    path = Path(unquote(urlsplit(url).path))
    try:
        if path.stat().st_size > limit:
            detail = f"{path} is larger than {limit / 2**20:.3g} MB (--max-body-mb)"
            return Visited(
                outcome=Outcome(url=url, state=State.FAILED, reason=Reason.TOO_LARGE, detail=detail)
            )
        body = path.read_bytes()
    except FileNotFoundError:
        detail = f"{path} does not exist"
        return Visited(outcome=Outcome(url=url, state=State.FAILED, reason=Reason.NOT_FOUND, detail=detail))
    except OSError as error:
        detail = f"{path} cannot be read: {error.strerror}"
        return Visited(outcome=Outcome(url=url, state=State.FAILED, reason=Reason.UNREACHABLE, detail=detail))
    kind = _TYPES.get(path.suffix.lower(), "text/plain" if path.suffix.lower() in (".txt", ".text") else "")
    return Response(url=url, final_url=url, status=200, headers={"content-type": kind}, body=body)


def _cleared(row: UrlRow) -> dict[str, object]:
    """The row's facts without what spoke against a page that answers again."""
    return {name: fact for name, fact in row.facts.items() if name not in ("strikes", "tombstone")}


def _foreign(row: UrlRow | None) -> dict[str, object]:
    """Facts that others wrote."""
    facts = dict(row.facts) if row is not None else {}
    ours = ("reader", "links", "redirect", "canonical", "hidden", "site", "strikes", "tombstone")
    for name in (*ours, *FACTS):
        facts.pop(name, None)
    return facts
