"""
The index of a project: whole, what its manifest says, and what the embeds say.

Points are counted, and those of a few pages looked up by id. With `repair` an index that is
broken is built again from the embeds, beside it and through the gates of any publication.
"""

from __future__ import annotations

from collections.abc import Iterator

from indexer.artifacts import Bm25Snapshot, EmbeddedPage, Manifest
from indexer.errors import IndexerError
from indexer.index.points import point_ids
from indexer.pipeline import publish
from indexer.pipeline.findings import Findings
from indexer.pipeline.rebuild import rebuild_index, stored_signature
from indexer.pipeline.wiring import Wiring
from indexer.ports import Catalogue, Project, Reader, VectorStore

CHECK = "index"
SAMPLED = 64  # pages whose points are looked up


class IndexCheck:
    """The check of one project's index."""

    def __init__(
        self, wiring: Wiring, project: Project, catalogue: Catalogue, found: Findings, *, repair: bool
    ) -> None:
        self._wiring = wiring
        self._project = project
        self._catalogue = catalogue
        self._found = found
        self._repair = repair
        self._artifacts = wiring.artifacts(project)
        self._publish = f"indexer publish --project-name {project.name}"
        self._mend = f"indexer doctor {project.name} --repair"

    def run(self) -> None:
        """All of it. Raises what the store raises if it cannot be asked at all."""
        store = self._wiring.store(self._project)
        self._leftovers(store)
        current = store.current()
        if current is None:
            self._nothing_live()
        else:
            self._live(store, current)
        live = current.generation if current else ""
        for name in store.generations():
            if name != live and store.manifest(name) is None:
                self._found.warning(
                    CHECK, "an earlier generation is damaged and cannot be gone back to", name,
                    do=f"indexer gc --project-name {self._project.name} --keep 1 removes all earlier ones",
                )  # fmt: skip

    def _leftovers(self, store: VectorStore) -> None:
        ours, others = store.leftovers()
        if ours and self._repair:
            store.gc(len(store.generations()) + 1)  # keeps all that were published
        for name in ours:
            self._found.warning(
                "leftovers", "a generation that was never published", name,
                do="the next run removes it", repaired=self._repair,
            )  # fmt: skip
        for name in others:
            self._found.info(
                "leftovers", "a collection on the server that this folder does not know", name,
                do="if no other machine uses it, delete it there",
            )  # fmt: skip

    def _nothing_live(self) -> None:
        if not self._project.generation:
            self._found.info(CHECK, "nothing is published yet", do=self._publish)
            return
        what = f"the live index ({self._project.generation}) is missing or damaged"
        again = self._named_again() if self._repair else None
        if again is None:
            self._broken(what, "")
            return
        self._found.error(CHECK, what, do="", repaired=True)
        self._live(self._wiring.store(self._project), again)

    def _named_again(self) -> Manifest | None:
        """If only its name was lost, what the registry calls live is made so again."""
        store, name = self._wiring.store(self._project), self._project.generation
        if name not in store.generations() or store.manifest(name) is None:
            return None
        return store.restore(name)

    def _live(self, store: VectorStore, current: Manifest) -> None:
        try:
            reader = store.reader()
            if reader is None:
                raise IndexerError("the live index cannot be opened")  # noqa: TRY301 - as if it said so
        except IndexerError as error:
            self._broken(f"the live index is broken: {error}", current.generation)
            return
        try:
            problem = self._compare(reader, current)
            self._small_files(store, reader, current)
        finally:
            reader.close()
        if problem:
            self._broken(f"the live index is not what it should be: {problem}", current.generation)

    def _compare(self, reader: Reader, current: Manifest) -> str:
        """What is wrong with the points, or an empty string."""
        count = reader.count()
        if count != current.points:
            return f"it holds {count} points instead of {current.points}"
        editions = self._catalogue.editions(current.generation)
        chunks = sum(one.chunks for one in editions)
        if chunks and chunks != count:
            return f"it holds {count} points, the URL table counts {chunks}"
        if stored_signature(self._wiring, self._project, self._catalogue) != current.signature:
            self._found.info(
                CHECK, "pages differ from those that were published",
                do=f"{self._publish} says what is held back or refused, or publishes them",
            )  # fmt: skip
            return ""
        for page in self._sample():
            names = point_ids(self._project.id, page)
            found = reader.payloads(names)
            for name, chunk in zip(names, page.chunks, strict=True):
                if name not in found:
                    return f"chunk {chunk.ordinal} of {page.url} has no point"
                if found[name].text != chunk.text:
                    return f"the point of chunk {chunk.ordinal} of {page.url} holds another text"
        return ""

    def _sample(self) -> Iterator[EmbeddedPage]:
        keys = list(self._artifacts.keys(EmbeddedPage))
        for key in keys[:: max(1, len(keys) // SAMPLED)]:
            page = self._artifacts.load(EmbeddedPage, key)
            if page is not None:
                yield page

    def _small_files(self, store: VectorStore, reader: Reader, current: Manifest) -> None:
        """What follows the swap, and may have been cut off."""
        if self._artifacts.load_snapshot() != reader.snapshot:
            if self._repair:
                self._artifacts.save_snapshot(reader.snapshot)
            self._found.warning(
                CHECK, "3_embeds/bm25.json is not that of the live index",
                do=self._mend, repaired=self._repair,
            )  # fmt: skip
        registry, known = self._wiring.registry, reader.snapshot
        if _figures(registry.bm25(self._project.id)) != _figures(known):
            if self._repair:
                registry.publish(
                    self._project.id, known, generation=current.generation, collection=current.collection
                )
            self._found.warning(
                "drift", "the BM25 snapshot in the registry is not that of the live index",
                do=self._mend, repaired=self._repair,
            )  # fmt: skip
        if self._project.generation != current.generation:
            if self._repair:
                publish.finish(self._wiring, self._project, self._artifacts, store, current)
            self._found.warning(
                "drift", "the registry names another generation than is live",
                f"{self._project.generation or 'none'} instead of {current.generation}",
                do=self._mend, repaired=self._repair,
            )  # fmt: skip

    def _broken(self, what: str, generation: str) -> None:
        """The live index must be built again; `generation`: the one that is broken, if it is known."""
        do = f"{self._publish}, or `indexer doctor --repair`, builds it again from 3_embeds"
        repaired = False
        if self._repair:
            try:
                rebuild_index(self._wiring, self._project, self._catalogue)
                repaired = True
                self._drop(generation)
            except IndexerError as error:
                do = f"it could not be built again: {error}"
        self._found.error(CHECK, what, do=do, repaired=repaired)

    def _drop(self, generation: str) -> None:
        """Its successor is live: what is broken must not be gone back to."""
        store = self._wiring.store(self._project)
        known = store.generations()
        if generation in known:
            store.gc(len(known) - 1, [generation])


def _figures(snapshot: Bm25Snapshot | None) -> tuple[object, ...]:
    """What a registry keeps of a snapshot."""
    if snapshot is None:
        return ()
    return snapshot.num_docs, snapshot.avg_dl, snapshot.vocab, snapshot.idf
