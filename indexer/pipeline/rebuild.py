"""
What can be made anew from the artifacts alone: the index, and the vector cache.

Neither asks a site, a model or a bot.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from indexer.artifacts import ChunkedPage, EmbeddedPage, Page
from indexer.errors import Misconfigured
from indexer.pipeline import publish
from indexer.pipeline.live import LATER, live_rows
from indexer.pipeline.sites import site_documents
from indexer.pipeline.wiring import Wiring
from indexer.ports import Catalogue, Project

_AT_ONCE = 500  # vectors


def contents_of(project: Project, wiring: Wiring, catalogue: Catalogue) -> dict[str, str]:
    """Key → text digest of every page that belongs into the index, Site documents included."""
    artifacts = wiring.artifacts(project)
    contents = {row.key: "" if row.reason in LATER else row.content for row in live_rows(catalogue)}
    sites = site_documents(project, artifacts, live_rows(catalogue), renew=False)
    return contents | {key: artifacts.signature(Page, key) for key in sites}


def stored_signature(wiring: Wiring, project: Project, catalogue: Catalogue) -> str:
    """What a generation of the stored embeds would stand for."""
    from indexer.phases import index as phase

    artifacts = wiring.artifacts(project)
    read = ((key, artifacts.signature(EmbeddedPage, key)) for key in contents_of(project, wiring, catalogue))
    signed = [(key, signature) for key, signature in read if signature]
    marked = publish.marked_pages(signed, {row.key for row in catalogue.stale()})
    return phase.signature_of(marked, settings=wiring.settings.index, language=project.language)


def rebuild_index(
    wiring: Wiring, project: Project, catalogue: Catalogue, *, allow_shrink: bool = False
) -> publish.Published:
    """
    A new generation from the stored embeds, published; the caller holds the project.

    Raises as `publish.publish`: `Refused` by a gate, `Permanent` if there is nothing to index.
    """
    return publish.publish(
        wiring,
        project,
        wiring.artifacts(project),
        contents_of(project, wiring, catalogue),
        catalogue=catalogue,
        force=True,
        allow_shrink=allow_shrink,
    )


def refill_cache(wiring: Wiring, project: Project) -> int:
    """
    Put the vectors of fresh embeds into the vector cache, so that no text of theirs is paid for again.

    Fresh: by the model that is configured now. Texts that were embedded in parts are left
    out: the parts' own vectors are not stored. Returns how many vectors are known now.
    """
    from indexer.phases import embed as phase

    artifacts, models = wiring.artifacts(project), wiring.settings.models
    done = 0
    with tempfile.TemporaryDirectory(prefix="indexer-cache-") as folder:
        try:
            model = wiring.dry(Path(folder)).embed
        except Misconfigured:  # said by the next run, which cannot use them either
            return 0
        owed: dict[str, str] = {}
        for key in artifacts.keys(EmbeddedPage):
            chunked, page = artifacts.load(ChunkedPage, key), artifacts.load(EmbeddedPage, key)
            if chunked is None or page is None or len(chunked.chunks) != len(page.chunks):
                continue
            wanted = phase.signature_of(
                chunked, model=model, adapter=models.adapter, dimension=models.dimension
            )
            if page.signature == wanted:
                owed |= phase.cached(chunked, page, model=model, adapter=models.adapter)
            if len(owed) >= _AT_ONCE:
                done += _put(wiring, owed)
                owed = {}
        done += _put(wiring, owed)
    return done


def _put(wiring: Wiring, vectors: dict[str, str]) -> int:
    from indexer.embed.vectors import decode

    wiring.vector_cache.put({key: decode(text) for key, text in vectors.items()})
    return len(vectors)
