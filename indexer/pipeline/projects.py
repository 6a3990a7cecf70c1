"""Projects: names, creation, stored options, removal."""

from __future__ import annotations

import shutil
import unicodedata
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from indexer.artifacts import Dataset, Sources
from indexer.errors import Misconfigured
from indexer.pipeline.datasets import with_datasets
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project

NAME_BYTES = 200  # leaves room for suffixes within the 255 bytes of common file systems
_FORBIDDEN = set('/\\<>:"|?*\0')
LANGUAGES = ("ru", "en")
# of a project, all of which is ours
FOLDERS = (
    "0_raw",
    "1_pages",
    "2_chunks",
    "3_embeds",
    "vectors",
    "previous",
    "held",
    "runs",
    "redteam",
)


def check_name(name: str) -> str:
    """
    A project name that is also a folder name and a collection name, in NFC.

    Raises `Misconfigured` saying which rule it breaks.
    """
    name = unicodedata.normalize("NFC", name)
    problem = ""
    if not name.strip():
        problem = "it is empty"
    elif name != name.strip():
        problem = "it begins or ends with a space"
    elif name.startswith("."):
        problem = "it begins with a dot"
    elif any(letter in _FORBIDDEN or unicodedata.category(letter).startswith("C") for letter in name):
        problem = 'it holds one of / \\ < > : " | ? * or a control character'
    elif len(name.encode()) > NAME_BYTES:
        problem = f"it is longer than {NAME_BYTES} bytes"
    if problem:
        raise Misconfigured(
            f"{name[:60]!r} cannot be a project name: {problem}; use letters, digits, - and _"
        )
    return name


def check_language(language: str) -> str:
    """`ru`, `en`, or empty (each page's own)."""
    if language and language not in LANGUAGES:
        raise Misconfigured(f"language {language!r} is not known; use one of {', '.join(LANGUAGES)}")
    return language


def check_bot_url(url: str) -> str:
    """An address without a login, or empty. Raises `Misconfigured`."""
    return _address(url, "bot URL", instead="name the bot's token by INDEXER_BOT_TOKEN") if url else ""


def create(wiring: Wiring, project: Project) -> Project:
    """Add a project with a new id. Raises `Misconfigured` for a taken or impossible name."""
    name = check_name(project.name)
    check_language(project.language)
    check_bot_url(project.bot_url)
    folder = wiring.projects_dir / name
    if folder.exists() and not folder.is_dir():
        raise Misconfigured(f"{folder} is a file; choose another --name")
    created = msgspec.structs.replace(project, id=str(uuid.uuid4()), name=name)
    wiring.registry.add(created)
    return created


def remember(
    wiring: Wiring,
    project: Project,
    sources: Sources,
    flags: Mapping[str, Any],
    datasets: Sequence[Dataset] = (),
) -> Project:
    """Store sources, datasets and flags with the project, so that the next run needs none of them."""
    changed = with_options(with_datasets(project, datasets), sources, flags)
    if changed != project:
        wiring.registry.update(changed)
    return changed


def with_options(project: Project, sources: Sources, flags: Mapping[str, Any]) -> Project:
    """
    The project with more sources and other settings; nothing is stored.

    Sources join the stored ones; a flag replaces the stored value of its name.
    """
    options = dict(project.options)
    options["sources"] = msgspec.to_builtins(merge_sources(stored_sources(project), sources))
    for section, values in flags.items():
        given = {key: value for key, value in values.items() if value is not None}
        if not given:
            continue
        stored = options.get(section, {})
        if "allow_private" in given:  # naming one more address must not close the others
            given["allow_private"] = list(
                dict.fromkeys([*stored.get("allow_private", ()), *given["allow_private"]])
            )
        options[section] = {**stored, **given}
    return project if options == project.options else msgspec.structs.replace(project, options=options)


def stored_sources(project: Project) -> Sources:
    """The sources that earlier commands named."""
    return msgspec.convert(project.options.get("sources", {}), Sources)


def stored_flags(project: Project) -> dict[str, Any]:
    """The settings that earlier commands named, in the shape of `settings.load`'s flags."""
    flags = {
        section: values
        for section, values in project.options.items()
        if section not in ("sources", "datasets")
    }
    if project.options.get("datasets"):
        flags["extract"] = {**flags.get("extract", {}), "labels": True}
    return flags


def merge_sources(first: Sources, second: Sources) -> Sources:
    """The union, in order."""

    def union(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*getattr(first, name), *getattr(second, name)]))

    return Sources(sitemaps=union("sitemaps"), urls=union("urls"), crawl=union("crawl"), files=union("files"))


def parse_sources(
    *,
    sitemaps: Sequence[str] = (),
    urls: Sequence[str] = (),
    urls_file: Path | None = None,
    crawl: Sequence[str] = (),
) -> Sources:
    """Sources from what a person typed. Raises `Misconfigured` naming the bad address and its place."""
    listed = [(part.strip(), "--urls") for text in urls for part in text.split(",")]
    if urls_file is not None:
        listed += _read_list(urls_file)
    return Sources(
        sitemaps=tuple(_address(url, "--sitemap-url") for url in sitemaps),
        urls=tuple(dict.fromkeys(_address(url, place) for url, place in listed if url)),
        crawl=tuple(_address(url, "--crawl") for url in crawl),
    )


def _read_list(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Misconfigured(f"{path} is no UTF-8 text; save it as UTF-8, one URL per line") from None
    except OSError as error:
        raise Misconfigured(f"cannot read --urls-file {path}: {error.strerror}") from None
    found = [(line.strip(), f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    found = [(line, place) for line, place in found if line and not line.startswith("#")]
    if not found:
        raise Misconfigured(f"--urls-file {path} names no URL; write one per line")
    return found


def _address(url: str, place: str, *, instead: str = "see --auth-env") -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        parts.port  # noqa: B018 - raises for a bad port
    except ValueError as error:
        raise Misconfigured(f"{_shown(url)!r} ({place}) is no address: {error}") from None
    if not parts.scheme or (not host and "." in url.split("/", maxsplit=1)[0]):
        raise Misconfigured(f"{_shown(url)!r} ({place}) has no scheme; write https://{url.lstrip('/')}")
    if parts.scheme not in ("http", "https"):
        raise Misconfigured(f"{_shown(url)!r} ({place}): only http and https addresses can be fetched")
    if not host:
        raise Misconfigured(f"{_shown(url)!r} ({place}) names no host")
    if parts.username or parts.password:
        raise Misconfigured(
            f"{_shown(url)!r} ({place}) holds a login, which would be stored; take it out and {instead}"
        )
    return url


def _shown(url: str) -> str:
    """The address without credentials."""
    head, at, tail = url.rpartition("@")
    scheme, slashes, _ = head.partition("//")
    return f"{scheme if slashes else ''}{slashes}***@{tail}" if at and ":" in head else url


def text_or_file(text: str) -> str:
    """The text itself, or what `@FILE` holds. Raises `Misconfigured` for an unreadable file."""
    if not text.startswith("@"):
        return text
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Misconfigured(f"{path} is no UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise Misconfigured(
            f"cannot read {path}: {error.strerror}; write @FILE for a file that exists"
        ) from None


def local_files(paths: Sequence[Path]) -> tuple[str, ...]:
    """`file://` URLs of documents; folders are searched. Raises `Misconfigured`."""
    suffixes = (".md", ".markdown", ".html", ".htm", ".txt", ".pdf", ".docx")
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(
                p
                for p in path.rglob("*")
                if p.suffix.lower() in suffixes and p.is_file() and not p.is_symlink()
            )
            if not inside:
                raise Misconfigured(f"folder {path} holds no {', '.join(suffixes)} file")
            found += inside
        elif not path.is_file():
            raise Misconfigured(f"file {path} does not exist")
        elif path.suffix.lower() not in suffixes:
            raise Misconfigured(f"{path}: only {', '.join(suffixes)} files can be indexed")
        else:
            found.append(path)
    return tuple(dict.fromkeys(path.resolve().as_uri() for path in found))


def forget_if_empty(wiring: Wiring, project: Project) -> bool:
    """Remove a project for which not one URL was found; returns whether it was."""
    with wiring.catalogue(project) as catalogue:
        if catalogue.counts():
            return False
    remove(wiring, project)
    return True


def remove(wiring: Wiring, project: Project) -> None:
    """Remove a project: its generations, artifacts and registry rows. What is not ours stays."""
    with wiring.lock(project):
        wiring.registry.withdraw(project.id)  # before it is gone: a bot may be reading
        wiring.store(project).drop()
        folder = wiring.folder(project)
        for name in FOLDERS:
            shutil.rmtree(folder / name, ignore_errors=True)
        for path in (*folder.glob("urls.db*"), *folder.glob("rolled-back.json")):
            path.unlink()
        wiring.registry.remove(project.id)
    for path in folder.glob(".lock*"):
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
