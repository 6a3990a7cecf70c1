"""
Artifacts as files: `1_pages/KEY.json`, `2_chunks/KEY.json`, `3_embeds/KEY.json`, `3_embeds/bm25.json`.

A write is: temporary file beside the target, fsync, rename, fsync of the folder. A
reader sees the whole old file or the whole new one, whatever kills the writer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import SCHEMA, Bm25Snapshot, ChunkedPage, EmbeddedPage, Page
from indexer.errors import IndexerError, Misconfigured, disk_error
from indexer.ids import digest, url_key
from indexer.ports import Artifact, Staged

log = logging.getLogger("indexer")

FOLDERS: dict[type, str] = {Page: "1_pages", ChunkedPage: "2_chunks", EmbeddedPage: "3_embeds"}
RAW = "0_raw"  # what the pages were read from, see `raw`
RAW_SUFFIX = ".gz"
SNAPSHOT = "3_embeds/bm25.json"
TEMPORARY = ".tmp-"


class _Head(Struct):
    """What is read of any artifact before it is trusted."""

    schema: int
    signature: str = ""
    url: str = ""
    dimension: int = 0


class FileArtifacts:
    """The artifacts of one project under `root`. Picklable: workers open their own."""

    def __init__(self, root: Path, *, previous: Path | None = None) -> None:
        """`previous`: where pages go that are replaced or removed, until `forget_previous`."""
        self.root = root
        self.previous = previous
        self._root = str(root)  # a path's text is slow to make

    def load(self, kind: type[Artifact], key: str) -> Artifact | None:
        """The artifact, or `None` if it is missing, truncated or foreign (named in the log)."""
        found = self.examine(kind, key)
        if not isinstance(found, str):
            return found
        if found:
            log.warning("%s %s; it will be rebuilt", self._path(kind, key), found)
        return None

    def examine(self, kind: type[Artifact], key: str) -> Artifact | str:
        """The artifact, or what is wrong with its file; an empty string if there is none."""
        path = self._path(kind, key)
        data = self._read(path)
        if data is None:
            return ""
        head = self._examined(path, data, key)
        if isinstance(head, str):
            return head
        try:
            found = msgspec.json.decode(data, type=kind)
        except msgspec.MsgspecError as error:
            return f"is damaged ({error})"
        if isinstance(found, EmbeddedPage) and found.digest not in ("", _digest_of(found)):
            return "is damaged (it is not what its digest says)"
        return found

    def has(self, kind: type[Artifact], key: str) -> bool:
        """Whether there is a file; that it is whole is seen when it is read."""
        return self._path(kind, key).is_file()

    def folder(self, kind: type[Artifact]) -> str:
        """The name of the folder of a kind."""
        return FOLDERS[kind]

    def signature(self, kind: type[Artifact], key: str) -> str:
        """The stored signature without building the artifact; empty if there is none to trust."""
        path = self._path(kind, key)
        data = self._read(path)
        head = self._head(path, data, key) if data is not None else None
        return head.signature if head else ""

    def stamp(self, kind: type[Artifact], key: str) -> str:
        """Inode, size and time of change: every version is a file of its own, so no two share a stamp."""
        try:
            found = os.stat(f"{self._root}/{FOLDERS[kind]}/{key}.json")  # noqa: PTH116 - a Path costs more than the call
        except OSError:
            return ""
        return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"

    def dimension(self, key: str) -> int:
        """Of the stored vectors of a page; 0 if there are none to trust."""
        path = self._path(EmbeddedPage, key)
        data = self._read(path)
        head = self._head(path, data, key) if data is not None else None
        return head.dimension if head else 0

    def save(self, key: str, artifact: Page | ChunkedPage | EmbeddedPage) -> None:
        """Write atomically; the folder is made if need be."""
        self.commit([self.stage(key, artifact)])

    def stage(self, key: str, artifact: Page | ChunkedPage | EmbeddedPage) -> Staged:
        """Write beside the target; `commit` puts it in place. Both halves name the path if the disk fails."""
        if isinstance(artifact, EmbeddedPage):  # nobody reads vectors and sees what is wrong with them
            data = msgspec.json.encode(replace(artifact, digest=_digest_of(artifact)))
        else:
            data = msgspec.json.format(msgspec.json.encode(artifact), indent=1)
        path = self._path(type(artifact), key)
        return str(write_part(path, data)), str(path)

    def commit(self, staged: Sequence[Staged]) -> None:
        """Put staged files in place, durably; one wait for each folder."""
        for part, path in staged:
            self._keep_previous(Path(path))
            settle_part(Path(part), Path(path))
        for folder in sorted({Path(path).parent for _, path in staged}):
            sync_folder(folder)

    def delete(self, kind: type[Artifact], key: str) -> None:
        """Remove an artifact, and with a page what it was read from; a missing one is fine."""
        self._keep_previous(self._path(kind, key))
        self._path(kind, key).unlink(missing_ok=True)
        if kind is Page:
            (self.root / RAW / f"{key}{RAW_SUFFIX}").unlink(missing_ok=True)

    def keys(self, kind: type[Artifact]) -> Iterator[str]:
        """Keys of all stored artifacts of a kind, sorted."""
        folder = self.root / FOLDERS[kind]
        if not folder.is_dir():
            return
        names = sorted(entry.name for entry in os.scandir(folder))
        snapshot = Path(SNAPSHOT).name
        for name in names:
            if name.endswith(".json") and name != snapshot:
                yield name.removesuffix(".json")

    def save_snapshot(self, snapshot: Bm25Snapshot) -> None:
        """Write the BM25 snapshot of the published generation."""
        write_atomically(self.root / SNAPSHOT, msgspec.json.encode(snapshot))

    def load_snapshot(self) -> Bm25Snapshot | None:
        """The BM25 snapshot, or `None` if it is missing or damaged."""
        path = self.root / SNAPSHOT
        data = self._read(path)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=Bm25Snapshot)
        except msgspec.MsgspecError as error:
            log.warning("%s is damaged (%s); it will be rebuilt", path, error)
            return None

    def sweep(self) -> None:
        """Remove what killed writers left behind."""
        for name in self.leftovers():
            (self.root / name).unlink(missing_ok=True)

    def leftovers(self) -> list[str]:
        """What killed writers left behind, by its place under `root`."""
        folders = (self.root / folder for folder in (*FOLDERS.values(), RAW))
        found = (path for folder in folders for path in folder.glob(f"{TEMPORARY}*"))
        return [str(path.relative_to(self.root)) for path in found]

    def forget_previous(self) -> None:
        """What is stored is published now: the versions that it replaced are not needed any more."""
        if self.previous is not None and self.previous.exists():
            shutil.rmtree(self.previous, ignore_errors=True)

    def _keep_previous(self, path: Path) -> None:
        """Keep the page that is about to be replaced, unless an older one is kept: that is the published."""
        if self.previous is None or path.parent.name != FOLDERS[Page]:
            return
        target = self.previous / FOLDERS[Page] / path.name
        if target.exists() or not path.exists():
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, target)
            except FileExistsError:
                return
            except OSError:  # a file system without links
                write_atomically(target, path.read_bytes())
            sync_folder(target.parent)
        except OSError as error:
            raise disk_error(target, error) from error

    def _path(self, kind: type, key: str) -> Path:
        return self.root / FOLDERS[kind] / f"{key}.json"

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise IndexerError(f"cannot read {path}: {error.strerror}") from error

    def _head(self, path: Path, data: bytes, key: str) -> _Head | None:
        head = self._examined(path, data, key)
        if not isinstance(head, str):
            return head
        log.warning("%s %s; it will be rebuilt", path, head)
        return None

    @staticmethod
    def _examined(path: Path, data: bytes, key: str) -> _Head | str:
        """What is read first, or why the rest is not to be trusted."""
        try:
            head = msgspec.json.decode(data, type=_Head)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return f"is damaged ({error})"
        if head.schema > SCHEMA:
            raise Misconfigured(
                f"{path} was written by a newer indexer (schema {head.schema}, this one knows {SCHEMA}); "
                "upgrade indexer, or rebuild the project in another folder"
            )
        if url_key(head.url) != key:
            return f"holds another URL ({head.url})"
        return head


def _digest_of(page: EmbeddedPage) -> str:
    return digest(msgspec.json.encode(replace(page, digest="")))


def write_atomically(path: Path, data: bytes) -> None:
    """
    Replace `path` by `data`, whole or not at all.

    Raises `IndexerError` naming the path for a full disk, a read-only folder or the like.
    """
    settle_part(write_part(path, data), path)
    sync_folder(path.parent)


def write_part(path: Path, data: bytes, *, mode: int = 0o644) -> Path:
    """`data` beside `path`, not yet durable. No suffix: who reads `*.json` must not meet half a file."""
    part = path.with_name(f"{TEMPORARY}{os.getpid()}-{threading.get_ident()}-{path.stem}")
    with _or_nothing(part, path):
        try:
            file = _create(part, mode)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = _create(part, mode)
        with os.fdopen(file, "wb") as out:
            out.write(data)
    return part


def settle_part(part: Path, path: Path, *, durable: bool = True) -> None:
    """Put a part in place; `durable`: its bytes first, then the name."""
    with _or_nothing(part, path):
        if durable:
            with part.open("rb") as file:
                os.fsync(file.fileno())
        part.replace(path)


@contextlib.contextmanager
def _or_nothing(part: Path, path: Path) -> Iterator[None]:
    """Remove the part if anything goes wrong; a failing disk is told of by the name of `path`."""
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise disk_error(path, error) from error
        raise


def _create(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), mode)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise disk_error(folder, error) from error
