"""Map a function over slices of keys through an executor, with bounded work in flight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from itertools import islice
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def drive(
    pool: Executor,
    work: Callable[[Job, list[str]], list[Result]],
    job: Job,
    keys: Iterable[str],
    *,
    poisoned: Callable[[str], Result],
    size: int = 16,
    width: int = 8,
) -> Generator[Result, None, None]:
    """
    Run `work(job, slice)` over `keys`; yields results as they come.

    A slice that kills its worker is driven again key by key, so that exactly the bad
    key is given to `poisoned` and the others end well. Any other exception ends the run.
    """
    feed = iter(keys)
    live: dict[Future[list[Result]], list[str]] = {}
    suspects: list[str] = []
    while True:
        while len(live) < width and (part := list(islice(feed, size))):
            live[pool.submit(work, job, part)] = part
        if not live:
            break
        for future in _next_of(live):
            part = live.pop(future)
            try:
                yield from future.result()
            except BrokenExecutor:
                suspects += part
    for key in suspects:
        try:
            yield from pool.submit(work, job, [key]).result()
        except BrokenExecutor:
            yield poisoned(key)


def _next_of(live: Collection[Future[list[Result]]]) -> set[Future[list[Result]]]:
    """Those that are done; if nobody waits any more (Ctrl-C), what has not begun does not begin."""
    try:
        return wait(live, return_when=FIRST_COMPLETED).done
    except BaseException:
        for future in live:
            future.cancel()
        raise
