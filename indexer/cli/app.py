"""All commands of `indexer`."""

from __future__ import annotations

from typing import Annotated

import typer

from indexer import __version__
from indexer.cli import (
    backup_commands,
    bot_command,
    context_commands,
    doctor_command,
    index_commands,
    plan_command,
    project_commands,
    query_commands,
    registry_command,
    reindex_command,
    run_commands,
    schedule_command,
    tool_commands,
)
from indexer.cli.session import Config, Json, LogJson, ProjectsDir, Quiet, Verbose

app = typer.Typer(
    name="indexer",
    help="Turn a company's website into a searchable, registered knowledge base, and keep it true.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"indexer {__version__}")
        raise typer.Exit


@app.callback()
def _global(
    ctx: typer.Context,
    *,
    config: Config = None,
    projects_dir: ProjectsDir = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
    log_json: LogJson = False,
    version: Annotated[  # noqa: ARG001 - eager: handled before
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    ctx.obj = {
        "config": config,
        "projects_dir": projects_dir,
        "json": json,
        "quiet": quiet,
        "verbose": verbose,
        "log_json": log_json,
    }


run_commands.add(app)
reindex_command.add(app)
index_commands.add(app)
schedule_command.add(app)
registry_command.add(app)
backup_commands.add(app)
doctor_command.add(app)
bot_command.add(app)
project_commands.add(app)
plan_command.add(app)
query_commands.add(app)
context_commands.add(app)
tool_commands.add(app)
