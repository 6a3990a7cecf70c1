"""What the next run owes: artifacts that are missing, or whose signature does not match any more."""

from __future__ import annotations

from indexer.artifacts import ChunkedPage, EmbeddedPage, Page
from indexer.errors import IndexerError
from indexer.pipeline.live import live_rows
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue, Chat, Embed


def owed(wiring: Wiring, artifacts: Artifacts, catalogue: Catalogue) -> dict[str, int]:
    """
    Pages by the first phase that they owe: `pages` (to be fetched, or read anew), `chunks`, `embeds`.

    A page that is to be chunked again will be embedded again as well; it counts once.
    With models that cannot be had as configured, only what is missing is counted.
    """
    from indexer.phases.scrape import reading_key
    from indexer.pipeline.reading import reading_of

    chat, embed = _models(wiring)
    counts = dict.fromkeys(("pages", "chunks", "embeds"), 0)
    reader = reading_key(reading_of(wiring.settings))
    for row in live_rows(catalogue):
        if row.facts.get("reader", reader) != reader:
            counts["pages"] += 1
            continue
        name = _first(wiring, artifacts, row.key, chat, embed)
        if name:
            counts[name] += 1
    return counts


def _first(wiring: Wiring, artifacts: Artifacts, key: str, chat: Chat | None, embed: Embed | None) -> str:
    from indexer.phases import embed as embedding
    from indexer.pipeline.work import chunk_signature

    settings = wiring.settings
    page = artifacts.load(Page, key)
    if page is None:
        return "pages"
    chunked = artifacts.load(ChunkedPage, key)
    signature = chunk_signature(page, settings=settings.chunk, chat_model=chat.model if chat else "")
    if chunked is None or chunked.signature != signature:
        return "chunks"
    stored = artifacts.signature(EmbeddedPage, key)
    if not stored:
        return "embeds"
    if embed is not None:
        models = settings.models
        wanted = embedding.signature_of(
            chunked, model=embed, adapter=models.adapter, dimension=models.dimension
        )
        if stored != wanted:
            return "embeds"
    return ""


def _models(wiring: Wiring) -> tuple[Chat | None, Embed | None]:
    try:
        return wiring.chat, wiring.embed
    except IndexerError:
        return None, None
