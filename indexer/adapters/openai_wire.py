"""
One endpoint of the OpenAI protocol through the `openai` client, its failures as `Fault`s.

The client only carries: it never retries, and answers are decoded here, because servers
that call themselves compatible differ just there (base64 or numbers, indices or none,
errors with status 200).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from indexer.adapters.attempts import Fault, KeyRefused, NoAnswer, Passing, Patience, Refusal, retry_after
from indexer.adapters.pacing import Pace
from indexer.ports import Vector

if TYPE_CHECKING:
    from openai import OpenAI

    from indexer.adapters.providers import Endpoint

CONNECT_TIMEOUT = 10.0
LONGEST_DETAIL = 200
UNAUTHORISED = {401, 403}
TOO_MANY = 429
TRANSIENT = {408, 425, TOO_MANY}
UNTOLD_PAUSE = 2.0  # seconds to leave a server alone that is asked too much and names no time
REFUSED = {400, 413, 422}
SERVER_ERROR = 500

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum.{0,30}tokens|too (long|many tokens)|exceed.{0,40}(token|length)",
    re.IGNORECASE,
)


class Wire:
    """Requests to one endpoint, each with the next key. Thread-safe; connects when first used."""

    def __init__(
        self, endpoint: Endpoint, *, patience: Patience | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """`patience`: its clock and sleep are those of the pace too."""
        self.endpoint = endpoint
        self._patience = patience or Patience()
        self._clock = clock
        self._clients: dict[str, OpenAI] = {}
        self._paces: dict[str, Pace] = {}
        self._lock = threading.Lock()

    def embeddings(self, *, weigh: Callable[[], int] = lambda: 0, **arguments: Any) -> bytes:
        """The body of an answer to `/embeddings`; `weigh`: tokens of the request. Raises `Fault`."""
        return self._ask(lambda client: client.embeddings.with_raw_response.create(**arguments), weigh)

    def chat(self, **arguments: Any) -> bytes:
        """The body of an answer to `/chat/completions`. Raises `Fault`."""
        return self._ask(lambda client: client.chat.completions.with_raw_response.create(**arguments))

    def share(self, tokens: int) -> int:
        """`tokens`, or the most that one request should have under the server's limit."""
        with self._lock:
            paces = list(self._paces.values())
        return min((pace.share(tokens) for pace in paces), default=tokens)

    def _ask(self, send: Callable[[OpenAI], Any], weigh: Callable[[], int] = lambda: 0) -> bytes:
        while True:
            key = self.endpoint.keys.next()
            client, pace = self._client(key)
            with pace.request(weigh):
                try:
                    answer = send(client)
                    body: bytes = answer.content
                except Exception as error:  # noqa: BLE001 - whatever the client raises ends here, without its request
                    fault = self._fault(error, pace)
                else:
                    pace.answered(answer.headers)
                    return body
            if isinstance(fault, KeyRefused) and self.endpoint.keys.refuse(key):
                continue
            raise fault

    def _client(self, key: str) -> tuple[OpenAI, Pace]:
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._open(key)
                self._paces[key] = Pace(
                    requests=self.endpoint.requests_per_minute,
                    tokens=self.endpoint.tokens_per_minute,
                    sleep=self._patience.sleep,
                    now=self._patience.now,
                )
            return self._clients[key], self._paces[key]

    def _open(self, key: str) -> OpenAI:
        """A client that takes nothing from the environment of OpenAI's own."""
        from openai import Omit, OpenAI, Timeout

        endpoint = self.endpoint
        headers: dict[str, Any] = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        return OpenAI(
            api_key=key or "none",  # a server without keys gets a word that is none
            admin_api_key="",
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=Timeout(endpoint.timeout, connect=min(CONNECT_TIMEOUT, endpoint.timeout)),
            default_headers={**headers, **endpoint.headers},
        )

    def _fault(self, error: Exception, pace: Pace) -> Fault:
        """What an exception of the client means, without keys."""
        import openai

        fault = self._meaning(error)
        if isinstance(error, openai.APIStatusError) and error.status_code == TOO_MANY:
            asked = fault.retry_after if isinstance(fault, Passing) else None
            pace.hold(UNTOLD_PAUSE if asked is None else asked)
        return fault

    def _meaning(self, error: Exception) -> Fault:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return Passing(f"no answer within {self.endpoint.timeout:g} s")
        if isinstance(error, openai.APIStatusError):
            return self._status_fault(error.status_code, _said(error.body), error.response.headers)
        if isinstance(error, openai.APIConnectionError):
            return Passing(f"cannot be reached: {self._redacted(str(error.__cause__ or error))}")
        return Fault(f"the request cannot be sent ({type(error).__name__})")

    def _status_fault(self, status: int, said: str, headers: Mapping[str, str]) -> Fault:
        if status in UNAUTHORISED:  # servers echo parts of the key here
            return KeyRefused(f"HTTP {status}: the key is not accepted")
        detail = f"HTTP {status}: {self._redacted(said)}" if said else f"HTTP {status}"
        if status in TRANSIENT or status >= SERVER_ERROR:
            return Passing(detail, retry_after=retry_after(headers, self._clock()))
        if status in REFUSED:
            return Refusal(detail, too_long=bool(_TOO_LONG.search(said)))
        return Fault(detail)

    def _redacted(self, text: str) -> str:
        text = self.endpoint.keys.redact(" ".join(text.split()))
        return text if len(text) <= LONGEST_DETAIL else text[:LONGEST_DETAIL] + "…"

    def soft_error(self, error: Any) -> Fault:
        """An error that came with status 200."""
        code = error.get("code") if isinstance(error, dict) else None
        said = _said({"error": error})
        if isinstance(code, int) and code >= min(REFUSED):
            return self._status_fault(code, said, {})
        return Passing(f"an error instead of an answer: {self._redacted(said)}")


def _said(body: object) -> str:
    """The message in an error's body."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message", "") if isinstance(inner, dict) else inner
        return str(message or "")
    text = str(body or "").strip()
    return "an HTML page" if text.startswith("<") else text


# ── answers ─────────────────────────────────────────────────────────────────────────────


class _Entry(Struct):
    embedding: list[float | None] | str
    index: int | None = None


class _Embeddings(Struct):
    data: list[_Entry] | None = None
    error: Any = None


class _Message(Struct):
    content: Any = None
    refusal: Any = None
    reasoning: Any = None
    reasoning_content: Any = None


class _Choice(Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Completion(Struct):
    choices: list[_Choice] | None = None
    error: Any = None


def read_embeddings(wire: Wire, body: bytes, number: int) -> list[Vector]:
    """
    `number` vectors in the order of the texts: by index where there are indices.

    Raises `Passing` for anything that leaves open which vector belongs to which text.
    Numbers that are not finite stay; the caller looks at each vector.
    """
    answer = _decoded(body, _Embeddings)
    if answer.error:
        raise wire.soft_error(answer.error)
    entries = answer.data or []
    if len(entries) != number:
        raise Passing(f"{len(entries)} vectors for {number} texts")
    indices = [entry.index for entry in entries]
    if any(index is not None for index in indices):
        if sorted(-1 if index is None else index for index in indices) != list(range(number)):
            raise Passing("indices of vectors are missing, doubled or out of range")
        entries.sort(key=lambda entry: entry.index or 0)
    vectors = [_vector(entry.embedding) for entry in entries]
    if len({vector.size for vector in vectors}) > 1:
        raise Passing("vectors of different dimension in one answer")
    return vectors


def _vector(embedding: list[float | None] | str) -> Vector:
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
        with np.errstate(over="ignore"):
            return np.asarray(embedding, dtype=np.float64).astype(np.float32)  # None becomes NaN
    except (binascii.Error, ValueError) as error:
        raise Passing(f"a vector that cannot be read ({error})") from None


def read_completion(wire: Wire, body: bytes) -> str:
    """The text of a chat answer. Raises `NoAnswer` for what is none, `Passing` for no choices."""
    answer = _decoded(body, _Completion)
    if answer.error:
        raise wire.soft_error(answer.error)
    if not answer.choices or answer.choices[0].message is None:
        raise Passing("an answer without choices")
    choice, message = answer.choices[0], answer.choices[0].message
    if message.refusal:
        raise NoAnswer("the model refused", reason="refusal")
    if choice.finish_reason == "content_filter":
        raise NoAnswer("the answer was withheld by a content filter", reason="content-filter")
    if choice.finish_reason == "length":
        raise NoAnswer("the answer was truncated at the model's limit of tokens", reason="length")
    text = _text(message.content)
    if text.strip():
        return text
    if message.reasoning or message.reasoning_content:
        raise NoAnswer(
            "the model answers only in its reasoning, not in its content; choose another one or turn its "
            "reasoning off",
            reason="reasoning-only",
        )
    raise NoAnswer("the answer is empty", reason="empty")


def _text(content: Any) -> str:
    """A content is a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _decoded(body: bytes, kind: type[Any]) -> Any:
    """JSON, as strict as it needs to be: NaN is none, but servers write it."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError:
        pass
    try:
        return msgspec.convert(json.loads(body), kind)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise Passing("an answer that is not the JSON of this protocol") from None
