"""
The `indexer` command without its start-up: a process that has imported it, and forks for each call.

A fork is a process of its own, with its own arguments, environment, folder and streams; it
runs what `python -m indexer` runs. What is measured in seconds is only the import.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
_local = threading.local()


class Warm:
    """A process with everything imported; one call at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm", str(theirs.fileno())],
            cwd=ROOT,
            env=environment,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._stream = ours.makefile("rw")
        self._socket = ours
        atexit.register(self.close)

    def close(self) -> None:
        """End the process."""
        self._stream.close()
        self._socket.close()
        self._process.wait()

    def call(
        self, words: list[str], *, cwd: Path, env: dict[str, str], streams: list[Path], timeout: float
    ) -> int:
        """Run the command; its exit code, negative if a signal ended it. Raises `TimeoutError`."""
        request = {"words": words, "cwd": str(cwd), "env": env, "streams": [str(path) for path in streams]}
        self._stream.write(json.dumps(request) + "\n")
        self._stream.flush()
        pid = int(self._stream.readline())
        self._socket.settimeout(timeout)
        try:
            return int(self._stream.readline())
        except TimeoutError:
            os.killpg(pid, 9)
            _local.warm = None
            raise
        finally:
            self._socket.settimeout(None)


def warm() -> Warm:
    """This thread's process: calls that overlap must not wait for each other."""
    found: Warm | None = getattr(_local, "warm", None)
    if found is None:
        found = _local.warm = Warm()
    return found


def _serve(stream: Any) -> dict[str, Any]:
    """Fork for each request; comes back only in the child, with what it is to run."""
    while line := stream.readline():
        request: dict[str, Any] = json.loads(line)
        pid = os.fork()
        if not pid:
            return request
        stream.write(f"{pid}\n")
        stream.flush()
        stream.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        stream.flush()
    os._exit(0)


def _become(request: dict[str, Any]) -> None:
    """This process takes the arguments, environment, folder and streams of the request."""
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for number, (path, flags) in enumerate(
        zip(request["streams"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)
    ):
        file = os.open(path, flags)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["indexer", *request["words"]]


def _import_all() -> None:
    """All but onnxruntime, whose import starts a thread: only a process of one thread may fork."""
    for name in (
        "openai", "qdrant_client", "tiktoken", "trafilatura", "indexer.adapters.edge",
        "indexer.adapters.edge_engine", "indexer.adapters.http", "indexer.cli.app", "indexer.pipeline.ask",
        "indexer.pipeline.preload", "indexer.pipeline.run",
    ):  # fmt: skip
        importlib.import_module(name)
    importlib.import_module("indexer.adapters.e5_tokenizer").open_tokenizer().count("all pieces are read")
    if importlib.util.find_spec("psycopg"):
        importlib.import_module("psycopg")


def _run() -> int:
    """`python -m indexer`, to its exit code."""
    from indexer.cli import main

    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - what the interpreter does with it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _main(descriptor: int) -> NoReturn:
    _import_all()
    gc.freeze()
    channel = socket.socket(fileno=descriptor)
    stream = channel.makefile("rw")
    request = _serve(stream)
    stream.close()
    channel.close()
    _become(request)
    code = _run()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # taking a quarter of a gigabyte of modules apart costs more than the test


if __name__ == "__main__":
    _main(int(sys.argv[1]))
