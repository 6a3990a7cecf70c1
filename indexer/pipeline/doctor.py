"""
An examination of everything that can be known without paying: `indexer doctor`.

    setup      configuration, keys (set or not, never shown), servers, versions, disk, registry
    project    lock, URL table, artifacts, drift between them and the index, generations, bot

Nothing is changed without `repair`; with it, only what can be made again from what is kept
here: no model, no site and no bot is asked, and the only copy of anything stays.

Read first: `examine_project`, then `doctor_artifacts`, `doctor_index`, `doctor_setup`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from indexer.errors import Busy, IndexerError, Misconfigured
from indexer.pipeline import recording
from indexer.pipeline.botcheck import check
from indexer.pipeline.doctor_artifacts import ArtifactCheck
from indexer.pipeline.doctor_index import IndexCheck
from indexer.pipeline.doctor_setup import examine_room, examine_setup, examine_sources, examine_store
from indexer.pipeline.findings import Findings
from indexer.pipeline.wiring import Wiring
from indexer.ports import Catalogue, Project

__all__ = ["examine_project", "examine_setup"]


def examine_project(
    wiring: Wiring, project: Project, found: Findings, *, offline: bool, repair: bool
) -> None:
    """
    One project into `found`.

    Raises `Busy` if a run holds it and `repair` is asked for; without, only what does not
    change under a run is looked at then.
    """
    examine_sources(wiring, project, found)
    held, holder = wiring.lock_holder(project)
    if held:
        if repair:
            raise Busy(f"project {project.name!r} is held by {holder}; wait for it to end, then run again")
        found.info("lock", f"{holder} is at work: artifacts and index are not looked at")
        return
    try:
        wiring.check_database(wiring.folder(project) / "urls.db")
        with _ours(wiring, project, repair=repair) as catalogue:
            _locks(wiring, project, found, holder, repair=repair)
            ArtifactCheck(wiring, project, catalogue, found, repair=repair).run()
            if (offline and wiring.settings.store.url) or not examine_store(wiring, project, found):
                return
            IndexCheck(wiring, project, catalogue, found, repair=repair).run()
            examine_room(wiring, project, found)
    except Busy:
        raise
    except (IndexerError, OSError) as error:
        found.error("project", str(error), do="see what it says; nothing behind it was looked at")
        return
    if not offline:
        _bot(wiring, project, found)


@contextlib.contextmanager
def _ours(wiring: Wiring, project: Project, *, repair: bool) -> Iterator[Catalogue]:
    """The URL table: a copy to look at, or the table itself and the project's lock to repair."""
    if not repair:
        with wiring.catalogue_copy(project) as catalogue:
            yield catalogue
        return
    with wiring.lock(project), wiring.catalogue(project) as catalogue:
        yield catalogue


def _locks(wiring: Wiring, project: Project, found: Findings, holder: str, *, repair: bool) -> None:
    if holder:
        found.warning(
            "lock", "a run was killed and left its name", holder,
            do="the next run goes on from there", repaired=repair,
        )  # fmt: skip
    last = next(recording.runs(wiring, project), None)
    if last is not None and not last.ended:
        found.info("runs", f"the last run ({last.command}, {last.started}) did not end", last.run)


def _bot(wiring: Wiring, project: Project, found: Findings) -> None:
    tell = f"indexer register --project-name {project.name}"
    try:
        if wiring.bot(project) is None:
            found.info("bot", "no bot is configured")
            return
        state = check(wiring, project)
    except Misconfigured as error:
        found.error("bot", str(error), do="correct it; runs cannot tell the bot")
    except IndexerError as error:
        found.warning("bot", str(error), do=f"start it, then {tell}")
    else:
        if state.code:
            found.warning(
                "bot", f"it serves {state.serves or 'nothing of it'}, live is {state.live or 'nothing'}",
                state.bot, do=tell,
            )  # fmt: skip
        else:
            found.info("bot", f"it answers{' and serves what is live' if state.serves else ''}", state.bot)
