"""The first command of the README."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _checkout(folder: Path) -> Path:
    """What the demo needs of a checkout; its project is created there."""
    (folder / "scripts").mkdir()
    for name in ("demo.py", "serve_site.py"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
    shutil.copytree(ROOT / "projects" / "example" / "site", folder / "projects" / "example" / "site")
    return folder / "scripts" / "demo.py"


def test_the_demo_indexes_the_example_answers_and_does_nothing_twice(indexer, tmp_path):
    demo = _checkout(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def run() -> str:
        command = [sys.executable, str(demo), "--port", port]
        done = subprocess.run(command, env=indexer.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    first = run()
    assert "$ indexer init-project --name example" in first
    assert "20 found = 20 indexed + 0 skipped + 0 failed" in first
    assert "| Покраска | 24 месяца |" in first
    assert "Три дня бесплатно" in first
    assert "below +5 °C" in first

    again = run()
    assert "$ indexer seed --project-name example" in again
    assert "(0 embedded, 0 from cache)" in again
    asked = again.split("The site was asked ")[1].split(" times")[0]
    assert f"{asked} answers were “not modified”" in again
    assert again.split("'сколько")[1:] == first.split("'сколько")[1:]


def test_the_demo_says_so_when_its_port_is_taken(tmp_path, indexer):
    demo = _checkout(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, str(demo), "--port", str(port)]
        done = subprocess.run(command, env=indexer.env, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"port {port} cannot be used" in done.stdout
    assert done.stderr == ""
