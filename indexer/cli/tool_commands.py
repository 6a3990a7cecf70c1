"""One phase alone, to see what the indexer sees: extract, chunk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indexer.cli.options import GUARD
from indexer.cli.session import Session, command
from indexer.errors import Misconfigured

if TYPE_CHECKING:
    from collections.abc import Iterator

In = Annotated[str, typer.Option("--in", help="JSON Lines to read; - for stdin.")]
Out = Annotated[str, typer.Option("--out", help="JSON Lines to write; - for stdout.")]


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "extract", guard=GUARD)(extract)
    command(app, "chunk")(chunk)


def extract(
    session: Session,
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE…|URL]", help="HTML, PDF, DOCX or text files, or one URL."),
    ] = None,
    source: In = "",
    out: Out = "-",
    guard: dict[str, Any],
) -> None:
    """Show a page as the indexer reads it: {id, url, html} → {id, title, text, …}."""
    from indexer.pipeline import alone

    allowed = guard["allow_private"]
    settings = session.settings({"crawl": {"allow_private": tuple(allowed) if allowed else None}})
    if bool(what) == bool(source):
        raise Misconfigured("name files or a URL, or JSON Lines with --in FILE")
    records = alone.extract_lines(settings, source) if source else alone.extract_named(settings, what or [])
    _write(session, records, out, as_text=not source)


def chunk(
    session: Session,
    *,
    files: Annotated[list[Path] | None, typer.Argument(help="Markdown or text files.")] = None,
    source: In = "",
    out: Out = "-",
    llm_chunk: Annotated[
        bool, typer.Option("--llm-chunk/--no-llm-chunk", help="Ask the chat model, if one is configured.")
    ] = True,
) -> None:
    """Show where a text is cut: {id, text} → {id, chunks: [{topic, text, start, end, context?}]}."""
    from indexer.pipeline import alone

    wiring = session.wiring(flags={"chunk": {"llm": None if llm_chunk else False}})
    if bool(files) == bool(source):
        raise Misconfigured("name text files, or JSON Lines with --in FILE")
    records = alone.chunk_lines(wiring, source) if source else alone.chunk_files(wiring, files or [])
    _write(session, records, out, as_text=not source)


def _write(session: Session, records: Iterator[dict[str, Any]], out: str, *, as_text: bool) -> None:
    import msgspec

    from indexer.pipeline.lines import writing

    with writing(out) as file:
        for record in records:
            if as_text and out == "-" and not session.console.json:
                file.write(_text(record).encode() + b"\n")
            else:
                file.write(msgspec.json.encode(record) + b"\n")


def _place(chunk: dict[str, Any]) -> str:
    names = [f"{name} {chunk[name]}" for name in ("article", "point") if chunk.get(name)]
    return "  " + ", ".join(names) if names else ""


def _text(record: dict[str, Any]) -> str:
    if "chunks" in record:
        parts = [
            f"── {number}. {chunk['topic']}  [{chunk['start']}:{chunk['end']}]{_place(chunk)}\n"
            + (f"({chunk['context']})\n" if chunk.get("context") else "")
            + chunk["text"]
            for number, chunk in enumerate(record["chunks"], 1)
        ]
        return "\n\n".join([f"{record['id']}: {len(record['chunks'])} chunks", *parts])
    shown = ("id", "url", "title", "language", "description", "published", "modified", "extractor")
    heads = [f"{key}: {record[key]}" for key in shown if record.get(key)]
    return "\n".join([*heads, "", record["text"]])
