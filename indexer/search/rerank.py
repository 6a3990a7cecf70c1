"""A second look at the first hits, by a model that reads question and text together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from indexer.artifacts import Payload
from indexer.ports import Rerank
from indexer.search.arrange import Place
from indexer.search.forgiving import Forgiving

Scores = Callable[[str, Sequence[str]], Sequence[float] | None]


def forgiving(rerank: Rerank) -> Scores:
    """A reranker whose failure is no score."""
    attempt = Forgiving(without="hits stay in the order of search")
    return lambda question, texts: attempt(lambda: rerank(question, texts))


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
