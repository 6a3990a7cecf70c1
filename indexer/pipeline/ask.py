"""Questions to the published index: one, many, or with known answers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from indexer.errors import Misconfigured
from indexer.hits import Hit
from indexer.pipeline.lines import read_lines, writing
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project, Reader

if TYPE_CHECKING:
    from indexer.search.generic import Generic
    from indexer.search.report import Change, Evaluation
    from indexer.search.rerank import Scores
    from indexer.search.vocabulary import Vocabulary


_GENERIC: WeakKeyDictionary[Reader, Generic] = WeakKeyDictionary()

BATCH = 64
MODES = ("hybrid", "dense", "bm25")
RERANK = "rerank"  # hybrid, then reranked


class Wanted(Struct, frozen=True, kw_only=True):
    """
    How questions are to be answered. `explain`: with the terms that the keyword leg matched.

    `grouped`: as `[search] group` says; without it, hits are chunks. `language`: the asker's;
    empty: as each question shows. `rerank`: gives scores of question and texts, or `None`.
    `translations`: a page may come in several languages, as labelled questions may name each.
    """

    mode: str = "hybrid"
    limit: int = 10
    explain: bool = False
    grouped: bool = False
    language: str = ""
    rerank: Scores | None = None
    translations: bool = False


def reranker(wiring: Wiring) -> Scores | None:
    """
    The configured reranker, whose failures are warnings: an asker gets the order of search then.

    Raises `Misconfigured` for one that can never answer: its provider is unknown or has no key.
    """
    from indexer.search.rerank import forgiving

    return forgiving(wiring.rerank) if wiring.rerank else None


def answer(wiring: Wiring, project: Project, question: str, wanted: Wanted) -> list[Hit]:
    """Hits for one question, best first."""
    with opened(wiring, project) as reader:
        return search_reader(wiring, reader, [question], wanted)[0]


def answer_all(wiring: Wiring, project: Project, name: str, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """`{id, hits}` for each `{id, question}` of a JSON Lines file, in order."""
    records = read_lines(name, needs=("id", "question"))
    with opened(wiring, project) as reader:
        while batch := list(islice(records, BATCH)):
            found = search_reader(wiring, reader, [record["question"] for record in batch], wanted)
            for record, hits in zip(batch, found, strict=True):
                yield {"id": record["id"], "hits": hits}


def evaluate(wiring: Wiring, project: Project, questions: Path) -> tuple[Evaluation, list[dict[str, Any]]]:
    """Every question's score, and nDCG@10, Recall@5 and MRR@10 per mode, per page."""
    from indexer.search import evaluate as scoring
    from indexer.search.report import Evaluation

    cases = scoring.load_questions(questions)
    scores: dict[str, list[scoring.Score]] = {}
    with opened(wiring, project) as reader:
        for mode in MODES:
            ask = partial(
                search_reader,
                wiring,
                reader,
                wanted=Wanted(mode=mode, limit=scoring.DEPTH, translations=True),
            )
            scores[mode] = scoring.evaluate(cases, ask)
        if wiring.rerank:  # one that fails ends an evaluation: it would pass for the order of search
            wanted = Wanted(limit=scoring.DEPTH, rerank=wiring.rerank, translations=True)
            scores[RERANK] = scoring.evaluate(cases, partial(search_reader, wiring, reader, wanted=wanted))
        generation = reader.manifest.generation
    fusion = wiring.settings.search.fusion
    found = Evaluation(project=project.name, generation=generation, fusion=fusion, scores=scores)
    return found, [
        {"mode": mode, **({"fusion": fusion} if mode in ("hybrid", RERANK) else {}), **scoring.summary(each)}
        for mode, each in scores.items()
    ]


def write_reports(
    paths: Sequence[Path], found: Evaluation, scores: list[dict[str, Any]], changes: Sequence[Change]
) -> None:
    """The evaluation as JSON or HTML, by the suffix of each path."""
    import msgspec

    from indexer.search import report

    for path in paths:
        with writing(str(path)) as file:
            if path.suffix == ".html":
                file.write(report.page(found, scores, changes).encode())
            else:
                file.write(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def draft_questions(wiring: Wiring, project: Project) -> list[dict[str, Any]]:
    """Questions that indexed pages seem to answer, as lines of a questions file, none accepted yet."""
    from indexer.artifacts import Page, State
    from indexer.search.drafts import drafts

    artifacts, found = wiring.artifacts(project), dict[str, dict[str, Any]]()
    with wiring.catalogue(project) as catalogue:
        for row in catalogue.rows(state=State.INDEXED):
            page = artifacts.load(Page, row.key)
            for draft in drafts(page.text, title=page.title, language=page.language) if page else ():
                line = found.setdefault(
                    draft.question.casefold(),
                    {"question": draft.question, "relevant": [], "language": page.language if page else "",
                     "accepted": False, "origin": draft.origin},
                )  # fmt: skip
                if row.url not in line["relevant"]:
                    line["relevant"].append(row.url)
    order = ("question", "price", "heading")
    return sorted(found.values(), key=lambda line: order.index(line["origin"]))


def search_reader(wiring: Wiring, reader: Reader, questions: list[str], wanted: Wanted) -> list[list[Hit]]:
    """Hits of an open index for each question, as `wanted` and the settings say."""
    from indexer.index.analysis import analyzer
    from indexer.search import hybrid

    snapshot, settings = reader.snapshot, wiring.settings.search
    polite = _vocabulary(wiring.settings.policy.vocabulary)
    questions = [polite.without_courtesy(question) for question in questions]
    embed = None if wanted.mode == hybrid.BM25 else embedder(wiring, reader)
    return hybrid.search_many(
        reader,
        questions,
        analyze=analyzer(snapshot.analyzer, version=snapshot.analyzer_version),
        embed_queries=embed,
        mode=wanted.mode,
        limit=wanted.limit,
        settings=settings,
        extras=hybrid.Extras(
            explain=wanted.explain,
            group=settings.group_size if settings.group and wanted.grouped else 0,
            rerank=wanted.rerank,
            language=None
            if wanted.translations
            else partial(asker_language, wiring, reader.manifest.language, wanted.language),
            generic=generic(wiring, reader, embed) if embed else None,
        ),
    )


def generic(wiring: Wiring, reader: Reader, embed: Any) -> Generic:
    """One for each open index: what it has learned is good for the next batch."""
    from indexer.search.generic import Generic

    if reader not in _GENERIC:
        vocabulary = partial(_vocabulary, wiring.settings.policy.vocabulary)
        _GENERIC[reader] = Generic(vocabulary, embed, default=reader.manifest.language)
    return _GENERIC[reader]


def asker_language(
    wiring: Wiring, default: str, given: str, question: str, languages: Collection[str]
) -> str:
    """Which of `languages` the asker's is: the given one, else the question's, else the project's."""
    from indexer.search.language import language_of

    if given:
        return given
    vocabulary = _vocabulary(wiring.settings.policy.vocabulary)
    return language_of(question, languages, vocabulary=vocabulary, default=default)


@lru_cache(maxsize=4)
def _vocabulary(path: str) -> Vocabulary:
    from indexer.search.vocabulary import load

    return load(path)


def embedder(wiring: Wiring, reader: Reader) -> Any:
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
def opened(wiring: Wiring, project: Project) -> Iterator[Reader]:
    """The published index, open for reading. Raises `Misconfigured` if there is none."""
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
