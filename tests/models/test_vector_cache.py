"""The vector cache gives back what it was given, to any process, and survives damage."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from indexer.adapters.vector_cache import SqliteVectorCache
from indexer.errors import IndexerError
from indexer.ids import digest


def some(number: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {digest(str(seed), str(i)): rng.normal(size=8).astype(np.float32) for i in range(number)}


def same(found: dict, given: dict) -> bool:
    return found.keys() == given.keys() and all(np.array_equal(found[key], given[key]) for key in given)


def test_what_is_put_is_got_by_another_cache_on_the_same_file(tmp_path: Path) -> None:
    given = some(1300)
    cache = SqliteVectorCache(tmp_path / ".cache" / "vectors.db")
    cache.put(given)
    other = pickle.loads(pickle.dumps(cache))
    assert same(other.get([*given, digest("unknown")]), given)
    assert other.get([]) == {}
    cache.close()
    other.close()


def test_a_vector_may_be_replaced(tmp_path: Path) -> None:
    cache = SqliteVectorCache(tmp_path / "v.db")
    (key,) = given = some(1)
    cache.put(given)
    cache.put({key: np.ones(3, np.float32)})
    assert np.array_equal(cache.get([key])[key], np.ones(3))
    cache.put({})
    cache.close()


def damage_head(path: Path) -> None:
    path.write_bytes(b"this is no database" * 300)


def damage_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 64] = b"\xff" * 64
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [damage_head, damage_middle])
def test_a_damaged_file_is_moved_aside_and_begun_anew(tmp_path: Path, damage, caplog) -> None:
    path = tmp_path / "v.db"
    first = SqliteVectorCache(path)
    first.put(some(2000))
    first.close()
    damage(path)
    cache = SqliteVectorCache(path)
    assert cache.get(list(some(2000))) == {}
    cache.put(some(5, seed=1))
    assert same(cache.get(list(some(5, seed=1))), some(5, seed=1))
    assert "is damaged" in caplog.text
    assert path.with_name("v.db.damaged-1").exists()
    cache.close()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexerError, match="file"):
        SqliteVectorCache(tmp_path / "file" / "v.db").get([digest("a")])


WRITER = """
import sys
from pathlib import Path
import numpy as np
from indexer.adapters.vector_cache import SqliteVectorCache
from indexer.ids import digest
cache = SqliteVectorCache(Path(sys.argv[1]))
for i in range(40):
    cache.put({digest(sys.argv[2], str(i)): np.full(4, i, np.float32)})
    print(i, flush=True)
"""


def test_several_processes_write_at_once_and_a_killed_one_loses_nothing_it_was_told_is_there(
    tmp_path: Path,
) -> None:
    path = tmp_path / "v.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    assert writers[0].stdout
    acknowledged = -1
    for line in writers[0].stdout:
        acknowledged = int(line)
        if acknowledged == 15:
            writers[0].kill()
            break
    writers[0].communicate()
    writers[1].communicate()
    assert writers[1].returncode == 0
    cache = SqliteVectorCache(path)
    assert len(cache.get([digest("a", str(i)) for i in range(acknowledged + 1)])) == acknowledged + 1
    assert len(cache.get([digest("b", str(i)) for i in range(40)])) == 40
    cache.close()
