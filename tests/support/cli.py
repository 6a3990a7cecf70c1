"""Run the real `indexer` command as a person does, in a process of its own (already warm)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.warm import warm

MODELS = Path(tempfile.gettempdir()) / "indexer-test-models"


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    def ok(self) -> Result:
        assert self.code == 0, f"exit {self.code}\n{self.out}\n{self.err}"
        return self

    def fails(self, code: int, *words: str) -> Result:
        """Ends with `code` and one clear message that holds all `words`, without a traceback."""
        assert self.code == code, f"exit {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err + self.out
        assert "unexpected" not in self.err, self.err
        for word in words:
            assert word in self.err, self.err
        return self


class Cli:
    """The command with a projects folder of its own. The model's graph is shared by all tests."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.projects = folder / "projects"
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("INDEXER_")},
            "INDEXER_PROJECTS_DIR": str(self.projects),
            "INDEXER_MODELS__CACHE_DIR": str(MODELS),
            "INDEXER_RUN__WORKERS": "0",
            "PYTHONWARNINGS": "error",
            **environment,
        }

    def __call__(self, *words: str, stdin: str = "", **environment: str) -> Result:
        with tempfile.TemporaryDirectory(prefix="indexer-call-") as folder:
            streams = [Path(folder, name) for name in ("in", "out", "err")]
            for path in streams:
                path.write_bytes(stdin.encode() if path is streams[0] else b"")
            env = {**self.env, **environment}
            if any(name.startswith("PYTHON") for name in environment):  # read when the interpreter starts
                code = self._cold(words, env, streams)
            else:
                code = warm().call(list(words), cwd=self.folder, env=env, streams=streams, timeout=110)
            out, err = (path.read_bytes().decode() for path in streams[1:])
        return Result(code, out, err)

    def _cold(self, words: tuple[str, ...], env: dict[str, str], streams: list[Path]) -> int:
        command = [sys.executable, "-m", "indexer", *words]
        with streams[0].open("rb") as stdin, streams[1].open("wb") as out, streams[2].open("wb") as err:
            return subprocess.run(
                command,
                cwd=self.folder,
                env=env,
                stdin=stdin,
                stdout=out,
                stderr=err,
                timeout=110,
                check=False,
            ).returncode

    def start(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        """The same in the background, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "indexer", *words],
            cwd=self.folder,
            env={**self.env, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9 of the driver alone: its workers must notice by themselves."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
