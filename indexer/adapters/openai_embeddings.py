"""
One embedding model on one server or several, whatever these make of the protocol.

Texts that a server refuses together are sent in halves; what remains refused alone is
that text's own trouble, once the server has shown that it works.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from indexer.adapters.attempts import Fault, Patience, Refusal
from indexer.adapters.clean import clean
from indexer.adapters.openai_wire import Wire, read_embeddings
from indexer.adapters.providers import EMBED_SETTING, exhausted
from indexer.errors import IndexerError, Permanent
from indexer.ports import TOO_LONG, Limits, Row, Vector

if TYPE_CHECKING:
    from indexer.adapters.providers import Endpoint
    from indexer.adapters.tokens import TokenCounter
    from indexer.settings import Models

MOST_TOKENS = 300_000  # a request, OpenAI's own limit
STRIKES = 2  # texts refused alone by a server that never worked

# Tokens that well-known families read; the rest are taken to read 8192.
DEFAULT_MAX_TOKENS = 8192
MAX_TOKENS = (
    (re.compile(r"(^|[-_.])e5([-_.]|$)|bge-(small|base|large)|gte-(small|base|large)$|mxbai"), 512),
    (re.compile(r"minilm"), 256),
    (re.compile(r"mpnet"), 384),
)

_ENCODING = re.compile(r"encoding_format|base64", re.IGNORECASE)


def max_tokens_of(model: str) -> int:
    """What a model of this name reads, as far as its name says."""
    name = model.rsplit("/", 1)[-1].lower()
    return next((limit for pattern, limit in MAX_TOKENS if pattern.search(name)), DEFAULT_MAX_TOKENS)


class EmbeddingChain:
    """The `Embed` port over servers. Thread-safe; the dimension is known after the first answer."""

    def __init__(
        self,
        chain: Sequence[Endpoint],
        *,
        name: str,
        models: Models,
        counter: Callable[[], TokenCounter],
        patience: Patience,
    ) -> None:
        self.model = name
        self.identity = f"{name}/{models.dimension}" if models.dimension else name
        self.dimension = models.dimension
        self._open_counter = counter
        self._servers = [_Server(endpoint, models.dimension, patience, self.count) for endpoint in chain]
        self._lock = threading.Lock()
        self._at_once = models.concurrency
        self._max_tokens = models.max_tokens or max_tokens_of(name)
        self._batch_items = models.batch_items
        self._batch_tokens = min(models.batch_tokens, MOST_TOKENS)

    @property
    def limits(self) -> Limits:
        """As configured, or as the first server has taught."""
        return Limits(
            max_tokens=self._max_tokens,
            batch_items=min(self._batch_items, self._servers[0].items),
            batch_tokens=max(self._max_tokens, self._servers[0].wire.share(self._batch_tokens)),
            at_once=self._at_once,
        )

    @cached_property
    def counter(self) -> TokenCounter:
        """How tokens are counted; its name says how well."""
        return self._open_counter()

    def count(self, text: str) -> int:
        """Tokens of `text`: exact for OpenAI's models, else meant to be too many."""
        return self.counter(text)

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """One row per text: a vector, or why this text has none. Empty texts are never sent."""
        rows: dict[int, Row] = {
            i: Permanent("the text is empty") for i, text in enumerate(texts) if not clean(text).strip()
        }
        blank = set(rows)
        failures: list[tuple[Endpoint, Fault]] = []
        for server in self._servers:
            owed = [i for i in range(len(texts)) if i not in blank and not _has_vector(rows, i)]
            if not owed:
                break
            try:
                server.fill({i: clean(texts[i]) for i in owed}, rows, self._check)
            except Fault as fault:
                failures.append((server.wire.endpoint, fault))
        missing = [i for i in range(len(texts)) if i not in rows]
        if missing:
            error = exhausted(EMBED_SETTING, failures)
            if not any(_has_vector(rows, i) for i in rows):
                raise error
            rows |= dict.fromkeys(missing, error)
        return [rows[i] for i in range(len(texts))]

    def _check(self, vectors: Sequence[Vector]) -> None:
        """All answers of all servers have one dimension: the configured one, or the first seen."""
        size = vectors[0].size
        with self._lock:
            if self.dimension and size != self.dimension:
                raise Fault(f"vectors of {size} numbers, but {self.dimension} are expected")
            self.dimension = size


def _has_vector(rows: dict[int, Row], i: int) -> bool:
    return i in rows and not isinstance(rows[i], IndexerError)


class _Server:
    """What one server is asked, and what has been learned of it."""

    def __init__(
        self, endpoint: Endpoint, dimension: int, patience: Patience, count: Callable[[str], int]
    ) -> None:
        self.wire = Wire(endpoint, patience=patience)
        self._count = count
        self.items = 1 << 30  # texts in a request that it accepts
        self._dimension = dimension
        self._patience = patience
        self._floats = False
        self._works = False

    def fill(
        self, texts: dict[int, str], rows: dict[int, Row], check: Callable[[Sequence[Vector]], None]
    ) -> None:
        """
        Put a row for every text that this server gives one for. Raises `Fault` if it fails.

        Requests go out in order; what came before a failure stays in `rows`.
        """
        waiting = [list(texts)]
        refused: dict[int, Refusal] = {}
        known = most = self.items
        unexplained = False
        while waiting:
            batch = waiting.pop()
            if len(batch) > most:
                waiting += [batch[most:], batch[:most]]
                continue
            try:
                vectors = self._patience(partial(self._request, [texts[i] for i in batch]))
            except Refusal as refusal:
                unexplained = len(batch) > 1
                if unexplained:
                    middle = (len(batch) + 1) // 2
                    waiting += [batch[middle:], batch[:middle]]
                else:  # one text was the trouble, not their number
                    refused[batch[0]] = refusal
                    most = self.items
                    self._strike(refused, alone=len(texts) == 1)
                continue
            check(vectors)
            self._works = True
            rows.update(zip(batch, vectors, strict=True))
            if unexplained:
                most, unexplained = len(batch), False
        self._strike(refused, alone=True)
        rows.update({i: _permanent(refusal) for i, refusal in refused.items()})
        if most < known:  # others may have learned more meanwhile
            self.items = min(self.items, most)

    def _strike(self, refused: dict[int, Refusal], *, alone: bool) -> None:
        """
        Texts refused one by one are their own trouble if the server works.

        A server that never worked and refuses all it gets is in trouble itself, unless
        each text was too long for it.
        """
        others = [refusal for refusal in refused.values() if not refusal.too_long]
        if others and not self._works and (alone or len(others) >= STRIKES):
            raise others[0]

    def _request(self, texts: list[str]) -> list[Vector]:
        arguments: dict[str, Any] = {"model": self.wire.endpoint.model, "input": texts}
        arguments["weigh"] = lambda: sum(map(self._count, texts))
        if self._dimension:
            arguments["dimensions"] = self._dimension
        if not self._floats:
            try:
                body = self.wire.embeddings(**arguments, encoding_format="base64")
                return read_embeddings(self.wire, body, len(texts))
            except Refusal as refusal:
                if not _ENCODING.search(str(refusal)):
                    raise
                self._floats = True
        return read_embeddings(
            self.wire, self.wire.embeddings(**arguments, encoding_format="float"), len(texts)
        )


def _permanent(refusal: Refusal) -> Permanent:
    return Permanent(str(refusal), reason=TOO_LONG if refusal.too_long else "")
