"""What all projects stand on: configuration, keys, servers, versions, disk, registry, cache."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from indexer import __version__
from indexer.errors import IndexerError, Misconfigured
from indexer.pipeline.findings import Findings
from indexer.pipeline.models import CACHE
from indexer.pipeline.restore import STAGING, sweep_staging
from indexer.pipeline.wiring import VECTORS, Wiring
from indexer.ports import Project
from indexer.settings import Crawl, secret

LEAST_SPACE = 64 << 20  # bytes below which hardly a run ends well


def examine_setup(wiring: Wiring, found: Findings, *, offline: bool, repair: bool) -> None:
    """What belongs to no single project."""
    found.info(
        "versions",
        f"indexer {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}",
    )
    _keys(wiring, found)
    _models(wiring, found, offline=offline)
    _space(wiring, found)
    if not offline:
        _registry(wiring, found)
    _files(wiring, found, repair=repair)


def examine_store(wiring: Wiring, project: Project, found: Findings) -> bool:
    """The engine that holds the project's index; whether it can be asked."""
    try:
        found.info("servers", wiring.store(project).health())
    except IndexerError as error:
        found.error("servers", str(error), do="the live index is out of reach until that is mended")
        return False
    return True


def examine_sources(wiring: Wiring, project: Project, found: Findings) -> None:
    """What the project's own runs need: credentials, a browser."""
    from indexer.pipeline.projects import stored_sources

    crawl = wiring.settings.crawl
    for name in _credentials(crawl):
        _set_or_not(found, name)
    for needed in (
        lambda: wiring.credentials(stored_sources(project)),
        lambda: wiring.render(stored_sources(project)),
    ):
        try:
            needed()
        except Misconfigured as error:
            found.error("configuration", str(error), do="until then runs end with code 2")


def examine_room(wiring: Wiring, project: Project, found: Findings) -> None:
    """Whether the next generation fits beside the live one."""
    folder = wiring.folder(project)
    if not folder.is_dir():
        return
    size = sum(file.stat().st_blocks * 512 for file in (folder / VECTORS).rglob("*") if file.is_file())
    kept = max(1, len(wiring.store(project).generations()))
    free = shutil.disk_usage(folder).free
    if free < size // kept + LEAST_SPACE:
        found.warning(
            "disk", f"a next generation needs about {size // kept >> 20} MB, {free >> 20} MB are free",
            str(folder), do="free some space, or keep fewer generations (index.keep_generations)",
        )  # fmt: skip


def _keys(wiring: Wiring, found: Findings) -> None:
    """Which variables hold something; never what."""
    settings = wiring.settings
    names = [settings.store.api_key_env] if settings.store.url else []
    names += [settings.bot.token_env, settings.bot.secret_env] if settings.bot.url else []
    for name in dict.fromkeys([*names, *wiring.key_names()]):
        _set_or_not(found, name)


def _set_or_not(found: Findings, name: str) -> None:
    try:
        found.info("keys", f"{name} is {'set' if secret(name) else 'not set'}")
    except Misconfigured as error:
        found.error("keys", str(error), do="correct the path, or unset the variable")


def _models(wiring: Wiring, found: Findings, *, offline: bool) -> None:
    try:
        _ = wiring.chat
        _ = wiring.embed
        answers = [] if offline else wiring.probe_models()
    except IndexerError as error:
        found.error("models", str(error), do="until then runs end before they begin")
        return
    for one in answers:
        if one.problem:
            found.error("servers", f"{one.server} {one.problem}", do="start it, or check address and key")
        else:
            found.info("servers", f"{one.server} answers")


def _registry(wiring: Wiring, found: Findings) -> None:
    """One on a server; a file is checked as a file."""
    try:
        if wiring.has_registry:
            wiring.registry.probe()
            found.info("registry", wiring.registry.where)
    except IndexerError as error:
        found.error("registry", str(error), do="no project can be found until that is mended")


def _space(wiring: Wiring, found: Findings) -> None:
    folder = wiring.projects_dir
    if not folder.is_dir():
        found.info("disk", "there is no projects folder yet", str(folder))
        return
    usage = shutil.disk_usage(folder)
    told = f"{usage.free >> 20} MB of {usage.total >> 20} MB are free"
    if usage.free < LEAST_SPACE:
        found.error("disk", told, str(folder), do="free some space")
    else:
        found.info("disk", told, str(folder))


def _files(wiring: Wiring, found: Findings, *, repair: bool) -> None:
    folder = wiring.projects_dir
    registry = wiring.registry_file
    if registry is not None:
        _sound(wiring, found, registry, "error", "restore it from a copy: it lists the projects")
        if registry.stat().st_mode & 0o077:
            if repair:
                registry.chmod(0o600)
            found.error(
                "secrets", "the registry, which holds tokens, can be read by others", str(registry),
                do=f"chmod 600 {registry}", repaired=repair,
            )  # fmt: skip
    _sound(wiring, found, folder / CACHE / "vectors.db", "warning", "the next run moves it aside")
    for path in _stagings(folder):
        found.warning(
            "leftovers", "a restore was killed", str(path), do="the next restore removes it", repaired=repair
        )
    if repair:
        sweep_staging(wiring)


def _stagings(folder: Path) -> Iterator[Path]:
    yield from folder.glob(f"{STAGING}*")


def _sound(wiring: Wiring, found: Findings, path: Path, severity: str, do: str) -> None:
    try:
        wiring.check_database(path)
    except IndexerError as error:
        note = found.error if severity == "error" else found.warning
        note("databases", str(error), do=do)


def _credentials(crawl: Crawl) -> list[str]:
    return [name for name in (crawl.auth_env, *crawl.headers_env) if name]
