"""One writer per project: a kernel lock, so that a dead holder never blocks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
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


def holder_of(root: Path) -> tuple[bool, str]:
    """
    Whether a process holds the project at `root`, and who: the holder, or one that was killed.

    An empty name: nobody left one. Writes nothing.
    """
    who = _holder(root) if (root / HOLDER).exists() else ""
    try:
        descriptor = os.open(root / LOCK, os.O_RDONLY)
    except OSError:
        return False, who
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True, who or "another run"
    finally:
        os.close(descriptor)
    return False, who


def _sign(root: Path) -> None:
    facts = {
        "pid": os.getpid(),
        "since": now(),
        "command": _command(),
    }
    try:
        (root / HOLDER).write_text(json.dumps(facts), encoding="utf-8")
    except OSError as error:
        if error.errno != errno.ENOSPC:  # the lock holds without it, and `gc` frees space
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
