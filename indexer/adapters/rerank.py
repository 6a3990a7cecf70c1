"""
A reranker behind HTTP, in the shape that Cohere, Jina, vLLM and others share.

    POST {base_url}/rerank  {model, query, documents, top_n}
    → {"results": [{"index", "relevance_score"}, …]}     (also a bare list, and `score`)

One attempt within the time that a search can wait; another key of the pool is tried at once.
An answer counts only whole: each document once, each score a number.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from indexer.adapters.attempts import Fault, KeyRefused
from indexer.adapters.providers import Endpoint, endpoints
from indexer.errors import Retryable
from indexer.settings import Settings

if TYPE_CHECKING:
    import httpx

SETTING = "search.rerank"
MOST = 8 << 20  # bytes of an answer

_UNAUTHORISED = (401, 403)
_OK = 200
_DETAIL = 200  # characters of what a server says


class _Result(Struct):
    index: int
    relevance_score: float | None = None
    score: float | None = None


class _Answer(Struct):
    results: list[_Result]


class HttpRerank:
    """Implements `ports.Rerank`. `timeout`: seconds for one answer in all."""

    def __init__(self, endpoint: Endpoint, *, timeout: float) -> None:
        self.model = endpoint.name
        self._endpoint = endpoint
        self._timeout = min(timeout, endpoint.timeout)

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score for each text. Raises `Retryable` saying what the server did instead."""
        body = {
            "model": self._endpoint.model,
            "query": question,
            "documents": list(texts),
            "top_n": len(texts),
        }
        keys = self._endpoint.keys
        while True:
            key = keys.next()
            try:
                return _scores(self._post(body, key), len(texts))
            except KeyRefused as fault:
                if not keys.refuse(key):
                    raise self._error(fault) from None
            except Fault as fault:
                raise self._error(fault) from None

    def _error(self, fault: Fault) -> Retryable:
        return Retryable(f"the reranker {self.model} gave no order: {self._endpoint.keys.redact(str(fault))}")

    def _post(self, body: dict[str, Any], key: str) -> bytes:
        import httpx

        headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **self._endpoint.headers}
        url = self._endpoint.base_url.rstrip("/") + "/rerank"
        end = time.monotonic() + self._timeout
        try:
            with httpx.stream("POST", url, json=body, headers=headers, timeout=self._timeout) as answer:
                data = _read(answer, end)
                if answer.status_code in _UNAUTHORISED:  # servers echo parts of the key here
                    raise KeyRefused(f"HTTP {answer.status_code}: the key is not accepted")
                if answer.status_code != _OK:
                    said = " ".join(data[:_DETAIL].decode("utf-8", "replace").split())
                    raise Fault(f"HTTP {answer.status_code}: {said}")
                return data
        except httpx.TimeoutException:
            raise Fault(f"no answer within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise Fault(f"it cannot be asked: {error or type(error).__name__}") from None


def _read(answer: httpx.Response, end: float) -> bytes:
    """The body, within time and size."""
    parts, size = [], 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST:
            raise Fault(f"an answer of more than {MOST >> 20} MB")
        if time.monotonic() > end:
            raise Fault("an answer that does not end in time")
    return b"".join(parts)


def _scores(data: bytes, number: int) -> list[float]:
    try:
        decoded = json.loads(data)
        answer = msgspec.convert({"results": decoded} if isinstance(decoded, list) else decoded, _Answer)
    except (ValueError, msgspec.ValidationError, RecursionError):
        raise Fault("an answer that is not the JSON of this protocol") from None
    if sorted(one.index for one in answer.results) != list(range(number)):
        raise Fault(f"{len(answer.results)} results for {number} texts, or indices missing, doubled or wrong")
    scores = [0.0] * number
    for one in answer.results:
        score = one.score if one.relevance_score is None else one.relevance_score
        if score is None or not math.isfinite(score):
            raise Fault("a result without a score")
        scores[one.index] = score
    return scores


def open_rerank(settings: Settings) -> HttpRerank | None:
    """The configured reranker. Raises `Misconfigured` for an unknown provider or one without a key."""
    search = settings.search
    if not search.rerank:
        return None
    (endpoint,) = endpoints((search.rerank,), setting=SETTING, settings=settings)
    return HttpRerank(endpoint, timeout=search.rerank_timeout)
