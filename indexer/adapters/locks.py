"""One writer per project: a kernel lock, so that a dead holder never blocks."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from indexer.clock import now
from indexer.errors import Busy, disk_error

LOCK = ".lock"
HOLDER = ".lock.json"


@contextlib.contextmanager
def project_lock(root: Path) -> Iterator[None]:
    """Hold the project at `root`. Raises `Busy` naming the holder at once, without waiting."""
    from filelock import FileLock, Timeout

    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / LOCK)
        lock.acquire(timeout=0)
    except Timeout:
        raise Busy(
            f"project folder {root} is held by {_holder(root)}; wait for it to end, then run again"
        ) from None
    except OSError as error:
        raise disk_error(root / LOCK, error) from error
    try:
        _sign(root)
        yield
    finally:
        (root / HOLDER).unlink(missing_ok=True)
        lock.release()


def _sign(root: Path) -> None:
    facts = {
        "pid": os.getpid(),
        "since": now(),
        "command": _command(),
    }
    try:
        (root / HOLDER).write_text(json.dumps(facts), encoding="utf-8")
    except OSError as error:
        raise disk_error(root / HOLDER, error) from error


def _command() -> str:
    """The command without its arguments' values: they may hold a token."""
    return " ".join(["indexer", *[word for word in sys.argv[1:2] if not word.startswith("-")]])


def _holder(root: Path) -> str:
    try:
        facts = json.loads((root / HOLDER).read_text(encoding="utf-8"))
        return f"process {facts['pid']} ({facts['command']}, since {facts['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another run"
