"""
Embedded pages → points, each checked: the embedded engine takes a NaN, a zero vector or
a repeated sparse index without a word, and the point is then never found.
"""

from __future__ import annotations

import base64
import binascii
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from indexer import ids
from indexer.artifacts import EmbeddedChunk, EmbeddedPage, Payload, Point
from indexer.errors import Permanent
from indexer.index.bm25 import Weights, text_of

if TYPE_CHECKING:
    from indexer.ports import Vector

MIN_NORM = 1e-6  # vectors are normalised to 1; anything near 0 has no direction


def point_ids(project_id: str, page: EmbeddedPage) -> list[str]:
    """The ids of a page's points, in order: equal texts are told apart by their ordinal."""
    twins: Counter[str] = Counter()
    names = []
    for chunk in page.chunks:
        text_hash = ids.digest(chunk.text)
        names.append(ids.point_id(project_id, page.url, text_hash, twins[text_hash]))
        twins[text_hash] += 1
    return names


class PointMaker:
    """
    Makes the points of one generation. `dimension`: of every vector. `stale`: keys of the pages
    that answer, but that nothing names any more. `translations`: key → group, as `translations.groups` gives.
    """

    def __init__(
        self,
        project_id: str,
        *,
        dimension: int,
        weights: Weights,
        stale: Collection[str] = (),
        translations: Mapping[str, str] | None = None,
    ) -> None:
        self._stale = stale
        self._translations = translations or {}
        self._project_id = project_id
        self._dimension = dimension
        self._weights = weights

    def points(self, page: EmbeddedPage) -> Iterator[Point]:
        """
        The points of a page, in order of its chunks.

        Raises `Permanent` naming page and chunk for a vector that cannot be searched.
        """
        key = ids.url_key(page.url)
        for chunk, name in zip(page.chunks, point_ids(self._project_id, page), strict=True):
            point = self._point(page, chunk, key, name)
            try:
                check(point, self._dimension)
            except ValueError as error:
                raise _unusable(page, chunk, str(error)) from None
            yield point

    def _point(self, page: EmbeddedPage, chunk: EmbeddedChunk, key: str, name: str) -> Point:
        indices, values = self._weights.vector(chunk_text(chunk))
        try:
            dense = decode_vector(chunk.vector)
        except ValueError as error:
            raise _unusable(page, chunk, str(error)) from None
        return Point(
            id=name,
            dense=tuple(dense.tolist()),
            indices=indices,
            values=values,
            payload=Payload(
                url=page.url,
                doc_id=key,
                title=page.title,
                topic=chunk.topic,
                text=chunk.text,
                context=chunk.context,
                language=page.label.language or page.language,
                ordinal=chunk.ordinal,
                article=chunk.article,
                point=chunk.point,
                points=chunk.points,
                parent=chunk.parent,
                dataset=page.label.dataset,
                layer=page.label.layer,
                edition=page.label.edition,
                status=page.label.status,
                effective_date=page.label.effective_date,
                deprecated=page.label.deprecated,
                stale=key in self._stale,
                translation_group=self._translations.get(key, ""),
            ),
        )


def chunk_text(chunk: EmbeddedChunk | Payload) -> str:
    """
    What BM25 reads of a chunk: its topic twice, then context and text.

    A topic is short beside its text, so that its words would weigh little; twice gains 1.3
    points of nDCG@10 where titles carry content (Cranfield) and costs nothing elsewhere.
    """
    return text_of((chunk.topic, chunk.topic, chunk.context, chunk.text))


def decode_vector(text: str) -> Vector:
    """Base64 of little-endian float32 → vector. Raises `ValueError`."""
    import numpy as np

    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"its vector is no base64 of float32 ({error})") from None


def check(point: Point, dimension: int) -> None:
    """Raises `ValueError` saying why the point could not be found, or would be found wrongly."""
    if len(point.dense) != dimension:
        raise ValueError(f"its vector has {len(point.dense)} dimensions, the index has {dimension}")
    norm = math.hypot(*point.dense)
    if not math.isfinite(norm):
        raise ValueError("its vector holds NaN or infinity")
    if norm < MIN_NORM:
        raise ValueError("its vector is zero")
    if len(point.indices) != len(point.values) or not point.indices:
        raise ValueError(
            f"its sparse vector pairs {len(point.indices)} indices with {len(point.values)} values"
        )
    if any(map(operator.ge, point.indices, point.indices[1:])):
        raise ValueError("the indices of its sparse vector do not ascend, or repeat")
    if point.indices[0] < 0 or point.indices[-1] >= 2**32:
        raise ValueError("an index of its sparse vector does not fit 32 bits")
    if not all(map(math.isfinite, point.values)) or min(point.values) <= 0:
        raise ValueError("its sparse vector holds a weight that is not a positive number")


def _unusable(page: EmbeddedPage, chunk: EmbeddedChunk, why: str) -> Permanent:
    return Permanent(
        f"chunk {chunk.ordinal} of {page.url} cannot be indexed: {why}; re-embed with --from-phase embed"
    )
