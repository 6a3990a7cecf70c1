"""
A project in one file: everything that `restore` needs to go on as if nothing had happened.

    manifest.json · project.json (the registry's row) · urls.db · golden.jsonl, rolled-back.json
    0_raw/ 1_pages/ 2_chunks/ 3_embeds/ previous/ held/ runs/ redteam/
    vectors/ (published generations of the embedded index)

Secrets stay out: the Telegram token and a password in the bot's address are added only
when asked for, and all others are only referred to by name. The vector cache is made anew
from the embeds, and so is the index where it lives on a server.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from indexer import __version__
from indexer.artifacts import SCHEMA
from indexer.clock import now
from indexer.errors import Misconfigured
from indexer.pipeline.gates import GOLDEN, PIN
from indexer.pipeline.projects import FOLDERS
from indexer.pipeline.report import Progress
from indexer.pipeline.wiring import VECTORS, Wiring
from indexer.ports import Project
from indexer.records import Packed

FORMAT = 1
PROJECT = "project.json"
CATALOGUE = "urls.db"
FILES = (GOLDEN, PIN)
_LOGIN = re.compile(r"(?<=//)[^/@]*@")
_STEP = 100  # files between two lines of progress


class Backup(Struct, frozen=True, kw_only=True):
    """The archive's first file. `files`, `bytes`: of all others but the list of digests."""

    format: int = FORMAT
    schema: int = SCHEMA
    indexer: str = __version__
    created: str
    project: str
    id: str
    generation: str
    token: bool
    files: int
    bytes: int


def backup(wiring: Wiring, project: Project, target: Path, *, with_token: bool, progress: Progress) -> Backup:
    """
    Write `target`, whole or not at all, while no run holds the project.

    Raises `Busy` if one does, `Misconfigured` for an impossible target, `IndexerError` if the
    disk fails.
    """
    _check(wiring, project, target)
    row = msgspec.structs.replace(project, registered="")
    if not with_token:
        row = msgspec.structs.replace(row, tg_api_key="", bot_url=without_login(row.bot_url))
    with wiring.lock(project), tempfile.TemporaryDirectory(prefix="indexer-backup-") as folder:
        wiring.copy_catalogue(project, Path(folder))
        data = msgspec.json.encode(row)
        count, size = 1, len(data)
        for packed in _contents(wiring, project, Path(folder)):
            count, size = count + 1, size + packed.size
        manifest = Backup(
            created=now(),
            project=project.name,
            id=project.id,
            generation=project.generation,
            token=with_token and bool(project.tg_api_key),
            files=count,
            bytes=size,
        )
        with wiring.archive(target, msgspec.json.encode(manifest)) as archive:
            archive.add(PROJECT, data)
            for number, packed in enumerate(_contents(wiring, project, Path(folder)), 2):
                archive.add_file(packed)
                if number % _STEP == 0 or number == count:
                    progress.step("Backing up", number, count)
    progress.say(f"Backup completed: {count} files, {size} bytes")
    return manifest


def without_login(url: str) -> str:
    """An address without user name and password."""
    return _LOGIN.sub("", url)


def belongs(name: str) -> bool:
    """Whether a backup of format 1 may hold a file or folder of this name."""
    head, _, rest = name.partition("/")
    if not rest:
        return head in (PROJECT, CATALOGUE, *FILES, *FOLDERS)
    return head in FOLDERS


def _contents(wiring: Wiring, project: Project, copied: Path) -> Iterator[Packed]:
    """All files, in the same order each time; nobody writes them meanwhile."""
    folder = wiring.folder(project)
    for path in (copied / CATALOGUE, *(folder / name for name in FILES)):
        if path.is_file():
            yield Packed(name=path.name, path=path, size=path.stat().st_size)
    for name in FOLDERS:
        if name != VECTORS:
            yield from wiring.packed(folder / name, under=name)
    for path in wiring.store(project).files():
        yield from wiring.packed(path, under=f"{VECTORS}/{path.name}")


def _check(wiring: Wiring, project: Project, target: Path) -> None:
    if target.is_dir():
        raise Misconfigured(f"{target} is a folder; name a file, for example {target / project.name}.tar.zst")
    if not target.parent.is_dir():
        raise Misconfigured(f"there is no folder {target.parent} to write {target.name} to; create it first")
    if target.exists() and not wiring.is_archive(target):
        raise Misconfigured(f"{target} exists and is no backup; choose another file")
    if target.resolve().is_relative_to(wiring.folder(project).resolve()):
        raise Misconfigured(f"{target} lies in the project's own folder; choose another place")
