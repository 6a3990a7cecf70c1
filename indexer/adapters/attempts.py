"""
How often and how patiently a server is asked, and what may go wrong with it.

    Fault               this endpoint did not answer; the next one of the chain is asked
    ├── Passing         a passing reason: asked again after a while, three times in all
    ├── KeyRefused          the key is not accepted: another key of the pool is tried at once
    ├── Refusal         it will not take this request (400, 413, 422): perhaps a smaller one
    └── NoAnswer        a chat model answered with something that is no answer

Faults do not leave the adapters. Their text is redacted where they are made.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tenacity import RetryCallState

ATTEMPTS = 3
LONGEST_WAIT = 60.0
JITTER = 0.1

Result = TypeVar("Result")


class Fault(Exception):
    """One endpoint's failure; its text says which."""


class Passing(Fault):
    """Worth another attempt; `retry_after` in seconds if the server named a time."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class KeyRefused(Fault):
    """The key is not accepted (401, 403)."""


class Refusal(Fault):
    """The request will not do. `too_long`: a shorter text would."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class NoAnswer(Fault):
    """`reason`: length, content-filter, refusal, reasoning-only or empty."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Patience:
    """
    Three attempts; between them 2^attempt s and up to 10 % more, or what the server asks
    for, and never more than a minute. Clock, sleep and jitter are given for tests.
    """

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random

    def __call__(self, ask: Callable[[], Result]) -> Result:
        """Call until it returns, raises anything but `Passing`, or the attempts are used up."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            retry=retry_if_exception_type(Passing),
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(ask)

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, Passing) else None
        if asked is not None:
            return min(asked, LONGEST_WAIT)
        return min(2.0**state.attempt_number * (1 + JITTER * self.jitter()), LONGEST_WAIT)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """
    Seconds that `Retry-After` (seconds or an HTTP date) asks for, at most a minute.

    `None` if it says nothing usable.
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now
        except (TypeError, ValueError):
            return None
    return min(max(0.0, seconds), LONGEST_WAIT) if seconds < float("inf") else None
