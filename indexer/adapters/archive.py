"""
One file that holds a folder: tar (POSIX ustar) in one zstd frame, written and read as a stream.

    manifest.json    what it is; comes first
    …                files and empty folders
    SHA256SUMS       digest and name of each file, as `sha256sum -c` reads them; comes last

`tar --zstd -xf FILE` unpacks it too. Reading trusts nothing: only plain files and folders
below the target, of names that the caller knows, no more bytes than the manifest
announces, each with its digest. Memory does not grow with the archive.
"""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import zstandard

from indexer.adapters.files import sync_folder
from indexer.errors import IndexerError, Misconfigured, disk_error
from indexer.records import Packed

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
MAGIC = zstandard.FRAME_HEADER

_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 20
_ZEROS = bytes(_PIECE)
_LONGEST_MANIFEST = 1 << 20
_LEVEL = 3
_MODES = 0o666  # who may read and write; nothing of ours is run
_WINDOW = 1 << 27
_SAFE = re.compile(r"[^/\\\x00-\x1f\x7f]+(?:/[^/\\\x00-\x1f\x7f]+)*")
_UNTOUCHED = "nothing was changed"


class Archive:
    """
    An archive being written to `path`, which appears whole or not at all (mode 0600).

    Raises `IndexerError` naming the path if the disk fails.
    """

    def __init__(self, path: Path, manifest: bytes) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        self._stack = ExitStack()
        try:
            self._file = self._stack.enter_context(os.fdopen(_create(self._part), "wb"))
            spool = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115 - the stack closes it
            self._sums = self._stack.enter_context(spool)
        except OSError as error:
            self._discard()
            raise disk_error(path, error) from error
        packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self._out: Any = packer.stream_writer(self._file, closefd=False)
        self._manifest = manifest

    def __enter__(self) -> Self:
        with self._mapped():
            self.add(MANIFEST, self._manifest)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                with self._mapped():
                    self._finish()
        finally:
            self._discard()

    def add(self, name: str, data: bytes) -> None:
        """A small file."""
        with self._mapped():
            self._header(name, len(data))
            self._body(name, iter([data]), len(data))

    def add_file(self, packed: Packed) -> None:
        """A file or an empty folder. Raises `IndexerError` if it is not as long any more as it was."""
        if packed.path is None:
            with self._mapped():
                self._header(packed.name, 0, tarfile.DIRTYPE)
            return
        try:
            with packed.path.open("rb") as file:
                self._add_open(packed, file)
        except OSError as error:
            raise IndexerError(f"cannot read {packed.path}: {error.strerror}") from error

    def _add_open(self, packed: Packed, file: IO[bytes]) -> None:
        if os.fstat(file.fileno()).st_size != packed.size:
            raise IndexerError(f"{packed.path} changed while it was read; run again")
        with self._mapped():
            self._header(packed.name, packed.size, mode=os.fstat(file.fileno()).st_mode & _MODES)
            self._body(packed.name, _pieces(file, packed.size), packed.size)

    def _header(self, name: str, size: int, kind: bytes = tarfile.REGTYPE, mode: int = 0o600) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.type, member.mode = size, kind, 0o700 if kind == tarfile.DIRTYPE else mode
        try:
            self._out.write(member.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape"))
        except ValueError as error:
            raise IndexerError(f"{name} cannot be stored: {error}") from error

    def _body(self, name: str, pieces: Iterator[bytes], size: int) -> None:
        digest = hashlib.sha256()
        left = size
        for piece in pieces:
            digest.update(piece)
            self._out.write(piece)
            left -= len(piece)
        if left:
            raise IndexerError(f"{name} changed while it was read; run again")
        self._out.write(bytes(-size % _BLOCK))
        self._sums.write(_sum_line(name, digest.hexdigest()))

    def _finish(self) -> None:
        size = self._sums.tell()
        self._sums.seek(0)
        self._header(SUMS, size)
        for piece in _pieces(self._sums, size):
            self._out.write(piece)
        self._out.write(bytes(-size % _BLOCK + 2 * _BLOCK))
        self._out.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.replace(self._path)
        sync_folder(self._path.parent)

    def _discard(self) -> None:
        with suppress(OSError):  # what is still in a buffer goes with the file
            self._stack.close()
        self._part.unlink(missing_ok=True)

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk_error(self._path, error) from error


class Unpacking:
    """An archive being read; raises `Misconfigured` for what is none, `IndexerError` for a damaged one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()
        try:
            self._file = self._stack.enter_context(path.open("rb"))
        except OSError as error:
            raise Misconfigured(f"cannot read {path}: {error.strerror}") from None

    def __enter__(self) -> Self:
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._stream: Any = unpacker.stream_reader(self._file, closefd=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def manifest(self) -> bytes:
        """The first file's content. To be asked for once, before `extract`."""
        try:
            member = self._next()
            if member is not None and member.name == MANIFEST and 0 < member.size <= _LONGEST_MANIFEST:
                data = b"".join(self._content(member.size))
                self._sum = _sum_line(MANIFEST, hashlib.sha256(data).hexdigest())
                return data
        except IndexerError:
            pass
        raise Misconfigured(f"{self.path} is no backup; name a file that `indexer backup` wrote")

    def extract(
        self,
        target: Path,
        *,
        files: int,
        size: int,
        known: Callable[[str], bool],
        step: Callable[[int], None] = lambda _: None,
    ) -> None:
        """
        Everything behind the manifest, into the empty folder `target`, verified.

        `files`, `size`: how many files and bytes there may be; `known`: whether a name may be
        there. What was written before an error stays in `target`.
        """
        try:
            with tempfile.TemporaryFile(dir=target) as sums:
                sums.write(self._sum)
                count = 0
                while (member := self._next()) is not None and member.name != SUMS:
                    count, size = count + 1, size - member.size
                    if not self._allowed(member, known) or count > files or size < 0:
                        raise self._hostile(member.name)
                    self._place(member, target / member.name, sums)
                    step(count)
                if member is None or count != files:
                    raise self._short()
                self._compare(member, sums)
        except OSError as error:
            raise disk_error(target, error) from error

    def _allowed(self, member: tarfile.TarInfo, known: Callable[[str], bool]) -> bool:
        parts = member.name.split("/")
        plain = member.type in (tarfile.REGTYPE, tarfile.DIRTYPE) and not member.linkname
        return (
            plain
            and _SAFE.fullmatch(member.name) is not None
            and not {".", ".."} & set(parts)
            and (member.type == tarfile.REGTYPE or not member.size)
            and known(member.name)
        )

    def _place(self, member: tarfile.TarInfo, path: Path, sums: IO[bytes]) -> None:
        if member.type == tarfile.DIRTYPE:
            path.mkdir(parents=True, exist_ok=True)
            return
        digest = hashlib.sha256()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = member.mode & _MODES | 0o600
            file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")
        except (FileExistsError, NotADirectoryError):
            raise self._hostile(member.name) from None
        with file:
            for piece in self._content(member.size):
                digest.update(piece)
                if piece == _ZEROS[: len(piece)]:
                    file.seek(len(piece), os.SEEK_CUR)  # the engine's files are mostly holes
                else:
                    file.write(piece)
            file.truncate(member.size)
        sums.write(_sum_line(member.name, digest.hexdigest()))

    def _compare(self, member: tarfile.TarInfo, found: IO[bytes]) -> None:
        """Both lists are in the archive's order."""
        found.seek(0)
        if member.type != tarfile.REGTYPE:
            raise self._hostile(member.name)
        for piece in self._content(member.size):
            if piece != found.read(len(piece)):
                raise IndexerError(
                    f"{self.path} is damaged: what it holds is not what its {SUMS} says "
                    f"(`tar --zstd -xf` and `sha256sum -c {SUMS}` tell what); {_UNTOUCHED}"
                )
        if found.read(1):
            raise self._short()

    def _next(self) -> tarfile.TarInfo | None:
        """The next header; `None` at the end. Extended headers are none of ours: no name needs one."""
        block = self._exactly(_BLOCK)
        if block == _ZEROS[:_BLOCK]:
            return None
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise self._broken(str(error)) from None

    def _content(self, size: int) -> Iterator[bytes]:
        left = size
        while left:
            piece = self._exactly(min(left, _PIECE))
            left -= len(piece)
            yield piece
        self._exactly(-size % _BLOCK)

    def _exactly(self, size: int) -> bytes:
        pieces = []
        while size:
            try:
                piece = self._stream.read(size)
            except zstandard.ZstdError as error:
                raise self._broken(str(error)) from None
            if not piece:
                raise self._short()
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _short(self) -> IndexerError:
        return IndexerError(f"{self.path} is cut short; copy it again, or take another backup: {_UNTOUCHED}")

    def _broken(self, why: str) -> IndexerError:
        return IndexerError(f"{self.path} is damaged ({why}); take another backup: {_UNTOUCHED}")

    def _hostile(self, name: str) -> Misconfigured:
        return Misconfigured(
            f"{self.path} holds {name[:80]!r}, which no backup of indexer would; do not trust it: "
            f"{_UNTOUCHED}"
        )


def is_archive(path: Path) -> bool:
    """Whether the file begins as ours do."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def tree(folder: Path, *, under: str, skip: Callable[[str], bool] = lambda _: False) -> Iterator[Packed]:
    """
    The files of a folder and its empty folders, named from `under` on; symbolic links are left out.

    `skip`: names of files and folders that do not belong there.
    """
    with os.scandir(folder) as entries:
        found = sorted((entry for entry in entries if not skip(entry.name)), key=lambda entry: entry.name)
    if not found:
        yield Packed(name=under)
    for entry in found:
        name = f"{under}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from tree(Path(entry.path), under=name, skip=skip)
        elif entry.is_file(follow_symlinks=False):
            yield Packed(name=name, path=Path(entry.path), size=entry.stat().st_size)


def _pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    """At most `size` bytes: a file that grows meanwhile must not break what was announced."""
    while size and (piece := file.read(min(size, _PIECE))):
        size -= len(piece)
        yield piece


def _sum_line(name: str, digest: str) -> bytes:
    return f"{digest}  {name}\n".encode("utf-8", "surrogateescape")


def _create(path: Path) -> int:
    path.unlink(missing_ok=True)  # left by a kill
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
