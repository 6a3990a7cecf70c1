"""The command that lets projects be looked at again by themselves: schedule."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indexer.cli.session import Session, command
from indexer.errors import Misconfigured

if TYPE_CHECKING:
    from indexer.pipeline.schedule import Plan
    from indexer.ports import Project


class Action(StrEnum):
    """What to do with a schedule."""

    INSTALL = "install"
    REMOVE = "remove"
    SHOW = "show"


class Via(StrEnum):
    """Who keeps the clock."""

    AUTO = "auto"
    SYSTEMD = "systemd"
    CRON = "cron"


def add(app: typer.Typer) -> None:
    """Register the command."""
    command(app, "schedule")(schedule)


def schedule(
    session: Session,
    *,
    action: Annotated[Action, typer.Argument(help="install, remove or show.")],
    project_name: Annotated[str, typer.Option("--project-name", help="One project (default: all).")] = "",
    at: Annotated[str, typer.Option("--at", help="Time of day, local, HH:MM.")] = "03:30",
    jitter: Annotated[int, typer.Option(min=0, max=720, help="Minutes that a start may be later.")] = 30,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Projects side by side.")] = 1,
    via: Annotated[Via, typer.Option("--via", help="systemd, cron, or whichever is there.")] = Via.AUTO,
    log: Annotated[Path | None, typer.Option("--log", help="Log file of the cron line.")] = None,
) -> None:
    """Run `reindex` every day: a systemd user timer, or a line of the crontab."""
    from indexer.pipeline import schedule as schedules

    wiring = session.wiring()
    project = session.project(project_name) if project_name else None
    name = project.name if project else schedules.ALL
    folder = Path.cwd()
    words = ["reindex", "--log-json", *_globals(session, folder)]
    words += ["--project-name", name] if project_name else ["--all", "--jobs", str(jobs)]
    if via is Via.AUTO:
        via = Via.SYSTEMD if wiring.systemd().answers() else Via.CRON
    keeper = wiring.systemd() if via is Via.SYSTEMD else wiring.crontab()
    installing = action is Action.INSTALL
    plan = schedules.Plan(
        name=name,
        words=tuple(words),
        folder=folder,
        at=schedules.minute_of(at),
        jitter=jitter,
        log=(log or wiring.projects_dir / "reindex.log").resolve(),
        environment=_environment(session, project, keeper.variables()) if installing else {},
    )
    act = _systemd if via is Via.SYSTEMD else _cron
    told = act(session, plan, action)
    session.console.result({"action": action.value, "via": via.value, "name": name, **told}, told["text"])


def _environment(session: Session, project: Project | None, known: set[str]) -> dict[str, str]:
    """What the runs of this schedule must have of this shell's variables. Raises `Misconfigured`."""
    from indexer.pipeline.schedule import written_down
    from indexer.settings import lasting

    wiring = session.wiring()
    projects = [project] if project else wiring.registry.all() if wiring.has_registry else []
    wirings = [wiring, *(session.wiring(one) for one in projects)]
    keys = [name for one in wirings for name in one.key_names()]
    return written_down(lasting([one.settings for one in wirings], keys), known)


def _globals(session: Session, folder: Path) -> list[str]:
    """The configuration and the folder that a later run must have, as absolute paths."""
    from indexer.settings import chosen_config

    config = chosen_config(session.config)
    words = ["--config", str(config.resolve())] if config else []
    projects = Path(session.settings().projects_dir)
    return [*words, "--projects-dir", str(projects if projects.is_absolute() else folder / projects)]


def _cron(session: Session, plan: Plan, action: Action) -> dict[str, Any]:
    from indexer.pipeline.schedule import cron_line, mark

    crontab = session.wiring().crontab()
    if action is Action.SHOW:
        found = [line for line in crontab.lines() if line.endswith(mark(plan.name))]
        return {"lines": found, "text": "\n".join(found) or _none(plan)}
    if action is Action.REMOVE:
        if not crontab.replace(mark(plan.name)):
            raise Misconfigured(_none(plan))
        return {"lines": [], "text": f"removed from the crontab: {mark(plan.name)}"}
    line = cron_line(plan)
    crontab.replace(mark(plan.name), line)
    return {"lines": [line], "text": line}


def _systemd(session: Session, plan: Plan, action: Action) -> dict[str, Any]:
    from indexer.pipeline.schedule import units

    systemd, wanted = session.wiring().systemd(), units(plan)
    if action is Action.SHOW:
        found = systemd.installed(wanted)
        texts = [Path(path).read_text(encoding="utf-8") for path in found]
        return {
            "units": found,
            "text": "\n".join(f"# {path}\n{text}" for path, text in zip(found, texts, strict=True))
            or _none(plan),
        }
    if action is Action.REMOVE:
        if not systemd.remove(wanted):
            raise Misconfigured(_none(plan))
        return {"units": [], "text": f"removed: {', '.join(wanted)}"}
    systemd.install(wanted)
    return {"units": systemd.installed(wanted), "text": f"installed: {', '.join(systemd.installed(wanted))}"}


def _none(plan: Plan) -> str:
    name = plan.name if plan.name != "*" else "all projects"
    return f"no schedule for {name}; make one with `indexer schedule install`"
