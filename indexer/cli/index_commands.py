"""Commands about what is live: publish, generations, rollback, gc."""

from __future__ import annotations

from typing import Annotated

import typer

from indexer.cli.console import table
from indexer.cli.options import ProjectName
from indexer.cli.session import Session, command
from indexer.errors import Exit, Misconfigured

Reason = Annotated[str, typer.Option("--reason", help="Why; it is recorded with the run.")]
Register = Annotated[
    bool, typer.Option("--register/--no-register", help="Tell the bot which generation is live.")
]


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "publish")(publish)
    command(app, "generations")(generations)
    command(app, "rollback")(rollback)
    command(app, "gc")(gc)


def publish(
    session: Session,
    *,
    project_name: ProjectName,
    force: Annotated[
        bool, typer.Option("--force", help="Believe what is held back, and pass every gate.")
    ] = False,
    reason: Reason = "",
    register: Register = True,
) -> Exit:
    """Publish what was scraped, without asking the site; --force --reason passes the gates."""
    from indexer.cli.run_commands import summary
    from indexer.pipeline.generations import publish_stored

    if force and not reason.strip():
        raise Misconfigured("--force passes every gate: say why with --reason")
    project = session.project(project_name)
    wiring = session.wiring(project)
    wiring.preflight(project, until="index", bot=register)
    session.resume = f"indexer publish --project-name {project.name}"
    report, code = publish_stored(
        wiring, project, session.console, force=force, reason=reason, tell_bot=register
    )
    session.console.result(report, summary(report))
    return code


def generations(session: Session, *, project_name: ProjectName) -> None:
    """Show the generations of the index that can be gone back to."""
    from indexer.pipeline.generations import listed

    project = session.project(project_name)
    found = listed(session.wiring(project), project)
    rows = [
        [
            one["generation"],
            "live" if one["live"] else "",
            one["created"],
            str(one["pages"]),
            str(one["points"]),
            one["model"],
        ]
        for one in found
    ]
    heads = ["generation", "", "created", "pages", "points", "model"]
    session.console.result(found, table(rows, heads) if rows else "no generation yet")


def rollback(
    session: Session,
    *,
    project_name: ProjectName,
    to: Annotated[str, typer.Option("--to", help="Which generation (default: the one before).")] = "",
    reason: Reason = "",
    register: Register = True,
) -> Exit:
    """Make an earlier generation live again; what it replaces is not published again unasked."""
    from indexer.pipeline.generations import roll_back

    project = session.project(project_name)
    wiring = session.wiring(project)
    manifest, code = roll_back(
        wiring, project, to=to, reason=reason, tell_bot=register, progress=session.console
    )
    session.console.result(
        {"project": project.name, "id": project.id, "generation": manifest.generation},
        f"{project.name}: {manifest.generation} is live again "
        f"({manifest.pages} pages, {manifest.points} points)",
    )
    return code


def gc(
    session: Session,
    *,
    project_name: ProjectName,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, help="Generations to keep (default: as configured).")
    ] = None,
) -> None:
    """Remove old generations; the live one always stays."""
    from indexer.pipeline.generations import collect

    project = session.project(project_name)
    wiring = session.wiring(project)
    removed = collect(wiring, project, keep or wiring.settings.index.keep_generations)
    session.console.result(
        {"project": project.name, "removed": removed},
        f"{project.name}: {', '.join(removed) or 'nothing'} removed",
    )
