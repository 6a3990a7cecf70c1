"""stdout is data, stderr is progress and logs; secrets reach neither."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from indexer.cli.progress import Meter

_SECRETS = (
    (re.compile(r"(?<=//)[^/\s@:]+:[^/\s@]+@"), "***@"),  # user:password in an address
    (re.compile(r"\b\d{6,12}:[A-Za-z0-9_-]{30,}"), "***"),  # Telegram bot token
    (re.compile(r"(?i)(bearer\s+)[^\s\"',;]+"), r"\1***"),
    (re.compile(r"\b(sk|key|pk)-[A-Za-z0-9_-]{12,}"), "***"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` without credentials: the known ones, and whatever looks like one."""
    for secret in known:
        if len(secret) >= 4:  # noqa: PLR2004 - shorter ones would blank ordinary words
            text = text.replace(secret, "***")
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def printable(text: str, known: Iterable[str] = ()) -> str:
    """`text` without credentials and without what steers a terminal: pages and servers wrote some of it."""
    return _CONTROL.sub("\ufffd", redact(text, known))


def json_line(level: str, message: str) -> str:
    """A line of `--log-json`: time, level, message."""
    import json
    from datetime import UTC, datetime

    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "level": level, "message": message}, ensure_ascii=False)


class _Handler(logging.StreamHandler[TextIO]):
    """Log lines that a progress bar makes room for."""

    def __init__(self, console: Console) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        self.console = console

    def format(self, record: logging.LogRecord) -> str:
        text = printable(super().format(record), self.console.known)
        if not self.console.log_json:
            return text
        return json_line(record.levelname.lower(), text.removeprefix(f"{record.levelname} "))

    def emit(self, record: logging.LogRecord) -> None:
        self.console.make_room()
        super().emit(record)


def _open_streams() -> None:
    """A closed stdout or stderr swallows; a letter that the terminal cannot show is escaped."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the whole process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class Console:
    """Where a command prints. Implements `report.Progress`."""

    def __init__(self, *, json: bool, quiet: bool, verbose: int, log_json: bool = False) -> None:
        self.json = json
        self.log_json = log_json
        self.quiet = quiet
        self.verbose = verbose
        self.known: list[str] = []
        self.about: dict[str, str] = {}  # what an error's object also says
        self._meter: Meter | None = None
        _open_streams()
        self._set_up_logs()

    def result(self, value: Any, text: str) -> None:
        """The command's answer: `value` as JSON with `--json`, else `text`."""
        if self.json:
            self.data(value)
        else:
            sys.stdout.write(printable(text, self.known) + "\n")
            sys.stdout.flush()

    def data(self, value: Any) -> None:
        """One JSON line on stdout."""
        import msgspec

        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
        sys.stdout.buffer.flush()

    def error(self, message: str, exit_code: int) -> None:
        """What went wrong: on stderr, and with `--json` as an object on stdout."""
        self._close_meter()
        message = printable(message, self.known)
        self._write(message, "error", before="indexer: ")
        if self.json:
            self.data({**self.about, "error": message, "exit": exit_code})

    def say(self, line: str) -> None:
        """A finished step, on stderr."""
        self._close_meter()
        if not self.quiet:
            self._write(printable(line, self.known), "info")

    def _write(self, message: str, level: str, *, before: str = "") -> None:
        """A line on stderr; with `--log-json` an object."""
        line = json_line(level, message) if self.log_json else before + message
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def step(self, phase: str, done: int, total: int, note: str = "") -> None:
        """A bar on a terminal; elsewhere a line every few seconds."""
        if self.quiet or self.log_json:
            return
        if self._meter is None or self._meter.phase != phase:
            from indexer.cli.progress import open_meter

            self._close_meter()
            self._meter = open_meter(phase)
        self._meter.show(done, total, printable(note, self.known))

    def make_room(self) -> None:
        """Before somebody else writes a line on stderr."""
        if self._meter is not None:
            self._meter.hide()

    def _close_meter(self) -> None:
        if self._meter is not None:
            self._meter.close()
            self._meter = None

    def _set_up_logs(self) -> None:
        root = logging.getLogger()
        root.handlers[:] = [_Handler(self)]
        for name in ("hpack", "httpcore", "urllib3"):  # they log headers, also cookies that a site sets
            logging.getLogger(name).setLevel(logging.WARNING)
        # Third parties log addresses and headers: they stay quiet unless asked twice.
        root.setLevel(logging.DEBUG if self.verbose > 1 else logging.ERROR)
        level = logging.ERROR if self.quiet else logging.WARNING
        logging.getLogger("indexer").setLevel(
            logging.DEBUG if self.verbose > 1 else logging.INFO if self.verbose else level
        )


def table(rows: list[list[str]], heads: list[str]) -> str:
    """Columns wide enough for their cells."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
