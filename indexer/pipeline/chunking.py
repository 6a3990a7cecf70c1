"""The chunk phase over a whole project: what is owed, by processes, or by threads that wait for a model."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import closing

from indexer.artifacts import Reason
from indexer.pipeline import work
from indexer.pipeline.drive import drive
from indexer.pipeline.ledger import CHUNK, Ledger
from indexer.pipeline.pools import open_threads
from indexer.ports import Catalogue

CHATS_AT_ONCE = 8


def chunk_pages(
    job: work.ChunkJob, keys: list[str], *, catalogue: Catalogue, pool: Executor, workers: int
) -> Generator[work.Done]:
    """The pages of `keys`, chunked now or found to be; `workers` 0: nothing runs side by side."""
    from indexer.phases import chunk as phase

    basis = phase.basis_of(settings=job.settings, chat_model=job.chat.model if job.chat else "")
    ledger = Ledger(catalogue, job.artifacts, phase=CHUNK, basis=basis)
    settled, owed = ([], keys) if job.force else ledger.split(keys)
    yield from settled
    with open_threads(CHATS_AT_ONCE if workers else 0) as threads:
        executor, size = (threads, 1) if job.chat else (pool, 16)
        driven = drive(executor, work.chunk_slice, job, owed, poisoned=_poisoned, size=size, width=16)
        with closing(driven):
            for done in driven:
                ledger.note(done)
                yield done
    ledger.flush()


def _poisoned(key: str) -> work.Done:
    return work.Done(key=key, reason=Reason.CHUNK_FAILED, detail="it ended the worker that read it")
