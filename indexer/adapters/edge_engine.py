"""
What is asked of qdrant-edge itself, its errors and the space it needs.

Run as `python -m indexer.adapters.edge_engine SHARD`, it optimises a closed shard: the
engine holds the interpreter lock for minutes then, so that needs a process of its own.
Killed at any moment, it leaves a shard that answers as before.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from indexer.adapters.generations import REBUILD
from indexer.artifacts import Payload, Point
from indexer.errors import IndexerError, disk_error
from indexer.ports import DENSE_VECTOR, FILTERED, SPARSE_VECTOR, Sparse, Where

if TYPE_CHECKING:
    from indexer.ports import Vector

EXACT_UP_TO = 100_000  # KB of vectors, 65,000 of 384 dimensions: below, a graph costs more than it saves
_ID = re.compile(r'id="([^"]+)"')  # in the text of a found point
_COPIED = 1 << 20  # bytes at a time
SPARE = 4 << 20  # bytes that the engine's files need beside the points


def create_shard(path: Path, dimension: int) -> Any:
    """A new shard at the empty folder `path`."""
    import qdrant_edge as engine

    config = engine.EdgeConfig(
        vectors={DENSE_VECTOR: engine.EdgeVectorParams(size=dimension, distance=engine.Distance.Cosine)},
        sparse_vectors={SPARSE_VECTOR: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
        optimizers=engine.EdgeOptimizersConfig(indexing_threshold=EXACT_UP_TO),
        wal_enabled=False,  # with it one process at a time could read; a generation commits by `flush`
    )
    shard = engine.EdgeShard.create(str(path), config)
    for name in FILTERED:
        keyword = engine.PayloadSchemaType.Keyword
        shard.update(engine.UpdateOperation.create_field_index(_key(name), keyword))
    return shard


def load_shard(path: Path) -> Any:
    """The closed shard at `path`, opened."""
    import qdrant_edge as engine

    with mapped(path):
        return engine.EdgeShard.load(str(path))


def copy_shard(source: Path, target: Path) -> None:
    """
    A durable copy of a closed shard. Holes stay holes: the files are ten times as long as they are large.

    Nobody may be opening the source meanwhile: the engine writes a little into it then.
    """
    for path in sorted(source.rglob("*")):
        there = target / path.relative_to(source)
        if path.is_dir():
            there.mkdir()
            continue
        with path.open("rb") as old, there.open("wb") as new:
            size = os.fstat(old.fileno()).st_size
            for start, end in _extents(old.fileno(), size):
                old.seek(start)
                new.seek(start)
                while data := old.read(min(_COPIED, end - old.tell())):
                    new.write(data)
            new.truncate(size)
            new.flush()
            os.fsync(new.fileno())


def _extents(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file holds data, as far as its file system tells."""
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    end = 0
    with contextlib.suppress(OSError):  # ENXIO: nothing but a hole from here on
        while end < size:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
            yield start, end


def select_ids(shard: Any, where: Where, limit: int) -> list[str]:
    """Ids of at most `limit` points that `where` admits, sorted."""
    import qdrant_edge as engine

    admitted = engine_filter(where)
    request = engine.ScrollRequest(limit=limit, filter=admitted, with_payload=False, with_vector=False)
    records, _ = shard.scroll(request)
    return sorted(str(record.id) for record in records)


def payloads_of(shard: Any, ids: Sequence[str]) -> dict[str, Payload]:
    """What the points carry, by id."""
    records = shard.retrieve(list(ids), True, False)
    return {str(record.id): msgspec.convert(record.payload, Payload) for record in records}


def count_points(shard: Any) -> int:
    """Points of a shard, counted one by one."""
    import qdrant_edge as engine

    return int(shard.count(engine.CountRequest(exact=True)))


def engine_point(point: Point) -> Any:
    """Our point as the engine takes it."""
    import qdrant_edge as engine

    sparse = engine.SparseVector(list(point.indices), list(point.values))
    vectors: dict[str, Any] = {DENSE_VECTOR: list(point.dense), SPARSE_VECTOR: sparse}
    payload = msgspec.structs.asdict(point.payload)
    payload |= {_key(name): _word(payload[name]) for name, kind in FILTERED.items() if kind is bool}
    return engine.Point(point.id, vectors, payload)


def _key(name: str) -> str:
    """The field that a filter asks for: filters never match a truth value, so that it has a word too."""
    return f"{name}_word" if FILTERED[name] is bool else name


def _word(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def engine_query(query: Vector | Sparse) -> Any:
    """A nearest-neighbour query over the vector that is of the same kind."""
    import qdrant_edge as engine

    if isinstance(query, Sparse):
        sparse = engine.SparseVector(list(query.indices), list(query.values))
        return engine.Query.Nearest(sparse, using=SPARSE_VECTOR)
    return engine.Query.Nearest(query.tolist(), using=DENSE_VECTOR)


def engine_filter(where: Where) -> Any:
    """`where` as the engine takes it."""
    import qdrant_edge as engine

    conditions: list[Any] = []
    for name, values in where.fields.items():
        match = engine.MatchAny([_word(value) for value in values])
        conditions.append(engine.FieldCondition(key=_key(name), match=match))
    return engine.Filter(must=conditions)


def ids_of(points: Sequence[Any]) -> list[str]:
    """
    The ids of found points. They are read from the points' own text, at half the price: as objects,
    the ids of one search cost more than its keyword leg.
    """
    found = _ID.findall(repr(points))
    return found if len(found) == len(points) else [str(point.id) for point in points]


def size_of(point: Point) -> int:
    """Bytes on disk, generously: float32 and u32, the payload as UTF-8, twice for what surrounds them."""
    payload = point.payload
    letters = (
        len(payload.text) + len(payload.context) + len(payload.topic) + len(payload.title) + len(payload.url)
    )
    return 2 * (4 * len(point.dense) + 8 * len(point.indices) + 4 * letters + 256)


def require_space(folder: Path, size: int) -> None:
    """Raises `IndexerError` unless `size` bytes fit; a full disk would kill the process later."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise disk_error(folder, error) from error
    if free < size + SPARE:
        raise IndexerError(
            f"no space left to write {folder} ({free >> 20} MB free, {(size + SPARE) >> 20} MB needed); "
            "free some space and run again: nothing is lost"
        )


def writable(path: Path) -> bool:
    """
    Whether the engine can open the shard `path` where it lies: it writes even to read.

    Some kilobytes of its own, and on a memory disk the holes of its files fill up as well.
    """
    with contextlib.suppress(OSError):
        if shutil.disk_usage(path).free >= SPARE + apparent_size(path) - occupied_size(path):
            with tempfile.TemporaryFile(dir=path):
                return True
    return False


def apparent_size(path: Path) -> int:
    """Bytes of all files under `path` as their lengths say, holes included."""
    return sum(file.stat().st_size for file in path.rglob("*"))


def occupied_size(path: Path) -> int:
    """Bytes that all files under `path` take on their disk."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*"))


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Map what the engine and the file system raise; the engine's panics are no `Exception`."""
    try:
        yield
    except IndexerError:
        raise
    except OSError as error:
        raise disk_error(path, error) from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(str(error).split())[:300]
        if "os error 28" in text:
            raise IndexerError(f"no space left to write {path}; free some space and run again") from error
        raise IndexerError(f"the index in {path} cannot be used: {text}; {REBUILD}") from error


def optimise(path: str) -> None:
    """Optimise the closed shard at `path` and make it durable."""
    import qdrant_edge as engine

    shard = engine.EdgeShard.load(path)
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    optimise(sys.argv[1])
