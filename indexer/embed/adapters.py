"""
What a model family wants to see before a text.

E5 is trained with `query: ` and `passage: `; E5-instruct and Qwen3-Embedding with an
instruction before queries only. Any other model gets the text alone.
"""

from __future__ import annotations

import re

from msgspec import Struct

from indexer.errors import Misconfigured

TASK = "Given a web search query, retrieve relevant passages that answer the query"


class Adapter(Struct, frozen=True, kw_only=True):
    """Prefixes of one model family. `name` is what `models.adapter` accepts."""

    name: str
    query_prefix: str = ""
    passage_prefix: str = ""


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(name="none"),
        Adapter(name="e5", query_prefix="query: ", passage_prefix="passage: "),
        Adapter(name="e5-instruct", query_prefix=f"Instruct: {TASK}\nQuery: "),
        Adapter(name="qwen3", query_prefix=f"Instruct: {TASK}\nQuery: "),
    )
}

_E5 = re.compile(r"(?:^|[-_.])e5(?:[-_.]|$)")


def adapter_for(model: str, override: str = "") -> Adapter:
    """
    The adapter of a model by the last part of its name, or the one named by `override`.

    Raises `Misconfigured` for an unknown override, naming those that exist.
    """
    if override:
        try:
            return ADAPTERS[override]
        except KeyError:
            known = ", ".join(sorted(ADAPTERS))
            raise Misconfigured(f"models.adapter is {override!r}, which is none of: {known}") from None
    name = model.rsplit("/", 1)[-1].lower()
    if _E5.search(name):
        return ADAPTERS["e5-instruct" if "instruct" in name else "e5"]
    if "qwen3" in name and "embed" in name:
        return ADAPTERS["qwen3"]
    return ADAPTERS["none"]
