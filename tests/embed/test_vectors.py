"""Vectors are checked, normalised, averaged and kept without loss."""

from __future__ import annotations

import base64
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.embed import vectors
from indexer.errors import Permanent

FLOATS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40)


@given(FLOATS)
def test_what_is_encoded_is_little_endian_float32_and_comes_back(values: list[float]) -> None:
    vector = np.asarray(values, np.float32)
    text = vectors.encode(vector)
    assert base64.b64decode(text) == struct.pack(f"<{len(values)}f", *values)
    assert np.array_equal(vectors.decode(text), vector)


@pytest.mark.parametrize("text", ["AAA", "AAAA", "!!!!", "привет"])
def test_a_damaged_text_is_no_vector(text: str) -> None:
    with pytest.raises(Permanent, match="damaged"):
        vectors.decode(text)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([], "shape"),
        ([0.0, 0.0], "zero"),
        ([1.0, float("nan")], "not finite"),
        ([1.0, float("inf")], "not finite"),
        ([1.0], "1 numbers instead of 2"),
        ([1e-20, 0.0], "zero"),
        ([3.0, 4.0], ""),
    ],
)
def test_flaws_are_named(values: list[float], says: str) -> None:
    found = vectors.flaw(np.asarray(values, np.float32), 0 if values == [] else 2)
    assert says in found
    assert bool(says) is bool(found)


@given(FLOATS)
def test_unit_vectors_have_length_one(values: list[float]) -> None:
    vector = np.asarray(values, np.float32)
    if not vectors.flaw(vector):
        assert np.linalg.norm(vectors.unit(vector).astype(np.float64)) == pytest.approx(1, abs=1e-5)


def test_parts_are_averaged_by_weight_whatever_their_length() -> None:
    east, north = np.asarray([5, 0], np.float32), np.asarray([0, 0.1], np.float32)
    assert vectors.mean([east, north], [3, 4]) == pytest.approx([0.6, 0.8])
    assert vectors.mean([east], [7]) == pytest.approx([1, 0])


def test_parts_that_cancel_each_other_out_are_a_flaw_and_no_nan() -> None:
    east = np.asarray([1, 0], np.float32)
    assert vectors.flaw(vectors.mean([east, -east], [1, 1])) == "it is zero"
