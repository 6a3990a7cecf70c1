"""
When the next request to one host may start: a small data structure, no sleeping.

The delay between starts is the larger of ours and robots' Crawl-delay; a 429 or 503
pauses this host only, halves what runs side by side and widens the delay; answers that
come win both back.
"""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime

DOWN_AFTER = 8  # URLs in a row that could not be had …
PATIENCE = 300.0  # … and seconds without a good answer: the host is not asked again in this run
_MAX_PAUSE = 60.0
_FIRST_PENALTY = 0.5
_MAX_PENALTY = 10.0
_LEAST_PENALTY = 0.05
_FORGIVENESS = 0.7  # what one good answer leaves of the penalty
_FEW = 4
_RECOVERY = 4  # good answers per additional request side by side
_LONE = 8  # good answers in a row before a 503 is taken for the page's own trouble


class Slot:
    """
    One host's turn. Times in seconds of any one monotonic clock.

    `reserve` says when a request may start and counts it as active; when that time has
    come, `begin` lets it start or says how long it has to wait yet; `release` must follow.
    No more than `room` further requests may be active now.
    """

    def __init__(self, *, concurrency: int, delay: float, now: float) -> None:
        self.limit = concurrency
        self.delay = delay
        self.crawl_delay = 0.0
        self.active = 0
        self.failures = 0
        self._allowed = concurrency
        self._penalty = 0.0
        self._good = 0
        self._since_overload = 0
        self._last_good = now
        self._last_turn = -math.inf  # when the last turn that was given begins
        self._last_start = -math.inf  # when a request really started
        self._paused_until = 0.0
        self._slowed_at = 0.0

    @property
    def room(self) -> int:
        """How many more requests may be active now."""
        return (1 if self.crawl_delay else self._allowed) - self.active

    @property
    def _gap(self) -> float:
        """Seconds between two starts."""
        return max(self.delay, self.crawl_delay, self._penalty)

    def down(self, now: float) -> bool:
        """Whether the host has failed so often and so long that asking on makes no sense."""
        return self.failures >= DOWN_AFTER and now - self._last_good >= PATIENCE

    def reserve(self, now: float) -> float:
        """Take a turn; returns when it may start."""
        start = max(now, max(self._last_turn, self._last_start) + self._gap, self._paused_until)
        self.active += 1
        self._last_turn = start
        return start

    def begin(self, now: float) -> float:
        """
        Start the request of a turn: 0 if it may, else seconds to wait before asking again.

        A turn may come late, when the machine is busy, and the gap may have grown meanwhile:
        the delay lies between requests, not between plans.
        """
        wait = max(self._last_start + self._gap, self._paused_until) - now
        if wait > 0:
            return wait
        self._last_start = now
        return 0.0

    def paused(self, now: float) -> float:
        """Seconds until the host may be asked again, because it said so after a turn was taken."""
        return max(0.0, self._paused_until - now)

    def release(self) -> None:
        """A request is over."""
        self.active -= 1

    def succeeded(self, now: float) -> None:
        """The host answered as it should."""
        self.failures = 0
        self._last_good = now
        self._penalty = self._penalty * _FORGIVENESS if self._penalty > _LEAST_PENALTY else 0.0
        self._since_overload += 1
        self._good += 1
        if self._good >= _RECOVERY:
            self._good = 0
            self._allowed = min(self.limit, self._allowed + 1)

    def failed(self, now: float) -> None:
        """
        A URL could not be had, retries included.

        After a round of failures the host gets a pause, longer each time, so that an outage
        of a minute does not cost hundreds of pages.
        """
        self.failures += 1
        self._good = 0
        rounds = self.failures // max(self.limit, _FEW)
        if rounds:
            self._paused_until = max(self._paused_until, now + min(_MAX_PAUSE, 2.0**rounds))

    def overloaded(
        self, now: float, wait: float, *, started: float, asked: bool = True, again: bool = False
    ) -> None:
        """
        A request that began at `started` was told to wait `wait` seconds (429, 503).

        Requests that were under way at the last such answer say nothing new. Nor does one
        that names no time (not `asked`) amid good answers: a page may be broken for good. So
        is one that was asked for `again`, if anything else was answered meanwhile.
        """
        if not asked and self._since_overload >= (1 if again else _LONE):
            self._since_overload = self._since_overload if again else 0
            return
        self._since_overload = 0
        if started >= self._slowed_at:
            self._allowed = max(1, self._allowed // 2)
            self._penalty = min(_MAX_PENALTY, max(_FIRST_PENALTY, self._penalty * 2))
            self._slowed_at = now
        self._paused_until = max(self._paused_until, now + wait)


def retry_after(value: str, *, now: float) -> float | None:
    """
    Seconds that a Retry-After header asks for; `None` if it cannot be read.

    Both forms: seconds (a fraction is tolerated) and an HTTP date. `now`: Unix time.
    """
    value = value.strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    if seconds != seconds:  # noqa: PLR0124 - NaN
        return None
    return max(0.0, seconds)
