"""
An evaluation as a person and a later evaluation read it: JSON with every question, or one HTML page.

`compare` pairs two of them by question.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from indexer.errors import Misconfigured
from indexer.search.confidence import Interval, difference, verdict
from indexer.search.evaluate import FIGURES, Score

VERSION = 1
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}"
    "td,th{border:1px solid #bbb;padding:.2rem .6rem;text-align:right}"
    "td:first-child,th:first-child{text-align:left}.missed{background:#fdd}"
)


class Evaluation(Struct, frozen=True, kw_only=True):
    """What one `eval` found: per mode the score of each question. `fusion`: of mode hybrid."""

    version: int = VERSION
    project: str
    generation: str
    fusion: str = "dbsf"
    scores: dict[str, list[Score]]


class Change(Struct, frozen=True, kw_only=True):
    """A figure of a mode now and before, over the questions of both; `interval`: of the difference."""

    mode: str
    figure: str
    before: float
    after: float
    interval: Interval
    verdict: str
    questions: int


def load(path: Path) -> Evaluation:
    """An earlier report. Raises `Misconfigured` for what is none."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Evaluation)
    except OSError as error:
        raise Misconfigured(f"cannot read the report {path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        message = f"{path} is no report of `indexer eval --report FILE.json` ({error})"
        raise Misconfigured(message) from None
    if found.version > VERSION:
        raise Misconfigured(f"{path} was written by a newer indexer; upgrade, or make the report anew")
    return found


def compare(before: Evaluation, after: Evaluation) -> list[Change]:
    """Each figure of each mode that both have, on the questions that both have."""
    changes = []
    for mode, scores in after.scores.items():
        known = {score.question: score for score in before.scores.get(mode, [])}
        pairs = [(known[score.question], score) for score in scores if score.question in known]
        if not pairs:
            continue
        for name, figure in FIGURES.items():
            old = [getattr(one, figure) for one, _ in pairs]
            new = [getattr(one, figure) for _, one in pairs]
            _, bounds = difference(old, new)
            changes.append(
                Change(
                    mode=mode,
                    figure=name,
                    before=sum(old) / len(old),
                    after=sum(new) / len(new),
                    interval=bounds,
                    verdict=verdict(bounds),
                    questions=len(pairs),
                )
            )
    return changes


def page(evaluation: Evaluation, summaries: Sequence[dict[str, Any]], changes: Sequence[Change]) -> str:
    """One HTML page without scripts: figures, changes, and each question with the ranks of its pages."""
    title = html.escape(
        f"{evaluation.project}: retrieval, generation {evaluation.generation}, fusion {evaluation.fusion}"
    )
    parts = [
        f'<!doctype html><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>'
    ]
    parts.append(_table(["", *FIGURES, "questions"], [_figures(one) for one in rows(summaries)]))
    if changes:
        cells = [_changed(one) for one in changes]
        parts += ["<h2>Against the earlier report</h2>", _table(["", "before", "now", "change", ""], cells)]
    for mode, scores in evaluation.scores.items():
        parts.append(f"<h2>{html.escape(mode)}</h2>")
        worst = sorted(scores, key=lambda score: (score.recall, score.ndcg))
        cells = [[one.question, ", ".join(map(str, one.ranks)) or "–", f"{one.ndcg:.3f}"] for one in worst]
        marks = [not one.recall for one in worst]
        parts.append(_table(["question", "ranks of its pages", "nDCG@10"], cells, marks))
    return "\n".join(parts) + "\n"


def _changed(one: Change) -> list[str]:
    low, high = one.interval
    change = f"{one.after - one.before:+.3f} [{low:+.3f}, {high:+.3f}]"
    return [f"{one.mode}, {one.figure}", f"{one.before:.3f}", f"{one.after:.3f}", change, one.verdict]


def rows(summaries: Sequence[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The figures of each mode, and of its languages and datasets, by name."""
    found = []
    for one in summaries:
        mode = f"{one['mode']}, {one['fusion']}" if "fusion" in one else one["mode"]
        found.append((mode, one))
        for field in ("language", "dataset"):
            found += [(f"{mode}, {field} {name}", part) for name, part in one.get(field, {}).items()]
    return found


def _figures(row: tuple[str, dict[str, Any]]) -> list[str]:
    name, figures = row
    bounds = figures["interval"]
    cells = [f"{figures[key]:.3f} [{bounds[key][0]:.3f}, {bounds[key][1]:.3f}]" for key in FIGURES]
    return [name, *cells, str(figures["questions"])]


def _table(head: Sequence[str], body: Sequence[Sequence[str]], marks: Sequence[bool] = ()) -> str:
    lines = ["<table>", "<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for number, row in enumerate(body):
        mark = ' class="missed"' if number < len(marks) and marks[number] else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return "\n".join([*lines, "</table>"])
