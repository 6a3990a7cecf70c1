"""The next generation as a clone of the live one: for a large index of which little changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from indexer.index.translations import groups
from indexer.ports import Edition

MOST_CHANGED = 0.2  # of the pages: more are sooner built from the ground


class Difference(Struct, frozen=True):
    """
    What tells the pages to index from those of the live generation.

    `changed`: keys to read; `gone`: keys that leave. `translations`: the groups of all pages now.
    """

    changed: tuple[str, ...]
    gone: tuple[str, ...]
    translations: dict[str, str]


def difference(
    before: Mapping[str, Edition], signed: Mapping[str, str], read: Callable[[str], Edition]
) -> Difference | None:
    """
    `signed`: key → signature of the pages to index; `read`: a page as the new generation will hold it.

    `None` if too much differs, or if the live generation did not note its signatures.
    """
    if not before or not all(one.signature for one in before.values()):
        return None
    changed = {key for key, signature in signed.items() if _signature(before, key) != signature}
    gone = before.keys() - signed.keys()
    if len(changed) + len(gone) > MOST_CHANGED * len(before):
        return None
    named = {key: one.translations for key, one in before.items() if key in signed and key not in changed}
    named |= {key: read(key).translations for key in changed}
    was = groups({key: one.translations.split() for key, one in before.items() if one.translations})
    now = groups({key: others.split() for key, others in named.items() if others})
    changed |= {key for key in named if was.get(key) != now.get(key)}
    return Difference(tuple(sorted(changed)), tuple(sorted(gone)), now)


def _signature(before: Mapping[str, Edition], key: str) -> str:
    return before[key].signature if key in before else ""
