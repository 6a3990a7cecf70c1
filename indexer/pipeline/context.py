"""Contexts for a bot: the published index, asked under the project's source policy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from indexer.artifacts import Dataset
from indexer.errors import Misconfigured
from indexer.pipeline import ask
from indexer.pipeline.datasets import all_datasets
from indexer.pipeline.lines import read_lines
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project, Reader, Where
from indexer.search.context import Context, Turn
from indexer.search.dialogue import Answerer


@contextlib.contextmanager
def answering(wiring: Wiring, project: Project, *, rerank: bool = True) -> Iterator[Answerer]:
    """An open index with the project's policy and vocabulary. `rerank`: ask the reranker, if there is one."""
    from indexer.index.analysis import analyzer
    from indexer.search.gather import Gatherer
    from indexer.search.library import Library
    from indexer.search.refine import Refiner
    from indexer.search.routing import Router
    from indexer.search.vocabulary import load

    policy = wiring.settings.policy
    vocabulary = load(policy.vocabulary)
    with ask.opened(wiring, project) as reader:
        datasets = _in_index(project, reader)
        embed = ask.embedder(wiring, reader)
        library = Library(
            reader,
            analyze=analyzer(reader.snapshot.analyzer, version=reader.snapshot.analyzer_version),
            embed_queries=embed,
            generic=ask.generic(wiring, reader, embed),
            rerank=ask.reranker(wiring) if rerank else None,
            settings=wiring.settings.search,
            language=partial(ask.asker_language, wiring, reader.manifest.language, ""),
        )
        gatherer = Gatherer(library, policy=policy, datasets=datasets, vocabulary=vocabulary)
        router = Router(vocabulary, datasets, language=project.language)
        refine = Refiner(wiring.routing, router) if wiring.routing else None
        yield Answerer(router, gatherer, refine=refine)


def _in_index(project: Project, reader: Reader) -> tuple[Dataset, ...]:
    """The datasets, and removed ones whose points are live yet: their ranks hold as long."""
    return tuple(
        one
        for one in all_datasets(project)
        if not one.removed or reader.select(Where(fields={"dataset": (one.dataset,)}), 1)
    )


def context(
    wiring: Wiring, project: Project, question: str, *, history: str = "", rerank: bool = True
) -> Context:
    """The context of one question. `history`: a JSON or JSON Lines file of turns."""
    turns = _history(list(_turns(history))) if history else ()
    with answering(wiring, project, rerank=rerank) as answerer:
        return answerer.answer(question, turns)


def contexts(wiring: Wiring, project: Project, name: str, *, rerank: bool = True) -> Iterator[Context]:
    """One for each `{id, question, history?}` of a JSON Lines file, in order."""
    with answering(wiring, project, rerank=rerank) as answerer:
        for record in read_lines(name, needs=("id", "question")):
            if not record["question"].strip():
                raise Misconfigured(f"{name}: the question {record['id']} is empty; ask something")
            turns = _history(record.get("history"), of=f"{name}, question {record['id']}: ")
            yield answerer.answer(record["question"], turns, id=record["id"])


def _turns(name: str) -> Iterator[Any]:
    """Turns of a file: one JSON list, or one turn a line."""
    import json
    import sys
    from pathlib import Path

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
        if text.lstrip().startswith("["):
            yield from json.loads(text)
        else:
            yield from (json.loads(line) for line in text.splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"cannot read --history {name}: {error}") from None
    except json.JSONDecodeError as error:
        raise Misconfigured(f"--history {name} is no JSON: {error}") from None
    except RecursionError:
        raise Misconfigured(f"--history {name} is nested too deeply") from None


def _history(rows: Sequence[Any] | None, *, of: str = "") -> tuple[Turn, ...]:
    try:
        return msgspec.convert(rows or (), tuple[Turn, ...])
    except msgspec.ValidationError as error:
        raise Misconfigured(f'{of}history: {error}; turns are {{"role": "user", "content": "…"}}') from None
