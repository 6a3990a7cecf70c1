"""Fixtures that every room uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli


@pytest.fixture
def indexer(tmp_path: Path) -> Cli:
    """The `indexer` command with an empty projects folder."""
    return Cli(tmp_path)
