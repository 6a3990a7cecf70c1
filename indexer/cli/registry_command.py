"""The command about the registry itself: registry."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from indexer.cli.console import table
from indexer.cli.session import Session, command
from indexer.errors import Misconfigured


class Action(StrEnum):
    """What to do with the registry."""

    SHOW = "show"
    MIGRATE = "migrate"


def add(app: typer.Typer) -> None:
    """Register the command."""
    command(app, "registry")(registry)


def registry(
    session: Session,
    *,
    action: Annotated[Action, typer.Argument(help="show, or migrate.")],
    to: Annotated[
        str,
        typer.Option(
            "--to", help="Where to: a PostgreSQL URL, or @FILE that holds it (default: as configured)."
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace other values there.")] = False,
) -> None:
    """Show which registry is in use, or move that of the projects folder to a PostgreSQL server."""
    if action is Action.SHOW:
        if to or force:
            raise Misconfigured("--to and --force belong to `indexer registry migrate`")
        _show(session)
    else:
        _migrate(session, to, force=force)


def _show(session: Session) -> None:
    from indexer.pipeline.moving import shown

    facts = shown(session.wiring())
    session.console.result(facts, _text(facts))


def _migrate(session: Session, to: str, *, force: bool) -> None:
    from indexer.pipeline.moving import move
    from indexer.private import passwords_in, read_address
    from indexer.settings import registry_url

    wiring = session.wiring()
    configured = registry_url(wiring.settings.registry)
    url = read_address(to[1:]) if to.startswith("@") else to or configured
    if not url:
        raise Misconfigured("where to? Name the server with --to URL, --to @FILE or INDEXER_REGISTRY_URL")
    session.console.known += passwords_in(url)
    target, moved = move(wiring, url, force=force)
    told = {
        "to": target.where,
        "moved": moved.moved,
        "replaced": moved.replaced,
        "unchanged": moved.unchanged,
    }
    lines = [f"{what:<9} {', '.join(names)}" for what, names in told.items() if names and what != "to"]
    lines += ["no projects"] if not lines else []
    if url != configured:
        lines.append("From now on set INDEXER_REGISTRY_URL or [registry] url_file to it")
    session.console.result(told, "\n".join([f"to        {target.where}", *lines]))


def _text(facts: dict[str, Any]) -> str:
    server = (
        f", PostgreSQL {facts['server']}, TLS {'on' if facts['tls'] else 'off'}" if "server" in facts else ""
    )
    made = f"version {facts['version']}" if facts["version"] else "not created yet"
    heads = ["name", "generation", "chunks", "terms", "avg_dl", "updated"]
    rows = [
        [
            one["name"],
            one["generation"] or "-",
            str(one["num_docs"]),
            str(one["terms"]),
            f"{one['avg_dl']:.2f}",
            one["updated_at"] or "-",
        ]
        for one in facts["projects"]
    ]
    head = f"{facts['kind']} {facts['where']} ({made}{server})"
    return f"{head}\n{table(rows, heads)}" if rows else f"{head}\nno projects"
