"""What is sent to a Qdrant server: collections, points in batches, queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from indexer.adapters.qdrant_server import Server
from indexer.artifacts import Point
from indexer.ports import DENSE_VECTOR, FILTERED, SPARSE_VECTOR, Sparse, Where

if TYPE_CHECKING:
    from indexer.ports import Vector

BATCH = 128  # points in one request
BATCH_BYTES = 8 << 20  # of JSON, roughly; the server's own limit is 32 MB
EXACT_UP_TO = 100_000  # KB of vectors in a segment that gets no graph: search there is exact

_BYTES_A_NUMBER = 22  # of a float64 in JSON


def create_collection(server: Server, collection: str, dimension: int) -> None:
    """
    A collection like an embedded shard: no graph while it is small, and, unless the settings say
    otherwise, one shard, so that IDF is exact.
    """
    from qdrant_client import models

    def create(client: Any) -> None:
        if client.collection_exists(collection):  # an earlier try that seemed to fail
            return
        client.create_collection(
            collection,
            vectors_config={
                DENSE_VECTOR: models.VectorParams(size=dimension, distance=models.Distance.COSINE)
            },
            sparse_vectors_config={SPARSE_VECTOR: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            shard_number=server.settings.shards,
            replication_factor=server.settings.replicas,
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=EXACT_UP_TO),
        )

    server.call(f"create {collection}", create)
    for field, of in FILTERED.items():  # before the points come: an index built later stops the collection
        server.call(
            f"index {field} of {collection}",
            lambda client, field=field, of=of: client.create_payload_index(  # type: ignore[misc]
                collection,
                field,
                models.PayloadSchemaType.BOOL if of is bool else models.PayloadSchemaType.KEYWORD,
            ),
        )


def server_point(point: Point) -> Any:
    """Our point as the server takes it."""
    from qdrant_client import models

    sparse = models.SparseVector(indices=list(point.indices), values=list(point.values))
    vectors: dict[str, Any] = {DENSE_VECTOR: list(point.dense), SPARSE_VECTOR: sparse}
    return models.PointStruct(id=point.id, vector=vectors, payload=msgspec.structs.asdict(point.payload))


def server_filter(where: Where) -> Any:
    """`where` as the server takes it."""
    from qdrant_client import models

    conditions: list[Any] = []
    for name, values in where.fields.items():
        if all(isinstance(value, str) for value in values):
            match = models.MatchAny(any=[str(value) for value in values])
            conditions.append(models.FieldCondition(key=name, match=match))
        else:
            either: list[Any] = [
                models.FieldCondition(key=name, match=models.MatchValue(value=value)) for value in values
            ]
            conditions.append(models.Filter(should=either))
    return models.Filter(must=conditions)


def server_query(query: Vector | Sparse, limit: int, where: Where | None = None) -> Any:
    """A nearest-neighbour query over the vector that is of the same kind, without payloads."""
    from qdrant_client import models

    admitted = server_filter(where) if where else None
    if isinstance(query, Sparse):
        vector: Any = models.SparseVector(indices=list(query.indices), values=list(query.values))
        return models.QueryRequest(query=vector, using=SPARSE_VECTOR, limit=limit, filter=admitted)
    return models.QueryRequest(
        query=query.tolist(),
        using=DENSE_VECTOR,
        limit=limit,
        filter=admitted,
        params=models.SearchParams(hnsw_ef=max(limit, 128)),
    )


def batches_of(points: Sequence[Point]) -> Iterator[list[Point]]:
    """At most `BATCH` points and roughly `BATCH_BYTES` of JSON each."""
    batch: list[Point] = []
    size = 0
    for point in points:
        payload = point.payload
        letters = len(payload.text) + len(payload.context) + len(payload.title) + len(payload.topic)
        need = _BYTES_A_NUMBER * (len(point.dense) + 2 * len(point.indices)) + 6 * letters
        if batch and (len(batch) == BATCH or size + need > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(point)
        size += need
    if batch:
        yield batch
