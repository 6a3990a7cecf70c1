"""A writer that is killed at any step leaves the old generation or the new one, never a part."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.points import NEW, OLD, generation
from tests.stores.qdrant_double import QdrantDouble

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    """On a memory disk where there is one: each trial syncs some dozen files."""
    path = Path(tempfile.mkdtemp(prefix="indexer-kills-", dir=MEMORY if MEMORY.is_dir() else None))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize(("store", "stride"), [("edge", 2), ("qdrant", 15)])
def test_kill_9_at_any_step_leaves_a_whole_generation(
    store: str, stride: int, folder: Path, double: QdrantDouble
) -> None:
    """
    Whatever step a kill -9 comes before, from begin to gc, readers see all of OLD or all of NEW.

    The next writer works, and nothing of the dead one stays.
    """
    url = [double.url] if store == "qdrant" else []
    command = [sys.executable, "-m", "tests.stores.dying_writer", str(folder), str(stride), *url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    trials = [json.loads(line) for line in done.stdout.splitlines()]

    assert [trial["errors"] for trial in trials] == [[None, None]] * len(trials)
    assert len(trials) > 40 // stride
    assert [trial["killed"] for trial in trials] == [True] * (len(trials) - 1) + [False]
    seen = [trial["seen"] for trial in trials]
    switch = seen.index(sorted(NEW))
    assert seen == [sorted(OLD)] * switch + [sorted(NEW)] * (len(trials) - switch)
    assert 0 < switch < len(trials) - 1
    followed = [trial for trial in trials if "after" in trial]
    assert len(followed) >= len(trials) // 3
    for trial in followed:
        assert trial["after"] == sorted(OLD)
        assert trial["generations"] == [generation("4")]
        assert set(trial["files"]) <= {".writer.lock", "CURRENT", f"gen-{generation('4')}"}
    if store == "qdrant":
        assert len(double.aliases()) == len(trials)
        assert len(double.names()) == len(followed)  # 15 is a multiple of 3: each trial goes on
