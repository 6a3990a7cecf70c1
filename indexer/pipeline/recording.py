"""Every run leaves a record: what was asked, how it ended, and the digest of what it did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from indexer.clock import now
from indexer.errors import Misconfigured
from indexer.pipeline.digest import Digest, markdown
from indexer.pipeline.report import Report
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project, Records

KEEP = 100  # records of a project
_DIGESTED = "digested"


class Record(Struct, kw_only=True):
    """One run. `ended` empty: it is running, or was killed; `error`: what a person was told."""

    run: str
    project: str
    id: str
    command: str
    started: str
    ended: str = ""
    exit: int = 0
    reason: str = ""
    error: str = ""
    report: Report | None = None
    digest: Digest | None = None


class Recorder:
    """The record of one run; `begin` and `end` write it."""

    def __init__(self, wiring: Wiring, project: Project, *, command: str, reason: str) -> None:
        from ulid import ULID

        self._records = wiring.records(project)
        self.record = Record(
            run=str(ULID()),
            project=project.name,
            id=project.id,
            command=command,
            started=now(),
            reason=reason,
        )

    def begin(self) -> None:
        """The run has the project."""
        self._write()
        names = self._records.names(".json")
        for name in names[: max(0, len(names) - KEEP)]:
            self._records.delete(name)
            self._records.delete(name.removesuffix(".json") + ".md")

    def end(self, report: Report, digest: Digest, *, code: int, error: str = "") -> None:
        """How the run ended, with its digest in both forms."""
        self.record.ended, self.record.exit, self.record.error = now(), int(code), error
        self.record.report, self.record.digest = report, digest
        self._write()
        text = markdown(digest) + (f"\n{error}\n" if error else "")
        self._records.save(f"{self.record.run}.md", text.encode())

    def _write(self) -> None:
        data = msgspec.json.format(msgspec.json.encode(self.record), indent=1)
        self._records.save(f"{self.record.run}.json", data)


def last_digested(records: Records) -> str:
    """The generation that the last digest told of; an empty string if none did."""
    data = records.load(_DIGESTED)
    return data.decode("ascii", "replace").strip() if data else ""


def mark_digested(records: Records, generation: str) -> None:
    """A digest tells of this generation."""
    records.save(_DIGESTED, generation.encode())


def runs(wiring: Wiring, project: Project) -> Iterator[Record]:
    """The records of a project, newest first; a damaged one is left out."""
    records = wiring.records(project)
    for name in reversed(records.names(".json")):
        record = _load(records, name)
        if record is not None:
            yield record


def show(wiring: Wiring, project: Project, run: str) -> tuple[Record, str]:
    """One record and its digest as Markdown; `last` is the newest. Raises `Misconfigured`."""
    records = wiring.records(project)
    names = [name.removesuffix(".json") for name in records.names(".json")]
    chosen = names[-1] if run == "last" and names else run
    record = _load(records, f"{chosen}.json") if chosen in names else None
    if record is None:
        raise Misconfigured(f"there is no run {run!r} of {project.name!r}; see `indexer runs`")
    text = records.load(f"{chosen}.md")
    return record, text.decode("utf-8", "replace") if text else ""


def _load(records: Records, name: str) -> Record | None:
    data = records.load(name)
    try:
        return msgspec.json.decode(data, type=Record) if data else None
    except msgspec.MsgspecError:
        return None


def brief(record: Record) -> dict[str, Any]:
    """A record without its digest."""
    told: dict[str, Any] = msgspec.to_builtins(record)
    del told["digest"]
    return told
