"""One phase alone, outside any project: what `extract` and `chunk` show."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from indexer.artifacts import Page
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
    """The same for HTML files (read as bytes: the charset is found as for a page) or URLs."""
    for name in names:
        response = _get(settings, name) if name.startswith(("http://", "https://")) else _read(name)
        yield {"id": name, **_read_page(response, settings)}


def _read_page(response: Response, settings: Settings) -> dict[str, Any]:
    from indexer.phases.scrape import read

    outcome, page, _ = read(response, settings=settings)
    if page is None:
        raise Permanent(
            f"{response.url}: {outcome.reason.value or outcome.state.value}"
            f"{': ' + outcome.detail if outcome.detail else ''}"
        )
    return {key: value for key, value in msgspec.to_builtins(page).items() if key != "links"}


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
        yield _chunks(
            wiring, record["id"], record["text"], record.get("title") or "", record.get("language") or ""
        )


def chunk_files(wiring: Wiring, files: list[Path]) -> Iterator[dict[str, Any]]:
    """The same for text files."""
    for path in files:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise Misconfigured(f"{path} is no UTF-8 text; save it as UTF-8") from None
        except OSError as error:
            raise Misconfigured(f"cannot read {path}: {error.strerror}") from None
        yield _chunks(wiring, str(path), text, "", "")


def _chunks(wiring: Wiring, id_: Any, text: str, title: str, language: str) -> dict[str, Any]:
    from indexer.phases.chunk import chunk

    page = Page(signature="", url=str(id_), content="", title=title, text=text, language=language)
    chunked = chunk(page, settings=wiring.settings.chunk, chat=wiring.chat)
    chunks = []
    for one in chunked.chunks:
        record: dict[str, Any] = {"topic": one.topic, "text": one.text, "start": one.start, "end": one.end}
        if one.context:
            record["context"] = one.context
        chunks.append(record)
    return {"id": id_, "chunks": chunks, **({"notes": chunked.notes} if chunked.notes else {})}
