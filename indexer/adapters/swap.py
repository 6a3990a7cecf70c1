"""Two folders that change places, so that a reader sees the one or the other."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from indexer.adapters.files import sync_folder
from indexer.errors import disk_error

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE
_ABSENT = (errno.ENOSYS, errno.EINVAL, errno.EXDEV)  # the kernel or this file system has no such thing


def exchange(left: Path, right: Path) -> None:
    """
    Let two folders change places: in one step where the system can (Linux), else in three.

    Raises `IndexerError` naming `left`.
    """
    try:
        if not _at_once(left, right):
            spare = right.with_name(f"{right.name}.spare")
            left.rename(spare)
            right.rename(left)
            spare.rename(right)
        sync_folder(left.parent)
    except OSError as error:
        raise disk_error(left, error) from error


def _at_once(left: Path, right: Path) -> bool:
    """renameat2; false where there is none."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(left), _HERE, os.fsencode(right), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _ABSENT:
        return False
    raise OSError(code, os.strerror(code))
