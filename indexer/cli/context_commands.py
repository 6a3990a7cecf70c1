"""Commands about what a bot is handed: context, redteam."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from indexer.cli.options import NoRerank, ProjectName
from indexer.cli.session import Session, command
from indexer.errors import Exit, Misconfigured


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "context")(context)
    command(app, "redteam")(redteam)


def context(
    session: Session,
    *,
    project_name: ProjectName,
    query: Annotated[str, typer.Argument(help="The question.")] = "",
    questions: Annotated[
        str,
        typer.Option("--in", help="JSON Lines {id, question, history?}, - for stdin; one context a line."),
    ] = "",
    history: Annotated[
        str, typer.Option("--history", help="Earlier turns {role, content}: a JSON list, or one a line.")
    ] = "",
    no_rerank: NoRerank = False,
    max_chars: Annotated[
        int | None,
        typer.Option(
            "--max-chars",
            min=0,
            help="Whole fragments of so many characters in all; 0: any (default: [policy] max_chars).",
        ),
    ] = None,
) -> None:
    """Show what a bot is handed: fragments under the source policy, and whether they suffice."""
    from indexer.pipeline import context as contexts
    from indexer.search.context import as_text

    if bool(query.strip()) == bool(questions):
        raise Misconfigured('ask one question ("…") or many with --in FILE')
    if history and questions:
        raise Misconfigured("with --in, each question has its own history; leave --history out")
    project = session.project(project_name)
    wiring = session.wiring(project, {"policy": {"max_chars": max_chars}})
    if questions:
        for found in contexts.contexts(wiring, project, questions, rerank=not no_rerank):
            session.console.data(found)
        return
    found = contexts.context(wiring, project, query, history=history, rerank=not no_rerank)
    session.console.result(found, as_text(found))


def redteam(
    session: Session,
    *,
    project_name: ProjectName,
    cases: Annotated[str, typer.Option("--cases", help="JSON Lines {id, question, history?, expect}.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the reports (default: redteam/ of the project).")
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers/--no-answers", help="Let the chat model, if there is one, answer too.")
    ] = True,
) -> Exit:
    """Run a pack of hard questions: blockers, a comparison with the last run, go or no-go."""
    from indexer.pipeline import redteam as pack
    from indexer.search.redteam import NO_GO

    project = session.project(project_name)
    report = pack.run(session.wiring(project), project, cases, out=out, answers=answers)
    passed = f"{report['passed']} of {report['cases']} passed ({report['share']} %)"
    counts = f"{len(report['blockers'])} blockers, {len(report['skipped'])} skipped"
    lines = [
        f"{report['verdict']}: {passed}, {counts}",
        *(f"  blocker {one['case']}: {one['kind']}: {one['text']}" for one in report["blockers"]),
        *(
            f"  {name}: {', '.join(names)}"
            for name, names in report["changes"].items()
            if names and name != "new"
        ),
        *(f"  skipped: {name}: its `setup` needs an index of its own" for name in report["skipped"]),
        *(f"  {name}" for name in report["files"]),
    ]
    session.console.result(report, "\n".join(lines))
    return Exit.FAILED if report["verdict"] == NO_GO else Exit.DONE
