"""
A small scriptable web site on loopback, for tests: a real server on a free port.

    with Site() as site:
        site.page("/", "<p>Hello", headers={"X-Robots-Tag": "noindex"})
        site.page("/moved", status=301, headers={"Location": "/"})
        site.route("/now", lambda request: Reply(body="answer"))
        site.fault("/", "status", times=2, status=503)
        ... fetch site.url("/") ...
        assert site.paths() == ["/", "/", "/"]

Pages with status 200 get an ETag and a Last-Modified and answer 304 to a matching
If-None-Match (or, without one, If-Modified-Since). Every request is logged as it
arrives, with the status it was answered with.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

LAST_MODIFIED = formatdate(1_700_000_000, usegmt=True)


@dataclass
class Request:
    """One request as it arrived. `time` is monotonic; `status` 0: no status was sent."""

    time: float
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    status: int = 0


@dataclass
class Reply:
    """What a page answers. `validators`: add ETag/Last-Modified and answer 304."""

    body: str | bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"
    validators: bool = True
    last_modified: str = LAST_MODIFIED

    @property
    def data(self) -> bytes:
        return self.body.encode("utf-8") if isinstance(self.body, str) else self.body


Handler = Callable[[Request], Reply]


@dataclass
class Fault:
    """
    What goes wrong, the next `times` times (`None`: always).

    `drop`: reset without an answer · `truncate`: half of the announced body · `hang`: no
    answer until the site closes · `stall`: headers and half of the body, then silence ·
    `delay`: `seconds` late · `drip`: a byte every `seconds` · `status`: that status
    with `headers` · `garbage`: no HTTP at all.
    """

    kind: str
    times: int | None = None
    seconds: float = 0.0
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)


class Site:
    """A site to be scripted while it runs. `log` is safe to read at any time."""

    def __init__(self, pages: Mapping[str, str | bytes | Reply | Handler] | None = None) -> None:
        self.log: list[Request] = []
        self.connections = 0
        self.closing = threading.Event()
        self._pages: dict[str, Reply | Handler] = {}
        self._faults: dict[str, list[Fault]] = {}
        self._fallback: Handler | None = None
        self._lock = threading.Lock()
        for path, page in (pages or {}).items():
            self._pages[path] = Reply(page) if isinstance(page, str | bytes) else page
        self._server = _Server(("127.0.0.1", 0), _Exchange)
        self._server.site = self
        self.port: int = self._server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every exchange, free the port, leave no thread."""
        self.closing.set()
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()  # joins the exchanges' threads
        self._thread.join()

    def url(self, path: str = "/") -> str:
        return self.origin + path

    def page(self, path: str, body: str | bytes = b"", **reply: Any) -> None:
        """Serve a fixed reply; the keywords are those of `Reply`. Replaces what was there."""
        self._pages[path] = Reply(body, **reply)

    def route(self, path: str, handler: Handler) -> None:
        """Serve what `handler` returns for each request."""
        self._pages[path] = handler

    def fallback(self, handler: Handler | None) -> None:
        """Serve every path that has no page of its own (without one: 404)."""
        self._fallback = handler

    def remove(self, path: str) -> None:
        self._pages.pop(path, None)

    def fault(self, path: str, kind: str, **options: Any) -> None:
        """Let `path` (`*`: every path) go wrong; see `Fault`. Faults queue up."""
        with self._lock:
            self._faults.setdefault(path, []).append(Fault(kind, **options))

    def mend(self, path: str | None = None) -> None:
        """Drop the faults of `path`, or all of them."""
        with self._lock:
            if path is None:
                self._faults.clear()
            else:
                self._faults.pop(path, None)

    def paths(self, method: str = "") -> list[str]:
        """Paths asked so far, in order of arrival."""
        return [request.path for request in list(self.log) if method in ("", request.method)]

    def hits(self, path: str) -> list[Request]:
        return [request for request in list(self.log) if request.path == path]

    def reset(self) -> None:
        """Forget the log."""
        self.log.clear()

    # ── used by the exchanges ────────────────────────────────────────────────────────

    def next_fault(self, path: str) -> Fault | None:
        with self._lock:
            for name in (path, "*"):
                queue = self._faults.get(name)
                if not queue:
                    continue
                fault = queue[0]
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        queue.pop(0)
                return fault
        return None

    def answer(self, request: Request) -> Reply:
        page = self._pages.get(request.path) or self._pages.get(request.path.partition("?")[0])
        if page is None:
            page = self._fallback or Reply("<h1>Not here</h1>", status=404)
        reply = page(request) if callable(page) else page
        if reply.status == 200 and reply.validators and _unchanged(request, reply):
            return Reply(status=304, headers={"ETag": etag(reply.data)})
        return reply


def etag(data: bytes) -> str:
    return '"' + hashlib.sha256(data).hexdigest()[:16] + '"'


def _unchanged(request: Request, reply: Reply) -> bool:
    asked = request.headers.get("if-none-match")
    if asked is not None:
        return etag(reply.data) in asked
    return request.headers.get("if-modified-since") == reply.last_modified


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close() joins them
    request_queue_size = 128
    site: Site

    def __init__(self, *arguments: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        self.site.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # it ended by itself
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of many tests."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Tests read `Site.log`."""

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            time=time.monotonic(),
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length) if length else b"",
        )
        site = self.server.site
        site.log.append(request)
        fault = site.next_fault(self.path)
        if fault is not None and self._suffer(fault, request):
            return
        self._send(request, site.answer(request), fault)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - names the base class asks for

    def _suffer(self, fault: Fault, request: Request) -> bool:
        """Whether the fault was the whole answer."""
        if fault.kind == "drop":
            self._reset()
        elif fault.kind == "hang":
            self.server.site.closing.wait()
            self.close_connection = True
        elif fault.kind == "garbage":
            self.wfile.write(b"\x00\x01 this is not HTTP\r\n\r\n")
            self.close_connection = True
        elif fault.kind == "status":
            self._send(request, Reply("<h1>No</h1>", status=fault.status, headers=fault.headers), None)
        elif fault.kind == "delay":
            self.server.site.closing.wait(fault.seconds)
            return False
        else:
            return False
        return True

    def _send(self, request: Request, reply: Reply, fault: Fault | None) -> None:
        data = reply.data
        headers = {"Content-Type": reply.content_type, **reply.headers}
        if reply.status == 200 and reply.validators:
            headers = {"ETag": etag(data), "Last-Modified": reply.last_modified, **headers}
        if reply.status not in (204, 304):
            headers.setdefault("Content-Length", str(len(data)))
        self.send_response(reply.status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value.encode("utf-8").decode("latin-1"))
        self.end_headers()
        request.status = reply.status
        if self.command == "HEAD" or reply.status in (204, 304):
            return
        self._send_body(data, fault)

    def _send_body(self, data: bytes, fault: Fault | None) -> None:
        kind = fault.kind if fault else ""
        if kind == "truncate":
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        elif kind == "stall":
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.server.site.closing.wait()
            self.close_connection = True
        elif kind == "drip" and fault is not None:
            for at in range(len(data)):
                self.wfile.write(data[at : at + 1])
                self.wfile.flush()
                if self.server.site.closing.wait(fault.seconds):
                    break
        else:
            self.wfile.write(data)

    def _reset(self) -> None:
        """Close with RST: the client sees a connection reset, not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
