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

_SCHEMES = ("http://", "https://")
_PAGES = (".html", ".htm", ".xhtml", ".pdf", ".docx")


def extract_lines(settings: Settings, name: str) -> Iterator[dict[str, Any]]:
    """`{id, url, html}` → `{id, title, text, …}`, in order."""
    from indexer.extract import extract

    for record in read_lines(name, needs=("id", "html")):
        url = record.get("url") or ""
        found = extract(record["html"], url=url, favor_recall=settings.extract.favor_recall)
        yield {"id": record["id"], "url": url, **msgspec.to_builtins(found)}


def extract_named(settings: Settings, names: list[str], *, why: bool = False) -> Iterator[dict[str, Any]]:
    """
    The same for files (read as bytes: what they are is found as for a page) or URLs.

    `why`: with `account`, one line for each block of an HTML page.
    """
    for name in names:
        response = _response(settings, name)
        record = {"id": name, **_read_page(response, settings)}
        yield record | ({"account": _account(response, settings)} if why else {})


def _response(settings: Settings, name: str) -> Response:
    return _get(settings, name) if name.startswith(_SCHEMES) else _read(name)


def _account(response: Response, settings: Settings) -> list[dict[str, Any]]:
    """Why each block was kept or left out; empty for what is no HTML, which is kept whole."""
    from indexer.crawl.charset import decode
    from indexer.crawl.sniff import kind_of
    from indexer.extract import account
    from indexer.extract.reader import read

    if kind_of(response.body, response.headers, status=response.status).name != "html":
        return []
    html, _ = decode(response.body, response.headers.get("content-type", ""))
    told: list[account.Line] = []
    read(
        html,
        url=response.final_url,
        favor_recall=settings.extract.favor_recall,
        watch=lambda decided: told.extend(account.lines(decided)),
    )
    return [msgspec.to_builtins(line) for line in told]


def _read_page(response: Response, settings: Settings) -> dict[str, Any]:
    from indexer.phases.scrape import read
    from indexer.pipeline.reading import reading_of

    scraped = read(response, reading=reading_of(settings))
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


def chunk_lines(wiring: Wiring, name: str, *, why: bool = False) -> Iterator[dict[str, Any]]:
    """`{id, text}` → `{id, chunks}`, in order; `title` and `language` are used if given."""
    for record in read_lines(name, needs=("id", "text")):
        yield _chunks(wiring, record, why=why)


def chunk_named(wiring: Wiring, names: list[str], *, why: bool = False) -> Iterator[dict[str, Any]]:
    """
    The same for files or URLs: HTML, PDF and DOCX are read as pages, other files are text.

    `why`: each chunk says why it begins where it does, and how long it is in characters and
    in tokens of what is embedded; `left_out` lists the texts of a page that are in none, and why.
    """
    for name in names:
        path = Path(name)
        if name.startswith(_SCHEMES) or path.suffix.lower() in _PAGES:
            response = _response(wiring.settings, name)
            page = _read_page(response, wiring.settings)
            cut = _chunks(wiring, {**page, "id": name}, why=why)
            yield cut | ({"left_out": _left_out(response, wiring.settings)} if why else {})
            continue
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise Misconfigured(f"{path} is no UTF-8 text; save it as UTF-8") from None
        except OSError as error:
            raise Misconfigured(f"cannot read {path}: {error.strerror}") from None
        yield _chunks(wiring, {"id": name, "text": text}, why=why)


def _left_out(response: Response, settings: Settings) -> list[dict[str, str]]:
    """What could have been content and is in no chunk: copies, controls, orders, hidden text."""
    from indexer.extract import account

    rules = (account.COPY, account.CONTROL, account.ORDER, account.HIDDEN)
    lines = _account(response, settings)
    return [{"rule": line["rule"], "text": line["text"]} for line in lines if line["rule"] in rules]


def _chunks(wiring: Wiring, record: dict[str, Any], *, why: bool) -> dict[str, Any]:
    from indexer.phases.chunk import chunk_record

    cut = chunk_record(record, settings=wiring.settings.chunk, chat=wiring.chat, why=why)
    if why:
        for row in cut["chunks"]:
            row["characters"] = row["end"] - row["start"]
            row["tokens"] = _tokens(wiring, row)
    return cut


def _tokens(wiring: Wiring, row: dict[str, Any]) -> int:
    """Of what the model is given for a chunk: its topic, context and text."""
    from indexer.artifacts import Chunk
    from indexer.embed.adapters import adapter_for
    from indexer.embed.passages import head_of

    model = wiring.embed
    part = Chunk(
        ordinal=0,
        topic=row["topic"],
        text=row["text"],
        start=row["start"],
        end=row["end"],
        context=row.get("context", ""),
    )
    prefix = adapter_for(model.model, wiring.settings.models.adapter).passage_prefix
    return model.count(prefix + head_of(part) + part.text)
