"""A Qdrant server over TLS, with a certificate of an authority of one's own; and in a cluster."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from indexer.adapters.qdrant import QdrantStore
from indexer.errors import Misconfigured
from indexer.settings import Store
from tests.stores.grpc_double import GrpcDouble
from tests.stores.points import OLD, build, generation, texts_in
from tests.stores.qdrant_double import QdrantDouble


def _store(folder: Path, **settings) -> QdrantStore:
    return QdrantStore("Кафе", settings=Store(**settings), folder=folder, sleep=lambda seconds: None)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, chain = folder / "key.pem", folder / "chain.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", chain, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, chain


@pytest.mark.parametrize("prefer_grpc", [False, True], ids=["http", "grpc"])
def test_the_certificate_is_checked_by_the_authority_that_is_named(certificate, tmp_path, prefer_grpc):
    with QdrantDouble(certificate=certificate) as double, GrpcDouble(double) as server:
        settings = {"url": double.url, "prefer_grpc": prefer_grpc, "grpc_port": server.port}
        store = _store(tmp_path, ca_file=str(certificate[1]), **settings)
        build(store, generation("1"), OLD)
        assert texts_in(store) == set(OLD)
        assert {method == "GRPC" for method, _ in double.log} == {prefer_grpc}
        with pytest.raises(Misconfigured, match=r"is not trusted .*\[store\] ca_file"):
            _store(tmp_path, **settings).current()


def test_a_file_without_certificates_is_named(tmp_path):
    (tmp_path / "ca.pem").write_text("nothing")
    for name in ("ca.pem", "absent.pem"):
        with pytest.raises(Misconfigured, match=rf"ca_file .*{name} holds no certificate"):
            _store(tmp_path, url="https://127.0.0.1:9", ca_file=str(tmp_path / name)).current()


def test_a_collection_has_one_shard_unless_told_otherwise(tmp_path):
    with QdrantDouble() as double:
        build(_store(tmp_path, url=double.url), generation("1"), OLD)
        build(_store(tmp_path, url=double.url, shards=3, replicas=2), generation("2"), OLD)
        assert [(one.shard_number, one.replication_factor) for one in double.created] == [(1, 1), (3, 2)]
