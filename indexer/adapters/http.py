"""
The polite, guarded, patient GET: `ports.Fetch` over httpcore (httpx's engine), HTTP/1.1 and HTTP/2.

One call: for each hop, wait for the host's turn, exchange under three deadlines, decode
within the limit, retry what passes; then return or follow the redirect. httpcore is
used without httpx because redirects, decoding, cookies and retries are ours anyway, and
it costs half as much per request.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpcore

from indexer.adapters.http_body import ACCEPTED, decode_body, too_large
from indexer.adapters.http_connections import Connections
from indexer.adapters.http_guard import GuardedBackend, Resolver, resolve
from indexer.adapters.http_private import Credentials
from indexer.artifacts import Reason
from indexer.crawl.politeness import Slot, retry_after
from indexer.crawl.robots import user_agent
from indexer.crawl.urls import absolute, netloc, redact
from indexer.errors import Permanent, Retryable
from indexer.ports import Response, Validators
from indexer.settings import Crawl

ACCEPT = (
    "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,application/xml;q=0.8,*/*;q=0.5"
)
MAX_HEADERS = 200
_TRANSIENT = frozenset((408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))
_UNAVAILABLE = 503
_OVERLOADED = frozenset((429, _UNAVAILABLE))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_FIRST_BACKOFF = 0.5
_MAX_BACKOFF = 30.0

Allow = Callable[[str], Awaitable[str]]


class _TooSlow(Retryable):
    """The total deadline passed: the same again would only take as long again."""


class HttpFetch:
    """
    Implements `ports.Fetch`. To be used and closed within one event loop.

    `credentials`: for the origins that they are bound to. `resolver` and `ssl_context` are
    for tests.
    """

    def __init__(
        self,
        crawl: Crawl,
        *,
        credentials: Credentials | None = None,
        resolver: Resolver = resolve,
        ssl_context: Any = None,
    ) -> None:
        self._crawl = crawl
        self._credentials = credentials or Credentials()
        self._user_agent = user_agent(crawl)
        self._lanes: dict[str, _Lane] = {}
        self._connections = Connections(
            GuardedBackend(crawl.allow_private, resolver=resolver), tls=lambda: ssl_context or _tls_context()
        )

    async def __call__(
        self,
        url: str,
        *,
        validators: Validators = Validators(),  # noqa: B008 - frozen
        allow: Allow | None = None,
        accept: str = "",
        max_bytes: int = 0,
    ) -> Response:
        """As `ports.Fetch`: any final status is returned, what is no answer is raised."""
        limit = max_bytes or int(self._crawl.max_body_mb * 2**20)
        headers = self._headers(accept)
        conditional = [*headers, *_conditions(validators)]
        hops: list[str] = []
        seen: set[tuple[str, str]] = set()
        here = url
        while True:
            jar = self._lane(netloc(here)).cookie_header()
            if (here, jar) in seen or len(hops) > self._crawl.max_redirects:
                raise Permanent(
                    f"redirected {len(hops)} times, last to {redact(here)}", reason=Reason.TOO_MANY_REDIRECTS
                )
            seen.add((here, jar))
            send = [*(headers if hops else conditional), *self._credentials.headers(here, jar)]
            status, received, body, set_cookies = await self._patiently(here, send, limit)
            if status not in _REDIRECTS:
                body = self._credentials.scrub(here, body)
                return Response(
                    url=url, final_url=here, status=status, headers=received, body=body, hops=tuple(hops)
                )
            self._lane(netloc(here)).cookies.update(set_cookies)
            hops.append(here)
            here = await self._next_hop(received.get("location", ""), here, url, allow)

    def pace(self, url: str, delay: float) -> None:
        """Requests to the host of `url` start at least `delay` seconds apart, up to the configured cap."""
        self._lane(netloc(url)).slot.crawl_delay = min(delay, self._crawl.max_crawl_delay)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connections.aclose()

    # ── one hop ─────────────────────────────────────────────────────────────────────────

    async def _next_hop(self, location: str, here: str, start: str, allow: Allow | None) -> str:
        if not location.strip():
            raise Permanent(f"{redact(here)} redirects to nowhere (no Location)", reason=Reason.BAD_RESPONSE)
        target = absolute(location, here)
        if allow is not None and target != start:
            refused = await allow(target)
            if refused:
                raise Permanent(f"redirects to {target}", reason=refused)
        return target

    async def _patiently(
        self, url: str, headers: list[tuple[bytes, bytes]], limit: int
    ) -> tuple[int, dict[str, str], bytes, dict[str, str]]:
        """One exchange, repeated while it fails for a passing reason."""
        lane = self._lane(netloc(url))
        for attempt in range(self._crawl.retries + 1):
            last = attempt == self._crawl.retries
            await lane.enter()
            started = time.monotonic()
            try:
                answer = await self._exchange(url, headers, limit)
            except Retryable as error:
                if last or isinstance(error, _TooSlow):
                    lane.failed(error.reason)
                    raise
                wait = _backoff(attempt)
            except Permanent as error:
                if error.reason == Reason.UNREACHABLE:
                    lane.failed(error.reason)
                raise
            else:
                status, received = answer[:2]
                if status not in _TRANSIENT:
                    lane.slot.succeeded(time.monotonic())
                    return answer
                wait = self._overload(lane.slot, status, received, attempt, started)
                if last or wait > self._crawl.max_retry_after:
                    lane.failed(Reason.HTTP_SERVER if status >= 500 else Reason.RATE_LIMITED)  # noqa: PLR2004
                    return answer
            finally:
                lane.leave()
            if not lane.slot.paused(time.monotonic()):
                await asyncio.sleep(wait)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _overload(
        self, slot: Slot, status: int, headers: Mapping[str, str], attempt: int, started: float
    ) -> float:
        """How long to wait before another try; a host that asks for silence gets it."""
        asked = retry_after(headers.get("retry-after", ""), now=time.time())
        wait = _backoff(attempt) if asked is None else asked
        if status in _OVERLOADED:
            pause = wait if wait <= self._crawl.max_retry_after else 0.0
            told = asked is not None or status != _UNAVAILABLE
            slot.overloaded(time.monotonic(), pause, started=started, asked=told, again=attempt > 0)
        return wait

    async def _exchange(
        self, url: str, headers: list[tuple[bytes, bytes]], limit: int
    ) -> tuple[int, dict[str, str], bytes, dict[str, str]]:
        timeout = self._crawl.timeout
        request = httpcore.Request(
            b"GET",
            url,
            headers=[(b"Host", netloc(url).encode()), *headers],
            extensions={"timeout": {"connect": timeout, "read": timeout, "write": timeout, "pool": None}},
        )
        try:
            async with (
                asyncio.timeout(self._crawl.total_timeout),
                self._connections.exchange(request) as response,
            ):
                received, cookies = _received(response.headers)
                raw = await _read(response, received, limit)
        except TimeoutError:
            message = f"not finished within {self._crawl.total_timeout:g} s (--total-timeout)"
            raise _TooSlow(message, reason=Reason.TIMEOUT) from None
        except Exception as error:  # noqa: BLE001 - mapped or passed on
            raise mapped(error) from None
        return (
            response.status,
            received,
            decode_body(raw, received.get("content-encoding", ""), limit=limit),
            cookies,
        )

    # ── parts ───────────────────────────────────────────────────────────────────────────

    def _lane(self, host: str) -> _Lane:
        lane = self._lanes.get(host)
        if lane is None:
            slot = Slot(concurrency=self._crawl.concurrency, delay=self._crawl.delay, now=time.monotonic())
            lane = self._lanes[host] = _Lane(host, slot)
        return lane

    def _headers(self, accept: str) -> list[tuple[bytes, bytes]]:
        return [
            (b"User-Agent", self._user_agent.encode("utf-8", "replace")),
            (b"Accept", (accept or ACCEPT).encode()),
            (b"Accept-Encoding", ACCEPTED.encode()),
        ]


class _Lane:
    """
    The queue before one host: first come, first served.

    `cookies`: only those that came with a redirect, because a site that sends its visitors
    round until they have one shows nothing without it. Forgotten with the run.
    """

    def __init__(self, host: str, slot: Slot) -> None:
        self.host = host
        self.slot = slot
        self.cookies: dict[str, str] = {}
        self._last_reason = ""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a turn. Raises `Retryable` if the host has not answered for a long time."""
        while self.slot.room <= 0:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()
                raise
        if self.slot.down(time.monotonic()):
            self._wake()
            raise Retryable(
                f"the last {self.slot.failures} URLs of {self.host} could not be had: it is left alone",
                reason=self._last_reason,
            )
        wait = self.slot.reserve(time.monotonic()) - time.monotonic()
        try:
            while wait > 0 or (wait := self.slot.begin(time.monotonic())) > 0:
                await asyncio.sleep(wait)
                wait = 0.0
        except asyncio.CancelledError:
            self.leave()
            raise

    def failed(self, reason: str) -> None:
        """A URL could not be had, retries included."""
        self._last_reason = reason
        self.slot.failed(time.monotonic())

    def leave(self) -> None:
        """The turn is over; the next ones may come."""
        self.slot.release()
        self._wake()

    def cookie_header(self) -> str:
        """The kept cookies as a header value."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _wake(self) -> None:
        room = self.slot.room
        while self._waiting and room > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1


def _tls_context() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def mapped(error: Exception) -> Exception:
    """A foreign exception as one of ours; ours, and bugs, as they are."""
    text = redact(str(error)) or type(error).__name__
    if isinstance(error, httpcore.TimeoutException):
        return Retryable(f"no answer in time: {text}", reason=Reason.TIMEOUT)
    silent = isinstance(error, httpcore.RemoteProtocolError) and "disconnected without sending" in text
    if silent or isinstance(error, httpcore.NetworkError):
        kind = Permanent if "certificate" in text.lower() else Retryable
        return kind(f"no connection: {text}", reason=Reason.UNREACHABLE)
    if isinstance(error, httpcore.LocalProtocolError | httpcore.UnsupportedProtocol):
        return Permanent(f"the address cannot be asked for: {text}", reason=Reason.BAD_URL)
    if isinstance(error, httpcore.ProtocolError | httpcore.ProxyError):
        return Retryable(f"the answer is broken: {text}", reason=Reason.BAD_RESPONSE)
    return error


async def _read(response: httpcore.Response, headers: Mapping[str, str], limit: int) -> bytes:
    """The raw body, up to the limit."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise too_large(limit)
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_stream():
        parts.append(part)
        size += len(part)
        if size > limit:
            raise too_large(limit)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _received(raw: list[tuple[bytes, bytes]]) -> tuple[dict[str, str], dict[str, str]]:
    """Headers by lower-case name, and cookies. Repeated X-Robots-Tag: one per line."""
    if len(raw) > MAX_HEADERS:
        raise Permanent(f"the answer has {len(raw)} headers", reason=Reason.BAD_RESPONSE)
    headers: dict[str, str] = {}
    cookies: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = raw_name.decode("latin-1").lower(), _text(raw_value)
        if name == "set-cookie":
            key, equals, content = value.partition(";")[0].partition("=")
            if equals and key.strip():
                cookies[key.strip()] = content.strip()
        elif name not in headers:
            headers[name] = value
        elif name == "x-robots-tag":
            headers[name] += "\n" + value
        elif name in ("vary", "link", "content-encoding", "cache-control"):
            headers[name] += ", " + value
    return headers, cookies


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _conditions(validators: Validators) -> list[tuple[bytes, bytes]]:
    conditions = []
    if validators.etag:
        conditions.append((b"If-None-Match", validators.etag.encode("utf-8", "replace")))
    if validators.last_modified:
        conditions.append((b"If-Modified-Since", validators.last_modified.encode("utf-8", "replace")))
    return conditions


def _backoff(attempt: int) -> float:
    """0.5, 1, 2 … seconds, up to 10 % more, so that retries do not come in step."""
    return min(_MAX_BACKOFF, _FIRST_BACKOFF * 2.0**attempt) * (1 + random.random() / 10)  # noqa: S311 - no secret
