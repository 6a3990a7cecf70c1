"""
Requests side by side to one server, within what it allows.

A server's limits of requests and tokens are taken from the configuration, or from what it
states in its answers (`x-ratelimit-limit-requests`, `-remaining-`, `-reset-` and the same for
tokens, as OpenAI, Groq, Mistral and gateways send them; they are of a minute). They are kept
by GCRA at 95 %, with a burst of 5 %, so that no minute, wherever it begins, holds more than
is allowed.
At first one request goes alone, then two more for each that is answered: what a server states is
known before much is asked. Whoever is told to wait (429) stops all; after it one goes first again,
then soon half of what was too many, and very slowly more than that.
"""

from __future__ import annotations

import contextlib
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from throttled import Throttled

SHARE, BURST = 0.95, 0.05
MINUTE = 60.0
SLOWLY = 0.1  # of a request more, for as many answers as are under way
_LONGEST = 600.0  # seconds to wait for one's turn; then the server may say no
_UNITS = {"ms": 0.001, "s": 1.0, "m": MINUTE, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


class Pace:
    """
    One server, one key. Thread-safe.

    `requests`, `tokens`: allowed in a minute; 0: as the server states. `sleep` and `now` are
    given for tests.
    """

    def __init__(
        self,
        *,
        requests: int = 0,
        tokens: int = 0,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._now = now
        self._turn = threading.Condition()
        self._width, self._ceiling = 1.0, math.inf  # requests that may be under way; soon, and slowly more
        self._active = 0
        self._until = 0.0
        self._fixed = {"requests": requests, "tokens": tokens}
        self._throttles: dict[str, tuple[float, Throttled]] = {}  # limit a minute, and what keeps to it
        for kind, limit in self._fixed.items():
            if limit:
                self._keep(kind, limit)

    @contextlib.contextmanager
    def request(self, weigh: Callable[[], int]) -> Iterator[None]:
        """Wait for one's turn; it ends with the block. `weigh`: tokens, asked only if they are limited."""
        with self._turn:
            self._turn.wait_for(lambda: self._active + 1 <= self._width)
            self._active += 1
        try:
            pause = self._until - self._now()
            if pause > 0:
                self._sleep(pause)
            for kind, (limit, throttle) in list(self._throttles.items()):
                cost = 1 if kind == "requests" else max(1, weigh())
                throttle.limit(cost=min(cost, _burst(limit)), timeout=_LONGEST)
            yield
        finally:
            with self._turn:
                self._active -= 1
                self._turn.notify_all()

    def answered(self, headers: Mapping[str, str]) -> None:
        """An answer with these headers."""
        with self._turn:
            self._width += 1 if self._width < self._ceiling else SLOWLY / self._width
            self._turn.notify_all()
        for kind in self._fixed:
            if not self._fixed[kind]:
                self._learn(kind, headers)

    def hold(self, seconds: float) -> None:
        """The server is asked too much: nobody asks for a while, then one alone."""
        with self._turn:
            if self._now() >= self._until:  # else one of those that were asked together: halved once for all
                self._ceiling = max(1.0, min(self._ceiling, self._active / 2))
            self._until = max(self._until, self._now() + seconds)
            self._width = 1

    def share(self, tokens: int) -> int:
        """`tokens`, or the most that one request should have under the limit."""
        limit, _ = self._throttles.get("tokens", (0.0, None))
        return min(tokens, _burst(limit)) if limit else tokens

    def _learn(self, kind: str, headers: Mapping[str, str]) -> None:
        limit = _number(headers.get(f"x-ratelimit-limit-{kind}"))
        if limit <= 0:
            return
        if seconds_of(headers.get(f"x-ratelimit-reset-{kind}", "")) > MINUTE:
            self._throttles.pop(kind, None)  # of a day, say: spread evenly it would cost that day
            return
        self._keep(kind, limit)

    def _keep(self, kind: str, limit: float) -> None:
        from throttled import MemoryStore, Throttled, rate_limiter

        with self._turn:
            if kind in self._throttles and self._throttles[kind][0] == limit:
                return
            quota = rate_limiter.per_min(max(1, int(limit * SHARE)), burst=_burst(limit))
            throttle = Throttled(key=kind, using="gcra", quota=quota, store=MemoryStore())
            self._throttles[kind] = limit, throttle


def _burst(limit: float) -> int:
    return max(1, int(limit * BURST))


def seconds_of(text: str) -> float:
    """`6m0s`, `20ms`, `1h2m`, or plain seconds; 0 for anything else."""
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text.strip():
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    return max(0.0, _number(text))


def _number(text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return -1.0
    return value if math.isfinite(value) else -1.0
