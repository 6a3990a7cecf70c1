"""Commands that run the pipeline: init-project, seed, add-urls, add-files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indexer.cli.options import (
    CRAWL,
    DATASET,
    LISTED,
    PHASES,
    SOURCES,
    Language,
    PhaseName,
    ProjectName,
    flags_of,
    sources_of,
)
from indexer.cli.session import Session, command
from indexer.errors import Exit, IndexerError, Misconfigured

if TYPE_CHECKING:
    from indexer.artifacts import Dataset, Sources
    from indexer.pipeline.report import Report
    from indexer.ports import Project

Text = Annotated[str, typer.Option(help="Text, or @FILE to read it from a file.")]


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "init-project", sources=SOURCES, labels=DATASET, crawl=CRAWL, phases=PHASES)(init_project)
    command(app, "seed", sources=SOURCES, labels=DATASET, crawl=CRAWL, phases=PHASES)(seed)
    command(app, "add-urls", listed=LISTED, labels=DATASET, crawl=CRAWL, phases=PHASES)(add_urls)
    command(app, "add-files", labels=DATASET, phases=PHASES)(add_files)


def init_project(  # noqa: PLR0913 - the command's options
    session: Session,
    *,
    name: Annotated[str, typer.Option("--name", help="The project's name: also its folder and collection.")],
    language: Language = "",
    tg_api_key: Annotated[str, typer.Option(help="Telegram bot token, or @FILE.")] = "",
    tg_lead_group: Annotated[str, typer.Option(help="Telegram group for leads.")] = "",
    prompt1: Text = "",
    start_reply: Text = "",
    bot_url: Annotated[str, typer.Option(help="Address of the running bot.")] = "",
    sources: dict[str, Any],
    labels: dict[str, Any],
    crawl: dict[str, Any],
    phases: dict[str, Any],
) -> Exit:
    """Create a project; with SOURCES also index it, publish it and register it with the bot."""
    from indexer.pipeline.projects import create, forget_if_empty, text_or_file
    from indexer.ports import Project

    parsed, datasets = _named(labels, sources_of(sources))
    flags = flags_of(crawl, phases)
    _check(session, Project(id="", name=name), parsed, flags, phases)  # nothing is left behind by bad options
    prompts = {"prompt1": text_or_file(prompt1), "start_reply": text_or_file(start_reply)}
    project = create(
        session.wiring(),
        Project(
            id="",
            name=name,
            language=language,
            tg_api_key=text_or_file(tg_api_key).strip(),
            tg_lead_group=tg_lead_group,
            prompts={key: text for key, text in prompts.items() if text},
            bot_url=bot_url,
        ),
    )
    session.console.say(f"Created project {project.name} ({project.id})")
    try:
        return _run(session, project, parsed, flags, phases, datasets=datasets)
    except IndexerError:
        if forget_if_empty(session.wiring(project), project):
            session.console.say(f"Nothing was found, so project {project.name} was removed again")
        raise


def seed(
    session: Session,
    *,
    project_name: ProjectName = "",
    project_id: Annotated[str, typer.Option("--project-id", help="The project's id.")] = "",
    sources: dict[str, Any],
    labels: dict[str, Any],
    crawl: dict[str, Any],
    phases: dict[str, Any],
) -> Exit:
    """Bring a project up to date; SOURCES are added to those it has."""
    (parsed, datasets), flags = _named(labels, sources_of(sources)), flags_of(crawl, phases)
    project = session.project(project_name, project_id)
    _check(session, project, parsed, flags, phases)
    return _run(session, project, parsed, flags, phases, datasets=datasets)


def add_urls(
    session: Session,
    *,
    project_name: ProjectName,
    listed: dict[str, Any],
    labels: dict[str, Any],
    crawl: dict[str, Any],
    phases: dict[str, Any],
) -> Exit:
    """Add single pages to a project and index them."""
    parsed, datasets = _named(labels, sources_of(listed))
    if not parsed.urls:
        raise Misconfigured("name pages with --urls U1,U2 or --urls-file FILE")
    project, flags = session.project(project_name), flags_of(crawl, phases)
    _check(session, project, parsed, flags, phases)
    return _run(session, project, parsed, flags, phases, only=parsed.urls, datasets=datasets)


def add_files(
    session: Session,
    *,
    project_name: ProjectName,
    paths: Annotated[list[Path], typer.Argument(help="Files (.md, .html, .txt) or folders of them.")],
    labels: dict[str, Any],
    phases: dict[str, Any],
) -> Exit:
    """Add local documents to a project and index them."""
    from indexer.artifacts import Sources
    from indexer.pipeline.projects import local_files

    project = session.project(project_name)
    files = local_files(paths)
    parsed, datasets = _named(labels, Sources(files=files))
    return _run(session, project, parsed, {}, phases, only=files, datasets=datasets)


def _run(
    session: Session,
    project: Project,
    sources: Sources,
    flags: dict[str, dict[str, Any]],
    phases: dict[str, Any],
    *,
    only: tuple[str, ...] = (),
    datasets: tuple[Dataset, ...] = (),
) -> Exit:
    from indexer.artifacts import Sources
    from indexer.pipeline import projects
    from indexer.pipeline.run import Request, run

    project = projects.remember(session.wiring(project, flags), project, sources, flags, datasets)
    wiring = session.wiring(project, {"run": {"workers": phases["workers"]}})
    known = projects.stored_sources(project)
    request = Request(
        sources=known,
        first=phases["from_phase"].value,
        last=phases["until_phase"].value,
        only=only,
        force=phases["force"],
        allow_shrink=phases["allow_shrink"],
        register=phases["register"],
    )
    if known == Sources() and request.wants("scrape"):
        return _created_only(session, project)
    session.resume = f"indexer seed --project-name {project.name}"
    report, exit_code = run(wiring, project, request, session.console)
    session.console.result(report, summary(report))
    return exit_code


def _named(labels: dict[str, Any], sources: Sources) -> tuple[Sources, tuple[Dataset, ...]]:
    """The datasets among the options, and all sources: those named and those of the datasets."""
    from indexer.pipeline import datasets, projects

    found = datasets.named(labels, sources)
    return projects.merge_sources(sources, datasets.sources_of(found)), found


def _created_only(session: Session, project: Project) -> Exit:
    from indexer.pipeline.report import Report

    session.console.result(
        Report(project=project.name, id=project.id),
        f"{project.name}: no sources yet; add them with "
        f"`indexer seed --project-name {project.name} --sitemap-url https://…/sitemap.xml`",
    )
    return Exit.DONE


def summary(report: Report) -> str:
    """A run's report as one line."""
    total = (
        f"{report.found} found = {report.indexed} indexed + {report.skipped} skipped + {report.failed} failed"
    )
    parts = [
        f"{report.project}: {total}",
        f"{report.chunks} chunks ({report.embedded} embedded, {report.embed_cached} from cache)",
    ]
    if report.generation:
        parts.append(f"index {report.generation} with {report.points} points")
    return "; ".join([*parts, f"{report.seconds:.1f} s"])


def _check(
    session: Session,
    project: Project,
    sources: Sources,
    flags: dict[str, dict[str, Any]],
    phases: dict[str, Any],
) -> None:
    """Raise for what can be seen to be wrong before anything is stored."""
    from indexer.artifacts import Sources
    from indexer.pipeline.projects import stored_sources, with_options
    from indexer.pipeline.run import check_order

    check_order(phases["from_phase"].value, phases["until_phase"].value)
    planned = with_options(project, sources, flags)
    wiring = session.wiring(planned)
    if stored_sources(planned) != Sources():
        wiring.preflight(planned, until=phases["until_phase"].value, bot=phases["register"])
    if phases["from_phase"] is PhaseName.SCRAPE:
        wiring.credentials(stored_sources(planned))
        wiring.render()
