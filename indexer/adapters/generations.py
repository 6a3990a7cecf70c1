"""
The folder of a project's generations, common to both vector stores.

    vectors/
      CURRENT          the published generation (of the embedded store; a server has an alias)
      .writer.lock     held by the one writer
      gen-NAME/
        lock           shared by readers; exclusive to whoever removes the generation
        state          `sealed` or `published`; absent: still being built
        manifest.json, bm25.json
        …              the embedded store's data

Locks are the kernel's (flock): a dead holder never blocks. A generation that was never
published and is not current was left behind by a killed writer.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from indexer.adapters.files import TEMPORARY, sync_folder, write_atomically
from indexer.artifacts import SCHEMA, Bm25Snapshot, Manifest
from indexer.errors import Busy, IndexerError, Misconfigured, disk_error

log = logging.getLogger("indexer")

CURRENT = "CURRENT"
MANIFEST = "manifest.json"
SNAPSHOT = "bm25.json"
LOCK = "lock"
STATE = "state"
SEALED = "sealed"
PUBLISHED = "published"
REBUILD = "rebuild it with --from-phase index --force"

_PREFIX = "gen-"
_TRASH = ".trash-"
_WRITER = ".writer.lock"
_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")


_Kept = TypeVar("_Kept", Manifest, Bm25Snapshot)


class _Head(Struct):
    schema: int


class Hold:
    """A kernel lock on a file. Raises `BlockingIOError` if another process has it."""

    def __init__(self, path: Path, *, exclusive: bool, create: bool = False, wait: bool = False) -> None:
        flags = os.O_RDWR | os.O_CREAT if create else os.O_RDONLY
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
        mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.flock(self._descriptor, mode if wait else mode | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise

    def is_of(self, path: Path) -> bool:
        """Whether `path` is still the locked file: it may have been removed before we had it."""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._descriptor), path.stat())
        return False

    def release(self) -> None:
        """Let go; again is harmless. Unlocking reaches the copies that a fork has made."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _nothing_more(_: str) -> None:
    """The folder is all there is of a generation."""


class Generations:
    """The generations under `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: Hold | None = None

    # ── the one writer ──────────────────────────────────────────────────────────────────

    def hold(self) -> None:
        """Become the writer, if not already. Raises `Busy`."""
        if self._writer is not None:
            return
        path = self.folder / _WRITER
        try:
            while True:
                self.folder.mkdir(parents=True, exist_ok=True)
                hold = Hold(path, exclusive=True, create=True)
                if hold.is_of(path):
                    self._writer = hold
                    return
                hold.release()
        except BlockingIOError:
            raise Busy(f"another run is writing the index in {self.folder}; wait for it to end") from None
        except OSError as error:
            raise disk_error(path, error) from error

    def release(self) -> None:
        """Let the next writer in."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.release()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the writer for a while; stay it if it was so before."""
        held = self._writer is not None
        self.hold()
        try:
            yield
        finally:
            if not held:
                self.release()

    # ── what is current ─────────────────────────────────────────────────────────────────

    def current(self) -> str:
        """The generation that CURRENT names; an empty string if it names none (damage is logged)."""
        path = self.folder / CURRENT
        try:
            name = path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            name = "?"
        except OSError as error:
            raise IndexerError(f"cannot read {path}: {error.strerror}") from error
        if not _NAME.fullmatch(name):
            log.warning("%s does not name a generation; the next run builds the index anew", path)
            return ""
        return name

    def point_to(self, name: str) -> None:
        """Make CURRENT name this generation: the swap."""
        write_atomically(self.folder / CURRENT, f"{name}\n".encode())

    # ── one generation ──────────────────────────────────────────────────────────────────

    def path(self, name: str) -> Path:
        """The folder of a generation."""
        if not _NAME.fullmatch(name):
            raise IndexerError(f"{name!r} is no name for a generation")
        return self.folder / f"{_PREFIX}{name}"

    def create(self, name: str) -> Path:
        """The empty folder of a new generation."""
        path = self.path(name)
        try:
            path.mkdir(parents=True)
            (path / LOCK).touch()
            sync_folder(self.folder)
        except OSError as error:
            raise disk_error(path, error) from error
        return path

    def state(self, name: str) -> str:
        """`sealed`, `published`, or an empty string while it is being built (or missing)."""
        try:
            return (self.path(name) / STATE).read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise IndexerError(f"cannot read {self.path(name) / STATE}: {error.strerror}") from error

    def mark(self, name: str, state: str) -> None:
        """Record that the generation has reached `state`."""
        write_atomically(self.path(name) / STATE, state.encode())

    def save(self, manifest: Manifest, snapshot: Bm25Snapshot) -> None:
        """Put manifest and snapshot into their generation, which must be sealed."""
        path = self.path(manifest.generation)
        if not self.state(manifest.generation):
            raise IndexerError(f"{path} is not complete and cannot be published; run again")
        write_atomically(path / SNAPSHOT, msgspec.json.encode(snapshot))
        write_atomically(path / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))

    def manifest(self, name: str) -> Manifest:
        """The manifest of a published generation. Raises `IndexerError` if missing or damaged."""
        return self._load(self.path(name) / MANIFEST, Manifest)

    def sound(self, name: str) -> Manifest | None:
        """As `manifest`; `None`, with a warning, if it is missing or damaged."""
        try:
            return self.manifest(name)
        except Misconfigured:
            raise
        except IndexerError as error:
            log.warning("%s", error)
            return None

    def snapshot(self, name: str) -> Bm25Snapshot:
        """The BM25 snapshot of a published generation. Raises as `manifest` does."""
        return self._load(self.path(name) / SNAPSHOT, Bm25Snapshot)

    def reading(self, name: str) -> Hold | None:
        """A reader's hold on a generation; `None` if it is, or is just being, removed."""
        path = self.path(name) / LOCK
        try:
            hold = Hold(path, exclusive=False)
        except (FileNotFoundError, BlockingIOError):
            return None
        except OSError as error:
            raise IndexerError(f"cannot read {path}: {error.strerror}") from error
        if hold.is_of(path):
            return hold
        hold.release()
        return None

    @staticmethod
    def _load(path: Path, kind: type[_Kept]) -> _Kept:
        try:
            data = path.read_bytes()
            head = msgspec.json.decode(data, type=_Head)
            if head.schema > SCHEMA:
                raise Misconfigured(
                    f"{path} was written by a newer indexer (schema {head.schema}, this one knows {SCHEMA}); "
                    "upgrade indexer"
                )
            return msgspec.json.decode(data, type=kind)
        except OSError as error:
            raise IndexerError(f"the index is damaged: {path}: {error.strerror}; {REBUILD}") from error
        except msgspec.MsgspecError as error:
            raise IndexerError(f"the index is damaged: {path}: {error}; {REBUILD}") from error

    # ── all of them ─────────────────────────────────────────────────────────────────────

    def published(self, current: str) -> list[str]:
        """Generations that are or were current, oldest first."""
        return [name for name in self._names() if name == current or self.state(name) == PUBLISHED]

    def settle(self, current: str) -> None:
        """As the writer: mark what is current as published, if a kill came between."""
        if current and self.state(current) == SEALED:
            self.mark(current, PUBLISHED)

    def tidy(self, current: str, *, also: Callable[[str], None] = _nothing_more) -> None:
        """As the writer: settle, and remove what was never published (`also`: as in `remove`)."""
        self.settle(current)
        for name in self._names():
            if name != current and self.state(name) != PUBLISHED:
                self.remove(name, also=also)
        self.sweep()

    def leftovers(self, current: str) -> list[str]:
        """What `tidy` would remove: generations that were never published, and what was half removed."""
        owed = [name for name in self._names() if name != current and self.state(name) != PUBLISHED]
        return [*owed, *(path.name for path in self._rubbish())]

    def surplus(self, current: str, keep: int, first: Collection[str] = ()) -> list[str]:
        """Published generations beyond the current one and the newest, `keep` in all; `first` go first."""
        others = [name for name in self.published(current) if name != current]
        others.sort(key=lambda name: (name not in first, name))
        return others[: max(0, len(others) - (keep - 1))]

    def remove(self, name: str, *, also: Callable[[str], None] = _nothing_more) -> bool:
        """
        Remove a generation at once, as others see it; false if a reader holds it open.

        `also` removes what lies elsewhere; should it fail, the folder stays to try again.
        """
        path = self.path(name)
        try:
            (path / LOCK).touch()  # absent if `create` was killed half-way
            hold = Hold(path / LOCK, exclusive=True)
            try:
                also(name)
                path.rename(self.folder / f"{_TRASH}{name}")
            finally:
                hold.release()
            sync_folder(self.folder)
            self.sweep()
        except BlockingIOError:
            return False
        except OSError as error:
            raise disk_error(path, error) from error
        return True

    def sweep(self) -> None:
        """Free the space of removed generations and of writes that were killed."""
        for path in self._rubbish():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _rubbish(self) -> Iterator[Path]:
        yield from self.folder.glob(f"{_TRASH}*")
        for folder in (self.folder, *self.folder.glob(f"{_PREFIX}*")):
            yield from folder.glob(f"{TEMPORARY}*")

    def drop(self, *, also: Callable[[str], None] = _nothing_more) -> None:
        """Remove the folder. Raises `Busy` if a reader holds a generation open."""
        with self.writing():
            try:
                (self.folder / CURRENT).unlink(missing_ok=True)
                for name in self._names():
                    if not self.remove(name, also=also):
                        raise Busy(f"a search is reading the index in {self.folder}; wait for it to end")
                shutil.rmtree(self.folder)
            except OSError as error:
                raise disk_error(self.folder, error) from error

    def _names(self) -> list[str]:
        names = (path.name.removeprefix(_PREFIX) for path in self.folder.glob(f"{_PREFIX}*"))
        return sorted(name for name in names if _NAME.fullmatch(name))
