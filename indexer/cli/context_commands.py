"""Commands about what a bot is handed: context, redteam."""

from __future__ import annotations

from typing import Annotated

import typer

from indexer.cli.options import ProjectName
from indexer.cli.session import Session, command
from indexer.errors import Misconfigured


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "context")(context)


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
) -> None:
    """Show what a bot is handed: fragments under the source policy, and whether they suffice."""
    from indexer.pipeline import context as contexts
    from indexer.search.context import as_text

    if bool(query.strip()) == bool(questions):
        raise Misconfigured('ask one question ("…") or many with --in FILE')
    if history and questions:
        raise Misconfigured("with --in, each question has its own history; leave --history out")
    project = session.project(project_name)
    wiring = session.wiring(project)
    if questions:
        for found in contexts.contexts(wiring, project, questions):
            session.console.data(found)
        return
    found = contexts.context(wiring, project, query, history=history)
    session.console.result(found, as_text(found))
