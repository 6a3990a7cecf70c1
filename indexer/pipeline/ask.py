"""Questions to the published index: one, many, or with known answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from indexer.artifacts import Hit
from indexer.errors import Misconfigured
from indexer.pipeline.lines import read_lines
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project, Reader

BATCH = 64
MODES = ("hybrid", "dense", "bm25")


def answer(wiring: Wiring, project: Project, question: str, *, mode: str, limit: int) -> list[Hit]:
    """Hits for one question, best first."""
    with _reader(wiring, project) as reader:
        return _search(wiring, reader, [question], mode=mode, limit=limit)[0]


def answer_all(
    wiring: Wiring, project: Project, name: str, *, mode: str, limit: int
) -> Iterator[dict[str, Any]]:
    """`{id, hits}` for each `{id, question}` of a JSON Lines file, in order."""
    with _reader(wiring, project) as reader:
        batch: list[dict[str, Any]] = []
        for record in read_lines(name, needs=("id", "question")):
            batch.append(record)
            if len(batch) == BATCH:
                yield from _answers(wiring, reader, batch, mode=mode, limit=limit)
                batch = []
        if batch:
            yield from _answers(wiring, reader, batch, mode=mode, limit=limit)


def _answers(
    wiring: Wiring, reader: Reader, batch: list[dict[str, Any]], *, mode: str, limit: int
) -> Iterator[dict[str, Any]]:
    found = _search(wiring, reader, [record["question"] for record in batch], mode=mode, limit=limit)
    for record, hits in zip(batch, found, strict=True):
        yield {"id": record["id"], "hits": hits}


def evaluate(wiring: Wiring, project: Project, questions: Path) -> list[dict[str, Any]]:
    """nDCG@10, Recall@5 and MRR@10 per mode, per page."""
    from indexer.search import evaluate as scoring

    cases = scoring.load_questions(questions)
    scores = []
    with _reader(wiring, project) as reader:
        for mode in MODES:
            ask = partial(_search, wiring, reader, mode=mode, limit=scoring.DEPTH)
            scores.append({"mode": mode, **scoring.summary(scoring.evaluate(cases, ask))})
    return scores


def _search(
    wiring: Wiring, reader: Reader, questions: list[str], *, mode: str, limit: int
) -> list[list[Hit]]:
    from indexer.index.analysis import analyzer
    from indexer.search import hybrid

    snapshot = reader.snapshot
    return hybrid.search_many(
        reader,
        questions,
        analyze=analyzer(snapshot.analyzer, version=snapshot.analyzer_version),
        embed_queries=None if mode == "bm25" else _embedder(wiring, reader),
        mode=mode,
        limit=limit,
        settings=wiring.settings.search,
    )


def _embedder(wiring: Wiring, reader: Reader) -> Any:
    """Embeds questions with the model of the index. Raises `Misconfigured` if that is another one."""
    from indexer.phases.embed import embed_queries

    model = wiring.embed
    if model.model != reader.manifest.model:
        raise Misconfigured(
            f"the index was made with {reader.manifest.model}, but {model.model} is configured; "
            "configure that model, or rebuild with `indexer seed --from-phase embed`"
        )
    return lambda questions: embed_queries(questions, model=model, prefix=reader.manifest.query_prefix)


@contextlib.contextmanager
def _reader(wiring: Wiring, project: Project) -> Iterator[Reader]:
    reader = wiring.store(project).reader()
    if reader is None:
        raise Misconfigured(
            f"project {project.name!r} has no published index yet; build it with "
            f"`indexer seed --project-name {project.name}`"
        )
    try:
        yield reader
    finally:
        reader.close()
