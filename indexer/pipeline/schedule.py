"""
When projects are looked at again by themselves: a systemd user timer, or a line of the crontab.

What is written is text made here and put in place by `adapters.timers`. A start is spread: systemd
waits a random time, a cron line gets a minute of its own, by host, folder and name.
"""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

from msgspec import Struct

from indexer.errors import Misconfigured
from indexer.ids import digest

ALL = "*"  # no project can be named so
_DAY = 24 * 60


class Plan(Struct, frozen=True, kw_only=True):
    """
    A schedule. `name`: a project's, or `ALL`; `words`: the command after `indexer`.

    `at`: minute of the day; `jitter`: minutes that a start may be later; `log`: a file for cron.
    """

    name: str
    words: tuple[str, ...]
    folder: Path
    at: int
    jitter: int
    log: Path

    @property
    def command(self) -> list[str]:
        """The whole command: this very interpreter and installation."""
        return [sys.executable, "-m", "indexer", *self.words]


def minute_of(text: str) -> int:
    """`03:30` → 210. Raises `Misconfigured`."""
    hour, colon, minute = text.partition(":")
    if colon and hour.isdigit() and minute.isdigit() and int(hour) < 24 and int(minute) < 60:  # noqa: PLR2004 - a clock
        return int(hour) * 60 + int(minute)
    raise Misconfigured(f"--at {text!r} is no time of day; write it as 03:30")


def cron_line(plan: Plan) -> str:
    """The line of a crontab, with its mark at the end; `%` is escaped as cron wants it."""
    minute = (plan.at + _own(plan)) % _DAY
    # flock is not needed: a second run ends with code 5 by itself
    folder, log = shlex.quote(str(plan.folder)), shlex.quote(str(plan.log))
    command = f"cd {folder} && {shlex.join(plan.command)} >> {log} 2>&1".replace("%", r"\%")
    return f"{minute % 60} {minute // 60} * * * {command} {mark(plan.name)}"


def mark(name: str) -> str:
    """What a line of ours ends with."""
    return f"# indexer:{name}"


def units(plan: Plan) -> dict[str, str]:
    """The systemd units by file name. Codes 3 to 5 are no failure of the unit: the run says what is up."""
    unit = unit_name(plan.name)
    words = " ".join(_systemd_word(word) for word in plan.command)
    service = (
        "[Unit]\n"
        f"Description=indexer: reindex {_plain(plan.name)}\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        "[Service]\nType=oneshot\n"
        f"WorkingDirectory={_plain(str(plan.folder))}\n"
        f"ExecStart={words}\n"
        "SuccessExitStatus=3 4 5\nKillSignal=SIGINT\nKillMode=mixed\nTimeoutStopSec=60\nNice=10\n"
    )
    timer = (
        "[Unit]\n"
        f"Description=indexer: when to reindex {_plain(plan.name)}\n\n"
        "[Timer]\n"
        f"OnCalendar=*-*-* {plan.at // 60:02}:{plan.at % 60:02}:00\n"
        f"RandomizedDelaySec={plan.jitter}min\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {f"{unit}.service": service, f"{unit}.timer": timer}


def unit_name(name: str) -> str:
    """A unit's name for a project: ASCII, and another one for another name."""
    if name == ALL:
        return "indexer"
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)[:40]
    return f"indexer-{plain}" if plain == name else f"indexer-{plain}-{digest(name)[:8]}"


def _own(plan: Plan) -> int:
    """This host's and project's own delay in minutes."""
    if not plan.jitter:
        return 0
    return int(digest(f"{socket.gethostname()} {plan.folder} {plan.name}")[:8], 16) % (plan.jitter + 1)


def _systemd_word(word: str) -> str:
    return '"' + _plain(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'


def _plain(text: str) -> str:
    return text.replace("%", "%%").replace("\n", " ")
