"""Requests: as many texts as the limits of items and tokens allow, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def batches(texts: Iterable[tuple[str, int]], *, items: int, tokens: int) -> Iterator[list[str]]:
    """Group (text, token count) pairs. A text over `tokens` goes alone; none is left out."""
    batch: list[str] = []
    total = 0
    for text, count in texts:
        if batch and (len(batch) >= items or total + count > tokens):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += count
    if batch:
        yield batch
