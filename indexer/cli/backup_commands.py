"""Commands that keep a project safe: backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indexer.cli.options import Name, ProjectName, named
from indexer.cli.session import Session, command

if TYPE_CHECKING:
    from indexer.pipeline.restore import Restored


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "backup")(backup)
    command(app, "restore")(restore)


def backup(
    session: Session,
    *,
    name: Name = "",
    project_name: ProjectName = "",
    to: Annotated[Path, typer.Option("--to", help="File to write, for example p.tar.zst.")],
    with_token: Annotated[
        bool, typer.Option("--with-token", help="Also the Telegram token, which is left out otherwise.")
    ] = False,
) -> None:
    """Write a project to one file: pages, chunks, embeds, catalogue, published index, options."""
    from indexer.pipeline.backup import backup as write

    project = session.project(named(name, project_name))
    done = write(session.wiring(project), project, to, with_token=with_token, progress=session.console)
    size = to.stat().st_size
    session.console.result(
        {"file": str(to), "size": size, "backup": done},
        f"{project.name}: {to} ({size:,} bytes, {done.files} files)",
    )


def restore(
    session: Session,
    *,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What `indexer backup` wrote.")],
    name: Annotated[str, typer.Option("--as", help="Another name for the project.")] = "",
    force: Annotated[bool, typer.Option("--force", help="In place of a project of that name.")] = False,
) -> None:
    """Bring a project back from a backup; everything is verified before anything is replaced."""
    from indexer.pipeline.restore import restore as read

    done = read(session.wiring(), source, name=name, force=force, progress=session.console)
    session.console.result(done, _text(done))


def _text(done: Restored) -> str:
    lines = [f"{done.project} ({done.id}): as of {done.created}, {done.files} files"]
    built = "built from its embeds" if done.rebuilt else "as it was"
    lines.append(
        f"  index   {done.generation} with {done.points} points, {built}" if done.generation else "  no index"
    )
    if not done.token:
        lines.append(f"  token   none: indexer set --project-name {done.project} tg-api-key …")
    lines.append(f"  bot     tell it: indexer register --project-name {done.project}")
    return "\n".join(lines)
