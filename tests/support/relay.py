"""A TCP relay in front of a PostgreSQL server: it can be cut, be silent, and speak TLS in its place."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

SSL_REQUEST = bytes([0, 0, 0, 8, 4, 210, 22, 47])


class Relay:
    """
    Forwards to the server of `url`; `Relay.url` is the same through it.

    `certificate`: key and chain; the client's request for TLS is granted with it. `silent`: a
    connection is accepted and never answered.
    """

    def __init__(
        self, url: str, *, certificate: tuple[Path, Path] | None = None, silent: bool = False
    ) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname, parts.port)
        self._certificate, self._silent = certificate, silent
        self._listener = socket.create_server(("127.0.0.1", 0))
        login = parts.netloc.rpartition("@")[0]
        self.port = self._listener.getsockname()[1]
        self.url = parts._replace(netloc=f"{login}@127.0.0.1:{self.port}").geturl()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def cut(self) -> None:
        """The server is away: connections end, new ones are refused."""
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _run(self, work, *arguments) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self._open.append(client)
                if not self._silent:
                    self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._certificate is not None:
                assert client.recv(8, socket.MSG_WAITALL) == SSL_REQUEST
                client.sendall(b"S")
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self._certificate[1], self._certificate[0])
                client = context.wrap_socket(client, server_side=True)
                self._open.append(client)
            server = socket.create_connection(self._server)
            self._open.append(server)
            self._run(self._copy, client, server)
            self._copy(server, client)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
