"""
The result of a plan, and the sums in it: from a sample to the whole site, from tokens to time and money.

What is counted and what is extrapolated are kept apart: all in `Estimate` and `Cost` is an estimate.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct, field

from indexer.pipeline.census import Census, Left, SourceCount
from indexer.pipeline.chunking import CHATS_AT_ONCE
from indexer.pipeline.gauge import Measured
from indexer.settings import LOCAL_MODEL, Crawl, Settings

LOCAL_SPEED = 1_200  # tokens a second and core of the local model (measured on two cores: 2,460)
SERVER_SPEED = 30_000  # tokens a second of an embedding server: about three requests of 10,000
CHAT_SECONDS = 4.0  # for one answer
_MILLION = 1_000_000


class Sampled(Struct, kw_only=True):
    """
    Pages read to learn from: `asked`, of which `pages` were pages; `others`: the rest by reason.

    `stored`: pages of earlier runs that were measured instead. `new_links`: links of the
    asked ones that no source names. `seconds`: for one answer, the median.
    """

    asked: int = 0
    pages: int = 0
    others: dict[str, int] = field(default_factory=dict)
    stored: int = 0
    new_links: int = 0
    seconds: float = 0.0


class Estimate(Struct, kw_only=True):
    """
    Extrapolated from the sample; `None` without one.

    `tokens`: of all chunks; `tokens_owed`: without those whose vectors are there, if no page
    has changed; `tokens_per_page`: what one page more, or a changed one, costs at most.
    Seconds: `fetch` at the configured politeness, `embed` and `chat` by the kind of model;
    one phase follows the other.
    """

    pages: int | None = None
    characters: int | None = None
    chunks: int | None = None
    tokens: int | None = None
    tokens_owed: int | None = None
    tokens_per_page: int | None = None
    chat_calls: int | None = None
    chat_tokens: int | None = None
    fetch_seconds: float = 0.0
    embed_seconds: float | None = None
    chat_seconds: float | None = None
    seconds: float | None = None


class Cost(Struct, kw_only=True):
    """What a model would cost. `per_million`: its price by `[prices]`; `None`: not known."""

    model: str
    tokens: int | None
    per_million: float | None = None
    cost: float | None = None


class Plan(Struct, kw_only=True):
    """
    The `--json` of a plan: a contract.

    `found` = `asked` + those `left` out. `conditional`: asked whether they have changed;
    `known`: have a page from earlier runs.
    """

    project: str
    sources: list[SourceCount]
    found: int
    asked: int
    conditional: int
    known: int
    paths: dict[str, int]
    left: list[Left]
    max_pages: int
    ignore_robots: bool
    follows_links: bool
    sample: Sampled
    estimate: Estimate
    costs: list[Cost]
    notes: list[str]


def extrapolate(
    census: Census, sampled: Sampled, measured: Measured, *, settings: Settings, gaps: Mapping[str, float]
) -> Estimate:
    """
    From the `measured` pages to all.

    Pages of earlier runs are like the stored ones that were measured, and owe what these
    owe; other URLs are pages as often as those looked at so far, and owe all.
    """
    estimate = Estimate(fetch_seconds=round(_fetch_seconds(census, sampled, settings.crawl, gaps), 1))
    if not (sampled.stored or sampled.asked):
        return estimate
    known, unknown = (
        (census.pages_known, census.asked - census.dealt) if sampled.stored else (0, census.asked)
    )
    share = census.pages_known / census.dealt if sampled.stored else sampled.pages / sampled.asked
    new = unknown * share

    def total(of_known: int, of_new: int) -> int:
        return round((known * of_known + new * of_new) / max(1, measured.pages))

    estimate.pages = round(known + new)
    estimate.characters = total(measured.characters, measured.characters)
    estimate.chunks = total(measured.chunks, measured.chunks)
    estimate.tokens = total(measured.tokens, measured.tokens)
    estimate.tokens_owed = total(measured.owed, measured.tokens if sampled.stored else measured.owed)
    estimate.tokens_per_page = round(measured.tokens / max(1, measured.pages))
    estimate.chat_calls = total(measured.chat_calls_owed, measured.chat_calls)
    estimate.chat_tokens = total(measured.chat_tokens_owed, measured.chat_tokens)
    estimate.embed_seconds = round(estimate.tokens_owed / _speed(settings), 1)
    estimate.chat_seconds = round(estimate.chat_calls * CHAT_SECONDS / CHATS_AT_ONCE, 1)
    estimate.seconds = round(estimate.fetch_seconds + estimate.embed_seconds + estimate.chat_seconds, 1)
    return estimate


def cost_of(settings: Settings, model: str, tokens: int | None) -> Cost:
    """What `tokens` of a model (`provider/model`) cost by the configuration."""
    price = settings.prices.get(model, 0.0 if model == LOCAL_MODEL else None)
    money = None if price is None or tokens is None else round(tokens * price / _MILLION, 6)
    return Cost(model=model, tokens=tokens, per_million=price, cost=money)


def _fetch_seconds(census: Census, sampled: Sampled, crawl: Crawl, gaps: Mapping[str, float]) -> float:
    """Hosts are asked side by side: the slowest one counts. A host with a Crawl-delay is asked one by one."""
    slowest = 0.0
    for host, urls in census.hosts.items():
        side_by_side = 1 if gaps[host] > crawl.delay else crawl.concurrency
        slowest = max(slowest, urls * max(gaps[host], sampled.seconds / side_by_side))
    return slowest


def _speed(settings: Settings) -> float:
    """Tokens a second of the configured kind of embedding model."""
    if settings.models.embedding[0] == LOCAL_MODEL:
        return LOCAL_SPEED * (settings.models.threads or os.cpu_count() or 1)
    return SERVER_SPEED
