"""
A protocol double of a Qdrant server: HTTP and gRPC on free loopback ports.

Requests are parsed by the client library's own models, which are generated from the
server's contract and refuse unknown fields; they are answered by its in-memory engine.
Faults are injected per request. It knows nothing of optimisers, clusters or strict mode.
"""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from qdrant_client import QdrantClient, models

LIMIT = 32 << 20


@dataclass
class Fault:
    """
    How a request goes wrong. `apply`: what it asks is done all the same; status 0: no answer.

    `delay`: seconds before the answer.
    """

    status: int = 500
    apply: bool = False
    body: str = '{"status": {"error": "Service internal error: injected"}}'
    headers: dict[str, str] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    delay: float = 0.0


class QdrantDouble:
    """The server. `fault(method, path)` is asked for each request; `log` holds (method, path)."""

    def __init__(
        self,
        *,
        api_key: str = "",
        limit: int = LIMIT,
        version: str = "1.20.0",
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.api_key = api_key
        self.limit = limit
        self.version = version
        self.engine = QdrantClient(":memory:")
        self.lock = threading.RLock()
        self.log: list[tuple[str, str]] = []
        self.fault: Callable[[str, str], Fault | None] = lambda method, path: None
        self.upserts: list[int] = []
        self.created: list[models.CreateCollection] = []
        self.certificate = certificate  # key and chain: HTTPS

    def __enter__(self) -> Self:
        double = self

        class Handler(_Handler):
            server_double = double

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate[1], self.certificate[0])
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self.engine.close()

    @property
    def url(self) -> str:
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self._http.server_port}"

    def names(self) -> set[str]:
        """All collections."""
        with self.lock:
            return {one.name for one in self.engine.get_collections().collections}

    def aliases(self) -> dict[str, str]:
        """Alias → collection."""
        with self.lock:
            return {one.alias_name: one.collection_name for one in self.engine.get_aliases().aliases}

    # ── one method per operation of the contract ────────────────────────────────────────

    def create(self, name: str, body: models.CreateCollection) -> bool:
        if self.engine.collection_exists(name):
            raise Refusal(409, f"Wrong input: Collection `{name}` already exists!")
        self.created.append(body)
        return self.engine.create_collection(
            name, vectors_config=body.vectors, sparse_vectors_config=body.sparse_vectors
        )

    def delete(self, name: str) -> bool:
        self.known(name)
        return self.engine.delete_collection(name)

    def index(self, name: str, body: models.CreateFieldIndex) -> models.UpdateResult:
        self.known(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the in-memory engine has no indexes
            return self.engine.create_payload_index(name, body.field_name, body.field_schema)

    def upsert(self, name: str, points: list[models.PointStruct]) -> models.UpdateResult:
        self.known(name)
        self.upserts.append(len(points))
        return self.engine.upsert(name, points)

    def change_aliases(self, body: models.ChangeAliasesOperation) -> bool:
        for action in body.actions:
            if isinstance(action, models.CreateAliasOperation):
                self.known(action.create_alias.collection_name)
                if action.create_alias.alias_name in self.names():
                    raise Refusal(400, f"Wrong input: Collection `{action.create_alias.alias_name}` exists")
        return self.engine.update_collection_aliases(body.actions)

    def known(self, name: str) -> None:
        if not self.engine.collection_exists(name):
            raise Refusal(404, f"Not found: Collection `{name}` doesn't exist!")

    def answer(self, method: str, path: str, body: bytes) -> Any:
        """The result of a request, as the contract has it."""
        for verb, pattern, kind, reply in ROUTES:
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                name = unquote(found[1]) if found.groups() else ""
                value = TypeAdapter(kind).validate_json(body) if kind else None
                with self.lock:
                    return reply(self, name, value)
        raise Refusal(404, f"no such operation: {method} {path}")


class Refusal(Exception):
    """A status other than 200, with Qdrant's words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def _counted(double: QdrantDouble, name: str, body: Any) -> Any:
    double.known(name)
    return double.engine.count(name, exact=body.exact is not False)


def _queried(double: QdrantDouble, name: str, body: Any) -> Any:
    double.known(name)
    return double.engine.query_batch_points(name, body.searches)


def _retrieved(double: QdrantDouble, name: str, body: Any) -> Any:
    double.known(name)
    return double.engine.retrieve(
        name, body.ids, with_payload=body.with_payload, with_vectors=body.with_vector or False
    )


def _scrolled(double: QdrantDouble, name: str, body: Any) -> Any:
    double.known(name)
    records, _ = double.engine.scroll(
        name, scroll_filter=body.filter, limit=body.limit, with_payload=body.with_payload
    )
    return {"points": records}


def _described(double: QdrantDouble, name: str, body: Any) -> Any:
    double.known(name)
    return double.engine.get_collection(name)


_C = "/collections/([^/]+)"
ROUTES: list[tuple[str, str, Any, Callable[[QdrantDouble, str, Any], Any]]] = [
    ("GET", "/collections", None, lambda d, n, b: d.engine.get_collections()),
    ("GET", "/aliases", None, lambda d, n, b: d.engine.get_aliases()),
    ("POST", "/collections/aliases", models.ChangeAliasesOperation, lambda d, n, b: d.change_aliases(b)),
    ("GET", f"{_C}/exists", None, lambda d, n, b: {"exists": d.engine.collection_exists(n)}),
    ("PUT", _C, models.CreateCollection, lambda d, n, b: d.create(n, b)),
    ("GET", _C, None, _described),
    ("DELETE", _C, None, lambda d, n, b: d.delete(n)),
    ("PUT", f"{_C}/index", models.CreateFieldIndex, lambda d, n, b: d.index(n, b)),
    ("PUT", f"{_C}/points", models.PointsList, lambda d, n, b: d.upsert(n, b.points)),
    ("POST", f"{_C}/points", models.PointRequest, _retrieved),
    ("POST", f"{_C}/points/scroll", models.ScrollRequest, _scrolled),
    ("POST", f"{_C}/points/count", models.CountRequest, _counted),
    ("POST", f"{_C}/points/query/batch", models.QueryRequestBatch, _queried),
]


class _Handler(BaseHTTPRequestHandler):
    server_double: QdrantDouble
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def respond(self) -> None:
        double = self.server_double
        path = urlsplit(self.path).path
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        with double.lock:
            double.log.append((self.command, path))
            fault = double.fault(self.command, path)
        if fault and not fault.apply:
            self.fail(fault)
            return
        status, reply = self.work(path, body)
        if fault:
            self.fail(fault)
            return
        self.send(status, json.dumps(reply), {})

    def work(self, path: str, body: bytes) -> tuple[int, Any]:
        double = self.server_double
        if double.api_key and self.headers.get("api-key") != double.api_key:
            return 401, {"status": {"error": "Must provide an API key or an Authorization bearer token"}}
        if len(body) > double.limit:
            words = f"Payload error: JSON payload ({len(body)} bytes) is larger than allowed (limit: {double.limit} bytes)."
            return 400, {"status": {"error": words}, "time": 0.0}
        if path == "/":
            return 200, {"title": "qdrant - vector search engine", "version": double.version}
        try:
            result = double.answer(self.command, path, body)
        except Refusal as error:
            return error.status, {"status": {"error": str(error)}, "time": 0.0}
        except (ValidationError, ValueError) as error:
            return 400, {"status": {"error": f"Wrong input: {error}"}, "time": 0.0}
        return 200, {"result": to_jsonable_python(result), "status": "ok", "time": 0.0}

    def fail(self, fault: Fault) -> None:
        time.sleep(fault.delay)
        if fault.status:
            self.send(fault.status, json.dumps(fault.result) if fault.result else fault.body, fault.headers)
        else:
            self.close_connection = True

    def send(self, status: int, text: str, headers: dict[str, str]) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        with contextlib.suppress(ConnectionError):  # a client that did not wait
            self.end_headers()
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = respond  # noqa: N815
