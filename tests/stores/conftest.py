"""
The vector stores under test: the embedded engine, the client's in-memory oracle, a server's double over HTTP
and gRPC, and a real server if there is one.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from indexer.adapters.edge import EdgeStore
from indexer.adapters.qdrant import QdrantStore
from indexer.ports import VectorStore
from indexer.settings import Store
from tests.stores.engine import Engine
from tests.stores.qdrant_double import QdrantDouble

REAL = os.environ.get("INDEXER_TEST_QDRANT_URL", "")


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with QdrantDouble() as server:
        yield server


@pytest.fixture
def grpc_settings(double: QdrantDouble) -> Iterator[Store]:
    from tests.stores.grpc_double import GrpcDouble

    with GrpcDouble(double) as server:
        yield Store(url=double.url, prefer_grpc=True, grpc_port=server.port)


@pytest.fixture(
    params=[
        "edge",
        "oracle",
        "qdrant",
        "qdrant-grpc",
        pytest.param(
            "server", marks=pytest.mark.skipif(not REAL, reason="INDEXER_TEST_QDRANT_URL names no server")
        ),
    ]
)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "edge":
        folder = tmp_path / "vectors"
        yield Engine("edge", lambda: EdgeStore(folder, collection="Кафе"), folder)
        return
    project = f"Кафе {uuid.uuid4()}"
    oracle = QdrantClient(":memory:") if request.param == "oracle" else None
    if oracle:
        settings = Store(url="http://127.0.0.1:9")  # nobody: whoever is asked is in this process
    elif request.param == "server":
        settings = Store(url=REAL)
    elif request.param == "qdrant-grpc":
        settings = request.getfixturevalue("grpc_settings")
    else:
        settings = Store(url=request.getfixturevalue("double").url)

    def opened() -> VectorStore:
        store = QdrantStore(project, settings=settings, folder=tmp_path, sleep=lambda seconds: None)
        store._server._client = oracle or store._server._client
        return store

    yield Engine(request.param, opened, tmp_path / "vectors")
    opened().drop()
    if oracle:
        oracle.close()
