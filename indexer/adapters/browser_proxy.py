"""
The only way out of the browser: a proxy on loopback that connects where the guard lets it.

The browser resolves no name itself. Here each host is resolved, checked and connected to
in one step, as for fetching, so the checked address is the one that is used: for
redirects, workers and WebSockets too. A host that no page was seen to ask for is refused
before that: the browser's own errands (updates, accounts) go nowhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

import httpcore

from indexer.adapters.http_guard import GuardedBackend
from indexer.crawl.urls import redact
from indexer.errors import IndexerError

log = logging.getLogger("indexer")

_PORTS = {"http": 80, "https": 443}
_PART = 64 * 1024
_OWN = re.compile(rb"(?:proxy-[^:]*|connection|keep-alive)\s*:", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length\s*:\s*(\d+)\s*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding\s*:", re.IGNORECASE)


class _No(Exception):
    """What the browser is told instead of a connection."""


class GuardedProxy:
    """A forward proxy for one browser. To be started and closed within one event loop."""

    def __init__(self, backend: GuardedBackend, *, timeout: float) -> None:
        self._backend = backend
        self._timeout = timeout
        self._admitted: set[tuple[str, int]] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listen on a free port; returns the proxy's address."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_PART)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def aclose(self) -> None:
        """End every connection and free the port."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def admit(self, url: str) -> None:
        """A page asks for this address: its host may be connected to, if the guard agrees."""
        with contextlib.suppress(ValueError):
            parts = urlsplit(url)
            self._admitted.add(((parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)))

    # ── one connection ──────────────────────────────────────────────────────────────────

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._forward(head, reader, writer)
        except _No as answer:
            with contextlib.suppress(OSError):
                writer.write(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                await writer.drain()
        except (EOFError, ValueError, TimeoutError, OSError, asyncio.LimitOverrunError) as error:
            log.debug("a connection of the browser ended: %r", error)
        finally:
            writer.close()

    async def _forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One tunnel, or one request: whatever follows it on the connection is not passed on."""
        method, target, _ = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        host, port = (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)
        if not tunnel and (parts.scheme != "http" or _CHUNKED.search(head)):
            raise _No("501 Not Implemented")
        stream = await self._connect(host, port)
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                ways = (_up(reader, stream), _down(stream, writer))
            else:
                await stream.write(_origin_form(head, method, target))
                length = _LENGTH.search(head)
                await _pass_on(reader, stream, int(length.group(1)) if length else 0)
                ways = (_gone(reader), _down(stream, writer))
            await _first(*ways)
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            log.debug("%s:%s ended: %r", host, port, error)
        finally:
            await stream.aclose()

    async def _connect(self, host: str, port: int) -> httpcore.AsyncNetworkStream:
        if (host, port) not in self._admitted:
            raise _No("403 Forbidden")
        try:
            return await self._backend.connect_tcp(host, port, self._timeout)
        except IndexerError as error:
            log.info("a script asked for %s:%s: %s", host, port, redact(str(error)))
            raise _No("403 Forbidden") from None
        except (httpcore.NetworkError, httpcore.TimeoutException):
            raise _No("502 Bad Gateway") from None


def _origin_form(head: bytes, method: str, target: str) -> bytes:
    """The request as an origin server expects it, the connection ending with the answer."""
    path = target.partition("://")[2]
    path = path[len(path.partition("/")[0].partition("?")[0]) :]
    path = path if path.startswith("/") else f"/{path}"
    lines = [line for line in head.split(b"\r\n")[1:] if line and not _OWN.match(line)]
    first = f"{method} {path} HTTP/1.1".encode("latin-1")
    return b"\r\n".join([first, *lines, b"Connection: close", b"", b""])


async def _pass_on(reader: asyncio.StreamReader, stream: httpcore.AsyncNetworkStream, length: int) -> None:
    """Exactly `length` bytes of a request's body."""
    while length > 0:
        part = await reader.read(min(_PART, length))
        if not part:
            raise EOFError
        await stream.write(part)
        length -= len(part)


async def _up(reader: asyncio.StreamReader, stream: httpcore.AsyncNetworkStream) -> None:
    while part := await reader.read(_PART):
        await stream.write(part)


async def _down(stream: httpcore.AsyncNetworkStream, writer: asyncio.StreamWriter) -> None:
    while part := await stream.read(_PART):
        writer.write(part)
        await writer.drain()


async def _gone(reader: asyncio.StreamReader) -> None:
    """Until the browser has gone, or sends what it should not."""
    await reader.read(1)


async def _first(*ways: Coroutine[Any, Any, None]) -> None:
    """Until one of the two directions has come to its end."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
