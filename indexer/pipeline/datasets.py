"""Datasets of a project: read, stored, and put on its pages as labels."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from indexer.artifacts import FROM_SITEMAP, UNLABELLED, Dataset, Page, Sources
from indexer.errors import Misconfigured, Permanent
from indexer.ports import Artifacts, Catalogue, Project

_INDEX = b"sitemapindex"
LABELS = ("layer", "language", "edition", "status", "effective_date", "deprecated")


def read_datasets(path: Path) -> tuple[Dataset, ...]:
    """
    A JSON list, or TOML with `[[datasets]]`, of `{dataset, layer, …, sitemap, url_prefix}`.

    Raises `Misconfigured` naming the file, the entry and what is wrong with it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"cannot read --datasets {path}: {error}") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise Misconfigured(f"--datasets {path} is neither JSON nor TOML: {error}") from None
    if isinstance(rows, dict):
        rows = rows.get("datasets")
    if not isinstance(rows, list):
        raise Misconfigured(f"--datasets {path} holds no list of datasets; in TOML they are [[datasets]]")
    return tuple(_dataset(row, f"{path}, entry {number}") for number, row in enumerate(rows, 1))


def _dataset(row: Any, place: str) -> Dataset:
    try:
        dataset = msgspec.convert(row, Dataset)
    except msgspec.ValidationError as error:
        raise Misconfigured(f"--datasets {place}: {error}") from None
    if not dataset.dataset:
        raise Misconfigured(f"--datasets {place} has no name; give it a dataset")
    if dataset.removed:
        raise Misconfigured(f"--datasets {place}: remove it with `indexer remove-dataset`")
    return _spelled(dataset, place)


def named(given: Mapping[str, Any], sources: Sources) -> tuple[Dataset, ...]:
    """
    What `--datasets`, `--dataset` and the options beside it say, with what `sources` the latter has.

    Raises `Misconfigured` for options without a name.
    """
    listed = read_datasets(given["datasets"]) if given["datasets"] else ()
    told: dict[str, Any] = {name: given[f"dataset_{name}" if name == "language" else name] for name in LABELS}
    told = {name: value for name, value in told.items() if value is not None}
    if not given["dataset"]:
        if told:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in told)
            raise Misconfigured(f"{options}: of which dataset? Name it with --dataset")
        return listed
    pages = (*sources.urls, *sources.files)
    maps = sources.sitemaps or ("",)
    folders = [url.rpartition("/")[0] + "/" for url in sources.crawl] or [""]
    if len(maps) > 1 or len(folders) > 1:
        raise Misconfigured(
            "--dataset is for one --sitemap-url or --crawl; name several with --datasets FILE"
        )
    one = Dataset(dataset=given["dataset"], sitemap=maps[0], url_prefix=folders[0], urls=pages, **told)
    return (*listed, _spelled(one, "--dataset"))


def _spelled(dataset: Dataset, place: str) -> Dataset:
    """With addresses as the catalogue spells them."""
    from indexer.crawl.urls import canonical

    def spell(url: str) -> str:
        if not url or url.startswith(("/", "file:")):
            return url
        try:
            return canonical(url)
        except Permanent as error:
            raise Misconfigured(f"{place}: {error}") from None

    return replace(
        dataset,
        sitemap=spell(dataset.sitemap),
        url_prefix=spell(dataset.url_prefix),
        urls=tuple(map(spell, dataset.urls)),
    )


def sources_of(datasets: Sequence[Dataset]) -> Sources:
    """Where the datasets' pages come from."""
    urls = [url for one in datasets for url in one.urls]
    return Sources(
        sitemaps=tuple(one.sitemap for one in datasets if one.sitemap),
        urls=tuple(url for url in urls if not url.startswith("file:")),
        files=tuple(url for url in urls if url.startswith("file:")),
    )


def stored_datasets(project: Project) -> tuple[Dataset, ...]:
    """Those that earlier commands named, and none removed."""
    return tuple(one for one in all_datasets(project) if not one.removed)


def all_datasets(project: Project) -> tuple[Dataset, ...]:
    """
    Those that earlier commands named, and behind them what was removed since: its pages are known by it.

    The order is that in which labels are given: what is named again under another name is no more
    the removed one's.
    """
    known = msgspec.convert(project.options.get("datasets", ()), tuple[Dataset, ...])
    return tuple(sorted(known, key=lambda one: one.removed))


def with_datasets(project: Project, datasets: Sequence[Dataset]) -> Project:
    """The project with more datasets; one of a known name changes in what is said of it."""
    if not datasets:
        return project
    known = {one.dataset: one for one in all_datasets(project)}
    for one in datasets:
        old = known.get(one.dataset, Dataset())
        said = {name: value for name, value in msgspec.to_builtins(one).items() if name != "urls"}
        said["removed"] = False
        known[one.dataset] = replace(old, **said, urls=tuple(dict.fromkeys((*old.urls, *one.urls))))
    rows = [msgspec.to_builtins(one) for one in known.values()]
    return replace(project, options={**project.options, "datasets": rows})


def label_pages(project: Project, catalogue: Catalogue, artifacts: Artifacts, live: Mapping[str, str]) -> int:
    """
    Put on every live page (key → URL) the label that it has now; returns how many changed.

    Costs nothing for a project that never had datasets.
    """
    if "datasets" not in project.options:
        return 0
    from indexer.crawl.labels import label_of

    datasets = all_datasets(project)
    indexes = indexes_of(catalogue, datasets)
    count = 0
    for key, url in live.items():
        page, row = artifacts.load(Page, key), catalogue.get(url)
        if page is None or row is None:
            continue
        label = UNLABELLED
        if datasets:
            found_in = {*row.found_in, *(f"{FROM_SITEMAP}{url}" for url in named_of(row.found_in, indexes))}
            label = label_of(page.url, found_in=found_in, declared=page.declared, datasets=datasets)
        if label != page.label:
            artifacts.save(key, replace(page, label=label))
            count += 1
    return count


def indexes_of(catalogue: Catalogue, datasets: Sequence[Dataset]) -> dict[str, set[str]]:
    """Which datasets' sitemaps are above a sitemap that an index lists: a page is found in the latter."""
    above: dict[str, set[str]] = {}
    for top in {one.sitemap for one in datasets if one.sitemap}:
        queue = dict.fromkeys([top])
        while queue:
            where = next(iter(queue))
            queue.pop(where)
            for child in _children(catalogue, where):
                known = above.setdefault(child, set())
                if top not in known:
                    known.add(top)
                    queue[child] = None
    return above


def named_of(found_in: Collection[str], indexes: Mapping[str, set[str]]) -> set[str]:
    """The sitemaps that a page is found in, and those above them."""
    maps = {found.removeprefix(FROM_SITEMAP) for found in found_in if found.startswith(FROM_SITEMAP)}
    return maps.union(*(indexes.get(url, ()) for url in maps))


def _children(catalogue: Catalogue, where: str) -> list[str]:
    """The sitemaps that an index lists, as last read."""
    from indexer.crawl.sitemaps import read_sitemap
    from indexer.crawl.urls import resolve

    known = catalogue.resource(where)
    if known is None or _INDEX not in known.body:
        return []
    try:
        return [resolve(entry.url, where) for entry in read_sitemap(known.body) if entry.sitemap]
    except Permanent:
        return []  # it was told of when it was read
