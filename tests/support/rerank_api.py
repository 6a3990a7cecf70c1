"""
A loopback reranker for tests, that answers well or badly by the path it is asked under.

A text's score is how many words of the question it holds. Modes: ok · list (a bare list, `score`)
· auth (key `good` only) · limit (429) · down (500) · html · short (one result missing) · range
(an index too many) · twice (an index doubled) · nan · null (no score) · hang · drip (never ends).
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

RESULT = {"range": {"index": 99}, "twice": {"index": 0}, "null": {"relevance_score": None}}


class RerankApi:
    """The server; `asked` holds the bodies that came, `keys` their keys."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.ending = threading.Event()
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                api.answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, mode: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{mode}/v1"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        mode, _, path = request.path.lstrip("/").partition("/")
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.asked.append(body)
        self.keys.append(key)
        status = {"limit": 429, "down": 500}.get(mode, 401 if mode == "auth" and key != "good" else 200)
        text = self._text(mode, body) if status == 200 else json.dumps({"error": f"no, {key}"})
        if path != "v1/rerank":
            status = 404
        if mode == "hang":
            self.ending.wait(20)
            return
        request.send_response(status)
        request.send_header("content-type", "application/json")
        request.end_headers()
        try:
            request.wfile.write(text.encode())
            while mode == "drip" and not self.ending.is_set():
                request.wfile.write(b" ")
                request.wfile.flush()
                time.sleep(0.02)
        except OSError:
            return

    def _text(self, mode: str, body: dict[str, Any]) -> str:
        if mode == "html":
            return "<html>Bad gateway</html>"
        words = body["query"].lower().split()
        results: list[dict[str, Any]] = [
            {"index": n, "relevance_score": float(sum(text.lower().count(word) for word in words))}
            for n, text in enumerate(body["documents"])
        ]
        results.sort(key=lambda one: -one["relevance_score"])
        if mode == "list":
            return json.dumps([{"index": one["index"], "score": one["relevance_score"]} for one in results])
        if mode == "short":
            results.pop()
        if mode == "nan":
            results[0]["relevance_score"] = float("nan")
        results[-1] |= RESULT.get(mode, {})
        if mode == "twice":
            results[0] |= {"index": 0}
        return json.dumps({"id": "x", "results": results})
