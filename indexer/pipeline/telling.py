"""What is told of a run when it ends, however it ends: record, digest, metrics, notifiers."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import msgspec

from indexer.errors import Exit, IndexerError
from indexer.pipeline import recording
from indexer.pipeline.digest import Digest, compare, facts_of, headline, markdown, survey
from indexer.pipeline.metrics import openmetrics
from indexer.pipeline.publish import Published
from indexer.pipeline.quarantine import Held
from indexer.pipeline.report import Progress, Report, count
from indexer.pipeline.wiring import Wiring
from indexer.ports import Catalogue, Project


class Telling:
    """
    Around the phases of one run, under the project's lock. `code`: what the run ends with.

    On the way out it writes `runs/ID.json` and `runs/ID.md`, the metrics file, and sends the
    digest. That somebody cannot be told costs nothing but code 3.
    """

    def __init__(
        self,
        wiring: Wiring,
        project: Project,
        *,
        command: str,
        reason: str,
        catalogue: Catalogue,
        progress: Progress,
    ) -> None:
        self.report = Report(project=project.name, id=project.id)
        self.digest = Digest(report=self.report)
        self.held: list[Held] = []
        self.code = Exit.DONE
        self._wiring, self._project = wiring, project
        self._catalogue, self._progress = catalogue, progress
        self._records = wiring.records(project)
        self._recorder = recording.Recorder(wiring, project, command=command, reason=reason)
        self._started = time.monotonic()
        self._live = ""

    def __enter__(self) -> Self:
        self._recorder.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.report.seconds = round(time.monotonic() - self._started, 3)
        if error is not None:
            self.code = _code_of(error)
        self.report.exit = int(self.code)
        count(self.report, self._catalogue.counts())
        survey(self.digest, self._catalogue, self.held)
        told = str(error) if isinstance(error, IndexerError) else type(error).__name__ if error else ""
        self._tell(told)
        self._recorder.end(self.report, self.digest, code=self.code, error=told)
        if self._live:
            recording.mark_digested(self._records, self._live)
            self._wiring.artifacts(self._project).forget_previous()

    def published(self, published: Published) -> dict[str, list[str]]:
        """What is live now against what the last digest told of; gives the URLs that a bot may cache."""
        generation = recording.last_digested(self._records)
        before = {one.key: one for one in self._catalogue.editions(generation)} if generation else {}
        digest, report = self.digest, self.report
        compare(
            digest,
            before or published.before,
            published.after,
            catalogue=self._catalogue,
            artifacts=self._wiring.artifacts(self._project),
            previous=self._wiring.shelves(self._project).previous,
        )
        digest.golden = [
            one
            for one in published.golden
            if (one.url_before, one.text_before) != (one.url_after, one.text_after)
        ]
        report.new, report.changed = len(digest.new), len(digest.changed)
        report.moved, report.gone = len(digest.moved), len(digest.gone)
        self._live = published.manifest.generation
        return facts_of(digest)

    def _tell(self, error: str) -> None:
        folder = self._wiring.settings.run.metrics_dir
        notify = self._wiring.settings.notify
        try:
            if folder:
                self._wiring.metrics(folder).save(
                    f"indexer-{self._project.name}.prom", openmetrics(self.report).encode()
                )
            notifier = self._wiring.notifier()
            if notifier is None or (notify.when == "changes" and self.digest.quiet):
                return
            title = f"indexer: {self._project.name}: {error or headline(self.digest)}"
            text = markdown(self.digest) + (f"\n{error}\n" if error else "")
            facts = {"project": self._project.name, "id": self._project.id, "error": error}
            notifier.send(title[:200], text, facts | {"digest": msgspec.to_builtins(self.digest)})
        except IndexerError as trouble:
            self._progress.say(f"Not told: {trouble}")
            self.code = max(self.code, Exit.PARTIAL)
            self.report.exit = int(self.code)


def _code_of(error: BaseException) -> Exit:
    if isinstance(error, IndexerError):
        return error.exit_code
    return Exit.INTERRUPTED if isinstance(error, KeyboardInterrupt) else Exit.FAILED
