"""Global options, settings and wiring of one command; errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indexer.cli.console import Console
from indexer.cli.options import DEFAULTS as OPTION_DEFAULTS
from indexer.errors import Exit, IndexerError, Misconfigured

if TYPE_CHECKING:
    from indexer.pipeline.wiring import Wiring
    from indexer.ports import Project
    from indexer.settings import Settings

Config = Annotated[
    Path | None,
    typer.Option("--config", help="Configuration file (default: ./indexer.toml if there is one)."),
]
ProjectsDir = Annotated[
    Path | None, typer.Option("--projects-dir", help="Folder of all projects (also INDEXER_PROJECTS_DIR).")
]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only errors.")]
Verbose = Annotated[int, typer.Option("--verbose", "-v", count=True, help="More log lines; twice: debug.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Progress, logs and errors as JSON lines.")]
GLOBALS: dict[str, Any] = {
    "config": Config,
    "projects_dir": ProjectsDir,
    "json": Json,
    "quiet": Quiet,
    "verbose": Verbose,
    "log_json": LogJson,
}
_DEFAULTS: dict[str, Any] = {
    "config": None,
    "projects_dir": None,
    "json": False,
    "quiet": False,
    "verbose": 0,
    "log_json": False,
}


class Session:
    """What every command starts from."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.config: Path | None = given["config"]
        self.projects_dir: Path | None = given["projects_dir"]
        self.resume = ""
        self._wirings: list[Wiring] = []
        self.console = Console(
            json=given["json"], quiet=given["quiet"], verbose=given["verbose"], log_json=given["log_json"]
        )

    def settings(self, flags: Mapping[str, Any] | None = None) -> Settings:
        """All layers, `flags` last."""
        from indexer.settings import load

        folder = str(self.projects_dir) if self.projects_dir else None
        return load(self.config, {"projects_dir": folder, **(flags or {})})

    def wiring(self, project: Project | None = None, flags: Mapping[str, Any] | None = None) -> Wiring:
        """Adapters for a project: its stored options below this command's flags."""
        from indexer.pipeline.projects import stored_flags
        from indexer.pipeline.wiring import Wiring
        from indexer.settings import secrets

        merged: dict[str, Any] = (
            {key: dict(value) for key, value in stored_flags(project).items()} if project else {}
        )
        for section, values in (flags or {}).items():
            merged[section] = {
                **merged.get(section, {}),
                **{key: value for key, value in values.items() if value is not None},
            }
        settings = self.settings(merged)
        self.console.known[:] = secrets(settings)
        if project and project.tg_api_key:
            self.console.known.append(project.tg_api_key)
        wiring = Wiring(settings)
        self._wirings.append(wiring)
        return wiring

    def words(self) -> list[str]:
        """The global options of this command, for another one to be started with."""
        words = ["--config", str(self.config)] if self.config else []
        words += ["--projects-dir", str(self.projects_dir)] if self.projects_dir else []
        words += ["--log-json"] if self.console.log_json else []
        return [*words, *(["-q"] if self.console.quiet else []), *["-v"] * self.console.verbose]

    def close(self) -> None:
        """Close what the command's wirings opened."""
        for wiring in self._wirings:
            wiring.close()

    def project(self, name: str = "", id: str = "") -> Project:  # noqa: A002
        """The named project. Raises `Misconfigured` if there is none."""
        if not name and not id:
            raise Misconfigured("which project? Name it with --project-name (see `indexer list`)")
        return self.wiring().project(name=name, id=id)


def command(
    app: typer.Typer, name: str, **groups: Mapping[str, Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """
    Add a command whose function takes a `Session` first and returns an `Exit` or nothing.

    Each of `groups` is a table of options that reaches the function as one dictionary
    under the group's name. The global options are accepted behind the command's name as
    well as before it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in signature.parameters.values()
            if parameter.name not in ("session", *groups)
        ]
        tables = [_parameters(table, OPTION_DEFAULTS) for table in groups.values()]
        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

        def call(*, ctx: typer.Context, **given: Any) -> None:
            before = ctx.obj if isinstance(ctx.obj, dict) else {}
            chosen = {key: given.pop(key) or before.get(key, _DEFAULTS[key]) for key in GLOBALS}
            for group, options in groups.items():
                given[group] = {key: given.pop(key) for key in options}
            raise typer.Exit(_run(function, Session(chosen), given))

        call.__doc__ = inspect.getdoc(function)
        call.__name__ = function.__name__
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[context, *own, *chain(*tables), *_parameters(GLOBALS, _DEFAULTS)],
            return_annotation=None,
        )
        app.command(name)(call)
        return function

    return decorate


def _parameters(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(key, kind, default=defaults.get(key), annotation=annotation)
        for key, annotation in options.items()
    ]


def _run(function: Callable[..., Any], session: Session, given: dict[str, Any]) -> int:
    console, interrupted = session.console, False
    _interrupted_by_signals()
    try:
        return int(function(session, **given) or Exit.DONE)
    except IndexerError as error:
        console.error(str(error), error.exit_code)
        return int(error.exit_code)
    except KeyboardInterrupt:
        go_on = f"; nothing is lost: go on with `{session.resume}`" if session.resume else ""
        console.error(f"interrupted{go_on}", Exit.INTERRUPTED)
        interrupted = True
        return int(Exit.INTERRUPTED)
    except typer.Abort:
        console.error("aborted: no answer could be read; see --yes", Exit.USAGE)
        return int(Exit.USAGE)
    except BrokenPipeError:
        with contextlib.suppress(OSError):  # the reader of our stdout has gone: nothing to tell it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.FAILED)
    except Exception as error:  # noqa: BLE001 - the last line before a person
        return _unexpected(console, error)
    finally:
        session.close()
        if interrupted and threading.active_count() > 1:
            _end_at_once()


def _interrupted_by_signals() -> None:
    """SIGTERM, and a terminal that closes (unless `nohup` ignores it), are as Ctrl-C."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


def _end_at_once() -> None:
    """Without waiting for requests that a second Ctrl-C has given up: what is written is whole."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(Exit.INTERRUPTED))


def _unexpected(console: Console, error: Exception) -> int:
    """What no part of the program foresaw."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        console.error(f"no space left to write to: {error}; free some and run again", Exit.FAILED)
    elif console.verbose:
        console.error(traceback.format_exc(), Exit.FAILED)
    else:
        console.error(
            f"unexpected {type(error).__name__}: {error}; what is done is kept. "
            "Run again with -v and report what it says",
            Exit.FAILED,
        )
    return int(Exit.FAILED)
