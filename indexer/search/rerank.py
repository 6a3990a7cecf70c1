"""A second look at the first hits, by a model that reads question and text together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from indexer.artifacts import Payload
from indexer.errors import IndexerError
from indexer.ports import Rerank
from indexer.search.arrange import Place

log = logging.getLogger("indexer")

TRIES = 3  # failures in a row after which it is not asked again

Scores = Callable[[str, Sequence[str]], Sequence[float] | None]


class Forgiving:
    """A reranker whose failure is a warning and no score; after three in a row it is left alone."""

    def __init__(self, rerank: Rerank) -> None:
        self._rerank = rerank
        self._failures = 0

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float] | None:
        """Scores, or `None`: the order stays as it was."""
        if self._failures >= TRIES:
            return None
        try:
            scores = self._rerank(question, texts)
        except IndexerError as error:
            self._failures += 1
            more = "; it is not asked again" if self._failures == TRIES else ""
            log.warning("%s; hits stay in the order of search%s", error, more)
            return None
        self._failures = 0
        return scores


def reordered(
    question: str, places: Sequence[Place], payloads: Mapping[str, Payload], *, rerank: Scores, depth: int
) -> list[Place]:
    """The first `depth` places by the reranker's scores, equal ones as before, then the rest."""
    first = list(places[:depth])
    scores = rerank(question, [_text(payloads[place.id]) for place in first]) if first else None
    if scores is None:
        return list(places)
    judged = [replace(place, rerank=score) for place, score in zip(first, scores, strict=True)]
    judged.sort(key=lambda place: -(place.rerank or 0.0))
    return [*judged, *places[depth:]]


def _text(payload: Payload) -> str:
    return "\n".join(part for part in (payload.topic, payload.context, payload.text) if part)
