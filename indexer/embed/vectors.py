"""What a vector must be, and how it is kept: base64 of little-endian float32, L2-normalised."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import numpy as np

from indexer.errors import Permanent
from indexer.ports import Vector

LEAST_NORM = 1e-6


def flaw(vector: Vector, dimension: int = 0) -> str:
    """What is wrong with a vector, or an empty string. `dimension` 0: any but none."""
    if vector.ndim != 1 or vector.size == 0:
        return f"it has the shape {vector.shape}"
    if dimension and vector.size != dimension:
        return f"it has {vector.size} numbers instead of {dimension}"
    if not np.isfinite(vector).all():
        return "it holds numbers that are not finite"
    if float(np.linalg.norm(vector.astype(np.float64))) < LEAST_NORM:
        return "it is zero"
    return ""


def unit(vector: Vector) -> Vector:
    """The vector over its L2 norm, summed in double precision."""
    wide = vector.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide), dtype=np.float32)


def mean(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector:
    """
    unit(Σ wᵢ · unit(vᵢ)): the parts of one text as one vector, weighted by their tokens.

    Parts that cancel each other out give a zero vector, which `flaw` names.
    """
    total = np.sum(
        [weight * unit(vector).astype(np.float64) for vector, weight in zip(vectors, weights, strict=True)],
        axis=0,
    )
    norm = float(np.linalg.norm(total))
    return np.asarray(total / norm if norm else total, dtype=np.float32)


def encode(vector: Vector) -> str:
    """Base64 of little-endian float32."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def decode(text: str) -> Vector:
    """The vector of `encode`. Raises `Permanent` for what is no such text."""
    try:
        data = base64.b64decode(text, validate=True)
        return np.frombuffer(data, "<f4").astype(np.float32)
    except (binascii.Error, ValueError) as error:
        raise Permanent(f"a stored vector is damaged ({error}); embed this page again") from None
