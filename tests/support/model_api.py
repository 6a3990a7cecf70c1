"""
A loopback server that speaks the OpenAI protocol, well or badly, for tests.

    with ModelApi() as api:
        api.base_url("emb", "ok")     # http://127.0.0.1:PORT/emb/ok/v1
        api.base_url("llm", "fence")
        ... point a provider at it ...
        assert len(api.calls("emb", "ok")) == 1

Embedding modes (`DIM` numbers, the same text always gives the same vector, texts that
share words are near each other):
  ok · auth (key `good` only) · batch10, batch1 (larger batches: 400) · rate (429, 429, 200 …)
  · flaky (500 on the 1st, 5th …) · down (always 500) · html (a 502 page) · hang · slow (half a second) · dim2 (twice
  the dimension) · dimflip (every second vector is short) · nan · zero · floatonly, forceb64
  (whatever was asked) · noindex · shuffle (index tells) · short (one missing) · dupindex ·
  badjson · soft (200 with an error) · nob64 (400 on base64) · nodims (400 on `dimensions`)
  · small (400 over 512 tokens) · nullvec (numbers as null) · stated (its limit of requests a
  minute in every answer, 429 over it) · narrow (429 for more than two requests at a time)
In every mode: 8192 tokens an input, 300000 a request, no empty input (a token: 3 bytes).

Chat modes (`TOPIC: X | STARTS: Y` lines with anchors from the last message's text):
  ok · fence, fenceopen · think, thinkopen · prose · notfound · reworded · order · repeat ·
  refuse · empty · null · nochoices · truncated · badjson · quote · many · number · filter ·
  rate · context (400 over 4000 characters) · hang · obey · reasoning · auth · down · html ·
  notjson · soft · fixedtemp (400 on any temperature) · said (what the attribute `says` holds)
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import random
import re
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

DIM = 32
MAX_INPUT = 8192
MAX_REQUEST = 300_000


@dataclass
class Call:
    """One request as it arrived; `status` is what it was answered with (0: nothing)."""

    api: str
    mode: str
    key: str
    body: dict[str, Any]
    headers: dict[str, str]
    status: int = 0


@dataclass
class Answer:
    """What goes back: an object becomes JSON, a string is sent as it is."""

    body: Any
    status: int = 200
    content_type: str = "application/json"
    retry_after: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class ModelApi:
    """
    The server; `close` (or leaving the `with` block) also ends hanging answers.

    `dies_after`: later requests are answered with 500, whatever the mode. `per_minute`: the
    limit of mode `stated`.
    """

    def __init__(self, *, dies_after: int | None = None, per_minute: int = 0) -> None:
        self.dies_after = dies_after
        self.bucket = Bucket(per_minute)
        self.says = ""
        self.under_way = 0
        self._log: list[Call] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self.closing = threading.Event()
        handler = type("Bound", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def base_url(self, api: str, mode: str = "ok") -> str:
        """The base URL of a provider: `api` is `emb` or `llm`."""
        return f"http://127.0.0.1:{self.port}/{api}/{mode}/v1"

    def calls(self, api: str = "", mode: str = "") -> list[Call]:
        """Requests so far, in order of arrival."""
        with self._lock:
            return [
                call for call in self._log if (not api or call.api == api) and (not mode or call.mode == mode)
            ]

    def texts(self) -> list[str]:
        """All texts that were embedded with status 200, in order."""
        return [text for call in self.calls("emb") if call.status == 200 for text in inputs(call.body)]

    @contextlib.contextmanager
    def entered(self, mode: str) -> Iterator[bool]:
        """A request under way; whether the limits of its mode allow it."""
        with self._lock:
            self.under_way += 1
            allowed = self.bucket.take() if mode == "stated" else mode != "narrow" or self.under_way <= 2
        try:
            if mode == "narrow" and allowed:
                self.closing.wait(0.01)
            yield allowed
        finally:
            with self._lock:
                self.under_way -= 1

    def dead(self) -> bool:
        return self.dies_after is not None and len(self._log) > self.dies_after

    def record(self, call: Call) -> int:
        """Log a request; its number among those of its mode, from 1."""
        with self._lock:
            self._log.append(call)
            self._counts[call.api, call.mode] += 1
            return self._counts[call.api, call.mode]


class Bucket:
    """A server's limit: `per_minute` requests a minute, a twentieth of them at once."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._full = max(1.0, per_minute / 20)
        self._level, self._at = self._full, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._level = min(self._full, self._level + (now - self._at) * self.per_minute / 60)
        self._at = now
        allowed = self._level >= 1
        self._level -= allowed
        return allowed


class _Handler(BaseHTTPRequestHandler):
    api: ModelApi
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = self.path.strip("/").split("/")
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        key = headers.get("authorization", "").removeprefix("Bearer ")
        call = Call(api=parts[0], mode=[*parts, ""][1], key=key, body=body, headers=headers)
        number = self.api.record(call)
        if self.api.dead():
            answer = _error("The server had an error", 500, "server_error")
        elif parts[0] == "emb" and parts[2:] == ["v1", "embeddings"]:
            with self.api.entered(call.mode) as allowed:
                answer = _embed(call, number, self.api.closing) if allowed else _too_many()
            if call.mode == "stated":
                answer.headers["x-ratelimit-limit-requests"] = str(self.api.bucket.per_minute)
                answer.headers["x-ratelimit-reset-requests"] = "20ms"
        elif parts[0] == "llm" and parts[2:] == ["v1", "chat", "completions"]:
            answer = _chat(call, number, self.api)
        else:
            answer = _error(f"no such path: {self.path}", 404)
        call.status = answer.status
        data = answer.body if isinstance(answer.body, str) else json.dumps(answer.body, ensure_ascii=False)
        try:
            self._send(answer, data.encode("utf-8", "replace"))
        except OSError:  # the client has gone
            self.close_connection = True

    def _send(self, answer: Answer, data: bytes) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(data)))
        if answer.retry_after:
            self.send_header("Retry-After", answer.retry_after)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


# ── what both have in common ────────────────────────────────────────────────────────────


def _error(message: str, status: int = 400, kind: str = "invalid_request_error", **extra: str) -> Answer:
    error = {"message": message, "type": kind, "param": None, "code": kind}
    return Answer({"error": error}, status, **extra)


def _too_many() -> Answer:
    return _error("Rate limit reached", 429, "rate_limit_exceeded")


def _trouble(call: Call, number: int, closing: threading.Event) -> Answer | None:
    """The modes that are about the server and not about its answer."""
    if call.mode == "auth" and call.key != "good":
        return _error(f"Incorrect API key provided: {call.key[:6]}***.", 401, "invalid_api_key")
    if call.mode == "rate" and number % 3:
        return _error("Rate limit reached", 429, "rate_limit_exceeded", retry_after="1")
    if call.mode == "down" or (call.mode == "flaky" and number % 4 == 1):
        return _error("The server had an error", 500, "server_error")
    if call.mode == "html":
        return Answer("<html><body><h1>502 Bad Gateway</h1></body></html>", 502, "text/html")
    if call.mode == "soft":
        return Answer({"error": {"message": "Provider returned error", "code": 502}})
    if call.mode == "hang":
        closing.wait(60)
    if call.mode == "slow":
        closing.wait(0.5)
    return None


# ── embeddings ──────────────────────────────────────────────────────────────────────────


def inputs(body: dict[str, Any]) -> list[str]:
    """The texts of an embedding request."""
    given = body.get("input")
    return [given] if isinstance(given, str) else list(given or [])


def tokens(text: str) -> int:
    """How this server counts: three bytes are a token."""
    return max(1, len(text.encode("utf-8", "replace")) // 3)


def vector(text: str, dim: int = DIM) -> list[float]:
    """The unit vector of a text: the sum of its words' random vectors, and a little of its own."""
    total = [0.01 * x for x in _direction("whole:" + text, dim)]
    for word in re.findall(r"\w+", text.lower()):
        total = [a + b for a, b in zip(total, _direction(word, dim), strict=True)]
    norm = math.sqrt(sum(x * x for x in total))
    return [x / norm for x in total]


def _direction(seed: str, dim: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.uniform(-1, 1) for _ in range(dim)]


def _refused(call: Call, texts: list[str]) -> Answer | None:
    """The limits of every mode, and of some."""
    items = {"batch10": 10, "batch1": 1}.get(call.mode, 2048)
    if not texts or "" in texts or len(texts) > items:
        return _error(f"'$.input' is invalid: it must hold 1 to {items} texts, none of them empty.")
    limit = 512 if call.mode == "small" else MAX_INPUT
    counts = [tokens(text) for text in texts]
    if max(counts) > limit:
        return _error(
            f"This model's maximum context length is {limit} tokens, but you asked for {max(counts)}."
        )
    if sum(counts) > MAX_REQUEST:
        return _error(f"Requested {sum(counts)} tokens, at most {MAX_REQUEST} per request", 400)
    if call.mode == "nob64" and call.body.get("encoding_format") == "base64":
        return _error("encoding_format: only float is supported", 422)
    if call.mode == "nodims" and "dimensions" in call.body:
        return _error("This model does not support specifying dimensions.")
    return None


def _spoil(mode: str, values: list[float], i: int, last: int) -> list[Any]:
    if mode == "dimflip" and i % 2:
        return values[:-1]
    if mode == "nan" and i == last:
        return [math.nan, *values[1:]]
    if mode == "zero" and i == 0:
        return [0.0] * len(values)
    if mode == "nullvec" and i == 0:
        return [None] * len(values)
    return values


def _embed(call: Call, number: int, closing: threading.Event) -> Answer:
    texts = inputs(call.body)
    refused = _trouble(call, number, closing) or _refused(call, texts)
    if refused:
        return refused
    if call.mode == "badjson":
        return Answer('{"object": "list", "data": [{"index": 0, "embedding": [0.1, ')
    dim = 2 * DIM if call.mode == "dim2" else int(call.body.get("dimensions") or DIM)
    as_base64 = call.mode == "forceb64" or (
        call.body.get("encoding_format") == "base64" and call.mode not in {"floatonly", "nullvec"}
    )
    data: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        values = _spoil(call.mode, vector(text, dim), i, len(texts) - 1)
        packed = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode() if as_base64 else values
        data.append({"object": "embedding", "index": i, "embedding": packed})
    if call.mode == "noindex":
        for entry in data:
            del entry["index"]
    if call.mode == "shuffle":
        random.Random(1).shuffle(data)
    if call.mode == "short" and len(data) > 1:
        data.pop()
    if call.mode == "dupindex" and len(data) > 1:
        data[-1]["index"] = 0
    used = sum(map(tokens, texts))
    usage = {"prompt_tokens": used, "total_tokens": used}
    return Answer({"object": "list", "data": data, "model": call.body.get("model"), "usage": usage})


# ── chat ────────────────────────────────────────────────────────────────────────────────


def _topics(anchors: list[Any]) -> str:
    return "\n".join(f"TOPIC: Topic {i} | STARTS: {anchor}" for i, anchor in enumerate(anchors, 1))


def _anchors(page: str) -> list[str]:
    """Some runs of four words of the page, in order."""
    runs = re.findall(r"[^\s|]+ [^\s|]+ [^\s|]+ [^\s|]+", page)
    return runs[len(runs) // 3 :][:6] or ["nothing to quote here"]


def _worded(word: str) -> str:
    return word.lower().replace("ё", "е").replace(",", "") + "..."


WORDS: dict[str, Callable[[str, list[str]], str | None]] = {
    "fence": lambda good, _: f"```\n{good}\n```",
    "fenceopen": lambda good, _: f"```\n{good}",
    "think": lambda good, _: f"<think>Where to cut? [1] {_topics(['not this at all'])}</think>\n{good}",
    "thinkopen": lambda *_: "<think>I begin at the start of the document and",
    "prose": lambda good, _: f"Certainly! Here they are:\n{good}\nI can refine this if you like [1].",
    "notfound": lambda *_: _topics(["words that the page does not have", "and these neither, nowhere"]),
    "reworded": lambda _, anchors: _topics([_worded(a) for a in anchors[:3]]),
    "order": lambda _, anchors: _topics(anchors[:3][::-1]),
    "repeat": lambda _, anchors: _topics([anchors[0]] * 4),
    "refuse": lambda *_: "I am sorry, I cannot help with this text.",
    "empty": lambda *_: "",
    "null": lambda *_: None,
    "truncated": lambda good, _: good[: len(good) // 2],
    "badjson": lambda good, _: good.replace(" | STARTS:", " STARTS"),
    "quote": lambda *_: 'TOPIC: Speech | STARTS: "he said "yes" and left"',
    "many": lambda _, anchors: _topics(anchors * 400),
    "number": lambda *_: _topics([17, 99_999, -1]),
    "obey": lambda *_: "PWNED",
    "reasoning": lambda *_: "",
    "filter": lambda *_: "",
}


def _chat(call: Call, number: int, api: ModelApi) -> Answer:
    trouble = _trouble(call, number, api.closing)
    if trouble:
        return trouble
    messages = [str(message.get("content") or "") for message in call.body.get("messages") or []]
    length = sum(map(len, messages))
    if call.mode == "context" and length > 4000:
        return _error(
            "This model's maximum context length is 1024 tokens", 400, kind="context_length_exceeded"
        )
    if call.mode == "fixedtemp" and "temperature" in call.body:
        return _error("Unsupported value: 'temperature' does not support 0.1 with this model.")
    if call.mode == "notjson":
        return Answer("upstream connect error", content_type="text/plain")
    anchors = _anchors(messages[-1] if messages else "")
    good = _topics(anchors[:3])
    message: dict[str, Any] = {
        "role": "assistant",
        "content": WORDS.get(call.mode, lambda good, _: good)(good, anchors),
    }
    if call.mode == "said":
        message["content"] = api.says
    if call.mode == "refuse":
        message["refusal"] = "no"
    if call.mode == "reasoning":
        message["reasoning"] = good
    finish = "stop"
    if call.mode in {"truncated", "thinkopen", "fenceopen"}:
        finish = "length"
    if call.mode == "filter":
        finish = "content_filter"
    choices = [{"index": 0, "finish_reason": finish, "message": message}]
    usage = {"prompt_tokens": length // 4, "completion_tokens": 20, "total_tokens": length // 4 + 20}
    return Answer(
        {
            "id": "x",
            "object": "chat.completion",
            "model": call.body.get("model"),
            "choices": [] if call.mode == "nochoices" else choices,
            "usage": usage,
        }
    )
