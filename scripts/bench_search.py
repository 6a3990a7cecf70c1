"""
What a search costs beside the engine's own query, and what a cold `indexer search` costs beside its parts.

    python scripts/bench_search.py [--chunks 10000 50000] [--questions 200]

Collections of generated text and random unit vectors are built by the project's own index
phase in the embedded store. Hybrid search (the questions' vectors are at hand) is timed in
turn with a bare query: the engine's `query` with the same two prefetches, its own DBSF and
the payloads of ten hits. The aim is a p50 within 1.3 of it, and a cold command within 1.5
of import, opening the model and one search in one process.
"""

from __future__ import annotations

import argparse
import base64
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

AIM, COLD_AIM = 1.3, 1.5
ROOT = Path(__file__).resolve().parent.parent
DIMENSION = 384
CHUNKS_A_PAGE = 5
WORDS_A_CHUNK = 120
VOCABULARY = 30_000
SYLLABLES = (
    "ба",
    "ве",
    "ги",
    "до",
    "жу",
    "за",
    "ки",
    "ло",
    "му",
    "не",
    "по",
    "ра",
    "си",
    "те",
    "фу",
    "ча",
    "ка",
    "то",
)
PARTS = """
import time
start = time.perf_counter()
import indexer.cli, indexer.cli.app, indexer.pipeline.ask
from indexer.cli.session import Session
imported = time.perf_counter()
session = Session(dict(config=None, projects_dir=None, json=True, quiet=True, verbose=0, log_json=False))
project = session.project("bench")
wiring = session.wiring(project)
wiring.embed.embed(["query: x"])
loaded = time.perf_counter()
indexer.pipeline.ask.answer(wiring, project, {question!r}, indexer.pipeline.ask.Wanted())
print(imported - start, loaded - imported, time.perf_counter() - loaded)
"""


def words(seed: int) -> list[str]:
    """A vocabulary without meaning."""
    chance = random.Random(seed)
    return ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(VOCABULARY)]


def texts(vocabulary: list[str], seed: int, *, length: int) -> Iterator[str]:
    """Texts whose words are as frequent as in a language (Zipf)."""
    chance = np.random.default_rng(seed)
    while True:
        for row in np.minimum(chance.zipf(1.2, (256, length)), VOCABULARY) - 1:
            yield " ".join(vocabulary[number] for number in row) + "."


def pages(chunks: int) -> Iterator[Any]:
    """Embedded pages, the same at every call."""
    from indexer.artifacts import EmbeddedChunk, EmbeddedPage

    chance = np.random.default_rng(1)
    written = texts(words(2), 3, length=WORDS_A_CHUNK)
    for number in range(chunks // CHUNKS_A_PAGE):
        vectors = unit(chance.standard_normal((CHUNKS_A_PAGE, DIMENSION)))
        yield EmbeddedPage(
            signature="s",
            url=f"https://example.org/{number}",
            title=f"Страница {number}",
            language="ru",
            model="multilingual-e5-small",
            dimension=DIMENSION,
            chunks=tuple(
                EmbeddedChunk(
                    ordinal=n,
                    topic=f"Страница {number} › Часть {n}",
                    text=(text := next(written)),
                    start=0,
                    end=len(text),
                    vector=base64.b64encode(vectors[n].astype("<f4").tobytes()).decode(),
                )
                for n in range(CHUNKS_A_PAGE)
            ),
        )


def unit(vectors: Any) -> Any:
    """Rows of length 1."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def build(folder: Path, chunks: int) -> Any:
    """A published generation; the open reader."""
    from indexer.adapters.edge import EdgeStore
    from indexer.phases import index
    from indexer.settings import Settings

    store = EdgeStore(folder, collection="bench")
    manifest, snapshot = index.build(
        lambda: pages(chunks),
        store=store,
        project_id=str(uuid.UUID(int=1)),
        project="bench",
        language="ru",
        settings=Settings(),
        signature="s",
        prefixes=("query: ", "passage: "),
    )
    store.publish(manifest, snapshot)
    return store.reader()


def compare(reader: Any, questions: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each search, of each bare query, and of the engine's part of a search."""
    import qdrant_edge as engine

    from indexer.adapters.edge_engine import engine_query
    from indexer.index.analysis import analyzer
    from indexer.search import hybrid
    from indexer.search.legs import words_of
    from indexer.settings import Search

    analyze = analyzer("stem")
    asked = texts(words(2), 5, length=6)
    vectors = unit(np.random.default_rng(6).standard_normal((questions, DIMENSION))).astype(np.float32)
    shard = reader._shard  # noqa: SLF001 - what a search has below it
    ours, bare, legs = [], [], []
    for vector in vectors:
        question = next(asked)
        sparse = words_of(analyze(question), reader.snapshot)
        prefetches = [engine.Prefetch(limit=200, query=engine_query(one)) for one in (vector, sparse)]
        request = engine.QueryRequest(
            limit=10, prefetches=prefetches, query=engine.Fusion.Dbsf(), with_payload=True
        )

        def search(question: str = question, vector: Any = vector) -> Any:
            return hybrid.search(
                reader, question, analyze=analyze, embed_query=lambda _: vector, settings=Search()
            )

        order: list[tuple[list[float], Callable[[], Any]]] = [
            (ours, search),
            (bare, lambda request=request: [(p.id, p.score, p.payload) for p in shard.query(request)]),
            (legs, lambda vector=vector, sparse=sparse: reader.nearest([vector, sparse], 216)),
        ]
        random.shuffle(order)
        for times, call in order:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return ours, bare, legs


def cold(folder: Path, runs: int) -> tuple[list[float], list[list[float]]]:
    """Seconds of `indexer search` from its start, and of its parts in one process each."""
    question = next(texts(words(2), 7, length=6))
    environment = {**os.environ, "INDEXER_PROJECTS_DIR": str(folder)}
    command = [sys.executable, "-m", "indexer", "search", "--project-name", "bench", "--json", question]
    parts = [sys.executable, "-c", PARTS.format(question=question)]
    whole, split = [], []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        whole.append(time.perf_counter() - start)
        done = subprocess.run(parts, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
        split.append([float(part) for part in done.stdout.split()])
    return whole, split


def main() -> int:
    """Measure and print; 1 if an aim is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--cold", type=int, default=5, help="cold starts; 0: none")
    options = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory(prefix="bench-search-") as name:
        for chunks in options.chunks:
            folder = Path(name) / "bench" / "vectors"
            shutil.rmtree(folder, ignore_errors=True)
            start = time.perf_counter()
            reader = build(folder, chunks)
            built = time.perf_counter() - start
            compare(reader, 10)
            ours, bare, legs = (
                [1000 * second for second in each] for each in compare(reader, options.questions)
            )
            reader.close()
            ratio = statistics.median(ours) / statistics.median(bare)
            missed |= ratio > AIM
            print(
                f"{chunks} chunks (built in {built:.0f} s): search p50 {statistics.median(ours):.2f} ms, "
                f"bare query {statistics.median(bare):.2f} ms, ratio {ratio:.2f} (aim {AIM}); "
                f"its two legs {statistics.median(legs):.2f} ms",
                flush=True,
            )
        if options.cold:
            add_project(Path(name))
            whole, split = cold(Path(name), options.cold)
            imported, loaded, asked = (statistics.median(part) for part in zip(*split, strict=True))
            ratio = statistics.median(whole) / (imported + loaded + asked)
            missed |= ratio > COLD_AIM
            print(
                f"cold search {statistics.median(whole):.2f} s: import {imported:.2f} s, "
                f"model {loaded:.2f} s, search {asked:.2f} s, ratio {ratio:.2f} (aim {COLD_AIM})"
            )
    return int(missed)


def add_project(folder: Path) -> None:
    """Register the project of the last collection."""
    from indexer.adapters.registry import SqliteRegistry
    from indexer.records import Project

    registry = SqliteRegistry(folder)
    registry.add(Project(id=str(uuid.UUID(int=1)), name="bench", language="ru"))
    registry.close()


if __name__ == "__main__":
    sys.exit(main())
