"""
When projects are looked at again by themselves: a systemd user timer, or a line of the crontab.

What is written is text made here and put in place by `adapters.timers`. A start is spread: systemd
waits a random time, a cron line gets a minute of its own, by host, folder and name.
"""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct, field

from indexer.errors import Misconfigured
from indexer.ids import digest
from indexer.inherited import Inherited

ALL = "*"  # no project can be named so
_DAY = 24 * 60
_CRON_MOST = 998  # bytes of a command; more, some crons cut off without a word


class Plan(Struct, frozen=True, kw_only=True):
    """
    A schedule. `name`: a project's, or `ALL`; `words`: the command after `indexer`.

    `at`: minute of the day; `jitter`: minutes that a start may be later; `log`: a file for cron.
    `environment`: settings that are given by variables, none of them secret.
    """

    name: str
    words: tuple[str, ...]
    folder: Path
    at: int
    jitter: int
    log: Path
    environment: dict[str, str] = field(default_factory=dict)

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


def written_down(found: Inherited, known: Collection[str] = ()) -> dict[str, str]:
    """
    The variables of a schedule. `known`: those that the scheduler gives its runs by itself.

    Raises `Misconfigured` for what a scheduled run would miss and no schedule may hold.
    """
    missing = [name for name in found.secret if name not in known]
    if missing:
        raise Misconfigured(
            f"a scheduled run would not have {_listed(missing)}, set in this shell only, and a schedule "
            "holds no secrets. Put each into a file that only you can read (chmod 600), name it instead "
            f"(export {missing[0]}_FILE=/path/of/it; unset {missing[0]}; of PGPASSWORD: ~/.pgpass) and "
            "install again. What runs do not need: unset it"
        )
    awkward = [name for name in found.awkward if name not in known]
    if awkward:
        raise Misconfigured(
            f"{_listed(awkward)} cannot stand in a schedule, which holds neither secrets nor several lines; "
            "set that in the configuration file (--config) and unset the variable, then install again"
        )
    return {name: text for name, text in found.plain.items() if name not in known}


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def cron_line(plan: Plan) -> str:
    """
    The line of a crontab, with its mark at the end; `%` is escaped as cron wants it.

    Raises `Misconfigured` if it is longer than every cron takes.
    """
    minute = (plan.at + _own(plan)) % _DAY
    # flock is not needed: a second run ends with code 5 by itself
    folder, log = shlex.quote(str(plan.folder)), shlex.quote(str(plan.log))
    words = [*(["env"] if plan.environment else []), *_assigned(plan), *plan.command]
    command = f"cd {folder} && {shlex.join(words)} >> {log} 2>&1".replace("%", r"\%")
    if len(f"{command} {mark(plan.name)}".encode()) > _CRON_MOST:
        raise Misconfigured(
            f"the line would be longer than cron takes ({_CRON_MOST} bytes); set in the configuration file "
            f"what variables hold now ({', '.join(plan.environment) or 'none'}), or shorten the paths"
        )
    return f"{minute % 60} {minute // 60} * * * {command} {mark(plan.name)}"


def mark(name: str) -> str:
    """What a line of ours ends with."""
    return f"# indexer:{name}"


def units(plan: Plan) -> dict[str, str]:
    """The systemd units by file name. Codes 3 to 5 are no failure of the unit: the run says what is up."""
    unit = unit_name(plan.name)
    words = " ".join(_systemd_word(word).replace("$", "$$") for word in plan.command)
    variables = "".join(f"Environment={_systemd_word(text)}\n" for text in _assigned(plan))
    service = (
        "[Unit]\n"
        f"Description=indexer: reindex {_plain(plan.name)}\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        "[Service]\nType=oneshot\n"
        f"WorkingDirectory={_plain(str(plan.folder))}\n"
        f"{variables}"
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


def _assigned(plan: Plan) -> list[str]:
    return [f"{name}={text}" for name, text in plan.environment.items()]


def _own(plan: Plan) -> int:
    """This host's and project's own delay in minutes."""
    if not plan.jitter:
        return 0
    return int(digest(f"{socket.gethostname()} {plan.folder} {plan.name}")[:8], 16) % (plan.jitter + 1)


def _systemd_word(word: str) -> str:
    return '"' + _plain(word).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(text: str) -> str:
    return text.replace("%", "%%").replace("\n", " ")
