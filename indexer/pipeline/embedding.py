"""
The embed phase over a whole project: one model, one dimension, whatever the servers do.

A name may come to stand for another model (a server is replaced, a chain is changed).
Its vectors then have another dimension; those made before are of no use beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from indexer.artifacts import Manifest
from indexer.errors import Misconfigured, ModelChanged
from indexer.pipeline import work
from indexer.pipeline.ledger import EMBED, Ledger
from indexer.pipeline.same_model import require_same
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue

SLICE = 32  # pages whose chunks share batches, for each request that may be under way at a time
_CHANGES = 2  # how often a model may change its dimension within one run
_PROBE = "dimension"


class Embedding:
    """
    Embeds pages; `counts` says how many texts were sent and how many were known.

    `live`: the generation whose model and dimension they must have; none: any that are the same for all.
    """

    def __init__(
        self,
        wiring: Wiring,
        artifacts: Artifacts,
        catalogue: Catalogue,
        *,
        force: bool,
        say: Callable[[str], None],
        live: Manifest | None = None,
    ) -> None:
        models = wiring.settings.models
        self._artifacts = artifacts
        self._catalogue = catalogue
        self._say = say
        self._live = live
        self._job = work.EmbedJob(
            artifacts=artifacts,
            model=wiring.embed,
            cache=wiring.vector_cache,
            adapter=models.adapter,
            dimension=models.dimension,
            force=force,
        )
        self.counts = work.EmbedCounts()

    def all(self, keys: list[str], step: Callable[[int], None]) -> list[work.Done]:
        """
        Embed the pages of `keys` that are owed; `step` is told how many are done.

        Raises `Misconfigured` if the model gives vectors of ever other dimensions, `Refused` if
        they are not those of the live index and must be, and what the phase raises.
        """
        self._ask_dimension()
        for _ in range(_CHANGES):
            try:
                results = self._pass(keys, self._job, step)
            except ModelChanged as change:
                self._require_live(change.dimension)
                self._say(f"{change}: embedding again what does not fit")
                continue
            odd, usual = self._odd(results)
            self._require_live(usual)
            if not odd:
                return list(results.values())
            self._say(
                f"{len(odd)} pages have vectors of another dimension than {usual}: embedding them again"
            )
            try:
                results |= self._pass(odd, replace(self._job, force=True, expected=usual), step)
            except ModelChanged as change:
                raise Misconfigured(
                    f"{change}; configure the model that made the others, or embed all pages again "
                    "with --from-phase embed --force"
                ) from None
            return list(results.values())
        raise Misconfigured(
            f"{self._job.model.model} gives vectors of changing dimensions; check what its servers run"
        )

    def _ask_dimension(self) -> None:
        """Where all is to be redone, the cache must not hide that the model has changed."""
        if self._job.force and not self._job.dimension and not self._job.model.dimension:
            self._job.model.embed([_PROBE])

    def _require_live(self, dimension: int) -> None:
        if self._live is not None:
            require_same(self._live, model=self._job.model.model, dimension=dimension)

    def _pass(self, keys: list[str], job: work.EmbedJob, step: Callable[[int], None]) -> dict[str, work.Done]:
        results: dict[str, work.Done] = {}
        for done in self._slices(keys, job):
            results[done.key] = done
            step(len(results))
        return results

    def _slices(self, keys: list[str], job: work.EmbedJob) -> Iterator[work.Done]:
        from indexer.phases import embed as phase

        basis = phase.basis_of(model=job.model, adapter=job.adapter, dimension=job.dimension)
        ledger = Ledger(self._catalogue, self._artifacts, phase=EMBED, basis=basis)
        settled, owed = ([], keys) if job.force else ledger.split(keys)
        yield from settled
        size = SLICE * job.model.limits.at_once
        for start in range(0, len(owed), size):
            for done in work.embed_slice(job, owed[start : start + size], self.counts):
                ledger.note(done)
                yield done
        ledger.flush()

    def _odd(self, results: dict[str, work.Done]) -> tuple[list[str], int]:
        """Pages whose vectors do not have the dimension that all should have, and that dimension."""
        found = {key: done.dimension for key, done in results.items() if not done.reason}
        known = Counter(dimension for dimension in found.values() if dimension)
        if len(known) <= 1 and not self._job.model.dimension:
            return [], next(iter(known), 0)
        usual = self._job.model.dimension or known.most_common(1)[0][0]
        return [key for key, dimension in found.items() if dimension not in (0, usual)], usual
