"""
Which pages are each other in another language: links of hreflang that both sides confirm.

A link of one side proves nothing: many sites name the other language's front page on every page.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


def groups(named: Mapping[str, Collection[str]]) -> dict[str, str]:
    """
    Key → the group's id, for every page that is in one.

    `named`: key → keys of the pages that it names as its translations. The id is the smallest
    key of the group, so that it does not depend on the order.
    """
    first: dict[str, str] = {}

    def top(key: str) -> str:
        while first.get(key, key) != key:
            first[key] = first.get(first[key], first[key])
            key = first[key]
        return key

    for key, others in named.items():
        for other in others:
            if key in named.get(other, ()) and key != other:
                low, high = sorted((top(key), top(other)))
                first[high] = low
                first.setdefault(low, low)
    return {key: top(key) for key in first}
