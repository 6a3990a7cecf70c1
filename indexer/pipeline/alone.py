"""One phase alone, outside any project: what `extract` and `chunk` show."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from indexer.errors import Misconfigured, Permanent
from indexer.pipeline.lines import read_lines
from indexer.pipeline.wiring import Wiring
from indexer.ports import Response
from indexer.settings import Settings


def extract_lines(settings: Settings, name: str) -> Iterator[dict[str, Any]]:
    """`{id, url, html}` → `{id, title, text, …}`, in order."""
    from indexer.extract import extract

    for record in read_lines(name, needs=("id", "html")):
        url = record.get("url") or ""
        found = extract(record["html"], url=url, favor_recall=settings.extract.favor_recall)
        yield {"id": record["id"], "url": url, **msgspec.to_builtins(found)}


def extract_named(settings: Settings, names: list[str]) -> Iterator[dict[str, Any]]:
    """The same for files (read as bytes: what they are is found as for a page) or URLs."""
    for name in names:
        response = _get(settings, name) if name.startswith(("http://", "https://")) else _read(name)
        yield {"id": name, **_read_page(response, settings)}


def _read_page(response: Response, settings: Settings) -> dict[str, Any]:
    from indexer.phases.scrape import read
    from indexer.pipeline.reading import reading_of

    scraped = read(response, reading=reading_of(settings.extract))
    if scraped.page is None:
        outcome = scraped.outcome
        why = ": ".join(
            part for part in (outcome.reason.value or outcome.state.value, outcome.detail) if part
        )
        raise Permanent(f"{response.url} gives no page: {why}")
    return {key: value for key, value in msgspec.to_builtins(scraped.page).items() if key != "links"}


def _get(settings: Settings, url: str) -> Response:
    async def get() -> Response:
        fetch = Wiring(settings).fetch()
        try:
            return await fetch(url)
        finally:
            await fetch.aclose()

    return asyncio.run(get())


def _read(name: str) -> Response:
    path = Path(name)
    try:
        body = path.read_bytes()
    except OSError as error:
        raise Misconfigured(f"cannot read {name}: {error.strerror}") from None
    url = path.resolve().as_uri()
    return Response(url=url, final_url=url, status=200, headers={}, body=body)


def chunk_lines(wiring: Wiring, name: str) -> Iterator[dict[str, Any]]:
    """`{id, text}` → `{id, chunks}`, in order; `title` and `language` are used if given."""
    for record in read_lines(name, needs=("id", "text")):
        yield _chunks(wiring, record)


def chunk_files(wiring: Wiring, files: list[Path]) -> Iterator[dict[str, Any]]:
    """The same for text files."""
    for path in files:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise Misconfigured(f"{path} is no UTF-8 text; save it as UTF-8") from None
        except OSError as error:
            raise Misconfigured(f"cannot read {path}: {error.strerror}") from None
        yield _chunks(wiring, {"id": str(path), "text": text})


def _chunks(wiring: Wiring, record: dict[str, Any]) -> dict[str, Any]:
    from indexer.phases.chunk import chunk_record

    return chunk_record(record, settings=wiring.settings.chunk, chat=wiring.chat)
