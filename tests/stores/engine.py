"""A vector store under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from indexer.ports import VectorStore


@dataclass
class Engine:
    """`open` gives another handle on the same project, as another process would have it."""

    name: str
    open: Callable[[], VectorStore]
    folder: Path
