"""
Retrieval measured on labelled questions, per page: a page's rank is that of its best chunk.

nDCG@10 with binary relevance (Järvelin & Kekäläinen 2002: gain 1/log2(rank + 1), divided
by the best possible), Recall@5 and MRR@10; each is the mean over the questions.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from indexer.errors import Misconfigured
from indexer.hits import Hit
from indexer.search.confidence import interval

DEPTH = 200
"""Chunks to ask for per question: enough for ten pages, whatever their length."""

NDCG_AT = 10
RECALL_AT = 5
MRR_AT = 10

FIGURES = {f"ndcg@{NDCG_AT}": "ndcg", f"recall@{RECALL_AT}": "recall", f"mrr@{MRR_AT}": "mrr"}
"""Names of the figures → fields of a `Score`."""

_BATCH = 64


class Question(Struct, frozen=True):
    """
    A question and the pages that answer it: URLs, or endings of their paths.

    `language` and `dataset` group the figures. A draft that nobody has accepted yet
    (`accepted` 0) is not asked.
    """

    question: str
    relevant: tuple[str, ...]
    language: str = ""
    dataset: str = ""
    accepted: bool = True


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one question fared. `ranks`: of the relevant pages that were found, from 1."""

    question: str
    ndcg: float
    recall: float
    mrr: float
    ranks: tuple[int, ...]
    language: str = ""
    dataset: str = ""


def load_questions(path: Path) -> list[Question]:
    """JSON Lines of `{"question", "relevant": [url, …]}`. Raises `Misconfigured` naming the line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise Misconfigured(f"cannot read the questions in {path}: {error.strerror}") from None
    questions = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            question = msgspec.json.decode(line, type=Question)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Misconfigured(
                f'{path}, line {number}: {error}; each line is {{"question": "…", "relevant": ["URL", …]}}'
            ) from None
        if not question.question.strip() or not all(one.strip("/ ") for one in question.relevant or [""]):
            raise Misconfigured(f"{path}, line {number}: question and relevant must not be empty")
        if question.accepted:
            questions.append(question)
    if not questions:
        raise Misconfigured(f"{path} holds no questions that are accepted")
    return questions


def evaluate(
    questions: Sequence[Question], ask: Callable[[list[str]], Sequence[Sequence[Hit]]]
) -> list[Score]:
    """
    Score each question. `ask` gives the hits of a batch of questions, `DEPTH` deep.

    Keeps ranks, not hits: memory does not grow with texts.
    """
    scores = []
    for start in range(0, len(questions), _BATCH):
        batch = questions[start : start + _BATCH]
        found = ask([one.question for one in batch])
        scores += [score(one, hits) for one, hits in zip(batch, found, strict=True)]
    return scores


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """
    Means over the questions: `ndcg@10`, `recall@5`, `mrr@10`, `questions`, and `interval` with the
    95 % bounds of each; the same by `language` and `dataset`, where questions name one.
    """
    figures = _figures(scores)
    for field in ("language", "dataset"):
        names = sorted({getattr(one, field) for one in scores} - {""})
        if names:
            figures[field] = {
                name: _figures([one for one in scores if getattr(one, field) == name]) for name in names
            }
    return figures


def _figures(scores: Sequence[Score]) -> dict[str, Any]:
    columns = {name: [getattr(one, field) for one in scores] for name, field in FIGURES.items()}
    return {
        **{name: math.fsum(values) / len(values) for name, values in columns.items()},
        "questions": len(scores),
        "interval": {name: interval(values) for name, values in columns.items()},
    }


def score(question: Question, hits: Sequence[Hit]) -> Score:
    """One question's figures from its hits, best first."""
    ranks = relevant_ranks(question.relevant, list(dict.fromkeys(hit.url for hit in hits)))
    wanted = len(set(question.relevant))
    best = math.fsum(_gain(rank) for rank in range(1, min(wanted, NDCG_AT) + 1))
    return Score(
        question=question.question,
        ndcg=math.fsum(_gain(rank) for rank in ranks if rank <= NDCG_AT) / best,
        recall=sum(rank <= RECALL_AT for rank in ranks) / wanted,
        mrr=1 / ranks[0] if ranks and ranks[0] <= MRR_AT else 0.0,
        ranks=tuple(ranks),
        language=question.language,
        dataset=question.dataset,
    )


def relevant_ranks(relevant: Sequence[str], urls: Sequence[str]) -> list[int]:
    """Ranks (from 1) of the `urls` that are relevant; each relevant page counts once."""
    wanted = [_spelled(one) for one in dict.fromkeys(relevant)]
    ranks = []
    for rank, url in enumerate(urls, 1):
        spelled = _spelled(url)
        matches = [one for one in wanted if spelled == one or spelled.endswith(f"/{one}")]
        if matches:
            wanted.remove(max(matches, key=len))
            ranks.append(rank)
    return ranks


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _spelled(url: str) -> str:
    """
    One spelling for comparison: `//host/path?query`, or what there is of it.

    Decoded, the host in lower case and ASCII, without fragment, default port, trailing
    slash, and the difference between http and https.
    """
    text = url.strip().partition("#")[0]
    scheme, separator, rest = text.partition("://")
    if not separator:
        return unquote(text).strip("/")
    netloc, _, path = rest.partition("/")
    host = (
        netloc.rpartition("@")[2]
        .lower()
        .removesuffix({"http": ":80", "https": ":443"}.get(scheme.lower(), ""))
    )
    with contextlib.suppress(UnicodeError):
        host = host.encode("idna").decode("ascii")
    return f"//{host}/{unquote(path).strip('/')}"
