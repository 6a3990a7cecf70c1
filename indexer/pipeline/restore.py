"""
A project from a backup: unpacked beside, verified whole, then swapped in.

Nothing changes before all of it is known to be sound, and a project that was there stays
as it was until the swap, which is one step. What a person has put into its folder stays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from indexer.artifacts import SCHEMA
from indexer.errors import Busy, IndexerError, Misconfigured, disk_error
from indexer.pipeline import publish
from indexer.pipeline.backup import CATALOGUE, FILES, FORMAT, PROJECT, Backup, belongs, without_login
from indexer.pipeline.gates import GOLDEN, PIN
from indexer.pipeline.projects import FOLDERS, check_language, check_name
from indexer.pipeline.rebuild import rebuild_index, refill_cache
from indexer.pipeline.report import Progress
from indexer.pipeline.wiring import VECTORS, Wiring
from indexer.ports import Project

STAGING = ".restore-"
SPARE = 16 << 20  # bytes that must stay free
_STEP = 100


class _Head(Struct):
    format: int


class Restored(Struct, frozen=True, kw_only=True):
    """What `restore` did. `rebuilt`: the index was built from the embeds; `token`: the project has one."""

    project: str
    id: str
    created: str
    files: int
    generation: str
    points: int
    vectors: int
    rebuilt: bool
    token: bool


def restore(wiring: Wiring, source: Path, *, name: str, force: bool, progress: Progress) -> Restored:
    """
    Bring back the project in `source`, under `name` if one is given; `force`: in place of another.

    A project whose id is taken by one of another name becomes a copy with an id of its own. Raises
    `Misconfigured` for a file that cannot be used or a name that is taken, `IndexerError` for a
    damaged one, `Busy` if a run holds the project; nothing has changed then. `Refused`: all is
    back but the index, which a gate holds.
    """
    with wiring.unpacking(source) as archive:
        head = _manifest(source, archive.manifest())
        target = check_name(name or head.project)
        _check_room(wiring, source, target, force=force)
        with _place(wiring, target), _staging(wiring) as staging:
            archive.extract(
                staging,
                files=head.files,
                size=head.bytes,
                known=belongs,
                step=lambda done: _say(progress, done, head.files),
            )
            project = _project(wiring, source, staging, target)
            return _swap(wiring, project, staging, head, progress)


def _manifest(source: Path, data: bytes) -> Backup:
    """Raises `Misconfigured` for one of a newer indexer, or none."""
    try:
        found = msgspec.json.decode(data, type=_Head).format
        if found > FORMAT:
            raise Misconfigured(
                f"{source} was written by a newer indexer (backup format {found}, this one knows {FORMAT}); "
                "upgrade indexer"
            )
        head = msgspec.json.decode(data, type=Backup)
    except msgspec.MsgspecError as error:
        raise Misconfigured(f"{source} is no backup of indexer: {error}") from None
    if head.schema > SCHEMA:
        raise Misconfigured(
            f"{source} holds artifacts of a newer indexer (schema {head.schema}, this one knows {SCHEMA}); "
            "upgrade indexer"
        )
    return head


def _check_room(wiring: Wiring, source: Path, name: str, *, force: bool) -> None:
    folder = wiring.projects_dir / name
    if folder.exists() and not folder.is_dir():
        raise Misconfigured(f"{folder} is a file; choose another name with --as")
    taken = wiring.registry.find(name=name) is not None or any((folder / one).exists() for one in _ours())
    if taken and not force:
        raise Misconfigured(
            f"a project named {name!r} exists already; choose another name with --as, "
            "or replace it with --force"
        )
    free = shutil.disk_usage(wiring.projects_dir).free
    if free < source.stat().st_size + SPARE:
        raise IndexerError(
            f"no space left to unpack {source} into {wiring.projects_dir} ({free >> 20} MB free); "
            "free some space and run again: nothing was changed"
        )


@contextlib.contextmanager
def _place(wiring: Wiring, name: str) -> Iterator[None]:
    """Hold the project's folder; what was made only to be held is removed again."""
    folder = wiring.projects_dir / name
    try:
        with wiring.lock(Project(id="", name=name)):
            yield
    finally:
        if folder.is_dir() and all(path.name.startswith(".lock") for path in folder.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _staging(wiring: Wiring) -> Iterator[Path]:
    """An empty folder beside the projects, locked like one, and removed with all that it holds in the end."""
    from ulid import ULID

    sweep_staging(wiring)
    path = wiring.projects_dir / f"{STAGING}{ULID()}"
    try:
        path.mkdir()
    except OSError as error:
        raise disk_error(wiring.projects_dir, error) from error
    try:
        with wiring.lock(Project(id="", name=path.name)):
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep_staging(wiring: Wiring) -> None:
    """Remove what killed restores left: copies, or what was replaced."""
    for path in wiring.projects_dir.glob(f"{STAGING}*"):
        with contextlib.suppress(Busy), wiring.lock(Project(id="", name=path.name)):
            shutil.rmtree(path, ignore_errors=True)


def _project(wiring: Wiring, source: Path, staging: Path, name: str) -> Project:
    """The row that the project gets. Raises `Misconfigured` if it, or the URL table, is none."""
    path = staging / PROJECT
    try:
        row = msgspec.json.decode(path.read_bytes(), type=Project)
        uuid.UUID(row.id)
        check_language(row.language)
        path.unlink()
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise Misconfigured(f"{source} holds no usable {PROJECT}: {error}; nothing was changed") from None
    wiring.check_database(staging / CATALOGUE)
    with wiring.catalogue(
        Project(id="", name=staging.name)
    ) as catalogue:  # raises for one of a newer indexer
        catalogue.counts()
    registry = wiring.registry
    here, twin = registry.find(name=name), registry.find(id=row.id)
    copied = twin is not None and twin.name != name
    kept = here if here and not copied else Project(id="", name=name)
    same_bot = without_login(kept.bot_url) == without_login(row.bot_url)
    return msgspec.structs.replace(
        row,
        id=str(uuid.uuid4()) if copied else row.id,
        name=name,
        tg_api_key=row.tg_api_key or kept.tg_api_key,
        bot_url=kept.bot_url if same_bot else row.bot_url,
        generation="" if copied else row.generation,
        registered="",
    )


def _swap(wiring: Wiring, project: Project, staging: Path, head: Backup, progress: Progress) -> Restored:
    """Put the verified folder in place, then the row, then what can be made anew."""
    folder = wiring.folder(project)
    remote = bool(wiring.settings.store.url)
    if remote or project.id != head.id:  # points are named by the project's id
        shutil.rmtree(staging / VECTORS, ignore_errors=True)
    _keep(folder, staging, vectors=remote)
    os.sync()
    wiring.exchange(folder, staging)
    try:
        _put_row(wiring, project)
    except BaseException:
        wiring.exchange(folder, staging)
        raise
    vectors = refill_cache(wiring, project)
    with wiring.catalogue(project) as catalogue:
        store = wiring.store(project)
        current = None if remote else store.current()
        if current is None and head.generation:
            pinned = wiring.records(project, "").load(PIN) is not None
            built = rebuild_index(wiring, project, catalogue, allow_shrink=not pinned)
            manifest, project = built.manifest, built.project
        elif current is not None:
            manifest = current
            project = publish.finish(wiring, project, wiring.artifacts(project), store, current)
        else:
            manifest = None
    progress.say(f"Restore completed: {head.files} files of {head.created}")
    return Restored(
        project=project.name,
        id=project.id,
        created=head.created,
        files=head.files,
        generation=manifest.generation if manifest else "",
        points=manifest.points if manifest else 0,
        vectors=vectors,
        rebuilt=current is None and manifest is not None,
        token=bool(project.tg_api_key),
    )


def _put_row(wiring: Wiring, project: Project) -> None:
    registry = wiring.registry
    here = registry.find(name=project.name)
    row = msgspec.structs.replace(project, generation="")
    if here is not None and here.id != project.id:
        registry.remove(here.id)
        here = None
    if here is None:
        registry.add(row)
    else:
        registry.update(row)
        registry.withdraw(row.id)  # `finish` publishes what came back


def _keep(old: Path, new: Path, *, vectors: bool) -> None:
    """
    Copy what is not ours (a person put it there) from the folder that goes, unless the backup has it.

    `vectors`: also what this folder knows of its collections on a server.
    """
    for path in sorted(old.iterdir()):
        ours = path.name in _ours() or path.name.startswith((".lock", f"{CATALOGUE}-"))
        kept = path.name == GOLDEN or (vectors and path.name == VECTORS)
        target = new / path.name
        if (ours and not kept) or target.exists():
            continue
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)
        except OSError as error:
            raise disk_error(target, error) from error


def _ours() -> tuple[str, ...]:
    return (*FOLDERS, CATALOGUE, *FILES)


def _say(progress: Progress, done: int, files: int) -> None:
    if done % _STEP == 0 or done == files:
        progress.step("Restoring", done, files)
