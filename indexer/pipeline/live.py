"""Which URLs of a catalogue have a page."""

from __future__ import annotations

from collections.abc import Iterator

from indexer.artifacts import Reason, State
from indexer.ports import Catalogue, UrlRow

LATER = (Reason.CHUNK_FAILED, Reason.EMBED_FAILED)


def live_rows(catalogue: Catalogue) -> Iterator[UrlRow]:
    """URLs that have a page: fetched or indexed, or failed only in a later phase."""
    for state in (State.FETCHED, State.INDEXED):
        yield from catalogue.rows(state=state)
    for row in catalogue.rows(state=State.FAILED):
        if row.reason in LATER:
            yield row
