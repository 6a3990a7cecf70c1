"""Vectors by content, in one SQLite file for all projects: no text is paid for twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indexer.adapters.blobs import SqliteBlobs, get_from
from indexer.ports import Vector

TABLE = "vectors"


class SqliteVectorCache:
    """
    The `VectorCache` port; keys are digests of model, adapter and text.

    `put` is durable when it returns. Picklable: another process opens its own.
    """

    def __init__(self, path: Path) -> None:
        self._blobs = SqliteBlobs(path, TABLE)

    def __reduce__(self) -> tuple[Any, ...]:
        return SqliteVectorCache, (self._blobs.path,)

    def get(self, keys: Sequence[str]) -> dict[str, Vector]:
        """The vectors of those `keys` that are there."""
        return _vectors(self._blobs.get(keys))

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Add or replace, all or nothing."""
        self._blobs.put({key: _blob(vector) for key, vector in vectors.items()})

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._blobs.close()


class ReadOnlyVectors:
    """The same vectors for looking up: writes nothing, and knows nothing if there is no file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, keys: Sequence[str]) -> dict[str, Vector]:
        """As `SqliteVectorCache.get`; a damaged file knows nothing."""
        return _vectors(get_from(self.path, TABLE, keys))

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Nothing is kept."""


def _vectors(blobs: Mapping[str, bytes]) -> dict[str, Vector]:
    if not blobs:
        return {}
    import numpy as np  # a night without news needs no vector

    return {
        key: np.frombuffer(blob, "<f4").astype(np.float32)
        for key, blob in blobs.items()
        if len(blob) % 4 == 0
    }


def _blob(vector: Vector) -> bytes:
    import numpy as np

    return np.asarray(vector, "<f4").tobytes()
