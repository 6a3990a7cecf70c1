"""What exists and why: the rows of `export`, the figures of `status`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from indexer.artifacts import UNLABELLED, Chunk, ChunkedPage, Label, Page, Reason, State
from indexer.pipeline import owing, publish
from indexer.pipeline.datasets import stored_datasets
from indexer.pipeline.live import live_rows
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue, Project, UrlRow
from indexer.settings import Crawl

_EXAMPLES = 5
_STATUS = {
    State.FETCHED: "indexed",
    State.INDEXED: "indexed",
    State.SKIPPED: "skipped",
    State.FAILED: "failed",
    State.GONE: "failed",
    State.DISCOVERED: "failed",
}


def export(wiring: Wiring, project: Project) -> Iterator[dict[str, Any]]:
    """One record per discovered URL: what became of it, its text and its chunks as a bot gets them."""
    artifacts = wiring.artifacts(project)
    with wiring.catalogue(project) as catalogue:
        for row in catalogue.rows():
            yield _record(row, artifacts)


def _record(row: UrlRow, artifacts: Artifacts) -> dict[str, Any]:
    status = _STATUS[row.state]
    page = artifacts.load(Page, row.key) if status == "indexed" else None
    chunked = artifacts.load(ChunkedPage, row.key) if status == "indexed" else None
    pending = row.state is State.DISCOVERED
    return {
        "url": row.url,
        "final_url": row.final_url or row.url,
        "status": status,
        "reason": Reason.PENDING.value if pending else row.reason,
        "detail": row.detail,
        "found_in": row.found_in,
        **_over_time(row),
        "notes": [*(page.notes if page else ()), *(chunked.notes if chunked else ())],
        **(label_facts(page.label) if page else {}),
        "title": page.title if page else "",
        "text": page.text if page else "",
        "chunks": [
            {"topic": chunk.topic, "text": f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text}
            | place_of(chunk)
            for chunk in (chunked.chunks if chunked else ())
        ],
    }


def _over_time(row: UrlRow) -> dict[str, Any]:
    """Since when a page is no more, where it moved, and since when nothing names it although it answers."""
    stone = row.facts.get("tombstone", {})
    facts = {"gone": stone.get("since", ""), "moved_to": stone.get("moved_to", ""), "stale": row.stale}
    return {name: fact for name, fact in facts.items() if fact}


class _Some(Struct):
    """Pages of one kind: how many, how much on all of them, and the first few."""

    pages: int = 0
    total: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, row: UrlRow, amount: int) -> None:
        if amount:
            self.pages, self.total = self.pages + 1, self.total + amount
            if len(self.examples) < _EXAMPLES:
                self.examples.append(row.url)


def place_of(chunk: Chunk) -> dict[str, Any]:
    """The article, point, points and parent of a chunk of legal text; empty for others."""
    places = {name: getattr(chunk, name) for name in ("article", "point", "points", "parent")}
    return {name: place for name, place in places.items() if place}


def label_facts(label: Label) -> dict[str, Any]:
    """The dataset of a page and what is known of it; empty for a page of none."""
    return {"dataset": msgspec.to_builtins(label)} if label != UNLABELLED else {}


def _datasets(project: Project, catalogue: Catalogue, artifacts: Artifacts) -> list[dict[str, Any]]:
    """Live pages per dataset, those of none last."""
    if "datasets" not in project.options:
        return []
    pages = (artifacts.load(Page, row.key) for row in live_rows(catalogue))
    counts = Counter(page.label.dataset for page in pages if page is not None)
    rows = [
        {"dataset": one.dataset, "layer": one.layer, "pages": counts.pop(one.dataset, 0)}
        for one in stored_datasets(project)
    ]
    return rows + [{"dataset": name, "layer": "", "pages": count} for name, count in sorted(counts.items())]


def _private(crawl: Crawl) -> list[str]:
    """What the project's credentials are referred to by: names, no values."""
    names = [crawl.auth_env, *crawl.headers_env, crawl.cookies_file]
    return [name for name in names if name]


def status(wiring: Wiring, project: Project) -> dict[str, Any]:
    """Phases, counts, what is stale and why, what is live."""
    artifacts = wiring.artifacts(project)
    with wiring.catalogue(project) as catalogue:
        reasons = catalogue.reasons()
        number, opened, closed = catalogue.last_visit()
        owed = owing.owed(wiring, artifacts, catalogue)
        hidden, stale = _Some(), _Some()
        pages = 0
        for row in live_rows(catalogue):
            pages += 1
            hidden.add(row, int(row.facts.get("hidden", 0)))
            stale.add(row, int(bool(row.stale)))
        gone = sum("tombstone" in row.facts for row in catalogue.rows())
        datasets = _datasets(project, catalogue, artifacts)
    manifest = wiring.store(project).current()
    states: dict[str, int] = {}
    for (state, _), count in reasons.items():
        states[state] = states.get(state, 0) + count
    return {
        "project": project.name,
        "id": project.id,
        "language": project.language,
        "found": sum(states.values()),
        "pages": pages,
        "states": states,
        "reasons": [
            {"state": state, "reason": reason, "urls": count}
            for (state, reason), count in reasons.items()
            if reason
        ],
        "owed": owed,
        "hidden": {"pages": hidden.pages, "texts": hidden.total, "examples": hidden.examples},
        "stale": {"pages": stale.pages, "examples": stale.examples},
        "gone": gone,
        "run": {"number": number, "opened": opened, "closed": closed},
        "generation": manifest.generation if manifest else "",
        "points": manifest.points if manifest else 0,
        "model": manifest.model if manifest else "",
        "analyzer": manifest.analyzer if manifest else "",
        "bot_url": project.bot_url,
        "registered": publish.is_registered(wiring, project),
        "datasets": datasets,
        "sources": project.options.get("sources", {}),
        "ignore_robots": wiring.settings.crawl.ignore_robots,
        "private": _private(wiring.settings.crawl),
    }
