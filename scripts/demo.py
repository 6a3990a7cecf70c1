"""
Index the example site and ask it three questions, with the commands that a user types.

    uv run scripts/demo.py        (or, with the package installed: python scripts/demo.py)

Serves projects/example/site on loopback. The first run creates the project `example`;
later runs bring it up to date, which does nothing twice.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from serve_site import Server, make_server, running

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = ROOT / "projects"
NAME = "example"
PORT = 8377  # fixed: the project's addresses contain it, so later runs must find the site there
QUESTIONS = (
    "сколько действует гарантия на покраску?",
    "сколько можно хранить машину у вас после ремонта?",
    "at what temperature should I switch to winter tyres?",
)
NEXT = """
The same for a real site:
    indexer init-project --name my-site --sitemap-url https://www.example.com/sitemap.xml
    indexer search --project-name my-site "your question"
"""


def main() -> int:
    """Serve, index or reindex, ask. The exit code of the first command that fails."""
    parser = argparse.ArgumentParser(description="Index the example site and ask it three questions.")
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        help=f"where the site is served (default {PORT}); the same for later runs",
    )
    port = parser.parse_args().port
    if _command() is None:
        print(f"the package is not installed here; run `pip install {ROOT}` first, or use `uv run`")
        return 1
    try:
        server = make_server(PROJECTS / NAME / "site", port)
    except OSError as error:
        print(f"port {port} cannot be used ({error.strerror}); end the program that holds it,")
        print(f"perhaps another demo, or name another port: {Path(sys.argv[0]).name} --port {port + 1}")
        return 1
    with running(server):
        print(f"The example site, a car service in Russian and English, is now at {server.origin}/")
        code = _index(server) or _ask()
    if code == 0:
        print(NEXT)
    return code


def _index(server: Server) -> int:
    """Create the project, or bring it up to date and say what that cost."""
    if not _exists():
        source = ["--sitemap-url", f"{server.origin}/sitemap.xml"]
        guard = ["--allow-private", server.origin.removeprefix("http://")]
        return _run(["init-project", "--name", NAME, *source, *guard, "--no-register"])
    print(f"The project {NAME} is there from an earlier run: it is only brought up to date.")
    code = _run(["seed", "--project-name", NAME, "--no-register"])
    unchanged, others = server.answers[304], server.answers.total() - server.answers[304]
    print(f"The site was asked {unchanged + others} times: {unchanged} answers were “not modified”.")
    return code


def _ask() -> int:
    for question in QUESTIONS:
        code = _run(["search", "--project-name", NAME, "--limit", "2", question])
        if code:
            return code
    return 0


def _command() -> str | None:
    """The `indexer` of the environment that runs this script, else the one on the PATH."""
    return shutil.which("indexer", path=str(Path(sys.executable).parent)) or shutil.which("indexer")


def _run(arguments: list[str]) -> int:
    """Show one command, run it, pass its output through."""
    print(f"\n$ {shlex.join(['indexer', *arguments])}", flush=True)
    return subprocess.run(
        [_command() or "indexer", *arguments], cwd=ROOT, env=_environment(), check=False
    ).returncode


def _exists() -> bool:
    """Whether the project was created before."""
    command = [_command() or "indexer", "status", "--project-name", NAME]
    return (
        subprocess.run(command, cwd=ROOT, env=_environment(), check=False, capture_output=True).returncode
        == 0
    )


def _environment() -> dict[str, str]:
    """The caller's, with the projects of this checkout."""
    return {**os.environ, "INDEXER_PROJECTS_DIR": str(PROJECTS)}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
