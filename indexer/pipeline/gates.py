"""
The gates that a new generation passes before it goes live; where one says no, the old index stays.

Losses by pages, chunks and text (of all pages, and per URL template), golden questions against the
live index, one model, the point count of the catalogue, and what a person has rolled back.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from indexer.artifacts import Bm25Snapshot, Manifest
from indexer.errors import IndexerError, Refused
from indexer.index import gates
from indexer.pipeline.same_model import require_same
from indexer.pipeline.wiring import Wiring
from indexer.ports import Edition, Project, Reader, VectorStore

log = logging.getLogger("indexer")

GOLDEN = "golden.jsonl"
PIN = "rolled-back.json"
_SHOWN = 5
_LOST_SHARE = 0.1  # questions that were answered and are not any more


class Asked(Struct, frozen=True, kw_only=True):
    """A golden question before and after: nDCG@10, and its best fragment."""

    question: str
    before: float
    after: float
    url_before: str = ""
    url_after: str = ""
    text_before: str = ""
    text_after: str = ""


class Pin(Struct, frozen=True, kw_only=True):
    """What a person rolled back: no run publishes the same again unasked."""

    signature: str
    generation: str
    reason: str = ""


class Gates:
    """The gates of one publication; `after` is filled while it is built, `golden` by them."""

    def __init__(
        self,
        wiring: Wiring,
        project: Project,
        current: Manifest | None,
        *,
        before: Mapping[str, Edition],
        new_model: bool = True,
    ) -> None:
        self._wiring, self._project, self._current = wiring, project, current
        self._before, self._new_model = before, new_model
        self.after: dict[str, Edition] = {}
        self._records = wiring.records(project, "")
        self.golden: tuple[Asked, ...] = ()

    def before_building(self, signature: str, pages: int) -> None:
        """What can be said without building anything. Raises `Refused`."""
        name = self._project.name
        pinned = load_pin(self._records.load(PIN))
        if pinned is not None and pinned.signature == signature:
            raise Refused(
                f"these pages of {name!r} give what was rolled back ({pinned.generation}"
                f"{': ' + pinned.reason if pinned.reason else ''}): the live index stays as it is. "
                f"If it is right after all: indexer publish --project-name {name} --force "
                "--reason TEXT"
            )
        if self._current is None or self._before:
            return
        lost = self._current.pages - pages
        if lost > gates.PAGES and lost > gates.SHARE * self._current.pages:
            raise Refused(_gone(lost, self._current.pages, name, ""))

    def before_publishing(
        self, store: VectorStore, manifest: Manifest, snapshot: Bm25Snapshot, *, lenient: bool
    ) -> None:
        """Try what was built. `lenient`: a person wants it, whatever it loses. Raises `Refused`."""
        self._count(manifest)
        if self._current is not None and not self._new_model:
            require_same(self._current, model=manifest.model, dimension=manifest.dimension)
        if not lenient:
            self._losses()
        self._ask_golden(store, manifest, snapshot, lenient=lenient)
        self._wiring.registry.probe()  # one that is away must be known before the swap

    def passed(self) -> list[str]:
        """The generation is live: what was rolled back before is history. Gives its name."""
        pinned = load_pin(self._records.load(PIN))
        self._records.delete(PIN)
        return [pinned.generation] if pinned else []

    def _count(self, manifest: Manifest) -> None:
        chunks = sum(one.chunks for one in self.after.values())
        if chunks != manifest.points:
            raise Refused(
                f"the new index of {self._project.name!r} holds {manifest.points} points, its pages have "
                f"{chunks} chunks: the live index stays as it is; run again"
            )

    def _losses(self) -> None:
        found = gates.losses(self._before, self.after)
        if not found:
            return
        first, name = found[0], self._project.name
        more = f" (and {len(found) - 1} more losses)" if len(found) > 1 else ""
        if first.measure == "pages":
            where = f" under {first.template}" if first.template else ""
            raise Refused(_gone(first.before - first.after, first.before, name, where, first.urls) + more)
        share = round(100 * (1 - first.after / first.before))
        raise Refused(
            f"{share} % of the {first.measure} of {first.template or 'all pages'} of {name!r} "
            f"would be lost, of {len(first.urls)} pages: the live index stays as it is{more}. They are "
            f"{_few(first.urls)}. If it is right, run again with --allow-shrink"
        )

    # ── golden questions ────────────────────────────────────────────────────────────────

    def _ask_golden(
        self, store: VectorStore, manifest: Manifest, snapshot: Bm25Snapshot, *, lenient: bool
    ) -> None:
        path = Path(self._wiring.folder(self._project)) / GOLDEN
        if self._current is None or not path.is_file():
            return
        if self._current.model != manifest.model:
            return  # questions are embedded by one model: the other index cannot be asked
        try:
            live = store.reader()
        except IndexerError as error:  # it is about to be replaced, and cannot be asked
            log.warning("golden questions are not compared: %s", error)
            return
        if live is None:
            return
        try:
            new = store.preview(manifest, snapshot)
            try:
                self.golden = ask_both(self._wiring, path, live, new)
            finally:
                new.close()
        finally:
            live.close()
        worse = judge(self.golden)
        if worse and not lenient:
            raise Refused(
                f"{len(worse)} of {len(self.golden)} golden questions of {self._project.name!r} are answered "
                f"worse: the live index stays as it is. They are {_few([one.question for one in worse])}. "
                f"If it is right, run again with --allow-shrink, or correct {path}"
            )


def ask_both(wiring: Wiring, path: Path, live: Reader, new: Reader) -> tuple[Asked, ...]:
    """The golden questions, asked of both indexes."""
    from indexer.pipeline.ask import BATCH, Wanted, search_reader
    from indexer.search import evaluate as scoring

    questions = scoring.load_questions(path)
    found = []
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        texts = [one.question for one in batch]
        answers = [
            search_reader(wiring, reader, texts, Wanted(limit=scoring.DEPTH, translations=True))
            for reader in (live, new)
        ]
        for one, old, fresh in zip(batch, *answers, strict=True):
            found.append(
                Asked(
                    question=one.question,
                    before=scoring.score(one, old).ndcg,
                    after=scoring.score(one, fresh).ndcg,
                    url_before=old[0].url if old else "",
                    url_after=fresh[0].url if fresh else "",
                    text_before=old[0].text if old else "",
                    text_after=fresh[0].text if fresh else "",
                )
            )
    return tuple(found)


def judge(asked: tuple[Asked, ...]) -> list[Asked]:
    """
    The questions that speak against the new index; none if it is no worse than chance would have it.

    It is, if the 95 % interval of the difference in nDCG@10 lies below 0, or more than a tenth of
    the questions that were answered are not any more.
    """
    from indexer.search.confidence import difference, verdict

    worse = [one for one in asked if one.after < one.before]
    if not worse:
        return []
    _, bounds = difference([one.before for one in asked], [one.after for one in asked])
    lost = [one for one in worse if not one.after]
    if verdict(bounds) == "worse" or len(lost) > max(1, _LOST_SHARE * len(asked)):
        return worse
    return []


def load_pin(data: bytes | None) -> Pin | None:
    """The pin, unless there is none or it is damaged."""
    try:
        return msgspec.json.decode(data, type=Pin) if data else None
    except msgspec.MsgspecError:
        return None


def save_pin(wiring: Wiring, project: Project, rolled_back: Manifest, reason: str) -> None:
    """No run publishes what `rolled_back` holds again unasked."""
    pin = Pin(signature=rolled_back.signature, generation=rolled_back.generation, reason=reason)
    wiring.records(project, "").save(PIN, msgspec.json.encode(pin))


def _gone(lost: int, of: int, name: str, where: str, urls: tuple[str, ...] = ()) -> str:
    told = f" They are {_few(urls)}." if urls else ""
    return (
        f"{lost} of {of} pages{where} of {name!r} are gone, and such a loss is not published "
        f"unasked: the live index stays as it is.{told} See `indexer status --project-name {name}` for "
        "what became of them; if it is right, run again with --allow-shrink"
    )


def _few(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
