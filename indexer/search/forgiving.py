"""A model that may be missing: search goes on without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from indexer.errors import IndexerError

log = logging.getLogger("indexer")

TRIES = 3  # failures in a row after which it is not asked again

Answer = TypeVar("Answer")


class Forgiving:
    """
    Turns the failure of a model into a warning; after `TRIES` in a row the model is left alone.

    `without`: what holds where it gives no answer.
    """

    def __init__(self, *, without: str) -> None:
        self._without = without
        self._failures = 0

    def __call__(self, ask: Callable[[], Answer]) -> Answer | None:
        """What `ask` returns, or `None`."""
        if self._failures >= TRIES:
            return None
        try:
            answer = ask()
        except IndexerError as error:
            self._failures += 1
            more = "; it is not asked again" if self._failures == TRIES else ""
            log.warning("%s; %s%s", error, self._without, more)
            return None
        self._failures = 0
        return answer
