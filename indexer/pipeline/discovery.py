"""
Where a project's URLs come from: robots.txt and sitemaps, read once per visit and conditionally.

One broken sitemap does not end the run; it is noted. What they say is pure
(`indexer.crawl.robots`, `indexer.crawl.sitemaps`); here they are fetched and remembered.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator

from msgspec import Struct, structs

from indexer.artifacts import FROM_SITEMAP, Reason, Source
from indexer.crawl.llms import MAX_BYTES as MAX_BYTES_LLMS
from indexer.crawl.llms import links_of
from indexer.crawl.robots import MAX_BYTES, Robots, product_token, read_robots, user_agent
from indexer.crawl.scope import Scope
from indexer.crawl.sitemaps import is_closed, read_sitemap, unpack, unpack_whole
from indexer.crawl.urls import origin, redact, resolve
from indexer.errors import Permanent, Retryable
from indexer.ports import Catalogue, Fetch, Resource, Validators
from indexer.settings import Crawl

log = logging.getLogger("indexer")

MAX_SITEMAPS = 10_000
MAX_SITEMAP_BYTES = 52 * 1024 * 1024
_CREDENTIALS = re.compile(rb"(?<=//)[^/?#@\s\"'<>]*@")
_ACCEPT_XML = "application/xml,text/xml,text/plain;q=0.9,*/*;q=0.5"
_ACCEPT_TEXT = "text/plain,*/*;q=0.5"


class Trouble(Struct, frozen=True):
    """A source that gave nothing. `passing`: another time it may."""

    where: str
    what: str
    passing: bool


class RobotsFiles:
    """robots.txt per origin, fetched when first asked for."""

    def __init__(self, *, fetch: Fetch, catalogue: Catalogue, visit: int, crawl: Crawl) -> None:
        self.token = product_token(user_agent(crawl))
        self._fetch = fetch
        self._reader = _Reader(fetch, catalogue, visit)
        self._ignored = crawl.ignore_robots
        self._known: dict[str, asyncio.Future[Robots]] = {}

    async def of(self, url: str) -> Robots:
        """The rules for a URL's origin."""
        place = origin(url)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = asyncio.get_running_loop().create_future()
            try:
                known.set_result(await self._load(place))
            except BaseException:
                known.cancel()
                raise
        return await known

    def verdict(self, url: str) -> tuple[Reason, str]:
        """What the rules say, if they are known yet; `Reason.NONE` otherwise."""
        known = self._known.get(origin(url))
        if known is None or not known.done() or self._ignored:
            return Reason.NONE, ""
        return known.result().verdict(url)

    async def allows(self, url: str) -> tuple[Reason, str]:
        """Why a URL must not be fetched; `Reason.NONE` if it may."""
        if self._ignored:
            return Reason.NONE, ""
        return (await self.of(url)).verdict(url)

    async def _load(self, place: str) -> Robots:
        url = f"{place}/robots.txt"
        trouble = ""
        try:
            status, body = await self._reader.get(url, accept=_ACCEPT_TEXT, max_bytes=4 * MAX_BYTES)
        except Permanent as error:
            log.info("%s: %s", url, error)
            if error.reason == Reason.FORBIDDEN_ADDRESS:  # no word of the site's, but of ours
                return Robots(closed=redact(str(error)), reason=Reason.FORBIDDEN_ADDRESS)
            unreachable = error.reason == Reason.UNREACHABLE
            status, body, trouble = (0 if unreachable else 404), b"", redact(str(error))
        except Retryable as error:
            log.info("%s: %s", url, error)
            status, body, trouble = 0, b"", redact(str(error))
        robots = read_robots(status, body, token=self.token, trouble=trouble)
        if robots.crawl_delay and not self._ignored:
            self._fetch.pace(place, robots.crawl_delay)
        return robots


class Sitemaps:
    """Sitemaps, indexes and feeds, each file once, children included. `troubles`: what could not be read."""

    def __init__(self, *, fetch: Fetch, catalogue: Catalogue, visit: int, scope: Scope) -> None:
        self.troubles: list[Trouble] = []
        self.unread = 0
        self._reader = _Reader(fetch, catalogue, visit)
        self._scope = scope
        self._seen: set[str] = set()

    async def entries(self, start: str, *, optional: bool = False) -> AsyncIterator[Source]:
        """
        Pages of a sitemap and its children, in order.

        `optional`: nobody said that it exists; that it does not is no trouble.
        """
        queue = deque([start])
        while queue:
            url = queue.popleft()
            if url in self._seen or len(self._seen) >= MAX_SITEMAPS:
                continue
            self._seen.add(url)
            count = 0
            try:
                body = await self._body(url, accept=_ACCEPT_XML, max_bytes=MAX_SITEMAP_BYTES)
                data, whole = unpack_whole(body)
                for entry in read_sitemap(data):
                    count += 1
                    target = resolve(entry.url, url)
                    if not target:
                        yield Source(url=entry.url[:500], found_in=f"{FROM_SITEMAP}{url}")
                    elif entry.sitemap:
                        self._enqueue(target, url, queue)
                    else:
                        yield Source(url=target, found_in=f"{FROM_SITEMAP}{url}", lastmod=entry.lastmod)
                    self.unread = len(queue)
                if not (whole and is_closed(data)):
                    self._note(url, f"it is cut short after {count} entries", passing=True, quiet=False)
                elif not count:
                    self._note(url, "it lists nothing", passing=False, quiet=optional)
            except (Permanent, Retryable) as error:
                absent = (optional and url == start) or getattr(error, "reason", "") == Reason.REDIRECT
                self._note(url, str(error), passing=isinstance(error, Retryable), quiet=absent)
        self.unread = 0

    def refuse(self, url: str, why: str) -> None:
        """A sitemap that must not be asked for."""
        self._note(url, why, passing=True, quiet=False)

    def _enqueue(self, target: str, parent: str, queue: deque[str]) -> None:
        if self._scope.has(target):
            queue.append(target)
        else:
            self._note(
                target, f"another site's sitemap, named in {parent}: not read", passing=False, quiet=False
            )

    def _note(self, url: str, what: str, *, passing: bool, quiet: bool) -> None:
        log.log(logging.DEBUG if quiet else logging.WARNING, "sitemap %s: %s", url, what)
        if not quiet:
            self._reader.doubt(url)
            self.troubles.append(Trouble(url, what, passing))

    async def llms(self, url: str) -> AsyncIterator[Source]:
        """What an llms.txt lists of the project's sites. That there is none is no trouble."""
        if url in self._seen:
            return
        self._seen.add(url)
        try:
            body = await self._body(url, accept=_ACCEPT_TEXT, max_bytes=MAX_BYTES_LLMS)
        except (Permanent, Retryable) as error:
            log.debug("%s: %s", url, error)
            return
        for link in dict.fromkeys(resolve(link, url) for link in links_of(body)):
            if link and self._scope.has(link):
                yield Source(url=link, found_in=f"llms.txt:{url}")

    async def _body(self, url: str, *, accept: str, max_bytes: int) -> bytes:
        """What is at a URL of the project's sites, once. Raises `Permanent` or `Retryable`."""

        async def allow(target: str) -> str:
            final = resolve(target, "")
            if not final or not self._scope.has(final):
                return Reason.OUT_OF_SCOPE
            if final in self._seen:
                return Reason.REDIRECT
            self._seen.add(final)
            return ""

        status, body = await self._reader.get(url, accept=accept, max_bytes=max_bytes, allow=allow)
        if not 200 <= status < 300:  # noqa: PLR2004 - HTTP
            kind = Retryable if status >= 500 or status == 429 else Permanent  # noqa: PLR2004 - HTTP
            raise kind(f"it answers with status {status}")
        return body


class _Reader:
    """Conditional GET of files that are remembered with their bodies."""

    def __init__(self, fetch: Fetch, catalogue: Catalogue, visit: int) -> None:
        self._fetch = fetch
        self._catalogue = catalogue
        self._visit = visit

    async def get(self, url: str, *, accept: str, max_bytes: int, **options: object) -> tuple[int, bytes]:
        """Status and body; not asked for again within a visit."""
        known = self._catalogue.resource(url)
        if known is not None and known.visit == self._visit and known.status < 500:  # noqa: PLR2004 - HTTP
            return known.status, known.body
        validators = Validators()
        if known is not None and known.status == 200:  # noqa: PLR2004 - HTTP
            validators = Validators(etag=known.etag, last_modified=known.last_modified)
        response = await self._fetch(
            url,
            validators=validators,
            accept=accept,
            max_bytes=max_bytes,
            **options,  # type: ignore[arg-type]
        )
        status, body = response.status, response.body
        headers = response.headers
        etag, last_modified = headers.get("etag", ""), headers.get("last-modified", "")
        if status == 304 and known is not None:  # noqa: PLR2004 - HTTP
            status, body, etag, last_modified = known.status, known.body, known.etag, known.last_modified
        self._catalogue.keep_resource(
            Resource(
                url=url,
                status=status,
                etag=etag,
                last_modified=last_modified,
                body=_storable(body) if 200 <= status < 300 else b"",  # noqa: PLR2004 - HTTP
                visit=self._visit,
            )
        )
        return status, body

    def doubt(self, url: str) -> None:
        """What was read is of no use: ask again in the next run, even within this visit."""
        known = self._catalogue.resource(url)
        if known is not None and known.visit == self._visit:
            self._catalogue.keep_resource(structs.replace(known, visit=0))


def _storable(body: bytes) -> bytes:
    """Unpacked, and without the credentials of URLs in it: what is stored may be seen."""
    try:
        return _CREDENTIALS.sub(b"", unpack(body))
    except Permanent:
        return b""
