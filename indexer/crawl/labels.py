"""
Which dataset a document belongs to, and what it says of itself in meta tags.

A dataset is found by the document's own address, the longest prefix, or the sitemap that
lists it. What the document declares (`<meta name="PREFIX:status" content="…">`) then goes
before what the dataset says; a document that another project's page could imitate cannot
raise its rank with it: its layer is that of its dataset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from indexer.artifacts import FROM_SITEMAP, UNLABELLED, Dataset, Label

ANY_PREFIX = "*"
FIELDS = ("dataset", "layer", "language", "edition", "status", "effective_date", "deprecated")
_LONGEST = 300
_TRUE = ("true", "yes", "1")


def declared(tree: Any, prefix: str) -> dict[str, str]:
    """
    Fields that meta tags named `PREFIX:field` give, of a selectolax tree.

    `*`: the first prefix that names a dataset or a layer, so that `og:status` is none.
    """
    found: dict[str, dict[str, str]] = {}
    for node in tree.css("meta[name][content]"):
        group, colon, name = (node.attributes.get("name") or "").strip().rpartition(":")
        name = name.lower().replace("-", "_")
        value = " ".join((node.attributes.get("content") or "").split())[:_LONGEST]
        if colon and name in FIELDS and value:
            found.setdefault(group.lower(), {}).setdefault(name, value)
    if prefix != ANY_PREFIX:
        return found.get(prefix.rstrip(":").lower(), {})
    return next((fields for fields in found.values() if "dataset" in fields or "layer" in fields), {})


def label_of(
    url: str, *, found_in: Collection[str], declared: Mapping[str, str], datasets: Sequence[Dataset]
) -> Label:
    """The label of a document at `url` (canonical); `found_in` as the catalogue has it."""
    own = next((one for one in datasets if one.dataset == declared.get("dataset")), None)
    dataset = own or _dataset_of(url, found_in, datasets)
    if dataset is None:
        return UNLABELLED
    label = Label(**{name: getattr(dataset, name) for name in FIELDS})
    said = {
        name: declared[name]
        for name in ("language", "edition", "status", "effective_date")
        if name in declared
    }
    deprecated = declared["deprecated"].lower() in _TRUE if "deprecated" in declared else label.deprecated
    return replace(label, **said, deprecated=deprecated or dataset.deprecated)


def _dataset_of(url: str, found_in: Collection[str], datasets: Sequence[Dataset]) -> Dataset | None:
    for dataset in datasets:
        if url in dataset.urls:
            return dataset
    path = urlsplit(url).path
    prefixed = [
        one
        for one in datasets
        if one.url_prefix and (path if one.url_prefix.startswith("/") else url).startswith(one.url_prefix)
    ]
    if prefixed:
        return max(prefixed, key=lambda one: len(one.url_prefix))
    return next((one for one in datasets if one.sitemap and f"{FROM_SITEMAP}{one.sitemap}" in found_in), None)
