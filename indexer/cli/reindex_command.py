"""The command that keeps projects true: reindex."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from indexer.cli.options import CRAWL, DEFAULTS, PHASES, flags_of
from indexer.cli.session import Session, command
from indexer.errors import Exit, Misconfigured

if TYPE_CHECKING:
    from indexer.ports import Project


def add(app: typer.Typer) -> None:
    """Register the command."""
    command(app, "reindex", crawl=CRAWL, phases=PHASES)(reindex)


def reindex(
    session: Session,
    *,
    project_name: Annotated[
        list[str] | None, typer.Option("--project-name", help="The project's name; repeatable.")
    ] = None,
    project_id: Annotated[str, typer.Option("--project-id", help="The project's id.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All projects that have sources.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Projects side by side.")] = 1,
    new_model: Annotated[
        bool, typer.Option("--new-model", help="Publish under another embedding model than the live index's.")
    ] = False,
    crawl: dict[str, Any],
    phases: dict[str, Any],
) -> Exit:
    """Bring projects up to date from their stored sources; options hold for this run only."""
    names = list(dict.fromkeys(project_name or []))
    if sum(map(bool, (names, project_id, everything))) != 1:
        raise Misconfigured("which projects? Name them with --project-name N (repeatable), or say --all")
    if not everything and len(names) <= 1:
        project = session.project(names[0] if names else "", project_id)
        return _one(session, project, crawl, phases, new_model=new_model)
    projects = [session.project(name) for name in names] or _with_sources(session)
    words = ["--new-model"] if new_model else []
    return _many(session, projects, [*words, *words_of(CRAWL, crawl), *words_of(PHASES, phases)], jobs=jobs)


def _one(
    session: Session, project: Project, crawl: dict[str, Any], phases: dict[str, Any], *, new_model: bool
) -> Exit:
    from indexer.artifacts import Sources
    from indexer.cli.run_commands import summary
    from indexer.pipeline.projects import stored_sources, with_options
    from indexer.pipeline.run import Request, check_order, run

    session.console.about = {"project": project.name, "id": project.id}
    first, last = phases["from_phase"].value, phases["until_phase"].value
    check_order(first, last)
    sources = stored_sources(project)
    once = with_options(project, Sources(), flags_of(crawl, phases))  # joined to what is stored, not stored
    wiring = session.wiring(once, {"run": {"workers": phases["workers"]}})
    if sources == Sources():
        raise Misconfigured(
            f"project {project.name!r} has no sources to look at again; "
            f"add them with `indexer seed --project-name {project.name} --sitemap-url https://…/sitemap.xml`"
        )
    wiring.preflight(project, until=last, bot=phases["register"])
    session.resume = f"indexer reindex --project-name {project.name}"
    request = Request(
        sources=sources,
        first=first,
        last=last,
        force=phases["force"],
        allow_shrink=phases["allow_shrink"],
        new_model=new_model,
        register=phases["register"],
        command="reindex",
    )
    report, exit_code = run(wiring, project, request, session.console)
    session.console.result(report, summary(report))
    return exit_code


def _many(session: Session, projects: list[Project], options: list[str], *, jobs: int) -> Exit:
    """One JSON line, or one line of text, for each project as it ends; `options` are given to each."""
    from indexer.pipeline.many import Children, worst

    if not projects:
        session.console.say("No project has sources: there is nothing to do")
        return Exit.DONE
    words = ["reindex", *session.words(), *options]
    codes = []
    children = Children(words, session.console)
    for answer in children.run(projects, jobs=min(jobs, len(projects))):
        codes.append(int(answer["exit"]))
        told = answer.get("error") or _line(answer)
        session.console.result(answer, f"{answer['project']}: exit {answer['exit']}: {told}")
    return worst(codes)


def _with_sources(session: Session) -> list[Project]:
    from indexer.artifacts import Sources
    from indexer.pipeline.projects import stored_sources

    wiring = session.wiring()
    found = [one for one in wiring.registry.all() if stored_sources(one) != Sources()]
    far = [one.name for one in found if wiring.elsewhere(one)]
    if far:
        session.console.say(f"Left to the machines that published them: {', '.join(far)}")
    return [one for one in found if one.name not in far]


def words_of(options: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Options as they would be typed, without those that were not given."""
    words: list[str] = []
    for name, value in given.items():
        if value is None or value == DEFAULTS.get(name):
            continue
        option = get_args(options[name])[1]
        declared = [option.default, *option.param_decls]  # a first name stands where a default would
        named = (part for part in declared if isinstance(part, str) and part.startswith("--"))
        flag = next(named, "--" + name.replace("_", "-"))
        on, _, off = flag.partition("/")
        if isinstance(value, bool):
            words.append(on if value else off)
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [on, str(one.value if isinstance(one, Enum) else one)]
    return words


def _line(answer: dict[str, Any]) -> str:
    parts = ("new", "changed", "moved", "gone", "stale", "kept", "quarantined", "failed")
    told = [f"{answer[name]} {name}" for name in parts if answer.get(name)]
    return f"{answer.get('indexed', 0)} pages; {', '.join(told) or 'nothing changed'}"
