"""The registry: what it is, and moving it from the projects folder to a server."""

from __future__ import annotations

import contextlib
from typing import Any

from indexer.errors import Misconfigured
from indexer.pipeline.wiring import Wiring
from indexer.ports import Adopted, Registered, Registry
from indexer.settings import registry_url


def shown(wiring: Wiring) -> dict[str, Any]:
    """The registry in use and what it holds of each project; nothing is created."""
    if not wiring.has_registry:
        if not registry_url(wiring.settings.registry):
            return {"kind": "sqlite", "where": str(wiring.local_registry_path), "version": 0, "projects": []}
        return {**wiring.registry.facts(), "projects": []}
    registry = wiring.registry
    return {**registry.facts(), "projects": [_project(one) for one in registry.entries()]}


def move(wiring: Wiring, url: str, *, force: bool) -> tuple[Registry, Adopted]:
    """
    Take all of the projects folder's registry over into that of the server at `url`.

    No project may be in work meanwhile (`Busy`). The folder's registry stays as it is. Raises
    `Misconfigured` if there is none, or the server holds other values (not with `force`).
    """
    if wiring.registry_file is None:
        raise Misconfigured(
            f"there is no registry to move in {wiring.projects_dir.resolve()}; see --projects-dir"
        )
    with contextlib.ExitStack() as held:
        source = held.enter_context(contextlib.closing(wiring.local_registry()))
        target = held.enter_context(contextlib.closing(wiring.registry_at(url)))
        for project in source.all():
            held.enter_context(wiring.lock(project))
        return target, target.adopt(source.entries(), force=force)


def _project(entry: Registered) -> dict[str, Any]:
    project, snapshot = entry.project, entry.snapshot
    return {
        "name": project.name,
        "id": project.id,
        "generation": project.generation,
        "registered": bool(project.registered),
        "num_docs": snapshot.num_docs if snapshot else 0,
        "terms": len(snapshot.vocab) if snapshot else 0,
        "avg_dl": snapshot.avg_dl if snapshot else 0.0,
        "updated_at": entry.updated_at,
    }
