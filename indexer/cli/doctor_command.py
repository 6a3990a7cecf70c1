"""The command that examines everything: doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from indexer.cli.options import Name, ProjectName, named
from indexer.cli.session import Session, command
from indexer.errors import Exit, IndexerError, Misconfigured

if TYPE_CHECKING:
    from indexer.pipeline.findings import Finding
    from indexer.ports import Project


def add(app: typer.Typer) -> None:
    """Register the command."""
    command(app, "doctor")(doctor)


def doctor(
    session: Session,
    *,
    name: Name = "",
    project_name: ProjectName = "",
    everything: Annotated[bool, typer.Option("--all", help="All projects.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be made again from what is kept here.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server and no bot.")] = False,
) -> Exit:
    """Examine configuration, keys, servers, disk, locks, artifacts and index, of one project or of all."""
    from indexer.pipeline.doctor import examine_setup
    from indexer.pipeline.findings import Findings, exit_of

    wanted = named(name, project_name)
    if wanted and everything:
        raise Misconfigured("name a project, or say --all")
    wiring = session.wiring()
    projects = [session.project(wanted)] if wanted else []
    offline = offline or repair
    setup = Findings()
    examine_setup(wiring, setup, offline=offline, repair=repair)
    if everything:
        try:
            known = wiring.registry.all() if wiring.has_registry else []
            projects = [one for one in known if not wiring.elsewhere(one)]
        except IndexerError as error:
            setup.error("registry", str(error), do="no project can be found until that is mended")
    findings = list(setup)
    for number, project in enumerate(projects, 1):
        session.console.step("Examining", number, len(projects), project.name)
        findings += _one(session, project, offline=offline, repair=repair, alone=bool(wanted))
    code = exit_of(findings)
    session.console.result({"findings": findings, "exit": int(code)}, _text(findings))
    return code


def _one(session: Session, project: Project, *, offline: bool, repair: bool, alone: bool) -> list[Finding]:
    from indexer.errors import Busy
    from indexer.pipeline.doctor import examine_project
    from indexer.pipeline.findings import Findings

    found = Findings(project.name)
    try:
        examine_project(session.wiring(project), project, found, offline=offline, repair=repair)
    except Busy as error:
        if alone:
            raise
        found.warning("lock", str(error), do="repair it when that has ended")
    except Misconfigured as error:
        found.error("configuration", str(error), do="correct it; runs of this project end with code 2")
    return list(found)


def _text(findings: list[Finding]) -> str:
    lines = []
    for one in findings:
        times = f" × {one.count}" if one.count > 1 else ""
        where = (
            f": {', '.join(one.where)}" + (" …" if one.count > len(one.where) else "") if one.where else ""
        )
        lines.append(f"{one.severity.value:<8} {one.project or '-'}  {one.check}: {one.what}{times}{where}")
        if one.repaired:
            lines.append(
                f"         repaired{'' if one.repaired == one.count else f' ({one.repaired} of them)'}"
            )
        if one.do and one.open:
            lines.append(f"         → {one.do}")
    left = sum(one.open for one in findings)
    lines.append(f"{left} left to do" if left else "nothing is left to do")
    return "\n".join(lines)
