"""Build the next generation beside the live one, swap, keep the previous one, tell the bot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import msgspec
from msgspec import Struct

from indexer.artifacts import Bm25Snapshot, EmbeddedPage, Manifest, Registration
from indexer.errors import Exit, IndexerError, Misconfigured, Permanent, Refused, Retryable
from indexer.pipeline.gates import Asked, Gates
from indexer.pipeline.ledger import vectors_signature
from indexer.pipeline.renewal import difference
from indexer.pipeline.report import Progress
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue, Edition, Project, VectorStore


class Published(Struct, frozen=True):
    """
    The live generation, built now or before.

    `before`, `after`: what the generation that was live and the one that is now hold, by key.
    `golden`: how the golden questions fared.
    """

    project: Project
    manifest: Manifest
    before: dict[str, Edition]
    after: dict[str, Edition]
    golden: tuple[Asked, ...] = ()


def publish(
    wiring: Wiring,
    project: Project,
    artifacts: Artifacts,
    contents: Mapping[str, str],
    *,
    catalogue: Catalogue,
    force: bool = False,
    allow_shrink: bool = False,
    new_model: bool = True,
) -> Published:
    """
    Make the embedded pages the live index, unless they are already.

    `contents`: key → digest of each page's text. `allow_shrink`: no gate refuses losses; `new_model`:
    nor another embedding model than that of the live index. Raises `Refused` where the old index must
    stay, `Permanent` if there is nothing to index.
    """
    from indexer.phases import index as phase

    store = wiring.store(project)
    current = store.current()
    mine = current is not None and current.project_id == project.id
    if current is not None and mine:  # what a run that was killed after its swap still owes
        project = finish(wiring, project, artifacts, store, current)
    signed = _signed(catalogue, artifacts, contents)
    if not signed:
        raise _nothing(project, current)
    stale = {row.key for row in catalogue.stale()}
    marked = dict(marked_pages(signed, stale))
    signature = phase.signature_of(marked.items(), settings=wiring.settings.index, language=project.language)
    before = _before(catalogue, project, current)
    if current is not None and mine and current.signature == signature and not force:
        before = before or _remember(catalogue, current.generation, artifacts, marked, contents)
        return Published(project, current, before=before, after=before)

    gates = Gates(wiring, project, current if mine else None, before=before, new_model=new_model)
    if not allow_shrink:
        gates.before_building(signature, len(signed))

    making = _Making(
        wiring, project, artifacts, catalogue, store, signature=signature, marked=marked, contents=contents,
        stale=stale, gates=gates, check=partial(gates.before_publishing, store, lenient=allow_shrink),
    )  # fmt: skip
    made = making.renewed(current, before) if current is not None and mine and not force else None
    manifest, snapshot = made or making.built()
    catalogue.keep_editions(manifest.generation, gates.after.values())
    store.publish(manifest, snapshot)
    rolled_back = gates.passed()
    project = finish(wiring, project, artifacts, store, manifest, snapshot)
    _collect(wiring, store, catalogue, rolled_back)
    return Published(project, manifest, before=before, after=gates.after, golden=gates.golden)


def _before(catalogue: Catalogue, project: Project, current: Manifest | None) -> dict[str, Edition]:
    """What was live, by key: also where its index is damaged or lost, so that its loss loses no gate."""
    last = project.generation if current is None else current.generation
    if not last or (current is not None and current.project_id != project.id):
        return {}
    return {one.key: one for one in catalogue.editions(last)}


def _collect(wiring: Wiring, store: VectorStore, catalogue: Catalogue, first: list[str]) -> None:
    """Only after `finish`: who read the registry before may still be asking the generation that it named."""
    store.gc(wiring.settings.index.keep_generations, first)
    catalogue.forget_editions(store.generations())


def _signed(catalogue: Catalogue, artifacts: Artifacts, keys: Iterable[str]) -> list[tuple[str, str]]:
    """Key and signature of every page that has vectors."""
    signed = ((key, vectors_signature(catalogue, artifacts, key)) for key in sorted(keys))
    return [(key, signature) for key, signature in signed if signature]


def marked_pages(signed: list[tuple[str, str]], stale: set[str]) -> list[tuple[str, str]]:
    """Signatures that differ with the flag that the points carry."""
    return [(key, f"{signature} stale" if key in stale else signature) for key, signature in signed]


@dataclass
class _Making:
    """The next generation, built from the ground or cloned; what it holds of each page goes to the gates."""

    wiring: Wiring
    project: Project
    artifacts: Artifacts
    catalogue: Catalogue
    store: VectorStore
    signature: str
    marked: Mapping[str, str]
    contents: Mapping[str, str]
    stale: Collection[str]
    gates: Gates
    check: Callable[[Manifest, Bm25Snapshot], None]

    def built(self) -> tuple[Manifest, Bm25Snapshot]:
        """From all embedded pages. Raises as `phases.index.build` does."""
        from indexer.phases import index as phase

        pages = partial(self._pages, list(self.marked))
        self.gates.after.clear()
        return phase.build(
            pages,
            store=self.store,
            project_id=self.project.id,
            project=self.project.name,
            language=self.project.language,
            settings=self.wiring.settings,
            signature=self.signature,
            prefixes=self._prefixes(next(pages()).model),
            stale=self.stale,
            check=self.check,
        )

    def renewed(
        self, current: Manifest, before: Mapping[str, Edition]
    ) -> tuple[Manifest, Bm25Snapshot] | None:
        """From a clone of the live generation; `None` where that does not pay, or would not be the same."""
        from indexer.phases import index as phase

        settings = self.wiring.settings.index
        if current.points < settings.clone_from:
            return None
        found = difference(before, self.marked, lambda key: self._edition(key, self._page(key)))
        if found is None:
            return None
        keys = {*found.changed, *found.gone}
        for key in self.marked.keys() - keys:
            self.gates.after[key] = msgspec.structs.replace(before[key], content=self.contents[key])
        for _ in self._pages(found.changed):
            pass
        prefixes = self._prefixes(current.model)
        return phase.renew(
            partial(self._pages, found.changed),
            keys,
            store=self.store,
            base=current,
            facts={
                "signature": self.signature,
                "project": self.project.name,
                "language": self.project.language,
                "query_prefix": prefixes[0],
                "passage_prefix": prefixes[1],
                "pages": sum(1 for one in self.gates.after.values() if one.chunks),
            },
            settings=settings,
            held=sum(before[key].chunks for key in keys if key in before),
            stale=self.stale,
            translations=found.translations,
            check=self.check,
        )

    def _pages(self, keys: Iterable[str]) -> Iterator[EmbeddedPage]:
        """The pages to index, one at a time; what is held of each is noted for the gates."""
        for key in keys:
            page = self._page(key)
            self.gates.after[key] = self._edition(key, page)
            yield page

    def _page(self, key: str) -> EmbeddedPage:
        page = self.artifacts.load(EmbeddedPage, key)
        if page is None:
            self.catalogue.strike([key])  # or the next run would take the file for the one that it knew
            raise IndexerError(f"the embeds of {key} are damaged or vanished during the run; run again")
        return page

    def _edition(self, key: str, page: EmbeddedPage) -> Edition:
        return edition(key, page, self.contents[key], self.marked[key])

    def _prefixes(self, model: str) -> tuple[str, str]:
        from indexer.embed.adapters import adapter_for

        shape = adapter_for(model, self.wiring.settings.models.adapter)
        return shape.query_prefix, shape.passage_prefix


def edition(key: str, page: EmbeddedPage, content: str, signature: str) -> Edition:
    """What a generation holds of a page."""
    return Edition(
        key=key,
        url=page.url,
        title=page.title,
        content=content,
        characters=sum(chunk.end - chunk.start for chunk in page.chunks),
        chunks=len(page.chunks),
        signature=signature,
        translations=" ".join(page.translations),
    )


def _remember(
    catalogue: Catalogue,
    generation: str,
    artifacts: Artifacts,
    marked: Mapping[str, str],
    contents: Mapping[str, str],
) -> dict[str, Edition]:
    """For a generation that was published before this was kept: what it holds."""
    pages = ((key, artifacts.load(EmbeddedPage, key)) for key in marked)
    found = {key: edition(key, page, contents[key], marked[key]) for key, page in pages if page is not None}
    catalogue.keep_editions(generation, found.values())
    return found


def finish(
    wiring: Wiring,
    project: Project,
    artifacts: Artifacts,
    store: VectorStore,
    manifest: Manifest,
    snapshot: Bm25Snapshot | None = None,
) -> Project:
    """
    What follows the swap; done again by the next run if this one is killed before.

    `snapshot`: that of the generation, if it is at hand; else it is read.
    """
    stored = wiring.registry.find(id=project.id)
    if stored is None:
        wiring.registry.update(project)
        stored = msgspec.structs.replace(project, generation="")
    if stored.generation == manifest.generation and artifacts.load_snapshot() is not None:
        return stored
    snapshot = snapshot or _snapshot(store)
    artifacts.save_snapshot(snapshot)
    live, collection = manifest.generation, manifest.collection
    wiring.registry.publish(project.id, snapshot, generation=live, collection=collection)
    return msgspec.structs.replace(stored, generation=live)


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
    wiring: Wiring,
    project: Project,
    progress: Progress,
    *,
    again: bool = False,
    changes: Mapping[str, list[str]] | None = None,
) -> tuple[bool, Exit]:
    """
    Tell the bot about the live generation, unless it knows it (`again`: even then).

    `changes`: URLs that are new, changed and gone since what it knows, so that it drops its caches.

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
    if is_registered(wiring, project) and not again:
        return True, Exit.DONE
    store = wiring.store(project)
    reader = store.reader()
    if reader is None:
        raise Misconfigured(f"project {project.name!r} has no published index yet; run `indexer seed` first")
    try:
        if reader.manifest.generation != project.generation:
            project = finish(wiring, project, wiring.artifacts(project), store, reader.manifest)
        registration = Registration(
            id=project.id,
            name=project.name,
            language=project.language,
            prompts=project.prompts,
            tg_api_key=project.tg_api_key,
            tg_lead_group=project.tg_lead_group,
            manifest=reader.manifest,
            bm25=reader.snapshot,
            changes={name: tuple(urls) for name, urls in (changes or {}).items()},
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
    wiring.registry.mark_registered(project.id, f"{bot.url} {project.generation}")
    progress.say(f"Registered: {project.name} with {bot.url}")
    return True, Exit.DONE
