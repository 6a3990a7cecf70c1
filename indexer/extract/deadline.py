"""
A limit in time for work that cannot be asked to stop.

An exception is raised in the thread that works, between two steps of Python code; a call
into C ends first. It is no `Exception`, so that no library means to swallow it; where one
is lost nevertheless (in a finalizer, say), another follows.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_AGAIN = 0.5  # seconds between one exception and the next


class _Over(BaseException):
    """Raised inside the work."""


class _Alarm:
    """Rings in the thread that made it, from `seconds` on, until it is silenced."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = ctypes.c_ulong(threading.get_ident())
        self._lock = threading.Lock()
        self._silent = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._ring, name="deadline", daemon=True).start()

    def silence(self) -> None:
        """Never ring again; what was not raised yet never is. Raises `_Over` if it rings just now."""
        with self._lock:
            self._silent.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, None)

    def _ring(self) -> None:
        wait = self._seconds
        while not self._silent.wait(wait):
            with self._lock:
                if not self._silent.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, ctypes.py_object(_Over))
            wait = _AGAIN


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns. Raises `TimeoutError` if it takes longer than `seconds`."""
    alarm = _Alarm(seconds)
    try:
        try:
            alarm.start()
            return work()
        finally:
            alarm.silence()
    except _Over:
        while True:
            try:
                alarm.silence()
                break
            except _Over:
                continue
    raise TimeoutError(f"it takes longer than {seconds:g} s")
