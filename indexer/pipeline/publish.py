"""Build the next generation beside the live one, swap, keep the previous one, tell the bot."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from indexer.artifacts import Bm25Snapshot, EmbeddedPage, Manifest, Registration
from indexer.errors import Exit, IndexerError, Misconfigured, Permanent, Refused, Retryable
from indexer.pipeline.report import Progress
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Project, VectorStore

SHRINK_PAGES = 5  # a loss of more pages than this …
SHRINK_SHARE = 0.1  # … and of more than this share of them is refused


class Published(Struct, frozen=True, kw_only=True):
    """The live generation. `built`: it is new; else it was what these pages give already."""

    project: Project
    manifest: Manifest
    built: bool


def publish(
    wiring: Wiring,
    project: Project,
    artifacts: Artifacts,
    keys: list[str],
    *,
    force: bool = False,
    allow_shrink: bool = False,
) -> Published:
    """
    Make the embedded pages of `keys` the live index, unless they are already.

    Raises `Refused` where the old index must stay, `Permanent` if there is nothing to index.
    """
    from indexer.embed.adapters import adapter_for
    from indexer.phases import index as phase

    store = wiring.store(project)
    current = store.current()
    signed = [(key, artifacts.signature(EmbeddedPage, key)) for key in keys]
    signed = [(key, signature) for key, signature in signed if signature]
    if not signed:
        raise _nothing(project, current)
    signature = phase.signature_of(signed, settings=wiring.settings.index, language=project.language)
    mine = current is not None and current.project_id == project.id
    if current is not None and mine and current.signature == signature and not force:
        return Published(
            project=_finish(wiring, project, artifacts, store, current), manifest=current, built=False
        )

    if current is not None and mine and not allow_shrink:
        _refuse_shrinking(project, current, len(signed))

    def pages() -> Iterator[EmbeddedPage]:
        for key, _ in signed:
            page = artifacts.load(EmbeddedPage, key)
            if page is None:
                raise IndexerError(f"the embeds of {key} vanished during the run; run again")
            yield page

    shape = adapter_for(next(pages()).model, wiring.settings.models.adapter)
    manifest, snapshot = phase.build(
        pages,
        store=store,
        project_id=project.id,
        project=project.name,
        language=project.language,
        settings=wiring.settings,
        signature=signature,
        prefixes=(shape.query_prefix, shape.passage_prefix),
    )
    store.publish(manifest, snapshot)
    store.gc(wiring.settings.index.keep_generations)
    return Published(
        project=_finish(wiring, project, artifacts, store, manifest), manifest=manifest, built=True
    )


def _refuse_shrinking(project: Project, current: Manifest, pages: int) -> None:
    """A site that was redesigned, emptied or half down must not empty its bot overnight."""
    lost = current.pages - pages
    if lost > SHRINK_PAGES and lost > SHRINK_SHARE * current.pages:
        raise Refused(
            f"{lost} of {current.pages} pages of {project.name!r} are gone, and such a loss is not published "
            f"unasked: the live index stays as it is. See `indexer status --project-name {project.name}` for "
            "what became of them; if it is right, run again with --allow-shrink"
        )


def _finish(
    wiring: Wiring, project: Project, artifacts: Artifacts, store: VectorStore, manifest: Manifest
) -> Project:
    """What follows the swap; done again by the next run if this one is killed before."""
    stored = wiring.registry.find(id=project.id) or project
    if stored.generation == manifest.generation and artifacts.load_snapshot() is not None:
        return stored
    snapshot = _snapshot(store)
    artifacts.save_snapshot(snapshot)
    wiring.registry.save_bm25(project.id, snapshot)
    changed = msgspec.structs.replace(stored, generation=manifest.generation)
    wiring.registry.update(changed)
    return changed


def _snapshot(store: VectorStore) -> Bm25Snapshot:
    reader = store.reader()
    if reader is None:
        raise IndexerError("the published index cannot be opened; run again with --from-phase index --force")
    try:
        return reader.snapshot
    finally:
        reader.close()


def _nothing(project: Project, current: Manifest | None) -> IndexerError:
    if current is not None:
        return Refused(
            f"no page of {project.name!r} has embedded text, and an empty index must not replace the "
            f"live one ({current.points} points); see `indexer status --project-name {project.name}`"
        )
    return Permanent(
        f"no page of {project.name!r} has text: there is nothing to index; "
        f"see `indexer status --project-name {project.name}` for what became of its URLs"
    )


def is_registered(wiring: Wiring, project: Project) -> bool:
    """Whether the bot that is configured now was told of the live generation."""
    url = (project.bot_url or wiring.settings.bot.url).rstrip("/")
    return bool(url and project.generation) and project.registered == f"{url} {project.generation}"


def register(
    wiring: Wiring, project: Project, progress: Progress, *, again: bool = False
) -> tuple[bool, Exit]:
    """
    Tell the bot about the live generation, unless it knows it (`again`: even then).

    A bot that is down or refuses costs nothing of what is done: exit code 3, and
    `register` finishes it. Raises `Misconfigured` if nothing is published yet.
    """
    bot = wiring.bot(project)
    if bot is None:
        progress.say(
            "Not registered: no bot is configured. When there is one: "
            f"indexer set --project-name {project.name} bot-url https://… "
            f"and indexer register --project-name {project.name}"
        )
        return False, Exit.DONE
    known = f"{bot.url} {project.generation}"
    if is_registered(wiring, project) and not again:
        return True, Exit.DONE
    reader = wiring.store(project).reader()
    if reader is None:
        raise Misconfigured(f"project {project.name!r} has no published index yet; run `indexer seed` first")
    try:
        registration = Registration(
            id=project.id,
            name=project.name,
            language=project.language,
            prompts=project.prompts,
            tg_api_key=project.tg_api_key,
            tg_lead_group=project.tg_lead_group,
            manifest=reader.manifest,
            bm25=reader.snapshot,
        )
    finally:
        reader.close()
    try:
        bot.register(project.id, msgspec.to_builtins(registration))
    except (Retryable, Permanent) as error:
        progress.say(
            f"Not registered: {error}. All else is done; finish with "
            f"indexer register --project-name {project.name}"
        )
        return False, Exit.PARTIAL
    wiring.registry.update(msgspec.structs.replace(project, registered=known))
    progress.say(f"Registered: {project.name} with {bot.url}")
    return True, Exit.DONE
