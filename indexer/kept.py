"""The edge behind which answers of servers are kept: one of `indexer.ports`, which names it."""

from __future__ import annotations

from typing import Protocol

from indexer.records import Response


class RawResponses(Protocol):
    """
    What servers answered, kept to be read again under other rules: a cache, by URL.

    Of the headers only those that reading needs are kept. A damaged answer counts as missing.
    """

    def save(self, response: Response, visit: int) -> None:
        """Keep the answer of run `visit` in place of an older one; one that is too large is not kept."""
        ...

    def load(self, url: str) -> Response | None:
        """The kept answer to `url`; `None` if there is none to trust."""
        ...

    def has(self, url: str) -> bool:
        """Whether there is one; that it is whole is seen when it is read."""
        ...

    def visit(self, url: str) -> int:
        """The run that asked for the kept answer; 0 if there is none."""
        ...

    def delete(self, url: str) -> None:
        """Forget an answer; a missing one is fine."""
        ...

    def prune(self, keep: set[str]) -> None:
        """Forget all answers but those of these URL keys."""
        ...
