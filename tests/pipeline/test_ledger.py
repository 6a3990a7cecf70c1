"""What a night without news does not read, and what it must not overlook."""

from __future__ import annotations

import os

import pytest

from indexer.adapters.catalogue import SqliteCatalogue
from indexer.adapters.files import FileArtifacts
from indexer.artifacts import ChunkedPage, Page
from indexer.ids import url_key
from indexer.pipeline.ledger import CHUNK, Ledger, page_stands
from indexer.pipeline.work import Done

URL = "https://firm.example/"
KEY = url_key(URL)


class Counting(FileArtifacts):
    """Counts the files that are read."""

    reads = 0

    def _read(self, path):  # type: ignore[override]
        self.reads += 1
        return super()._read(path)


@pytest.fixture
def store(tmp_path):
    artifacts = Counting(tmp_path)
    artifacts.save(
        KEY, Page(signature="p1", url=URL, content="c1", title="Firm", language="en", text="Prices")
    )
    artifacts.save(
        KEY, ChunkedPage(signature="k1", url=URL, title="Firm", language="en", mode="paragraph", chunks=())
    )
    catalogue = SqliteCatalogue(tmp_path)
    yield catalogue, artifacts
    catalogue.close()


def ledger(store, *, basis="b1"):
    return Ledger(*store, phase=CHUNK, basis=basis)


def noted(store):
    one = ledger(store)
    one.note(Done(key=KEY, count=3))
    one.flush()


def test_what_was_in_order_is_known_again_without_reading_a_file(store):
    noted(store)
    reads = store[1].reads
    settled, owed = ledger(store).split([KEY])
    assert ([(done.key, done.count, done.kept) for done in settled], owed) == ([(KEY, 3, True)], [])
    assert page_stands(*store, KEY)
    assert store[1].reads == reads


def test_another_basis_or_file_is_owed_again(store):
    noted(store)
    assert ledger(store, basis="b2").split([KEY]) == ([], [KEY])
    artifacts = store[1]
    for artifact in (
        ChunkedPage(signature="k1", url=URL, title="Firm", language="en", mode="paragraph", chunks=()),
        Page(signature="p1", url=URL, content="c1", title="Firm", language="en", text="Prices"),
    ):
        noted(store)
        artifacts.save(KEY, artifact)  # the same bytes, but who knows
        assert ledger(store).split([KEY]) == ([], [KEY])


def test_a_file_that_was_changed_by_hand_or_is_gone_does_not_stand(store):
    noted(store)
    path = store[1].root / "1_pages" / f"{KEY}.json"
    path.write_bytes(path.read_bytes()[:40])
    os.utime(path, ns=(1, 1))
    assert not page_stands(*store, KEY)
    path.unlink()
    assert not page_stands(*store, KEY)
    assert ledger(store).split([KEY]) == ([], [KEY])


def test_what_failed_is_not_noted_and_what_is_struck_is_forgotten(store):
    one = ledger(store)
    one.note(Done(key=KEY, reason="chunk-failed"))
    one.flush()
    assert one.split([KEY]) == ([], [KEY])
    noted(store)
    store[0].strike([KEY])
    assert one.split([KEY]) == ([], [KEY])
