"""Executors and the drive: bounded, and no bad key takes others with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indexer.pipeline.drive import drive
from indexer.pipeline.pools import InlineExecutor, open_processes, open_threads


def double(job: int, keys: list[str]) -> list[str]:
    return [key * job for key in keys]


def die_on_bad(_job: int, keys: list[str]) -> list[str]:
    if "bad" in keys:
        os._exit(9)
    return keys


@pytest.mark.parametrize("workers", [0, 2])
def test_every_key_gives_one_result_in_threads_and_inline(workers):
    keys = [str(n) for n in range(100)]
    with open_threads(workers) as pool:
        results = list(drive(pool, double, 2, keys, poisoned=str, size=7))

    assert sorted(results) == sorted(key * 2 for key in keys)


def test_a_key_that_kills_its_worker_is_found_alone():
    keys = [str(n) for n in range(20)]
    with open_processes(1) as pool:
        results = list(
            drive(pool, die_on_bad, 0, [*keys, "bad"], poisoned=lambda key: f"{key} is bad", size=8)
        )

    assert sorted(results) == sorted([*keys, "bad is bad"])


def test_an_exception_ends_the_drive():
    with InlineExecutor() as pool, pytest.raises(TypeError):
        list(drive(pool, double, 2, [None], poisoned=str))


def test_no_more_than_the_width_is_in_flight():
    seen = []

    def keys():
        for n in range(50):
            seen.append(n)
            yield str(n)

    with InlineExecutor() as pool:
        results = drive(pool, double, 1, keys(), poisoned=str, size=2, width=3)
        next(results)
        assert len(seen) <= 8
        results.close()


def test_workers_end_when_their_driver_is_killed():
    script = (
        "import os, sys\n"
        "from indexer.pipeline.pools import open_processes\n"
        "if __name__ == '__main__':\n"
        "    pool = open_processes(1)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    worker = int(done.stdout)
    for _ in range(100):
        if not _alive(worker):
            return
        time.sleep(0.1)
    raise AssertionError("the worker lives on")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
