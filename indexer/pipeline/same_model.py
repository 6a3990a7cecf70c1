"""
One model and dimension for an index, from night to night, unless a person wants another.

A run by a clock whose configuration was lost or changed would make the whole index anew under
another model: at a price, and so that whoever asks with the right one finds nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from indexer.artifacts import Manifest
from indexer.errors import IndexerError, Refused
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project

if TYPE_CHECKING:
    from indexer.pipeline.run import Request


def live_to_keep(
    wiring: Wiring, project: Project, request: Request, *, say: Callable[[str], None]
) -> Manifest | None:
    """
    The live generation, if what this run embeds must be of its model; `None` if that is free.

    Raises `Refused` if it is configured for another one, before anything is fetched or paid for.
    """
    live = _live(wiring, project) if request.wants("embed") else None
    if live is None:
        return None
    model, dimension = wiring.embed.model, wiring.embed.dimension
    if not request.new_model:
        require_same(live, model=model, dimension=dimension)
        return live
    if found := differs(live, model=model, dimension=dimension):
        say(f"The live index was {found}: it is made anew")
    return None


def _live(wiring: Wiring, project: Project) -> Manifest | None:
    """The live generation, if it is this project's own; what cannot be had is said where it must be had."""
    with contextlib.suppress(IndexerError):
        current = wiring.store(project).current()
        if current is not None and current.project_id == project.id:
            return current
    return None


def differs(live: Manifest, *, model: str, dimension: int) -> str:
    """How vectors of `model` (`dimension` 0: not known yet) are none for `live`; empty if they are."""
    if model == live.model and dimension in (0, live.dimension):
        return ""
    return f"made with {_named(live.model, live.dimension)}, not with {_named(model, dimension)}"


def require_same(live: Manifest, *, model: str, dimension: int) -> None:
    """Raises `Refused` if vectors of `model` (`dimension` 0: not known yet) are none for `live`."""
    found = differs(live, model=model, dimension=dimension)
    if found:
        raise Refused(
            f"the live index of {live.project!r} was {found}, as this run is configured, and stays as it is: "
            "nobody asked for another model. Check --config, INDEXER_CONFIG and models.embedding; if it is "
            f"right: indexer reindex --project-name {live.project} --new-model, or indexer publish "
            f"--project-name {live.project} --force --reason TEXT"
        )


def _named(model: str, dimension: int) -> str:
    return f"{model} ({dimension} dimensions)" if dimension else model
