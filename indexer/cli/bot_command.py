"""The command that asks a bot what it serves: bot check."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from indexer.cli.options import Name, ProjectName, named
from indexer.cli.session import Session, command
from indexer.errors import Exit

if TYPE_CHECKING:
    from indexer.pipeline.botcheck import BotState


class Action(Enum):
    """What to do."""

    CHECK = "check"


def add(app: typer.Typer) -> None:
    """Register the command."""
    command(app, "bot")(bot)


def bot(
    session: Session,
    *,
    action: Annotated[Action, typer.Argument(help="check: ask it what it serves.")],
    name: Name = "",
    project_name: ProjectName = "",
) -> Exit:
    """Ask a project's bot whether it answers, and which generation it serves."""
    from indexer.pipeline.botcheck import check

    del action  # there is one
    project = session.project(named(name, project_name))
    state = check(session.wiring(project), project)
    session.console.result(state, f"{project.name}: {_text(state)}")
    return state.code


def _text(state: BotState) -> str:
    served = f"it serves {state.serves}" if state.serves else "it does not say what it serves"
    if not state.known:
        served = "it does not know the project"
    return f"the bot at {state.bot} answers; {served}; live is {state.live or 'nothing'}" + (
        f"; tell it: indexer register --project-name {state.project}" if state.code else ""
    )
