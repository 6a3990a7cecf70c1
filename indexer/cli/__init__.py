"""
What a person types: parse, call, print. No logic.

Read first: `session` (global options, errors, exit codes), `run_commands` (the main job).
"""

from __future__ import annotations

from indexer.cli.app import app


def main() -> None:
    """Entry point of the `indexer` command."""
    app()
