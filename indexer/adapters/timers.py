"""Where schedules are put: the user's crontab, or systemd's user timers."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from indexer.adapters.files import write_atomically
from indexer.errors import IndexerError, Misconfigured

_VARIABLE = re.compile(r"""\s*["']?([A-Za-z_]\w*)["']?\s*=""")


class Crontab:
    """The crontab of this user; lines that are not ours stay as they are."""

    def lines(self) -> list[str]:
        """All lines; none if there is no crontab yet."""
        done = _call(["crontab", "-l"])
        if done.returncode and "no crontab" not in done.stderr.lower():
            raise IndexerError(f"the crontab cannot be read: {done.stderr.strip()[:200]}")
        return done.stdout.splitlines() if not done.returncode else []

    def variables(self) -> set[str]:
        """Names of the variables that the crontab sets for its commands."""
        found = (_VARIABLE.match(line) for line in self.lines())
        return {match.group(1) for match in found if match}

    def replace(self, mark: str, line: str = "") -> bool:
        """Put `line` in place of the one that ends with `mark` (none: remove that). Whether it was there."""
        before = self.lines()
        others = [one for one in before if not one.endswith(mark)]
        after = [*others, line] if line else others
        if after != before:
            done = _call(["crontab", "-"], text="".join(f"{one}\n" for one in after))
            if done.returncode:
                raise IndexerError(f"the crontab cannot be written: {done.stderr.strip()[:200]}")
        return len(others) != len(before)


class Systemd:
    """The user's units in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def answers() -> bool:
        """Whether there is a user manager to talk to."""
        if shutil.which("systemctl") is None:
            return False
        return _call(["systemctl", "--user", "show-environment"]).returncode == 0

    @staticmethod
    def variables() -> set[str]:
        """Names of the variables that the user manager gives all its units."""
        told = _call(["systemctl", "--user", "show-environment"]).stdout
        return {line.partition("=")[0] for line in told.splitlines() if "=" in line}

    def install(self, units: Mapping[str, str]) -> None:
        """Write the units and start the timer."""
        for name, text in units.items():
            write_atomically(self.folder / name, text.encode())
        self._tell(["daemon-reload"])
        self._tell(["enable", "--now", _timer(units)])

    def remove(self, units: Mapping[str, str]) -> bool:
        """Stop the timer and remove the units; whether they were there."""
        there = [name for name in units if (self.folder / name).is_file()]
        if there:
            self._tell(["disable", "--now", _timer(units)])
            for name in there:
                (self.folder / name).unlink()
            self._tell(["daemon-reload"])
        return bool(there)

    def installed(self, units: Mapping[str, str]) -> list[str]:
        """The paths of those that are there."""
        return [str(self.folder / name) for name in units if (self.folder / name).is_file()]

    def _tell(self, words: Sequence[str]) -> None:
        done = _call(["systemctl", "--user", *words])
        if done.returncode:
            raise IndexerError(f"systemctl --user {' '.join(words)}: {done.stderr.strip()[:200]}")


def _timer(units: Mapping[str, str]) -> str:
    return next(name for name in units if name.endswith(".timer"))


def _call(words: Sequence[str], *, text: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - two programs of the system, no shell
            words, input=text, capture_output=True, text=True, timeout=30, check=False
        )
    except FileNotFoundError:
        raise Misconfigured(f"{words[0]} is not installed; see --via systemd or --via cron") from None
    except subprocess.TimeoutExpired:
        raise IndexerError(f"{' '.join(words[:3])} does not end") from None
