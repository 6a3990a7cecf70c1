"""The generations of a project's index: what there is, going back to one, removing old ones."""

from __future__ import annotations

import logging
from typing import Any

from indexer.artifacts import Manifest
from indexer.errors import Exit, IndexerError, Misconfigured
from indexer.pipeline import publish
from indexer.pipeline.gates import save_pin
from indexer.pipeline.report import Progress
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project

log = logging.getLogger("indexer")


def listed(wiring: Wiring, project: Project) -> list[dict[str, Any]]:
    """Published generations that still exist, newest first, with what they hold."""
    store = wiring.store(project)
    current = store.current()
    found = []
    for name in reversed(store.generations()):
        manifest = store.manifest(name)
        found.append(
            {
                "generation": name,
                "live": current is not None and current.generation == name,
                "created": _created(name),
                "pages": manifest.pages if manifest else 0,
                "points": manifest.points if manifest else 0,
                "model": manifest.model if manifest else "",
            }
        )
    return found


def roll_back(
    wiring: Wiring, project: Project, *, to: str, reason: str, tell_bot: bool, progress: Progress
) -> tuple[Manifest, Exit]:
    """
    Publish an earlier generation again (`to` empty: the one before the live one), and tell the bot.

    What was live is pinned: no run publishes the same pages again unasked. Raises
    `Misconfigured` if there is nothing to go back to.
    """
    with wiring.lock(project), wiring.catalogue(project):
        store = wiring.store(project)
        live = store.current()
        known = store.generations()
        earlier = [name for name in known if live is not None and name < live.generation]
        target = to or (earlier[-1] if earlier else "")
        if live is None or not target:
            raise Misconfigured(
                f"project {project.name!r} has no earlier generation to go back to; "
                f"see `indexer generations --project-name {project.name}`"
            )
        if target == live.generation:
            raise Misconfigured(f"{target} is live already; see `indexer generations`")
        if target not in known:
            raise Misconfigured(f"there is no generation {target!r}; there are: {', '.join(known)}")
        wiring.registry.probe()  # one that is away must be known before the swap
        save_pin(wiring, project, live, reason)
        manifest = store.restore(target)
        changed = publish.finish(wiring, project, wiring.artifacts(project), store, manifest)
        code = Exit.DONE
        if tell_bot:
            _, code = publish.register(wiring, changed, progress)
    return manifest, code


def collect(wiring: Wiring, project: Project, keep: int) -> list[str]:
    """Remove all but the live generation and the newest others, `keep` in all; returns the removed."""
    with wiring.lock(project):
        store = wiring.store(project)
        removed = store.gc(keep)  # first: on a full disk nothing else can be written before
        try:
            with wiring.catalogue(project) as catalogue:
                catalogue.forget_editions(store.generations())
        except IndexerError as error:  # what it knows of them goes with the next run
            if not removed:
                raise
            log.warning("%s", error)
    return removed


def publish_stored(
    wiring: Wiring, project: Project, progress: Progress, *, force: bool, reason: str, tell_bot: bool
) -> tuple[Any, Exit]:
    """
    Publish what was scraped, without asking the site.

    `force`: pages that are held back are believed, and no gate refuses. Raises `Refused`.
    """
    from indexer.pipeline.projects import stored_sources
    from indexer.pipeline.run import Request, run

    request = Request(
        sources=stored_sources(project),
        first="chunk",
        last="index",
        register=tell_bot,
        allow_shrink=force,
        new_model=force,
        reason=reason,
        command="publish",
    )
    return run(wiring, project, request, progress)


def _created(name: str) -> str:
    """When a generation was begun: its name says it."""
    from ulid import ULID

    try:
        return ULID.from_str(name).datetime.isoformat(timespec="seconds")
    except ValueError:
        return ""
