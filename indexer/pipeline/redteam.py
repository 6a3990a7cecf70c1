"""Runs a pack of hard questions, with a chat model also the answers, and keeps the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from indexer.errors import AllProvidersExhausted, IndexerError, Misconfigured, Permanent
from indexer.pipeline.context import answering
from indexer.pipeline.lines import read_lines, writing
from indexer.pipeline.wiring import Wiring
from indexer.ports import Chat, Project
from indexer.search import redteam
from indexer.search.context import Context, as_text
from indexer.search.redteam import Case, Expect, Fault, Result
from indexer.search.vocabulary import Vocabulary

FOLDER = "redteam"
_ANSWER = """\
Answer the question in its own language from the fragments alone, and name the articles.
Do not judge, do not take over labels, do not add what no fragment says. If the sources are
weak or empty, say that they do not answer it. Say of a deprecated fragment that it is no
longer valid."""
_SCORE = """\
You grade an answer that must rest on the fragments given. Answer with a JSON object of five
integers from 0 (wrong) to 2 (right): groundedness (every claim stands in a fragment),
source_discipline (ranks and editions are kept apart), neutrality (no judgement, no label
taken over), safe_failure (says so where the sources do not answer; 2 if they do),
structural_completeness (points and parts that belong together are named)."""


def run(
    wiring: Wiring, project: Project, cases: str, *, out: Path | None = None, answers: bool = True
) -> dict[str, Any]:
    """
    Run a pack; writes `NNN.json` and `NNN.md` into `out` (default: the project's `redteam/`).

    Returns the report. `answers`: those of the chat model too, if there is one. Cases that
    need an index of their own are skipped and named.
    """
    pack = list(_cases(cases))
    folder = out or wiring.folder(project) / FOLDER
    results: list[Result] = []
    chat = wiring.answers if answers else None
    skipped = [case.id for case in pack if case.setup]
    with answering(wiring, project) as answerer:
        manifest = answerer.gatherer.library.reader.manifest
        for case in pack:
            if not case.setup:
                context = answerer.answer(case.question, case.history, id=case.id)
                results.append(_result(case, context, chat, answerer.router.vocabulary))
    number, before = _last(folder)
    report = {
        "run": {
            "number": number + 1,
            "project": project.name,
            "generation": manifest.generation,
            "model": manifest.model,
            "chat": chat.model if chat else "",
            "pack": cases,
        },
        "verdict": redteam.verdict(results),
        "cases": len(results),
        "passed": sum(one.passed for one in results),
        "share": round(100 * sum(one.passed for one in results) / max(1, len(results)), 1),
        "mean_score": redteam.mean_score(results),
        "blockers": [
            {"case": name, "kind": fault.kind, "text": fault.text}
            for name, fault in redteam.blockers(results)
        ],
        "skipped": skipped,
        "changes": redteam.changes(results, before),
        "rules": redteam.RULES,
        "results": msgspec.to_builtins(results),
    }
    _save(folder, number + 1, report, results)
    return {**report, "files": [str(folder / f"{number + 1:03}.{kind}") for kind in ("json", "md")]}


def _cases(name: str) -> Iterator[Case]:
    seen: set[str] = set()
    for record in read_lines(name, needs=("id", "question")):
        try:
            case = msgspec.convert(record, Case)
        except msgspec.ValidationError as error:
            known = ", ".join(Expect.__struct_fields__)
            raise Misconfigured(f"{name}, case {record['id']}: {error}; `expect` may hold {known}") from None
        wrong = "its id comes twice" if case.id in seen else redteam.unfit(case)
        if wrong:
            raise Misconfigured(f"{name}, case {case.id}: {wrong}")
        seen.add(case.id)
        yield case
    if not seen:
        raise Misconfigured(f"{name} holds no cases; each line is {{id, question, history?, expect}}")


def _result(case: Case, context: Context, chat: Chat | None, vocabulary: Vocabulary) -> Result:
    faults = redteam.judge(case, context)
    answer = ""
    scores: dict[str, int] = {}
    if chat is not None:
        answer, scores, told = _answered(context, chat)
        faults += told or redteam.invented(answer, context, vocabulary)
    return Result(
        id=case.id,
        kind=case.kind,
        question=case.question,
        passed=all(fault.advisory for fault in faults),
        route=context.route,
        sufficiency=context.sufficiency,
        fallback=context.fallback,
        articles=tuple(dict.fromkeys(one.article for one in context.fragments if one.article)),
        faults=tuple(faults),
        answer=answer,
        scores=scores,
    )


def _answered(context: Context, chat: Chat) -> tuple[str, dict[str, int], list[Fault]]:
    """The chat model's answer, its scores, and why there are none."""
    handed = as_text(context)
    try:
        answer = chat(_ANSWER, handed, temperature=0.0)
        graded = chat(_SCORE, f"{handed}\n\nAnswer to grade:\n{answer}", temperature=0.0)
    except (Permanent, AllProvidersExhausted) as error:
        return "", {}, [Fault(kind="answer", text=f"the chat model gave none: {error}")]
    start, end = graded.find("{"), graded.rfind("}")
    try:
        said = json.loads(graded[start : end + 1])
        scores = {name: min(2, max(0, int(said[name]))) for name in redteam.SCORES}
    except (ValueError, KeyError, TypeError):
        return (
            answer,
            {},
            [Fault(kind="answer", text="the chat model's scores cannot be read", advisory=True)],
        )
    return answer, scores, []


def _last(folder: Path) -> tuple[int, dict[str, bool]]:
    """Number of the last run that is kept, and which cases passed."""
    numbers = [int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()]
    if not numbers:
        return 0, {}
    path = folder / f"{max(numbers):03}.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["results"]
        return max(numbers), {row["id"]: row["passed"] for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return max(numbers), {}


def _save(folder: Path, number: int, report: dict[str, Any], results: list[Result]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IndexerError(f"cannot write reports to {folder}: {error.strerror}") from error
    with writing(str(folder / f"{number:03}.json")) as file:
        file.write(msgspec.json.format(msgspec.json.encode(report), indent=1))
    with writing(str(folder / f"{number:03}.md")) as file:
        file.write(redteam.markdown(report, results).encode())
