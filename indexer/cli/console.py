"""stdout is data, stderr is progress and logs; secrets reach neither."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterable
from typing import Any

_SECRETS = (
    (re.compile(r"(?<=//)[^/\s@:]+:[^/\s@]+@"), "***@"),  # user:password in an address
    (re.compile(r"\b\d{6,12}:[A-Za-z0-9_-]{30,}"), "***"),  # Telegram bot token
    (re.compile(r"(?i)(bearer\s+)[^\s\"',;]+"), r"\1***"),
    (re.compile(r"\b(sk|key|pk)-[A-Za-z0-9_-]{12,}"), "***"),
)
_EVERY = 5.0  # seconds between plain progress lines


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` without credentials: the known ones, and whatever looks like one."""
    for secret in known:
        if len(secret) >= 4:  # noqa: PLR2004 - shorter ones would blank ordinary words
            text = text.replace(secret, "***")
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


class _Redacting(logging.Formatter):
    def __init__(self, known: list[str]) -> None:
        super().__init__("%(levelname)s %(message)s")
        self.known = known

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self.known)


class Console:
    """Where a command prints. Implements `report.Progress`."""

    def __init__(self, *, json: bool, quiet: bool, verbose: int) -> None:
        self.json = json
        self.quiet = quiet
        self.verbose = verbose
        self.known: list[str] = []
        self._bar: Any = None
        self._phase = ""
        self._last = 0.0
        self._set_up_logs()

    def result(self, value: Any, text: str) -> None:
        """The command's answer: `value` as JSON with `--json`, else `text`."""
        if self.json:
            self.data(value)
        else:
            sys.stdout.write(redact(text, self.known) + "\n")
            sys.stdout.flush()

    def data(self, value: Any) -> None:
        """One JSON line on stdout."""
        import msgspec

        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
        sys.stdout.buffer.flush()

    def error(self, message: str, exit_code: int) -> None:
        """What went wrong: on stderr, and with `--json` as an object on stdout."""
        self._close_bar()
        message = redact(message, self.known)
        sys.stderr.write(f"indexer: {message}\n")
        if self.json:
            self.data({"error": message, "exit": exit_code})

    def say(self, line: str) -> None:
        """A finished step, on stderr."""
        self._close_bar()
        if not self.quiet:
            sys.stderr.write(redact(line, self.known) + "\n")
            sys.stderr.flush()

    def step(self, phase: str, done: int, total: int, note: str = "") -> None:
        """A bar on a terminal; elsewhere a line every few seconds."""
        if self.quiet:
            return
        if sys.stderr.isatty():
            self._step_bar(phase, done, total, note)
            return
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._last = phase, now
        elif now - self._last >= _EVERY:
            self._last = now
            of = f" of {total}" if total else ""
            sys.stderr.write(f"{phase}: {done}{of}{' ' + note if note else ''}\n")
            sys.stderr.flush()

    def _step_bar(self, phase: str, done: int, total: int, note: str) -> None:
        if self._bar is None or phase != self._phase:
            from tqdm import tqdm

            self._close_bar()
            self._phase = phase
            self._bar = tqdm(desc=phase, unit=" pages", leave=False, file=sys.stderr, dynamic_ncols=True)
        self._bar.total = total or None
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(done - self._bar.n)

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _set_up_logs(self) -> None:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Redacting(self.known))
        root = logging.getLogger()
        root.handlers[:] = [handler]
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
