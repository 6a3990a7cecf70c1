"""The last run's figures as OpenMetrics text, for a textfile collector."""

from __future__ import annotations

import time
from collections.abc import Mapping

from indexer.pipeline.report import Report


def openmetrics(report: Report, *, ended: float | None = None) -> str:
    """Gauges of one project; `ended`: seconds since 1970."""
    when = time.time() if ended is None else ended
    pages = {
        name: getattr(report, name)
        for name in ("indexed", "skipped", "failed", "stale", "kept", "quarantined")
    }
    moves = {name: getattr(report, name) for name in ("new", "changed", "moved", "gone")}
    chunks = {"embedded": report.embedded, "cached": report.embed_cached}
    answers = {"fetched": report.fetched, "not_modified": report.not_modified}
    families: list[tuple[str, str, str, Mapping[str, float]]] = [
        ("indexer_run_exit_code", "Exit code of the last run; 0 is well.", "", {"": report.exit}),
        ("indexer_run_end_timestamp_seconds", "When the last run ended.", "", {"": round(when, 3)}),
        ("indexer_run_duration_seconds", "How long the last run took.", "", {"": report.seconds}),
        ("indexer_points", "Points of the live index.", "", {"": report.points}),
        ("indexer_pages", "URLs by what became of them.", "state", pages),
        ("indexer_pages_moved", "Pages of the live index against the one before.", "change", moves),
        ("indexer_chunks", "Vectors that were paid for, and that were known.", "source", chunks),
        ("indexer_answers", "Answers of the site in the last run.", "kind", answers),
        ("indexer_chat_calls", "Calls of the chat model in the last run.", "", {"": report.chat_calls}),
    ]
    lines = []
    for name, told, label, values in families:
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {told}"]
        for value, figure in values.items():
            extra = f',{label}="{value}"' if label else ""
            lines.append(f'{name}{{project="{_escaped(report.project)}"{extra}}} {figure}')
    return "\n".join([*lines, "# EOF", ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
