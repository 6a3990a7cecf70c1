"""
Where connections may go: every resolved address is checked, and the checked one is connected to.

The name is resolved once, here, so that what was checked is what is used (a second
look-up could answer otherwise). Sockets are asyncio's own streams: half the cost of
httpcore's default.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import httpcore

from indexer.artifacts import Reason
from indexer.errors import Permanent, Retryable

Resolver = Callable[[str, int], Awaitable[list[str]]]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_READ_LIMIT = 256 * 1024
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """
    Whether an IP address is reachable for everybody.

    Loopback, private, link-local, shared (CGNAT), reserved, unspecified and multicast
    addresses are not, nor are IPv6 addresses that carry such an IPv4 address.
    """
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(str(inner))
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


async def resolve(host: str, port: int) -> list[str]:
    """Addresses of a host name, in the order the system prefers."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """
    Opens connections for httpcore. `allowed`: `HOST:PORT` that may be private.

    Raises `Permanent` `forbidden-address` for any other host with a private address.
    """

    def __init__(self, allowed: Iterable[str] = (), *, resolver: Resolver = resolve) -> None:
        self._allowed = frozenset(entry.strip().lower() for entry in allowed)
        self._resolver = resolver

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, check, connect: to the first address that answers."""
        del local_address, socket_options
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._checked(host, port)
                return await _connect(addresses, port, timeout)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"no connection to {host}:{port} within {timeout:g} s") from None

    async def sleep(self, seconds: float) -> None:
        """For httpcore's own retries, which are not used."""
        await asyncio.sleep(seconds)

    async def _checked(self, host: str, port: int) -> list[str]:
        try:
            addresses = [str(ipaddress.ip_address(host.strip("[]")))]
        except ValueError:
            try:
                addresses = await self._resolver(host, port)
            except (OSError, UnicodeError) as error:
                passing = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
                kind = Retryable if passing else Permanent
                raise kind(f"the host name {host} cannot be resolved", reason=Reason.UNREACHABLE) from None
        if self._named(host, port):
            return addresses
        for address in addresses:
            if not is_public(address) and not self._named(address, port):
                raise Permanent(
                    f"{host}:{port} is at the private address {address}; "
                    f"if it is meant to be indexed, allow it with --allow-private {host}:{port}",
                    reason=Reason.FORBIDDEN_ADDRESS,
                )
        return addresses

    def _named(self, host: str, port: int) -> bool:
        name = host.lower()
        return f"{name}:{port}" in self._allowed or (":" in name and f"[{name}]:{port}" in self._allowed)


async def _connect(addresses: list[str], port: int, timeout: float | None) -> AsyncioStream:  # noqa: ASYNC109 - a share of it
    error: OSError | None = None
    share = timeout / len(addresses) if timeout else None
    for address in addresses:
        try:
            async with asyncio.timeout(share):
                reader, writer = await asyncio.open_connection(address, port, limit=_READ_LIMIT)
        except TimeoutError:
            error = TimeoutError(f"{address} does not answer")
        except OSError as failure:
            error = failure
        else:
            return AsyncioStream(reader, writer)
    if isinstance(error, TimeoutError):
        raise error
    raise httpcore.ConnectError(str(error) if error else "no address") from None


class AsyncioStream(httpcore.AsyncNetworkStream):
    """asyncio's streams under httpcore's interface."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's interface
        """What has arrived, at most `max_bytes`; empty at the end."""
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError:
            raise httpcore.ReadTimeout(f"silence for {timeout:g} s") from None
        except (OSError, ssl.SSLError) as error:
            raise httpcore.ReadError(str(error)) from None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's interface
        """Send all of `buffer`."""
        if not buffer:
            return
        try:
            self._writer.write(buffer)
            async with asyncio.timeout(timeout):
                await self._writer.drain()
        except TimeoutError:
            raise httpcore.WriteTimeout(f"the request was not taken within {timeout:g} s") from None
        except (OSError, RuntimeError) as error:
            raise httpcore.WriteError(str(error)) from None

    async def aclose(self) -> None:
        """Close at once; what the peer still sends is not wanted."""
        self._writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
    ) -> httpcore.AsyncNetworkStream:
        """Upgrade this stream; the certificate is checked against `server_hostname`."""
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"no TLS handshake within {timeout:g} s") from None
        except (OSError, ssl.SSLError) as error:
            self._writer.close()
            raise httpcore.ConnectError(f"TLS: {error}") from None
        return self

    def get_extra_info(self, info: str) -> Any:
        """`is_readable` of an idle connection means that the peer has closed it."""
        if info == "is_readable":
            return (
                self._reader.at_eof()
                or self._writer.is_closing()
                or bool(getattr(self._reader, "_buffer", b""))
            )
        return self._writer.get_extra_info(info)
