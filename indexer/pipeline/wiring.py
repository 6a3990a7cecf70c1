"""Settings → adapters: the only place that names them. Each is opened when it is first needed."""

from __future__ import annotations

import contextlib
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from indexer.artifacts import Sources
from indexer.errors import Misconfigured
from indexer.pipeline.models import CACHE, Models
from indexer.ports import Fetch, Project, Registry, Render, VectorCache, VectorStore
from indexer.records import Answered, Packed
from indexer.settings import Settings, private, registry_url, secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indexer.adapters.archive import Archive, Unpacking
    from indexer.adapters.bot import HttpBot
    from indexer.adapters.catalogue import SqliteCatalogue
    from indexer.adapters.files import FileArtifacts
    from indexer.adapters.http_private import Credentials
    from indexer.adapters.notify import Notifier
    from indexer.adapters.postgres_registry import PostgresRegistry
    from indexer.adapters.raw import FileRaw
    from indexer.adapters.records import FileRecords
    from indexer.adapters.registry import SqliteRegistry
    from indexer.adapters.timers import Crontab, Systemd
    from indexer.pipeline.quarantine import Shelves

VECTORS = "vectors"
PREVIOUS = "previous"
HELD = "held"


class Wiring(Models):
    """What one command works with."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.projects_dir = Path(settings.projects_dir)

    @cached_property
    def registry(self) -> Registry:
        """The registry: of the projects folder, or of the server that is configured."""
        url = registry_url(self.settings.registry)
        return self.registry_at(url) if url else self.local_registry()

    def registry_at(self, url: str) -> PostgresRegistry:
        """The registry of a server."""
        from indexer.adapters.postgres_registry import PostgresRegistry

        return PostgresRegistry(url, timeout=self.settings.registry.timeout)

    def local_registry(self) -> SqliteRegistry:
        """The registry of the projects folder."""
        from indexer.adapters.registry import SqliteRegistry

        return SqliteRegistry(self.projects_dir)

    @property
    def has_registry(self) -> bool:
        """Whether there is one; what `registry` is asked creates it."""
        if url := registry_url(self.settings.registry):
            with contextlib.closing(self.registry_at(url)) as registry:
                return registry.exists
        return self.registry_file is not None

    @property
    def local_registry_path(self) -> Path:
        """The file of the projects folder's registry."""
        from indexer.adapters.registry import REGISTRY

        return self.projects_dir / REGISTRY

    @property
    def registry_file(self) -> Path | None:
        """The file of the local registry, if there is one."""
        return self.local_registry_path if self.local_registry_path.is_file() else None

    def close(self) -> None:
        """Close the files that were opened for good."""
        for name in ("registry", "vector_cache", "answers", "routing"):
            opened = self.__dict__.pop(name, None)
            if opened is not None:
                opened.close()

    def folder(self, project: Project) -> Path:
        """The project's folder."""
        return self.projects_dir / project.name

    def elsewhere(self, project: Project) -> bool:
        """Whether another machine made it, which shares the registry: live, but without a folder here."""
        shared = bool(registry_url(self.settings.registry))
        return shared and bool(project.generation) and not self.folder(project).is_dir()

    @contextlib.contextmanager
    def lock(self, project: Project) -> Iterator[None]:
        """The project's writer lock, here and in a registry that other machines share; raises `Busy`."""
        from indexer.adapters.locks import project_lock

        with project_lock(self.folder(project)), self.registry.hold(project.name):
            yield

    def lock_holder(self, project: Project) -> tuple[bool, str]:
        """Whether the lock is held, and who holds it or was killed holding it; takes nothing."""
        from indexer.adapters.locks import holder_of

        return holder_of(self.folder(project))

    def key_names(self) -> list[str]:
        """Variables that hold the keys of the configured models' servers."""
        from indexer.adapters.providers import WELL_KNOWN

        models, known = self.settings.models, {**WELL_KNOWN, **self.settings.providers}
        used = dict.fromkeys(
            name.partition("/")[0]
            for name in (*models.extract, *models.route, *models.embedding, self.settings.search.rerank)
        )
        return [variable for name in used if name in known for variable in known[name].api_key_env]

    def probe_models(self) -> list[Answered]:
        """Asks every server of the configured models whether it is there."""
        from indexer.adapters.probe import probe_models

        return probe_models(self.settings)

    @contextlib.contextmanager
    def catalogue(self, project: Project) -> Iterator[SqliteCatalogue]:
        """The project's URL table."""
        from indexer.adapters.catalogue import SqliteCatalogue

        catalogue = SqliteCatalogue(self.folder(project))
        try:
            yield catalogue
        finally:
            catalogue.close()

    def artifacts(self, project: Project) -> FileArtifacts:
        """The project's artifacts."""
        from indexer.adapters.files import FileArtifacts

        return FileArtifacts(self.folder(project), previous=self.folder(project) / PREVIOUS)

    def shelves(self, project: Project) -> Shelves:
        """Pages that wait: the published versions of those that changed, and new ones that are held back."""
        from indexer.adapters.files import FileArtifacts
        from indexer.pipeline.quarantine import Shelves

        folder = self.folder(project)
        return Shelves(previous=FileArtifacts(folder / PREVIOUS), held=FileArtifacts(folder / HELD))

    def records(self, project: Project, folder: str = "runs") -> FileRecords:
        """Records of the project's runs; with another folder's name, other small files."""
        from indexer.adapters.records import FileRecords

        return FileRecords(self.folder(project) / folder)

    def raw(self, project: Project) -> FileRaw | None:
        """What servers answered; `None` if it is not kept (what was kept before is then removed by a run)."""
        if not self.settings.crawl.keep_raw:
            return None
        from indexer.adapters.raw import FileRaw

        return FileRaw(self.folder(project), limit=int(self.settings.crawl.max_raw_mb * 2**20))

    def archive(self, path: Path, manifest: bytes) -> Archive:
        """A new archive; `manifest` is its first file."""
        from indexer.adapters.archive import Archive

        return Archive(path, manifest)

    def is_archive(self, path: Path) -> bool:
        """Whether the file is an archive, by its first bytes."""
        from indexer.adapters.archive import is_archive

        return is_archive(path)

    def packed(self, path: Path, *, under: str) -> Iterator[Packed]:
        """A file, or all of a folder but what killed writers left there; nothing if it is not there."""
        from indexer.adapters.archive import tree
        from indexer.adapters.files import TEMPORARY

        if path.is_file():
            yield Packed(name=under, path=path, size=path.stat().st_size)
        elif path.is_dir():
            yield from tree(path, under=under, skip=lambda name: name.startswith(TEMPORARY))

    def copy_catalogue(self, project: Project, folder: Path) -> None:
        """A consistent copy of the project's URL table in `folder`, if there is one."""
        from indexer.adapters.catalogue import CATALOGUE
        from indexer.adapters.sqlite import copy_database

        copy_database(self.folder(project) / CATALOGUE, folder / CATALOGUE)

    def check_database(self, path: Path) -> None:
        """Raises `IndexerError` if it is damaged; a missing one is fine."""
        from indexer.adapters.sqlite import check_database

        check_database(path)

    def exchange(self, left: Path, right: Path) -> None:
        """Let two folders change places, durably."""
        from indexer.adapters.swap import exchange

        exchange(left, right)

    def unpacking(self, path: Path) -> Unpacking:
        """An archive to be read."""
        from indexer.adapters.archive import Unpacking

        return Unpacking(path)

    def forget_raw(self, project: Project) -> None:
        """Remove what was kept, if it is not to be."""
        if not self.settings.crawl.keep_raw:
            from indexer.adapters.raw import forget

            forget(self.folder(project))

    def fetch(self, sources: Sources = Sources()) -> Fetch:  # noqa: B008 - frozen
        """The polite HTTP client; credentials go to origins of `sources` and to nothing else."""
        from indexer.adapters.http import HttpFetch

        return HttpFetch(self.settings.crawl, credentials=self.credentials(sources))

    def credentials(self, sources: Sources) -> Credentials:
        """Those configured. Raises `Misconfigured` naming what is missing or malformed."""
        from indexer.adapters.http_private import Credentials
        from indexer.pipeline.credentials import private_origins

        crawl = self.settings.crawl
        if not (crawl.auth_env or crawl.headers_env or crawl.cookies_file):
            return Credentials()
        origins = private_origins(sources, crawl)
        return Credentials(private(crawl), origins) if origins else Credentials()

    def render(self, sources: Sources = Sources()) -> Render | None:  # noqa: B008 - frozen
        """
        The browser, or `None` if it is turned off; credentials as for `fetch`.

        Raises `Misconfigured` if there is none.
        """
        if self.settings.render.mode == "never":
            return None
        from indexer.adapters.browser import BrowserRender

        settings = self.settings
        return BrowserRender(settings.render, settings.crawl, credentials=self.credentials(sources))

    @cached_property
    def vector_cache(self) -> VectorCache:
        """Vectors of all projects, by content."""
        from indexer.adapters.vector_cache import SqliteVectorCache

        return SqliteVectorCache(self.projects_dir / CACHE / "vectors.db")

    def dry(self, folder: Path) -> Wiring:
        """The same for a plan: models without keys, to count but not to ask, with their files in `folder`."""
        from indexer.adapters.providers import WELL_KNOWN

        known = {**WELL_KNOWN, **self.settings.providers}
        keyless = {name: replace(one, api_key_env=(), api_key_file="") for name, one in known.items()}
        models = replace(self.settings.models, cache_dir=str(folder))
        return Wiring(replace(self.settings, providers=keyless, models=models))

    @property
    def known_vectors(self) -> VectorCache:
        """The vector cache for looking up only: nothing is written, not even the file if there is none."""
        from indexer.adapters.vector_cache import ReadOnlyVectors

        return ReadOnlyVectors(self.projects_dir / CACHE / "vectors.db")

    @contextlib.contextmanager
    def catalogue_copy(self, project: Project) -> Iterator[SqliteCatalogue]:
        """A copy of the project's URL table that ends with the block; an empty one for no project."""
        from indexer.adapters.catalogue import SqliteCatalogue

        with tempfile.TemporaryDirectory(prefix="indexer-plan-") as name:
            if project.name:
                self.copy_catalogue(project, Path(name))
            with contextlib.closing(SqliteCatalogue(Path(name))) as catalogue:
                yield catalogue

    def store(self, project: Project) -> VectorStore:
        """The project's vector store."""
        if self.settings.store.url:
            from indexer.adapters.qdrant import QdrantStore

            return QdrantStore(project.name, settings=self.settings.store, folder=self.folder(project))
        from indexer.adapters.edge import EdgeStore

        return EdgeStore(self.folder(project) / VECTORS, collection=project.name)

    def notifier(self) -> Notifier | None:
        """Who is told what runs did; `None` if nobody is configured."""
        notify = self.settings.notify
        webhook, urls = secret(notify.webhook_env), secret(notify.urls_env).split()
        if not webhook and not urls:
            return None
        from indexer.adapters.notify import Notifier

        return Notifier(webhook=webhook, urls=urls, timeout=notify.timeout)

    def metrics(self, folder: str) -> FileRecords:
        """Where metrics are left for a collector."""
        from indexer.adapters.records import FileRecords

        return FileRecords(Path(folder))

    def crontab(self) -> Crontab:
        """The crontab of this user."""
        from indexer.adapters.timers import Crontab

        return Crontab()

    def systemd(self) -> Systemd:
        """The user's systemd units."""
        from indexer.adapters.timers import Systemd
        from indexer.settings import config_home

        return Systemd(config_home() / "systemd" / "user")

    def preflight(self, project: Project, *, until: str, bot: bool) -> None:
        """
        Open what the phases up to `until` will need, so that what is misconfigured is
        said before anything is fetched or stored. Raises `Misconfigured`.
        """
        if until != "scrape":
            _ = self.chat
        if until in ("embed", "index"):
            _ = self.embed
        if until == "index" and bot:
            self.bot(project)

    def bot(self, project: Project) -> HttpBot | None:
        """The bot that the project is registered with, or `None` if none is configured."""
        url = project.bot_url or self.settings.bot.url
        if not url:
            return None
        from indexer.adapters.bot import HttpBot

        bot = self.settings.bot
        return HttpBot(
            url,
            token=secret(bot.token_env),
            secret=secret(bot.secret_env),
            timeout=bot.timeout,
            retries=bot.retries,
        )

    def project(self, *, name: str = "", id: str = "") -> Project:  # noqa: A002
        """The project of this name or id. Raises `Misconfigured` listing what exists."""
        found = self.registry.find(name=name, id=id)
        if found:
            return found
        known = ", ".join(project.name for project in self.registry.all()[:10]) or "none yet"
        place = self.registry.where if registry_url(self.settings.registry) else self.projects_dir.resolve()
        raise Misconfigured(
            f"there is no project {id or name!r} in {place} (there: {known}); "
            "see `indexer list`, or create it with `indexer init-project`"
        )
