"""
The errors of indexer, split by what the caller should do.

    IndexerError              exit code 1
    ├── Retryable             try again later: a passing reason (429, 5xx, time-out)
    ├── Permanent             this URL or text will not do; the run goes on
    │   └── Refused           a publish gate said no; the old index stays (exit 4)
    ├── Misconfigured         wrong usage or configuration; a person must act (exit 2)
    │   └── NothingListed     the sources list no page
    ├── Busy                  another run holds the project (exit 5)
    ├── ModelChanged          the model behind a name gives vectors of another dimension
    └── AllProvidersExhausted every provider of a chain failed; names each failure

A phase raises only `Retryable` or `Permanent`; the worker turns it into an `Outcome`.
All are picklable: they cross process borders.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Exit codes, a contract with cron and scripts."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    REFUSED = 4
    BUSY = 5
    INTERRUPTED = 130


class IndexerError(Exception):
    """Something a person can read: what is wrong, where, what to do."""

    exit_code = Exit.FAILED


class Retryable(IndexerError):
    """
    A passing reason. `reason` is a `Reason` code; `retry_after` in seconds, if the
    other side named one.
    """

    def __init__(self, message: str, *, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


class Permanent(IndexerError):
    """This URL or text will not do, now or later. `reason` is a `Reason` code."""

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


class Refused(Permanent):
    """A publish gate said no: the live index stays as it is."""

    exit_code = Exit.REFUSED


class Misconfigured(IndexerError):
    """Wrong usage or configuration: nothing was done, a person must act."""

    exit_code = Exit.USAGE


class NothingListed(Misconfigured):
    """The sources list no page at all: a wrong address, or, of a project with pages, a site's mistake."""


class Busy(IndexerError):
    """Another run holds the project."""

    exit_code = Exit.BUSY


class AllProvidersExhausted(IndexerError):
    """
    Every provider of a chain failed; the message names each failure.

    `passing` is False if all of them refused this very input (400, 413, 422: too long, not
    allowed), so that asking again is no use; otherwise another time may do.
    """

    def __init__(self, message: str, *, passing: bool = True) -> None:
        super().__init__(message)
        self.passing = passing

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


class ModelChanged(IndexerError):
    """The model gives vectors of `dimension` numbers now: those made before are of no use."""

    def __init__(self, message: str, *, dimension: int) -> None:
        super().__init__(message)
        self.dimension = dimension

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def _rebuild(kind: type[IndexerError], args: tuple[object, ...], state: dict[str, object]) -> IndexerError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def disk_error(path: Path, error: OSError) -> IndexerError:
    """What a person can do about a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return IndexerError(f"no space left to write {path}; free some space and run again: nothing is lost")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ENOENT):
        return Misconfigured(
            f"cannot write {path}: {error.strerror}; make the folder writable or choose --projects-dir"
        )
    return IndexerError(f"cannot write {path}: {error.strerror}; run again after that is mended")
