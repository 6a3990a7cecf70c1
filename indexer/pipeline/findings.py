"""What an examination found: the same trouble of many files is one finding with a count and examples."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct, field

from indexer.errors import Exit

EXAMPLES = 5


class Severity(StrEnum):
    """How much a finding matters: what is broken, what will be, what is only told."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(Struct, kw_only=True):
    """
    One trouble. `where`: the first places, of `count`; `do`: what a person can do.

    `repaired`: how many of them are mended. `project` empty: of all projects.
    """

    severity: Severity
    project: str
    check: str
    what: str
    where: list[str] = field(default_factory=list)
    count: int = 0
    do: str = ""
    repaired: int = 0

    @property
    def open(self) -> bool:
        """Whether something is left to do."""
        return self.severity is not Severity.INFO and self.repaired < self.count


class Findings:
    """Collects them for one project, or for all of them (empty name)."""

    def __init__(self, project: str = "") -> None:
        self.project = project
        self._found: dict[tuple[str, str], Finding] = {}

    def __iter__(self) -> Iterator[Finding]:
        order = list(Severity)
        return iter(sorted(self._found.values(), key=lambda one: order.index(one.severity)))

    def error(self, check: str, what: str, where: str = "", *, do: str, repaired: bool = False) -> None:
        """Something is broken."""
        self._note(Severity.ERROR, check, what, where, do, repaired=repaired)

    def warning(self, check: str, what: str, where: str = "", *, do: str, repaired: bool = False) -> None:
        """Something will go wrong, or is in the way."""
        self._note(Severity.WARNING, check, what, where, do, repaired=repaired)

    def info(self, check: str, what: str, where: str = "", *, do: str = "") -> None:
        """Something a person may want to know."""
        self._note(Severity.INFO, check, what, where, do, repaired=False)

    def _note(
        self, severity: Severity, check: str, what: str, where: str, do: str, *, repaired: bool
    ) -> None:
        known = self._found.setdefault(
            (check, what),
            Finding(severity=severity, project=self.project, check=check, what=what, do=do),
        )
        known.count += 1
        known.repaired += repaired
        if where and len(known.where) < EXAMPLES:
            known.where.append(where)


def exit_of(findings: list[Finding]) -> Exit:
    """`FAILED` for an error that is left, `PARTIAL` for a warning, else `DONE`."""
    left = {one.severity for one in findings if one.open}
    if Severity.ERROR in left:
        return Exit.FAILED
    return Exit.PARTIAL if left else Exit.DONE
