"""
What a search finds: frozen values, without behaviour, like the artifacts.

`schemas/hit.schema.json` is generated from `Hit`; fields are added to it, never taken away.
"""

from __future__ import annotations

from msgspec import Struct


class Match(Struct, frozen=True, kw_only=True):
    """
    A term that question and chunk share: as the analyzer stems it, and as each writes it.

    `score`: what it adds to the raw BM25 score.
    """

    term: str
    asked: tuple[str, ...]
    found: tuple[str, ...]
    score: float


class Leg(Struct, frozen=True, kw_only=True):
    """
    One retrieval leg's view of a hit: rank from 1, raw score; absent legs are `None`.

    The leg adds `weight` · `normalised` to the fused score (both `None` where nothing is
    fused). `matches`, if asked for: the terms of the BM25 leg, the weightiest first.
    """

    rank: int
    score: float
    normalised: float | None = None
    weight: float | None = None
    matches: tuple[Match, ...] = ()


class Hit(Struct, frozen=True, kw_only=True):
    """
    A search result, best first, with what is needed to show, cite and explain it.

    `translation_group`: as in a point's payload. `instead_of`: the URL of the same page in
    another language, which was found first: the hit has its place and score. `others`: of
    grouped hits, further chunks of the same page, best first. `rerank`: a reranker's score;
    hits that have one come first, by it.
    """

    id: str
    score: float
    url: str
    title: str
    topic: str
    text: str
    context: str
    language: str
    dense: Leg | None = None
    bm25: Leg | None = None
    article: str = ""
    point: str = ""
    points: tuple[str, ...] = ()
    parent: str = ""
    dataset: str = ""
    layer: str = ""
    edition: str = ""
    status: str = ""
    effective_date: str = ""
    deprecated: bool = False
    translation_group: str = ""
    instead_of: str = ""
    others: tuple[Hit, ...] = ()
    rerank: float | None = None
