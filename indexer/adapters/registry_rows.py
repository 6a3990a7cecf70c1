"""What the registries have in common: rows ↔ values, and what taking over another registry means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from indexer.artifacts import Bm25Snapshot
from indexer.errors import Misconfigured
from indexer.ids import collection_name
from indexer.records import Adopted, Project, Registered

_PROJECT = "id, name, language, tg_api_key, tg_lead_group, prompts, bot_url, options, generation, registered"
_BM25 = "vocab, idf, avg_dl, num_docs, analyzer, analyzer_version, k1, b, updated_at"
_STATE = len(_PROJECT.split(", "))
# A row of `projects` that another program wrote has no `project_state` yet.
SELECT = f"SELECT {_PROJECT} FROM projects LEFT JOIN project_state ON project_id = id"
SELECT_BM25 = f"SELECT {_BM25} FROM bm25_indexes JOIN project_state USING (project_id) WHERE project_id = "
SELECT_ENTRIES = (
    f"SELECT {_PROJECT}, {_BM25} FROM projects LEFT JOIN project_state AS state ON state.project_id = id "
    "LEFT JOIN bm25_indexes AS bm25 ON bm25.project_id = id"
)
Row = Sequence[Any]


def json_text(value: object) -> str:
    """JSON with numbers to their full precision."""
    return msgspec.json.encode(value).decode()


def bot_columns(project: Project) -> dict[str, Any]:
    """The row of `projects`."""
    return {
        "id": project.id,
        "name": project.name,
        "tg_lead_group": project.tg_lead_group,
        "tg_api_key": project.tg_api_key,
        "prompts": json_text(project.prompts),
        "language": project.language,
    }


def own_columns(project: Project) -> dict[str, Any]:
    """What `update` writes of `project_state`."""
    return {"project_id": project.id, "bot_url": project.bot_url, "options": json_text(project.options)}


def bm25_columns(project_id: str, snapshot: Bm25Snapshot, updated_at: str) -> dict[str, Any]:
    """The row of `bm25_indexes`."""
    return {
        "project_id": project_id,
        "vocab": json_text(snapshot.vocab),
        "idf": json_text(snapshot.idf),
        "avg_dl": snapshot.avg_dl,
        "num_docs": snapshot.num_docs,
        "updated_at": updated_at,
    }


def live_columns(
    project_id: str, snapshot: Bm25Snapshot, *, generation: str, collection: str
) -> dict[str, Any]:
    """What `publish` writes of `project_state`."""
    return {
        "project_id": project_id,
        "generation": generation,
        "collection": collection,
        "analyzer": snapshot.analyzer,
        "analyzer_version": snapshot.analyzer_version,
        "k1": snapshot.k1,
        "b": snapshot.b,
    }


def nothing_live(project_id: str) -> dict[str, Any]:
    """What `withdraw` writes of `project_state`."""
    return {"project_id": project_id, "generation": "", "collection": "", "registered": ""}


def adopted_live(entry: Registered) -> dict[str, Any]:
    """What `adopt` writes of `project_state` for a snapshot of another registry."""
    project = entry.project
    assert entry.snapshot is not None
    collection = collection_name(project.name, project.generation)
    return live_columns(project.id, entry.snapshot, generation=project.generation, collection=collection)


def project_of(row: Row) -> Project:
    """A row of `SELECT`."""
    id_, name, language, key, group, prompts, bot_url, options, generation, registered = row
    return Project(
        id=str(id_),
        name=name,
        language=language or "",
        tg_api_key=key or "",
        tg_lead_group=group or "",
        prompts=_decoded(prompts),
        bot_url=bot_url or "",
        options=_decoded(options),
        generation=generation or "",
        registered=registered or "",
    )


def snapshot_of(row: Row) -> Bm25Snapshot | None:
    """A row of `SELECT_BM25`; `None` if it does not say which analyzer made the terms."""
    vocab, idf, avg_dl, num_docs, analyzer, version, k1, b, _ = row
    if not analyzer:
        return None
    return Bm25Snapshot(
        analyzer=analyzer,
        analyzer_version=version,
        k1=k1,
        b=b,
        avg_dl=float(avg_dl),
        num_docs=int(num_docs),
        vocab=msgspec.json.decode(vocab, type=dict[str, int]),
        idf=msgspec.json.decode(idf, type=dict[str, float]),
    )


def entry_of(row: Row) -> Registered:
    """A row of `SELECT_ENTRIES`: of one statement, so that its snapshot is that of its generation."""
    project, (vocab, *_, at) = project_of(row[:_STATE]), row[_STATE:]
    if vocab is None:
        return Registered(project=project)
    return Registered(project=project, snapshot=snapshot_of(row[_STATE:]), updated_at=_utc(at))


def _utc(at: Any) -> str:
    """A column `updated_at`, of whichever type: UTC, ISO 8601."""
    if not isinstance(at, datetime):
        return at or ""
    known = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return known.isoformat(timespec="seconds")


def compared(
    entries: Sequence[Registered], present: Sequence[Registered], *, force: bool, where: str
) -> Adopted:
    """
    What becomes of `entries` in a registry that holds `present`.

    Raises `Misconfigured` if a project is there with other values (not with `force`), or its
    name with another id.
    """
    by_id = {one.project.id: one for one in present}
    ids = {one.project.name: one.project.id for one in present}
    moved: list[str] = []
    differing: list[str] = []
    unchanged: list[str] = []
    for entry in entries:
        project = entry.project
        if ids.get(project.name, project.id) != project.id:
            raise Misconfigured(
                f"{where} has another project named {project.name!r} (id {ids[project.name]}, not "
                f"{project.id}); nothing was moved: remove one of them first"
            )
        there = by_id.get(project.id)
        if there is None:
            moved.append(project.name)
        elif (there.project, there.snapshot) == (project, entry.snapshot):
            unchanged.append(project.name)
        else:
            differing.append(project.name)
    if differing and not force:
        raise Misconfigured(
            f"{where} holds other values of {', '.join(map(repr, differing))}; nothing was moved. "
            "If they are to be replaced, say --force"
        )
    return Adopted(moved=tuple(moved), replaced=tuple(differing), unchanged=tuple(unchanged))


def _decoded(text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text or "{}")
    return found
