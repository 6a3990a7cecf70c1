"""A context within a size: whole fragments, the best first, and what was left out is named."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from indexer.search.context import Conflict, Fragment, LeftOut, block_of

_BETWEEN = 2  # characters between two fragments of a text
_ROLES = ("lookup", "hit", "reference", "structure")  # what was asked for before what stands beside it


def within(fragments: Sequence[Fragment], most: int) -> tuple[list[Fragment], list[LeftOut]]:
    """
    The fragments that fit into `most` characters of text (0: all), in their order and numbered anew.

    The best of each aspect comes before the second of any. What does not fit is left out whole,
    and smaller ones after it may still fit.
    """
    if not most:
        return list(fragments), []
    turns: dict[int | None, int] = {}
    ranked: list[tuple[int, int, Fragment]] = []
    for one in sorted(fragments, key=lambda one: (_ROLES.index(one.role), one.number)):
        turn = turns[one.aspect] = turns.get(one.aspect, -1) + 1
        ranked.append((turn, len(ranked), one))
    room, fit = most + _BETWEEN, set[int]()
    for _, _, one in sorted(ranked, key=lambda entry: entry[:2]):
        size = len(block_of(one)) + _BETWEEN
        if size <= room:
            room -= size
            fit.add(one.number)
    kept = [one for one in fragments if one.number in fit]
    left = [
        LeftOut(id=one.id, source=one.source, article=one.article, point=one.point, aspect=one.aspect)
        for one in fragments
        if one.number not in fit
    ]
    return [replace(one, number=number) for number, one in enumerate(kept, 1)], left


def renumbered(
    conflicts: Sequence[Conflict], before: Sequence[Fragment], kept: Sequence[Fragment]
) -> list[Conflict]:
    """Conflicts of what was kept: their sources are all named, also those of wordings left out."""
    now = {(one.id, one.aspect): one.number for one in kept}
    there = {one.number: now.get((one.id, one.aspect), 0) for one in before}
    found = []
    for one in conflicts:
        numbers = tuple(there[number] for number in one.fragments if there[number])
        if numbers:
            found.append(replace(one, fragments=numbers))
    return found
