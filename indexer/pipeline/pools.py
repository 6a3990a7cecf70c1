"""
Executors for the phases: inline for `--workers 0`, threads for I/O, processes for CPU.

A process pool whose worker died (a page that kills its parser) is replaced, so that
one bad page does not end the run. Workers end when their driver dies, however it dies.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, ParamSpec, TypeVar

from indexer.ports import Artifacts

P = ParamSpec("P")
T = TypeVar("T")

PRELOAD = ["indexer.pipeline.preload"]


class InlineExecutor(Executor):
    """Runs each call at once in the calling thread: straight tracebacks, no concurrency."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call now; the future is done on return."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - the future carries it to the caller
            future.set_exception(error)
        return future


class WorkerProcesses(Executor):
    """
    A process pool that survives the death of a worker: the calls in flight fail, the next succeed.

    It costs nothing until the first call, and that does not wait either: the fork server
    imports for a second, while the driver goes on with what waits for the network.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="start-workers")
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit to the living pool; one is opened beside if there is none, or if a worker died."""
        if self._pool is not None:
            with contextlib.suppress(BrokenProcessPool):
                return self._pool.submit(fn, *args, **kwargs)
        future: Future[T] = Future()
        self._starter.submit(self._begin, future, partial(fn, *args, **kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers."""
        self._starter.shutdown(wait=wait, cancel_futures=cancel_futures)
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _begin(self, future: Future[T], call: Callable[[], T]) -> None:
        """In the starter's thread, one call after the other."""
        if not future.set_running_or_notify_cancel():
            return
        try:
            try:
                pool = self._pool or self._open()
                inner = pool.submit(call)
            except BrokenProcessPool:
                pool.shutdown(wait=False)
                pool = self._open()
                inner = pool.submit(call)
            self._pool = pool
        except Exception as error:  # noqa: BLE001 - the future carries it to the caller
            future.set_exception(error)
            return
        inner.add_done_callback(partial(_pass_on, future))

    def _open(self) -> ProcessPoolExecutor:
        # Never fork: the driver has threads. A fork server imports the heavy modules once.
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        if isinstance(context, multiprocessing.context.ForkServerContext):
            context.set_forkserver_preload(PRELOAD)
        return ProcessPoolExecutor(self._workers, mp_context=context, initializer=_settle_in)


def open_processes(workers: int) -> Executor:
    """Workers for CPU-bound phases; inline for 0."""
    return WorkerProcesses(workers) if workers > 0 else InlineExecutor()


def open_threads(workers: int) -> Executor:
    """Workers for phases that wait for servers; inline for 0."""
    return ThreadPoolExecutor(workers) if workers > 0 else InlineExecutor()


@contextlib.contextmanager
def swept(artifacts: Artifacts) -> Iterator[None]:
    """Once the workers have ended: what a run that is cut off began to write goes at once."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            artifacts.sweep()
        raise


def _pass_on(future: Future[T], done: Future[T]) -> None:
    if done.cancelled():
        future.set_exception(CancelledError())
    elif error := done.exception():
        future.set_exception(error)
    else:
        future.set_result(done.result())


def _settle_in() -> None:
    """Leave Ctrl-C to the driver, and end when the driver ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
