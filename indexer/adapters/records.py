"""Small named files of a project: records of runs, digests, the pin that a rollback leaves."""

from __future__ import annotations

from pathlib import Path

from indexer.adapters.files import write_atomically
from indexer.errors import IndexerError


class FileRecords:
    """Files under `folder`, by name with suffix. Implements `ports.Records`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, name: str, data: bytes) -> Path:
        """Write atomically; gives the path."""
        path = self.folder / name
        write_atomically(path, data)
        return path

    def load(self, name: str) -> bytes | None:
        """What was saved; `None` if nothing was."""
        path = self.folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise IndexerError(f"cannot read {path}: {error.strerror}") from error

    def names(self, suffix: str) -> list[str]:
        """Names that end so, sorted; not those that are being written."""
        if not self.folder.is_dir():
            return []
        found = (path.name for path in self.folder.iterdir())
        return sorted(name for name in found if name.endswith(suffix) and not name.startswith("."))

    def delete(self, name: str) -> None:
        """Remove a file; a missing one is fine."""
        (self.folder / name).unlink(missing_ok=True)
