"""Commands about projects: set, register, list, status, remove-project."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from indexer.cli.console import table
from indexer.cli.options import ProjectName
from indexer.cli.session import Session, command
from indexer.errors import Exit, Misconfigured


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "set")(set_key)
    command(app, "register")(register)
    command(app, "list")(list_projects)
    command(app, "status")(status)
    command(app, "remove-project")(remove_project)


def set_key(
    session: Session,
    *,
    project_name: ProjectName,
    key: Annotated[str, typer.Argument(help="What to set: prompt1, language, bot-url, crawl.delay …")],
    value: Annotated[str, typer.Argument(help="The value, or @FILE; an empty one clears the key.")],
) -> None:
    """Change a project: prompts, language, bot URL, token, sources, settings."""
    from indexer.pipeline.changes import change
    from indexer.pipeline.projects import text_or_file

    project = session.project(project_name)
    wiring = session.wiring(project)
    with wiring.lock(project):
        wiring.registry.update(change(project, key, text_or_file(value)))
    session.console.result({"project": project.name, "set": key}, f"{project.name}: {key} is set")


def register(session: Session, *, project_name: ProjectName) -> Exit:
    """Register a published project with its bot (again)."""
    from indexer.pipeline import publish

    project = session.project(project_name)
    wiring = session.wiring(project)
    if wiring.bot(project) is None:
        raise Misconfigured(
            f"no bot is configured for {project.name!r}; name it with "
            f"`indexer set --project-name {project.name} bot-url https://…` or [bot] url in indexer.toml"
        )
    registered, exit_code = publish.register(wiring, project, session.console, again=True)
    session.console.result(
        {"project": project.name, "id": project.id, "registered": registered},
        f"{project.name}: {'registered' if registered else 'not registered'}",
    )
    return exit_code


def list_projects(session: Session) -> None:
    """Show all projects."""
    projects = session.wiring().registry.all()
    rows = [
        [
            project.name,
            project.id,
            project.language or "-",
            project.generation or "-",
            _bot(project.registered),
        ]
        for project in projects
    ]
    session.console.result(
        [
            {
                "name": project.name,
                "id": project.id,
                "language": project.language,
                "generation": project.generation,
                "registered": bool(project.registered),
            }
            for project in projects
        ],
        table(rows, ["name", "id", "language", "generation", "registered"]) if rows else "no projects yet",
    )


def status(session: Session, *, project_name: ProjectName) -> None:
    """Show one project: phases, counts, what is stale and why."""
    from indexer.pipeline import account

    project = session.project(project_name)
    facts = account.status(session.wiring(project), project)
    session.console.result(facts, _status_text(facts))


def remove_project(
    session: Session,
    *,
    project_name: ProjectName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a project: artifacts, index and registry row."""
    from indexer.pipeline.projects import remove

    project = session.project(project_name)
    if not yes and not typer.confirm(f"Remove {project.name} with its index and all artifacts?", err=True):
        raise Misconfigured("nothing was removed; say --yes to remove without asking")
    remove(session.wiring(project), project)
    session.console.result({"removed": project.name, "id": project.id}, f"{project.name}: removed")


def _bot(registered: str) -> str:
    return registered.rpartition(" ")[0] or "-"


def _status_text(facts: dict[str, Any]) -> str:
    lines = [f"{facts['project']} ({facts['id']})", f"  URLs found   {facts['found']}"]
    lines += [f"    {state:<10} {count}" for state, count in sorted(facts["states"].items())]
    lines += [f"      {one['state']}: {one['reason']} × {one['urls']}" for one in facts["reasons"]]
    owed = ", ".join(f"{name} {count}" for name, count in facts["owed"].items() if count) or "nothing"
    run = facts["run"]
    ended = f"ended {run['closed']}" if run["closed"] else "not ended: the next run goes on from there"
    lines += [
        f"  owed         {owed}",
        f"  last run     {run['number']}, begun {run['opened']}, {ended}"
        if run["number"]
        else "  last run     none",
        f"  index        {facts['generation'] or 'none'} ({facts['points']} points, {facts['model'] or '-'})",
        f"  registered   {'yes, ' + facts['bot_url'] if facts['registered'] else 'no'}",
    ]
    return "\n".join(lines)
