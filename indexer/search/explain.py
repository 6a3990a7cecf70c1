"""Why the keyword leg found a chunk: the terms that it shares with the question, and what each adds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from indexer.artifacts import Bm25Snapshot, Payload
from indexer.hits import Match
from indexer.ports import Sparse

Analyze = Callable[[str], list[str]]

_WORD = re.compile(r"[^\W_]+")


def spellings(text: str, analyze: Analyze) -> dict[str, tuple[str, ...]]:
    """Term → the words of `text` that became it, as they are written, each once."""
    found: dict[str, dict[str, None]] = {}
    for word in dict.fromkeys(_WORD.findall(unicodedata.normalize("NFC", text))):
        for term in analyze(word):
            found.setdefault(term, {})[word] = None
    return {term: tuple(words) for term, words in found.items()}


def matches(
    terms: Sequence[str],
    asked: dict[str, tuple[str, ...]],
    *,
    payload: Payload,
    vector: Sparse,
    snapshot: Bm25Snapshot,
    analyze: Analyze,
) -> tuple[Match, ...]:
    """
    The terms of a question that a chunk holds, the weightiest first; their scores add up to BM25's.

    `terms`: the question's, with repeats; `asked`: how it spells them; `vector`: the chunk's.
    """
    weights = dict(zip(vector.indices, vector.values, strict=True))
    written = spellings(f"{payload.topic}\n{payload.context}\n{payload.text}", analyze)
    found = [
        Match(
            term=term,
            asked=asked.get(term, ()),
            found=written.get(term, ()),
            score=terms.count(term) * snapshot.idf[term] * weights[snapshot.vocab[term]],
        )
        for term in dict.fromkeys(terms)
        if snapshot.vocab.get(term) in weights
    ]
    return tuple(sorted(found, key=lambda match: (-match.score, match.term)))
