"""
Several projects side by side, each in a process of its own: one that fails, or is killed, fails alone.

A child is the command itself with `--project-id`; its answer is one JSON line, its
progress is passed on line by line under the project's name.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from indexer.errors import Exit
from indexer.pipeline.report import Progress
from indexer.ports import Project

WORST_FIRST = (
    Exit.INTERRUPTED,
    Exit.FAILED,
    Exit.USAGE,
    Exit.REFUSED,
    Exit.BUSY,
    Exit.PARTIAL,
    Exit.DONE,
)
"""The exit code of several runs is the first of these that one of them ended with."""


def worst(codes: Sequence[int]) -> Exit:
    """The code that stands for all; a code that is none of ours is a failure."""
    known = {Exit(code) if code in set(Exit) else Exit.FAILED for code in codes}
    return next((code for code in WORST_FIRST if code in known), Exit.DONE)


class Children:
    """Child processes of one command; `stop` asks all of them to checkpoint and end."""

    def __init__(self, words: Sequence[str], progress: Progress) -> None:
        """`words`: the arguments of every child, besides the project."""
        self._words = words
        self._progress = progress
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, projects: Sequence[Project], *, jobs: int) -> Iterator[dict[str, Any]]:
        """What each project came to, as they end: a report, or `project, id, error, exit`."""
        try:
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    for done in as_completed([pool.submit(self._one, project) for project in projects]):
                        yield done.result()
                except BaseException:
                    self.stop()
                    raise
        except KeyboardInterrupt:  # a second one, while the children end: it is for them as well
            self.stop()
            raise

    def stop(self) -> None:
        """Interrupt what runs, start no more."""
        with self._lock:
            self._stopped = True
            for child in list(self._running):
                child.send_signal(signal.SIGINT)

    def _one(self, project: Project) -> dict[str, Any]:
        with self._lock:
            if self._stopped:
                return _failed(project, "interrupted before it began", Exit.INTERRUPTED)
            child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "indexer", *self._words, "--project-id", project.id, "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                # A terminal's Ctrl-C is for the whole group: with that of `stop` it would be a second one.
                process_group=0 if os.name == "posix" else None,
            )
            self._running.add(child)
        try:
            passing = threading.Thread(target=self._pass_on, args=(project, child), daemon=True)
            passing.start()
            out = child.stdout.read() if child.stdout else ""
            code = child.wait()
            passing.join()
        finally:
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()
            self._running.discard(child)
        return _answer(project, out, code)

    def _pass_on(self, project: Project, child: subprocess.Popen[str]) -> None:
        for line in child.stderr or ():
            self._progress.say(f"{project.name}: {_message(line.rstrip())}")


def _message(line: str) -> str:
    """What a child says; of a JSON line its message: it becomes one again."""
    if line.startswith("{"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return str(json.loads(line)["message"])
    return line


def _answer(project: Project, out: str, code: int) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return {"project": project.name, "id": project.id, **found, "exit": code}
    return _failed(project, f"its process ended with {code} without an answer", code or Exit.FAILED)


def _failed(project: Project, error: str, code: int) -> dict[str, Any]:
    return {"project": project.name, "id": project.id, "error": error, "exit": int(code)}
