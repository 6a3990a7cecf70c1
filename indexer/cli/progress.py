"""How far a phase is: a bar on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

EVERY = 5.0  # seconds between plain lines
REFRESH = 0.2  # seconds after which a bar is drawn again even where nothing has moved
_FORMAT = (
    "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"
)
_ENDLESS = "{desc}: {n_fmt} [{elapsed}, {rate_noinv_fmt}{postfix}]"


class Meter(Protocol):
    """Shows one phase."""

    phase: str

    def show(self, done: int, total: int, note: str) -> None:
        """How far it is; `total` 0: unknown."""
        ...

    def hide(self) -> None:
        """Make room for a line; what is shown comes back with the next step."""
        ...

    def close(self) -> None:
        """The phase is over, or something else is to be said."""
        ...


def open_meter(phase: str) -> Meter:
    """The one that fits where stderr goes."""
    return Bar(phase) if sys.stderr.isatty() else Lines(phase)


class Bar:
    """tqdm's, with the average since the phase began, so that a standstill shows."""

    def __init__(self, phase: str) -> None:
        import threading

        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread beside ours,
        tqdm.set_lock(threading.RLock())  # and no semaphore for processes that do not print
        self.phase = phase
        self._shown = 0.0
        self._bar: Any = tqdm(
            desc=phase,
            unit=" pages",
            leave=False,
            file=sys.stderr,
            dynamic_ncols=True,
            smoothing=0,
            bar_format=_ENDLESS,
        )

    def show(self, done: int, total: int, note: str) -> None:
        """Draw it, unless that was done just now."""
        bar = self._bar
        bar.total, bar.bar_format = (total, _FORMAT) if total else (None, _ENDLESS)
        bar.set_postfix_str(note, refresh=False)
        now = time.monotonic()
        if bar.update(done - bar.n):
            self._shown = now
        elif now - self._shown >= REFRESH:
            bar.refresh()
            self._shown = now

    def hide(self) -> None:
        """Empty its line."""
        self._bar.clear()

    def close(self) -> None:
        """Empty its line for good."""
        self._bar.close()


class Lines:
    """A line every few seconds, none for a phase that is over before."""

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self._began = self._last = time.monotonic()

    def show(self, done: int, total: int, note: str) -> None:
        """Print a line, if it is time."""
        now = time.monotonic()
        if now - self._last < EVERY:
            return
        self._last = now
        parts = [
            f"{done} of {total} pages" if total else f"{done} pages",
            f"{done / (now - self._began):.1f} pages/s",
            note,
        ]
        sys.stderr.write(f"{self.phase}: {', '.join(part for part in parts if part)}\n")
        sys.stderr.flush()

    def hide(self) -> None:
        """Nothing is in the way."""

    def close(self) -> None:
        """Nothing to remove."""
