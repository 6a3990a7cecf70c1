"""
Executors for the phases: inline for `--workers 0`, threads for I/O, processes for CPU.

A process pool whose worker died (a page that kills its parser) is replaced, so that
one bad page does not end the run. Workers end when their driver dies, however it dies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, ParamSpec, TypeVar

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

    It costs nothing until the first call.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit to the living pool, opening a new one if a worker died."""
        with self._lock:
            if self._pool is not None:
                try:
                    return self._pool.submit(fn, *args, **kwargs)
                except BrokenProcessPool:
                    self._pool.shutdown(wait=False)
            self._pool = self._open()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

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


def _settle_in() -> None:
    """Leave Ctrl-C to the driver, and end when the driver ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
