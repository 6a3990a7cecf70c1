"""What only the embedded store has: full disks, read-only folders, damaged shards, child processes."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from indexer.adapters import edge, edge_engine
from indexer.adapters.edge import EdgeStore
from indexer.errors import Busy, IndexerError, Misconfigured
from tests.stores.points import DIMENSION, NEW, OLD, build, generation, points_of, texts_in


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.fixture
def store(folder: Path) -> EdgeStore:
    return EdgeStore(folder, collection="shop")


def full(monkeypatch: pytest.MonkeyPatch, under: Path) -> None:
    """Let the disk that holds `under` look full."""
    real = shutil.disk_usage

    def usage(path: str | Path) -> object:
        return Usage(1 << 30, 1 << 30, 0) if Path(path).is_relative_to(under) else real(path)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_a_full_disk_is_said_before_the_engine_would_die_of_it(
    store: EdgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin and upsert check for space; the old index is served, and the next run succeeds."""
    build(store, generation("1"), OLD)
    building = store.begin(generation("2"), DIMENSION)
    with monkeypatch.context() as patch:
        full(patch, folder)
        with pytest.raises(IndexerError, match=r"no space left to write .*free some space"):
            building.upsert(points_of(NEW))
        building.abandon()
        with pytest.raises(IndexerError, match="no space left"):
            store.begin(generation("2"), DIMENSION)
        assert texts_in(store) == set(OLD)

    build(store, generation("2"), NEW)
    assert texts_in(store) == set(NEW)


def test_a_write_that_fails_leaves_the_old_index(store: EdgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the writes of `publish` finds the disk full, the old generation stays current."""
    build(store, generation("1"), OLD)
    real = os.fsync
    for failing in range(1, 20):
        left = failing

        def fsync(descriptor: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        name = generation(str(failing + 1))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            try:
                build(store, name, NEW)
            except IndexerError as error:
                assert "no space left" in str(error)  # noqa: PT017
            else:
                break
        store._generations.release()
        assert texts_in(store) in (set(OLD), set(NEW))
        assert store.current() is not None
    else:
        pytest.fail("it never succeeded")
    assert failing > 5
    assert texts_in(store) == set(NEW)


def test_search_works_where_the_engine_cannot_write(
    store: EdgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a full or read-only disk a copy is opened elsewhere, and removed when the reader closes."""
    build(store, generation("1"), OLD)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    full(monkeypatch, folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    reader = store.reader()

    assert reader is not None
    assert reader.count() == len(OLD)
    assert len(list(elsewhere.iterdir())) == 1
    reader.close()
    assert list(elsewhere.iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_no_space_for_the_copy_is_said(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the copy has no place either, the error says so, and nothing is held open."""
    build(store, generation("1"), OLD)
    full(monkeypatch, tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(IndexerError, match="no space left"):
        store.reader()
    monkeypatch.undo()

    build(store, generation("2"), NEW)
    assert store.gc(1) == [generation("1")]


@pytest.mark.parametrize("victim", ["edge_config.json", "segments", "segment.json"])
def test_a_damaged_shard_is_named(store: EdgeStore, folder: Path, victim: str) -> None:
    """Missing or broken files of the engine give one clear error, and the next build heals it."""
    build(store, generation("1"), OLD)
    shard = folder / f"gen-{generation('1')}" / edge.SHARD
    for path in list(shard.rglob(victim)):
        shutil.rmtree(path) if path.is_dir() else path.write_text("{")
    with pytest.raises(IndexerError, match=r"(cannot be used|is damaged).*--from-phase index --force"):
        store.reader()

    build(store, generation("2"), NEW)
    assert texts_in(store) == set(NEW)


def test_a_damaged_shard_is_cloned_by_nobody(store: EdgeStore, folder: Path) -> None:
    """What lost points is named, not handed on; the lock is let go, and the next build heals it."""
    build(store, generation("1"), OLD)
    shutil.rmtree(next((folder / f"gen-{generation('1')}" / edge.SHARD / "segments").iterdir()))
    with pytest.raises(IndexerError, match=r"(cannot be used|is damaged).*--from-phase index --force"):
        store.clone(generation("2"), generation("1"))

    build(store, generation("3"), NEW)
    assert texts_in(store) == set(NEW)


def test_panics_of_the_engine_are_errors(folder: Path) -> None:
    """A Rust panic is no `Exception`; it is mapped all the same, and a Ctrl-C is not."""

    class PanicException(BaseException):
        pass

    with pytest.raises(IndexerError, match="out of bounds"), edge_engine.mapped(folder):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), edge_engine.mapped(folder):
        raise KeyboardInterrupt
    with pytest.raises(IndexerError, match="no space left"), edge_engine.mapped(folder):
        raise RuntimeError("Service runtime error: No space left on device (os error 28)")
    with pytest.raises(Misconfigured, match="make the folder writable"), edge_engine.mapped(folder):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_large_generation_gets_its_graph_in_a_child(
    store: EdgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the threshold `seal` optimises in another process; all points stay and are found."""
    monkeypatch.setattr(edge, "EXACT_UP_TO", 1)
    monkeypatch.setattr(edge_engine, "EXACT_UP_TO", 1)
    texts = tuple(f"дверь {number}" for number in range(400))
    build(store, generation("1"), texts)

    assert list((folder / f"gen-{generation('1')}").rglob("graph.bin")) or list(
        (folder / f"gen-{generation('1')}").rglob("*links*")
    )
    assert texts_in(store) == set(texts)


def test_a_child_that_fails_costs_only_speed(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If the child dies (of memory, say), search stays exact, and the log says so."""
    monkeypatch.setattr(edge, "EXACT_UP_TO", 0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    build(store, generation("1"), OLD)

    assert "could not be built" in caplog.text
    assert texts_in(store) == set(OLD)


READ = """
import sys
from pathlib import Path
from indexer.adapters.edge import EdgeStore
from tests.stores.points import texts_in
for _ in range(4):
    print(len(texts_in(EdgeStore(Path(sys.argv[1]), collection="shop"))))
"""


def test_processes_read_side_by_side(store: EdgeStore, folder: Path) -> None:
    """Several processes open the same generation at the same time."""
    build(store, generation("1"), OLD)
    command = [sys.executable, "-c", READ, str(folder)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [reader.communicate(timeout=60)[0].split() for reader in readers]

    assert answers == [["3"] * 4] * 3


def test_a_reader_that_loses_the_race_with_gc_takes_the_next(
    store: EdgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading CURRENT and locking, the generation may go: the reader looks again."""
    build(store, generation("1"), OLD)
    other = EdgeStore(folder, collection="shop")
    real = store._generations.reading

    def reading(name: str) -> object:
        if name == generation("1"):
            build(other, generation("2"), NEW)
            other.gc(1)
        return real(name)

    monkeypatch.setattr(store._generations, "reading", reading)
    assert texts_in(store) == set(NEW)


HOLD = """
import sys, time
from pathlib import Path
from indexer.adapters.edge import EdgeStore
building = EdgeStore(Path(sys.argv[1]), collection="shop").begin("X", 4)
print("held", flush=True)
time.sleep(60)
"""


def test_a_killed_writer_lets_go_at_once(store: EdgeStore, folder: Path) -> None:
    """Locks are the kernel's: no stale lock file blocks the next run."""
    writer = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "held\n"
    with pytest.raises(Busy):
        store.begin(generation("1"), DIMENSION)
    writer.kill()
    writer.communicate()

    build(store, generation("1"), OLD)
    assert store.generations() == [generation("1")]


def test_points_with_nothing_in_common_with_a_query_are_not_found(store: EdgeStore) -> None:
    """The sparse leg returns only points that share a term; the dense one returns all."""
    build(store, generation("1"), OLD)
    reader = store.reader()
    assert reader is not None
    from indexer.search.hybrid import words_of

    words = words_of(["red"], reader.snapshot)
    assert words is not None
    dense, bm25 = reader.nearest([np.ones(DIMENSION, dtype=np.float32), words], 10)
    reader.close()
    assert (len(dense.ids), len(bm25.ids)) == (3, 1)


def test_the_ids_of_found_points_are_those_that_each_point_has(tmp_path: Path) -> None:
    """They are read from the engine's text of all; if that reads otherwise one day, point by point."""
    import qdrant_edge as engine

    (tmp_path / "shard").mkdir()
    shard = edge_engine.create_shard(tmp_path / "shard", DIMENSION)
    points = [edge_engine.engine_point(point) for point in points_of(NEW)]
    shard.update(engine.UpdateOperation.upsert_points(points))
    query = edge_engine.engine_query(np.ones(DIMENSION, dtype=np.float32))
    found = shard.query(engine.QueryRequest(limit=10, query=query, with_payload=False))
    shard.close()

    class Other(NamedTuple):
        id: object

    ids = [str(point.id) for point in found]
    assert len(ids) == len(NEW)
    assert edge_engine.ids_of(found) == ids
    assert edge_engine._ID.findall(repr(found)) == ids, "the fast way was taken"
    assert edge_engine.ids_of([Other(point.id) for point in found]) == ids


def test_opening_takes_no_more_than_moments(store: EdgeStore) -> None:
    """A reader of a small generation opens in well under a second, even on a busy machine."""
    build(store, generation("1"), OLD)
    started = time.monotonic()
    reader = store.reader()
    assert reader is not None
    reader.close()
    assert time.monotonic() - started < 1.0
