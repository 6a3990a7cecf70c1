"""
A dataset is removed: its pages leave, and do not come back by another way.

Its name stays with the project as that of a removed one, so that pages of it which a link or
another dataset's sitemap still finds are known and left out. The live index holds its points
until the next publication, which passes the gates as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from indexer.artifacts import ChunkedPage, Dataset, EmbeddedPage, Outcome, Page, Reason, State
from indexer.crawl.labels import label_of
from indexer.crawl.urls import netloc, resolve
from indexer.errors import Misconfigured
from indexer.pipeline.datasets import all_datasets, indexes_of, named_of
from indexer.pipeline.live import live_rows
from indexer.pipeline.projects import stored_sources
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue, Project, UrlRow


def remove_dataset(wiring: Wiring, project: Project, name: str) -> dict[str, Any]:
    """
    Take a dataset's pages, artifacts and sources out of a project; nothing is published.

    Returns `{project, dataset, pages, sources}`. Raises `Misconfigured` for an unknown name. Killed
    half way, it is finished by the same command again.
    """
    with wiring.lock(project):
        stored = wiring.project(id=project.id)
        known = all_datasets(stored)
        dataset = next((one for one in known if one.dataset == name and not one.removed), None)
        if dataset is None:
            there = ", ".join(one.dataset for one in known if not one.removed) or "none"
            raise Misconfigured(f"{project.name!r} has no dataset {name!r}; there are: {there}")
        artifacts = wiring.artifacts(stored)
        with wiring.catalogue(stored) as catalogue:
            rows = list(_rows_of(catalogue, artifacts, {name}))
            gone = _only_sources(stored, dataset, rows, catalogue)
            _take_out(catalogue, artifacts, rows, name)
        changed = _without(stored, dataset, gone)
        wiring.registry.update(changed)
    return {"project": project.name, "dataset": name, "pages": len(rows), "sources": sorted(gone)}


def leave_removed(project: Project, catalogue: Catalogue, artifacts: Artifacts) -> int:
    """Leave out live pages of removed datasets that a run has found again; returns how many."""
    names = {one.dataset for one in all_datasets(project) if one.removed}
    if not names:
        return 0
    rows = list(_rows_of(catalogue, artifacts, names))
    _take_out(catalogue, artifacts, rows, ", ".join(sorted(names)))
    return len(rows)


def _rows_of(catalogue: Catalogue, artifacts: Artifacts, names: set[str]) -> Iterator[UrlRow]:
    for row in live_rows(catalogue):
        page = artifacts.load(Page, row.key)
        if page is not None and page.label.dataset in names:
            yield row


def _only_sources(
    project: Project, dataset: Dataset, rows: Iterable[UrlRow], catalogue: Catalogue
) -> set[str]:
    """
    What gives only the dataset's pages, which are `rows`.

    Its own URLs; its sitemap, if that lists no other live page; start pages in it, if their host has none.
    """
    own = {row.url for row in rows}
    others = [one for one in all_datasets(project) if one.dataset != dataset.dataset and not one.removed]
    listed = {url for one in others for url in (one.sitemap, *one.urls)}
    indexes = indexes_of(catalogue, [dataset])
    hosts = set()
    for row in live_rows(catalogue):
        if row.url not in own:
            hosts.add(netloc(row.url))
            listed |= named_of(row.found_in, indexes)
    starts = map(_spelled, stored_sources(project).crawl)
    alone = {
        url
        for url in starts
        if netloc(url) not in hosts
        and label_of(url, found_in=(), declared={}, datasets=(*others, dataset)).dataset == dataset.dataset
    }
    return {url for url in (*dataset.urls, dataset.sitemap) if url and url not in listed} | alone


def _take_out(catalogue: Catalogue, artifacts: Artifacts, rows: list[UrlRow], name: str) -> None:
    """Rows go before the artifacts: a page that is no longer live is asked for anew, whatever is left."""
    detail = f"its dataset {name!r} was removed; name it again with --dataset to have it back"
    visits: dict[int, list[Outcome]] = {}
    for row in rows:
        outcome = Outcome(url=row.url, state=State.SKIPPED, reason=Reason.OUT_OF_SCOPE, detail=detail)
        visits.setdefault(row.visit, []).append(outcome)
    for visit, outcomes in visits.items():
        catalogue.mark(outcomes, visit)
    for row in rows:
        artifacts.delete(EmbeddedPage, row.key)
        artifacts.delete(ChunkedPage, row.key)
        artifacts.delete(Page, row.key)
    if rows:
        catalogue.strike([row.key for row in rows])


def _without(project: Project, dataset: Dataset, gone: set[str]) -> Project:
    """The project without sources that went; its dataset is known as a removed one."""
    sources = stored_sources(project)
    left = {
        name: tuple(url for url in getattr(sources, name) if not {url, _spelled(url)} & gone)
        for name in sources.__struct_fields__
    }
    others = [one for one in all_datasets(project) if one.dataset != dataset.dataset]
    options = {
        **project.options,
        "sources": msgspec.to_builtins(replace(sources, **left)),
        "datasets": [msgspec.to_builtins(one) for one in (*others, replace(dataset, removed=True))],
    }
    return replace(project, options=options)


def _spelled(url: str) -> str:
    """As the catalogue spells it."""
    return resolve(url, "") or url
