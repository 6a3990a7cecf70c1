"""
A limit in time for work that cannot be asked to stop.

An exception is raised in the thread that works, between two steps of Python code; a call
into C ends first. It is no `Exception`, so that no library swallows it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class _Over(BaseException):
    """Raised inside the work."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns. Raises `TimeoutError` if it takes longer than `seconds`."""
    thread = ctypes.c_ulong(threading.get_ident())
    lock, done = threading.Lock(), False

    def ring() -> None:
        with lock:
            if not done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_Over))

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    try:
        timer.start()
        try:
            return work()
        finally:
            with lock:
                done = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)  # what was not raised yet never is
            timer.cancel()
    except _Over:
        raise TimeoutError(f"it takes longer than {seconds:g} s") from None
