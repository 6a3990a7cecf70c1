"""
What a person types: parse, call, print. No logic.

Read first: `session` (global options, errors, exit codes), `run_commands` (the main job).
"""

from __future__ import annotations

import sys
from typing import Any

from indexer.cli.app import app


def main() -> None:
    """Entry point of the `indexer` command."""
    try:
        code = app(prog_name="indexer", standalone_mode=False)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        code = _misused(error)
    sys.exit(code or 0)


def _misused(error: Any) -> int:
    """A command line that cannot be read: as every error it is an object for those who asked for JSON."""
    from indexer.cli.console import json_line

    message, code = error.format_message(), int(error.exit_code)
    if "--log-json" in sys.argv:
        sys.stderr.write(json_line("error", message) + "\n")
    else:
        error.show()  # with how the command is used
    if "--json" in sys.argv and message:
        import json

        sys.stdout.write(json.dumps({"error": message, "exit": code}, ensure_ascii=False) + "\n")
    return code
