"""One phase alone, to see what the indexer sees: extract, chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from indexer.cli.options import GUARD
from indexer.cli.session import Session, command
from indexer.errors import Misconfigured

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 90  # characters of a block

In = Annotated[str, typer.Option("--in", help="JSON Lines to read; - for stdin.")]
Out = Annotated[str, typer.Option("--out", help="JSON Lines to write; - for stdout.")]


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "extract", guard=GUARD)(extract)
    command(app, "chunk", guard=GUARD)(chunk)


def extract(
    session: Session,
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE…|URL]", help="HTML, PDF, DOCX or text files, or one URL."),
    ] = None,
    source: In = "",
    out: Out = "-",
    why: Annotated[
        bool, typer.Option("--why", help="Tell of each block whether it was kept and by which rule.")
    ] = False,
    guard: dict[str, Any],
) -> None:
    """Show a page as the indexer reads it: {id, url, html} → {id, title, text, …}."""
    from indexer.pipeline import alone

    allowed = guard["allow_private"]
    settings = session.settings({"crawl": {"allow_private": tuple(allowed) if allowed else None}})
    if bool(what) == bool(source):
        raise Misconfigured("name files or a URL, or JSON Lines with --in FILE")
    _only_named(why, source)
    named = alone.extract_named(settings, what or [], why=why)
    records = alone.extract_lines(settings, source) if source else named
    _write(session, records, out, as_text=not source)


def chunk(
    session: Session,
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE…|URL]", help="Markdown or text files; or pages (HTML, PDF, DOCX), or one URL."
        ),
    ] = None,
    source: In = "",
    out: Out = "-",
    llm_chunk: Annotated[
        bool, typer.Option("--llm-chunk/--no-llm-chunk", help="Ask the chat model, if one is configured.")
    ] = True,
    why: Annotated[
        bool, typer.Option("--why", help="Tell of each chunk why it begins there, and its size.")
    ] = False,
    guard: dict[str, Any],
) -> None:
    """Show where a text is cut: {id, text} → {id, chunks: [{topic, text, start, end, context?}]}."""
    from indexer.pipeline import alone

    allowed = tuple(guard["allow_private"]) if guard["allow_private"] else None
    wiring = session.wiring(
        flags={"chunk": {"llm": None if llm_chunk else False}, "crawl": {"allow_private": allowed}}
    )
    if bool(what) == bool(source):
        raise Misconfigured("name text files or pages, or JSON Lines with --in FILE")
    named = alone.chunk_named(wiring, what or [], why=why)
    records = alone.chunk_lines(wiring, source, why=why) if source else named
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


def _why(chunk: dict[str, Any]) -> str:
    if "why" not in chunk:
        return ""
    return f"   {chunk['characters']} characters, {chunk['tokens']} tokens; {chunk['why']}\n"


def _account_text(record: dict[str, Any]) -> str:
    """Kept blocks with +, others with -: probability against bar, rule, and what it says."""
    lines = [f"{record['id']}: {record['title']} ({record['extractor']})"]
    if not record["account"]:
        lines.append("no HTML: all of it is kept")
    for line in record["account"]:
        sign = "+" if line["kept"] else "-"
        odds = "" if line["probability"] is None else f"{line['probability']:.2f} / {line['bar']:.2f}"
        around = f" (in {', '.join(line['inside'])})" if line["inside"] else ""
        lines.append(
            f"{sign} {odds:<11}  {line['rule'] + around:<52}  {line['kind']:<7}  {_short(line['text'])}"
        )
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _only_named(why: bool, source: str) -> None:
    if why and source:
        raise Misconfigured("--why tells of files or a URL, not of --in; name the page")


def _place(chunk: dict[str, Any]) -> str:
    names = [f"{name} {chunk[name]}" for name in ("article", "point") if chunk.get(name)]
    return "  " + ", ".join(names) if names else ""


def _text(record: dict[str, Any]) -> str:
    if "chunks" in record:
        parts = [
            f"── {number}. {chunk['topic']}  [{chunk['start']}:{chunk['end']}]{_place(chunk)}\n"
            + _why(chunk)
            + (f"({chunk['context']})\n" if chunk.get("context") else "")
            + chunk["text"]
            for number, chunk in enumerate(record["chunks"], 1)
        ]
        parts += [f"left out, {left['rule']}: {_short(left['text'])}" for left in record.get("left_out", ())]
        return "\n\n".join([f"{record['id']}: {len(record['chunks'])} chunks", *parts])
    if "account" in record:
        return _account_text(record)
    shown = ("id", "url", "title", "language", "description", "published", "modified", "extractor")
    heads = [f"{key}: {record[key]}" for key in shown if record.get(key)]
    return "\n".join([*heads, "", record["text"]])
