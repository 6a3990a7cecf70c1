"""
Connections per origin, kept alive: one request at a time over HTTP/1.1, all together over HTTP/2.

How many are open is decided by the hosts' turns, so there is no queue here; httpcore's
own pool, which has one, looks at every connection twice per request.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable

import httpcore

KEEP_ALIVE = 30.0


class Connections:
    """All open connections of one client. `tls`: makes the context, when something first speaks TLS."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, *, tls: Callable[[], ssl.SSLContext]) -> None:
        self._backend = backend
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        self._origins: dict[tuple[bytes, bytes, int], _Origin] = {}

    @contextlib.asynccontextmanager
    async def exchange(self, request: httpcore.Request) -> AsyncIterator[httpcore.Response]:
        """
        Send a request; the response's body is to be read within.

        A kept connection that turns out to be closed is replaced at once: that it was
        closed is no failure of the server.
        """
        place = self._origin(request.url.origin)
        while True:
            kept, connection = await place.take()
            try:
                response = await connection.handle_async_request(request)
            except (httpcore.ReadError, httpcore.WriteError, httpcore.RemoteProtocolError) as error:
                await place.drop(connection)
                gone = not isinstance(error, httpcore.RemoteProtocolError) or "disconnected" in str(error)
                if kept and gone:
                    continue
                raise
            except httpcore.ConnectionNotAvailable:  # an HTTP/2 connection that is full or going away
                place.retire(connection)
                continue
            except BaseException:
                await place.drop(connection)
                raise
            break
        place.learn(connection, shared=response.extensions.get("http_version") == b"HTTP/2")
        try:
            yield response
        finally:
            await response.aclose()
            await place.give_back(connection)

    async def aclose(self) -> None:
        """Close all."""
        for place in self._origins.values():
            await place.aclose()
        self._origins.clear()

    def _origin(self, origin: httpcore.Origin) -> _Origin:
        key = (origin.scheme, origin.host, origin.port)
        place = self._origins.get(key)
        if place is None:
            if origin.scheme == b"https" and self._context is None:
                self._context = self._tls()
            place = self._origins[key] = _Origin(origin, self._backend, self._context)
        return place


class _Origin:
    """The connections to one origin. Whether it speaks HTTP/2 is known after the first answer."""

    def __init__(
        self, origin: httpcore.Origin, backend: httpcore.AsyncNetworkBackend, context: ssl.SSLContext | None
    ) -> None:
        self._origin = origin
        self._backend = backend
        self._context = context
        self._idle: list[httpcore.AsyncHTTPConnection] = []
        self._shared: httpcore.AsyncHTTPConnection | None = None
        self._busy: set[httpcore.AsyncHTTPConnection] = set()
        self._unknown = origin.scheme == b"https"
        self._first = asyncio.Lock()

    async def take(self) -> tuple[bool, httpcore.AsyncHTTPConnection]:
        """A connection to use, and whether it was used before."""
        if self._unknown:
            await self._first.acquire()  # let one find out
            self._release_if_known()
        if self._shared is not None:
            if self._shared.is_available() and not self._shared.has_expired():
                return True, self._shared
            self.retire(self._shared)
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed() and not connection.has_expired():
                self._busy.add(connection)
                return True, connection
            await connection.aclose()
        connection = httpcore.AsyncHTTPConnection(
            self._origin,
            ssl_context=self._context,
            keepalive_expiry=KEEP_ALIVE,
            http2=True,
            network_backend=self._backend,
        )
        self._busy.add(connection)
        return False, connection

    def learn(self, connection: httpcore.AsyncHTTPConnection, *, shared: bool) -> None:
        """The first answer came."""
        if shared and self._shared is None:
            self._shared = connection
        self._known()

    async def give_back(self, connection: httpcore.AsyncHTTPConnection) -> None:
        """A request is over; the connection is kept if it may be used again."""
        if connection is self._shared:
            return
        self._busy.discard(connection)
        if connection.is_idle() and not connection.is_closed():
            self._idle.append(connection)
        else:
            await connection.aclose()

    async def drop(self, connection: httpcore.AsyncHTTPConnection) -> None:
        """The connection failed."""
        self.retire(connection)
        self._known()
        self._busy.discard(connection)
        await connection.aclose()

    def retire(self, connection: httpcore.AsyncHTTPConnection) -> None:
        """No new request on it; those under way may end."""
        if connection is self._shared:
            self._shared = None
            self._busy.add(connection)

    def _known(self) -> None:
        self._unknown = False
        self._release_if_known()

    def _release_if_known(self) -> None:
        if not self._unknown and self._first.locked():
            self._first.release()

    async def aclose(self) -> None:
        """Close all connections to this origin."""
        shared = [self._shared] if self._shared is not None else []
        for connection in (*self._idle, *self._busy, *shared):
            await connection.aclose()
        self._idle, self._shared = [], None
        self._busy.clear()
