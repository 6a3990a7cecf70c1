"""Commands that ask: search, eval, questions, export."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from indexer.cli.options import NoRerank, ProjectName
from indexer.cli.session import Session, command
from indexer.errors import Misconfigured


class Mode(StrEnum):
    """Which legs to ask."""

    HYBRID = "hybrid"
    DENSE = "dense"
    BM25 = "bm25"


class Fusion(StrEnum):
    """How the legs become one list."""

    DBSF = "dbsf"
    WEIGHTED = "weighted"
    RRF = "rrf"


FusionOption = Annotated[
    Fusion | None, typer.Option(help="dbsf, weighted or rrf (default: [search] fusion).")
]


def add(app: typer.Typer) -> None:
    """Register the commands."""
    command(app, "search")(search)
    command(app, "eval")(evaluate)
    command(app, "questions")(draft)
    command(app, "export")(export)


def search(  # noqa: PLR0913 - options of a person
    session: Session,
    *,
    project_name: ProjectName,
    query: Annotated[str, typer.Argument(help="The question.")] = "",
    questions: Annotated[
        str, typer.Option("--in", help="JSON Lines {id, question}, - for stdin; answers {id, hits}.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Hits per question.")] = 10,
    mode: Annotated[Mode, typer.Option(help="hybrid, dense or bm25.")] = Mode.HYBRID,
    fusion: FusionOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Each leg's part of the score, and the terms that matched.")
    ] = False,
    group: Annotated[
        bool | None,
        typer.Option(
            "--group/--no-group", help="Hits are pages, with their best chunks (default: [search] group)."
        ),
    ] = None,
    no_rerank: NoRerank = False,
    language: Annotated[
        str, typer.Option("--language", help="The asker's, of pages in several (default: the question's).")
    ] = "",
) -> None:
    """Ask the published index: hits with topic, text, URL, each leg's rank and score."""
    from indexer.cli.hits import shown
    from indexer.pipeline import ask

    if bool(query.strip()) == bool(questions):
        raise Misconfigured('ask one question ("…") or many with --in FILE')
    project = session.project(project_name)
    wiring = session.wiring(project, {"search": {"fusion": fusion and fusion.value, "group": group}})
    wanted = ask.Wanted(
        mode=mode.value,
        limit=limit,
        explain=explain,
        grouped=True,
        language=language,
        rerank=None if no_rerank or mode is not Mode.HYBRID else ask.reranker(wiring),
    )
    if questions:
        for record in ask.answer_all(wiring, project, questions, wanted):
            session.console.data(record)
        return
    hits = ask.answer(wiring, project, query, wanted)
    session.console.result(hits, shown(hits, explain=explain))


def evaluate(
    session: Session,
    *,
    project_name: ProjectName,
    questions: Annotated[
        Path, typer.Option("--questions", help="JSON Lines {question, relevant: [url, …]}.")
    ],
    report: Annotated[
        list[Path] | None,
        typer.Option("--report", help="Write a report: FILE.json or FILE.html; repeatable."),
    ] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", help="An earlier report (JSON) to compare with.")
    ] = None,
    fusion: FusionOption = None,
) -> None:
    """Measure retrieval: nDCG@10, Recall@5 and MRR@10 per mode, per page (its best chunk's rank)."""
    from indexer.pipeline import ask
    from indexer.search import report as reports

    for path in report or []:
        if path.suffix not in (".json", ".html"):
            raise Misconfigured(f"a report is FILE.json or FILE.html, not {path.name!r}")
    before = reports.load(compare) if compare else None
    project = session.project(project_name)
    wiring = session.wiring(project, {"search": {"fusion": fusion and fusion.value}})
    found, scores = ask.evaluate(wiring, project, questions)
    changes = reports.compare(before, found) if before else []
    ask.write_reports(report or [], found, scores, changes)
    rows = reports.rows(scores)
    width = max(24, *(len(name) + 1 for name, _ in rows))
    lines = [f"{'mode':<{width}}{'nDCG@10':>22}{'Recall@5':>22}{'MRR@10':>22}{'questions':>11}"]
    lines += [_figures(name, figures, width=width) for name, figures in rows]
    lines += [
        f"{one.mode} {one.figure}: {one.before:.3f} → {one.after:.3f} "
        f"({one.after - one.before:+.3f} [{one.interval[0]:+.3f}, {one.interval[1]:+.3f}]: {one.verdict})"
        for one in changes
    ]
    data = scores if before is None else {"scores": scores, "changes": changes}
    session.console.result(data, "\n".join(lines))


def draft(
    session: Session,
    *,
    project_name: ProjectName,
    out: Annotated[str, typer.Option("--out", help="File to write; - for stdout.")] = "-",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 200,
) -> None:
    """Draft questions from headings, FAQ and price tables; `eval` asks those set to "accepted": true."""
    import msgspec

    from indexer.pipeline import ask
    from indexer.pipeline.lines import writing

    project = session.project(project_name)
    with writing(out) as file:
        for line in ask.draft_questions(session.wiring(project), project)[:limit]:
            file.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.flush()


def export(
    session: Session,
    *,
    project_name: ProjectName,
    out: Annotated[str, typer.Option("--out", help="File to write; - for stdout.")] = "-",
) -> None:
    """Write JSON Lines, one per discovered URL: what became of it, its text and chunks."""
    import msgspec

    from indexer.pipeline import account
    from indexer.pipeline.lines import writing

    project = session.project(project_name)
    with writing(out) as file:
        for record in account.export(session.wiring(project), project):
            file.write(msgspec.json.encode(record) + b"\n")
    sys.stdout.flush()


def _figures(name: str, figures: dict[str, Any], *, width: int) -> str:
    cells = [
        f"{figures[key]:.3f} [{bounds[0]:.3f}, {bounds[1]:.3f}]"
        for key, bounds in figures["interval"].items()
    ]
    return f"{name:<{width}}" + "".join(f"{cell:>22}" for cell in cells) + f"{figures['questions']:>11}"
