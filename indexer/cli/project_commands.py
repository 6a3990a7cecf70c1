"""Commands about projects: set, register, list, status, remove-project, remove-dataset."""

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
    command(app, "explain")(explain)
    command(app, "remove-project")(remove_project)
    command(app, "remove-dataset")(remove_dataset)


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
        stored = wiring.project(id=project.id)  # as the run that ended a moment ago left it
        text = text_or_file(value)
        wiring.registry.update(change(stored, key, text))
    done = "set" if text else "cleared"
    session.console.result({"project": project.name, done: key}, f"{project.name}: {key} is {done}")


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


def explain(
    session: Session,
    *,
    url: Annotated[str, typer.Argument(help="An address of the project's site.")],
    project_name: ProjectName,
) -> None:
    """Show one URL's whole life: where it was found, what was answered, what became of it and why."""
    from indexer.pipeline.explain import explain as explain_url

    project = session.project(project_name)
    life = explain_url(session.wiring(project), project, url)
    session.console.result(life, _life_text(life))


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


def remove_dataset(
    session: Session,
    *,
    project_name: ProjectName,
    dataset: Annotated[str, typer.Argument(help="The dataset's name (see `indexer status`).")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a dataset: its sources, pages and artifacts; its points with the next publication."""
    from indexer.pipeline.removal import remove_dataset as remove

    project = session.project(project_name)
    if not yes and not typer.confirm(f"Remove {dataset} of {project.name} with its pages?", err=True):
        raise Misconfigured("nothing was removed; say --yes to remove without asking")
    told = remove(session.wiring(project), project, dataset)
    session.console.result(
        told,
        f"{project.name}: {dataset} removed, {told['pages']} pages; the live index holds them until "
        f"`indexer publish --project-name {project.name}`",
    )


def _life_text(life: dict[str, Any]) -> str:
    page, chunks, embeds, points = life["page"], life["chunks"], life["embeds"], life["points"]
    why = " · ".join(part for part in (life["reason"], life["detail"]) if part)
    lines = [
        ("URL", f"{life['url']}  ({life['key']}.json)"),
        ("state", f"{life['state']}{' · ' + why if why else ''}"),
        ("found in", ", ".join(life["found_in"]) + f"  (depth {life['depth']})"),
        ("robots", life["robots"]),
        ("redirects", " → ".join(life["hops"])),
        ("kept under", life["final_url"] if life["final_url"] != life["url"] else ""),
        (
            "answer",
            f"status {life['status']}, asked {life['checked_at']}, read {life['fetched_at'] or 'never'}"
            if life["checked_at"] or life["status"]
            else "",
        ),
        ("same text", ", ".join(life["same_text"])),
    ]
    if page:
        known = [page["title"], page["language"], page["content_type"], page["charset"], page["extractor"]]
        lines.append(
            ("page", f"{' · '.join(part for part in known if part)} · {page['characters']} characters")
        )
        if "dataset" in page:
            lines.append(("dataset", " · ".join(str(value) for value in page["dataset"].values())))
        lines += [("", note) for note in page["notes"]]
        lines += [("kept out" if not number else "", text) for number, text in enumerate(page["hidden"])]
    if chunks:
        lines.append(("chunks", f"{len(chunks['parts'])}, {chunks['mode']}"))
        lines += [("", f"[{part['start']}:{part['end']}] {part['topic']}") for part in chunks["parts"]]
        lines += [("", note) for note in chunks["notes"]]
    if embeds:
        lines.append(("vectors", f"{embeds['vectors']} by {embeds['model']}"))
    lines.append(
        (
            "points",
            f"{points['live']} of {points['of']} live in {points['generation']}" if points else "none live",
        )
    )
    return "\n".join(f"{name:<11} {text}".rstrip() for name, text in lines if text)


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
    lines += [
        f"  dataset      {one['dataset'] or 'none'} ({one['layer'] or '-'}): {one['pages']} pages"
        for one in facts["datasets"]
    ]
    stale, hidden = facts["stale"], facts["hidden"]
    if facts["gone"]:
        lines.append(f"  gone         {facts['gone']} pages; `indexer export` says since when and why")
    if stale["pages"]:
        more = " …" if stale["pages"] > len(stale["examples"]) else ""
        lines.append(
            f"  stale        {stale['pages']} pages answer, but nothing names them: "
            f"{', '.join(stale['examples'])}{more}"
        )
    if hidden["texts"]:
        pages = ", ".join(hidden["examples"]) + (" …" if hidden["pages"] > len(hidden["examples"]) else "")
        lines.append(
            f"  hidden       {hidden['texts']} texts on {hidden['pages']} pages kept out; "
            f"`indexer explain` shows them: {pages}"
        )
    if facts["ignore_robots"]:
        lines.append("  robots.txt   ignored (--ignore-robots)")
    if facts["private"]:
        lines.append(f"  credentials  {', '.join(facts['private'])}")
    return "\n".join(lines)
