"""
What servers answered, kept compressed beside the pages: `0_raw/KEY.gz`.

Its first line is JSON (address, status, the headers that reading needs, the run that
asked), the body follows: `zcat` shows both. A cache: it is written without waiting for the
disk, and what is damaged counts as missing. Cookies and other headers are not stored.
"""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from indexer.adapters.files import RAW, RAW_SUFFIX, settle_part, write_part
from indexer.ids import url_key
from indexer.ports import Response

log = logging.getLogger("indexer")

HEADERS = ("content-type", "x-robots-tag", "etag", "last-modified", "cf-mitigated")
_LEVEL = 3  # within a tenth of the size of level 6, in half of its time
_LONGEST_HEAD, _USUAL_HEAD = 65_536, 2_048
_GZIP = 31  # zlib's window bits for a gzip stream
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, msgspec.MsgspecError, UnicodeDecodeError)


class _Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    url: str
    status: int
    visit: int
    headers: dict[str, str] = field(default_factory=dict)
    rendered: bool = False


class FileRaw:
    """The kept answers of one project under `root`; none over `limit` bytes compressed. Picklable."""

    def __init__(self, root: Path, *, limit: int) -> None:
        self.root = root
        self.limit = limit
        self._folder = str(root / RAW)  # asked for every URL of a run, and a path's text is slow to make

    def save(self, response: Response, visit: int) -> None:
        """Keep the answer of run `visit` in place of an older one. Raises `IndexerError` naming the path."""
        path = self._path(url_key(response.url))
        head = _Head(
            url=response.url,
            status=response.status,
            visit=visit,
            headers={name: response.headers[name] for name in HEADERS if response.headers.get(name)},
            rendered=response.rendered,
        )
        data = gzip.compress(msgspec.json.encode(head) + b"\n" + response.body, _LEVEL, mtime=0)
        if len(data) > self.limit:
            path.unlink(missing_ok=True)
            return
        settle_part(write_part(path, data, mode=0o600), path, durable=False)

    def load(self, url: str) -> Response | None:
        """The kept answer to `url`; `None` if there is none to trust."""
        path = self._path(url_key(url))
        try:
            with gzip.open(path, "rb") as file:
                head = msgspec.json.decode(file.readline(_LONGEST_HEAD), type=_Head)
                body = file.read()
        except FileNotFoundError:
            return None
        except (OSError, *_DAMAGED) as error:
            log.info("%s is damaged (%s); it is left out", path, error)
            return None
        if head.url != url:
            return None
        return Response(
            url=url,
            final_url=url,
            status=head.status,
            headers=head.headers,
            body=body,
            rendered=head.rendered,
        )

    def has(self, url: str) -> bool:
        """Whether an answer to `url` is kept; that it is whole is seen when it is read."""
        return self._path(url_key(url)).is_file()

    def visit(self, url: str) -> int:
        """The run that asked for the kept answer; 0 if there is none."""
        try:
            with open(f"{self._folder}/{url_key(url)}{RAW_SUFFIX}", "rb", buffering=0) as file:  # noqa: PTH123
                data = file.read(_USUAL_HEAD)
                head, end, _ = zlib.decompressobj(_GZIP).decompress(data, _USUAL_HEAD).partition(b"\n")
                if not end:
                    data += file.read(_LONGEST_HEAD)
                    head = zlib.decompressobj(_GZIP).decompress(data, _LONGEST_HEAD).partition(b"\n")[0]
            return msgspec.json.decode(head, type=_Head).visit
        except (OSError, *_DAMAGED):
            return 0

    def delete(self, url: str) -> None:
        """Forget an answer; a missing one is fine."""
        self._path(url_key(url)).unlink(missing_ok=True)

    def keys(self) -> Iterator[str]:
        """URL keys of all kept answers."""
        folder = self.root / RAW
        if folder.is_dir():
            names = [entry.name for entry in os.scandir(folder)]
            yield from (name.removesuffix(RAW_SUFFIX) for name in names if name.endswith(RAW_SUFFIX))

    def prune(self, keep: set[str]) -> None:
        """Forget all answers but those of these URL keys."""
        for key in self.keys():
            if key not in keep:
                self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.root / RAW / f"{key}{RAW_SUFFIX}"


def forget(root: Path) -> None:
    """Remove all kept answers of a project."""
    shutil.rmtree(root / RAW, ignore_errors=True)
