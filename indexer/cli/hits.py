"""Hits as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.cli.console import table
from indexer.hits import Hit, Leg

SHOWN = 300  # characters of a hit's text on a terminal

_LEG = ["leg", "rank", "score", "normalised", "weight", "part"]
_TERM = ["term", "in the question", "in the chunk", "score"]


def shown(hits: Sequence[Hit], *, explain: bool = False) -> str:
    """All hits, numbered. `explain`: with a table of their legs and one of their terms."""
    return (
        "\n\n".join(_hit(number, hit, explain=explain) for number, hit in enumerate(hits, 1))
        or "nothing found"
    )


def _hit(number: int, hit: Hit, *, explain: bool) -> str:
    head = f"{hit.score:.3f}"
    if not explain:
        head += ": " + ", ".join(f"{name} #{leg.rank} ({leg.score:.3f})" for name, leg in _legs(hit))
    if hit.rerank is not None:
        head = f"reranked {hit.rerank:.3f}; {head}"
    url = f"{hit.url} (instead of {hit.instead_of})" if hit.instead_of else hit.url
    parts = [url, *(_explained(hit) if explain else ()), *_text(hit)]
    for other in hit.others:
        parts += [f"+ {other.topic}  [{other.score:.3f}]", *(f"  {line}" for line in _text(other))]
    return f"{number}. {hit.topic}  [{head}]\n" + "\n".join(f"   {line}" for line in parts)


def _legs(hit: Hit) -> list[tuple[str, Leg]]:
    return [(name, leg) for name, leg in (("dense", hit.dense), ("bm25", hit.bm25)) if leg]


def _text(hit: Hit) -> list[str]:
    text = f"{hit.context}\n{hit.text}" if hit.context else hit.text
    if len(text) > SHOWN:
        text = text[:SHOWN].rsplit(None, 1)[0] + " …"
    return [line for line in text.splitlines() if line.strip()]


def _explained(hit: Hit) -> list[str]:
    rows = []
    for name, leg in _legs(hit):
        row = [name, str(leg.rank), f"{leg.score:.4f}"]
        if leg.normalised is not None and leg.weight is not None:
            row += [f"{leg.normalised:.4f}", f"{leg.weight:.3f}", f"{leg.normalised * leg.weight:.4f}"]
        rows.append(row)
    lines = table(rows, _LEG[: len(rows[0])]).splitlines() if rows else []
    if hit.bm25 and hit.bm25.matches:
        terms = [
            [match.term, ", ".join(match.asked), ", ".join(match.found), f"{match.score:.3f}"]
            for match in hit.bm25.matches
        ]
        lines += ["", *table(terms, _TERM).splitlines()]
    return ["", *lines, ""]
