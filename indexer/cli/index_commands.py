"""Commands about what is live and how it came about: publish, generations, rollback, gc, runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from indexer.cli.console import table
from indexer.cli.options import ProjectName
from indexer.cli.session import Session, command
from indexer.errors import Exit, Misconfigured

if TYPE_CHECKING:
    from indexer.pipeline.recording import Record

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
    command(app, "runs")(runs)


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


def runs(
    session: Session,
    *,
    action: Annotated[str, typer.Argument(help="Nothing: all runs; or: show.")] = "",
    run: Annotated[str, typer.Argument(help="The run to show, or: last.")] = "last",
    project_name: ProjectName = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many runs of a project.")] = 20,
) -> None:
    """Show what runs did, newest first; `runs show ID` gives one with its digest."""
    from itertools import islice

    from indexer.pipeline import recording

    if action not in ("", "show"):
        raise Misconfigured(f"runs {action!r} is nothing; say `runs` or `runs show ID`")
    wiring = session.wiring()
    if action == "show":
        project = session.project(project_name)
        record, text = recording.show(wiring, project, run)
        session.console.result(record, text or f"{record.command} {record.started}: {_ended(record)}")
        return
    projects = [session.project(project_name)] if project_name else wiring.registry.all()
    found = [one for each in projects for one in islice(recording.runs(wiring, each), limit)]
    rows = [[one.run, one.project, one.command, one.started, _ended(one)] for one in found]
    heads = ["run", "project", "command", "started", "ended"]
    session.console.result(
        [recording.brief(one) for one in found], table(rows, heads) if rows else "no run yet"
    )


def _ended(record: Record) -> str:
    if not record.ended:
        return "not ended: it is running, or was killed"
    told = f"exit {record.exit} at {record.ended}"
    return f"{told}: {record.error[:100]}" if record.error else told
