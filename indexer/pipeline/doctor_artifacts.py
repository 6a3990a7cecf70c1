"""
The artifacts of a project: whole, agreeing with each other and with the URL table.

One pass over the files and one over the table, a page at a time. With `repair`, what is
derived and broken goes, so that the next run makes it anew; a page is nobody's copy and stays.
"""

from __future__ import annotations

from typing import Any

from indexer.artifacts import ChunkedPage, EmbeddedPage, Page
from indexer.errors import IndexerError
from indexer.ids import digest
from indexer.pipeline.duplicates import has_page
from indexer.pipeline.findings import Findings
from indexer.pipeline.live import LATER, live_rows
from indexer.pipeline.sites import FRAGMENT
from indexer.pipeline.wiring import Wiring
from indexer.pipeline.work import chunk_signature
from indexer.ports import Artifacts, Catalogue, Project, UrlRow

CHECK = "artifacts"
DRIFT = "drift"
_DERIVED: tuple[type[Any], ...] = (ChunkedPage, EmbeddedPage)
_NAMES: dict[Any, str] = {Page: "page", ChunkedPage: "chunks", EmbeddedPage: "embeds"}
_NEXT = "the next run makes it anew"


class ArtifactCheck:
    """The check of one project; `repair`: the caller holds it."""

    def __init__(
        self, wiring: Wiring, project: Project, catalogue: Catalogue, found: Findings, *, repair: bool
    ) -> None:
        self._wiring = wiring
        self._artifacts: Artifacts = wiring.artifacts(project)
        self._chat = _chat_model(wiring)
        self._catalogue = catalogue
        self._found = found
        self._repair = repair
        self._reindex = f"indexer reindex --project-name {project.name}"

    def run(self) -> None:
        """All of it."""
        self.leftovers()
        for key in self._artifacts.keys(Page):
            self._trio(key)
        for kind in _DERIVED:
            for key in self._artifacts.keys(kind):
                if not self._artifacts.has(Page, key):
                    self._without_page(kind, key)
        for row in live_rows(self._catalogue):
            self._row(row)

    def leftovers(self) -> None:
        """What killed writers left behind."""
        names = self._artifacts.leftovers()
        if self._repair:
            self._artifacts.sweep()
        for name in names:
            self._found.warning(
                "leftovers", "a killed write left a temporary file", name,
                do="the next run removes it", repaired=self._repair,
            )  # fmt: skip

    # ── one page ────────────────────────────────────────────────────────────────────────

    def _trio(self, key: str) -> None:
        """A page with its chunks and embeds."""
        page = self._examined(Page, key)
        if page is not None and not self._page(key, page):
            page = None  # what was cut from it may be right
        chunked = self._examined(ChunkedPage, key)
        if page is not None and chunked is not None:
            self._agree(ChunkedPage, key, _slices(page, chunked, fresh=self._fresh(page, chunked)))
        embedded = self._examined(EmbeddedPage, key)
        if embedded is not None:
            self._agree(EmbeddedPage, key, _vectors(embedded))
        if chunked is not None and embedded is not None:
            self._stale(key, chunked, embedded)

    def _examined(self, kind: type[Any], key: str) -> Any:
        """The artifact; `None` if there is none, or none to trust, which is noted."""
        name = f"{self._artifacts.folder(kind)}/{key}.json"
        try:
            result = self._artifacts.examine(kind, key)
        except IndexerError as error:
            self._found.error(CHECK, "a file cannot be read", f"{name}: {error}", do="see what it says")
            return None
        if not isinstance(result, str):
            return result
        if result:
            self._broken(kind, key, f"{name}: {result}")
        return None

    def _broken(self, kind: type[Any], key: str, where: str) -> None:
        derived = kind is not Page
        if derived and self._repair:
            self._artifacts.delete(kind, key)
        self._found.error(
            CHECK, f"{_NAMES[kind]} are damaged" if derived else "a page is damaged", where,
            do=f"{self._reindex}: {_NEXT}" if derived else f"{self._reindex}: it is fetched again",
            repaired=derived and self._repair,
        )  # fmt: skip

    def _fresh(self, page: Page, chunked: ChunkedPage) -> bool:
        """Whether the chunks are of this very text, as far as the configured models tell."""
        if self._chat is None:
            return False
        settings = self._wiring.settings.chunk
        return chunked.signature == chunk_signature(page, settings=settings, chat_model=self._chat)

    def _agree(self, kind: type[Any], key: str, problem: str) -> None:
        if problem:
            self._broken(kind, key, f"{self._artifacts.folder(kind)}/{key}.json: {problem}")

    def _page(self, key: str, page: Page) -> bool:
        """Whether its text is the one that was read."""
        name = f"{self._artifacts.folder(Page)}/{key}.json"
        if page.url.endswith(FRAGMENT):
            return True
        if page.content != digest(page.title, page.language, page.text):
            self._found.error(
                CHECK, "a page's text is not that of its digest", f"{name}: {page.url}",
                do=f"{self._reindex} --force: all pages are read anew",
            )  # fmt: skip
            return False
        row = self._catalogue.get(page.url)
        if not has_page(row):  # that of a copy is kept, to know it again
            self._found.warning(
                DRIFT, "a page that the URL table does not count as one", f"{name}: {page.url}",
                do="it is in no index; the next run of all phases removes what is derived from it",
            )  # fmt: skip
        elif row.content and row.content != page.content:
            self._found.warning(
                DRIFT, "a page whose text is not the one that the URL table knows", f"{name}: {page.url}",
                do=f"{self._reindex}: what was cut off is done again",
            )  # fmt: skip
        return True

    def _stale(self, key: str, chunked: ChunkedPage, embedded: EmbeddedPage) -> None:
        texts = [chunk.text for chunk in chunked.chunks]
        if texts != [chunk.text for chunk in embedded.chunks]:
            self._found.info(
                DRIFT, "embeds are of other chunks than the page has now",
                f"{self._artifacts.folder(EmbeddedPage)}/{key}.json", do="the next run embeds them",
            )  # fmt: skip

    def _without_page(self, kind: type[Any], key: str) -> None:
        """Removed where the page is no more; where it is only missing, this is what is left of its text."""
        derived = self._artifacts.examine(kind, key)
        row = None if isinstance(derived, str) else self._catalogue.get(derived.url)
        if isinstance(derived, str) or (row is not None and _live(row)):
            return
        if self._repair:
            self._artifacts.delete(kind, key)
        self._found.warning(
            DRIFT, f"{_NAMES[kind]} of no page", f"{self._artifacts.folder(kind)}/{key}.json",
            do="the next run removes them", repaired=self._repair,
        )  # fmt: skip

    def _row(self, row: UrlRow) -> None:
        """A URL that has a page, as the table says."""
        if not self._artifacts.has(Page, row.key):
            self._found.error(
                DRIFT, "the URL table counts a page that is not there", row.url,
                do=f"{self._reindex}: it is fetched again",
            )  # fmt: skip
            return
        for kind in _DERIVED:
            if not self._artifacts.has(kind, row.key) and row.reason not in LATER:
                self._found.info(
                    DRIFT, f"{_NAMES[kind]} are owed", row.url, do=f"{self._reindex}: they are made"
                )
                return


def _chat_model(wiring: Wiring) -> str | None:
    """The model that chunks; `None` if it cannot be had as configured."""
    try:
        return wiring.chat.model if wiring.chat else ""
    except IndexerError:
        return None


def _live(row: UrlRow) -> bool:
    return row.state in ("fetched", "indexed") or row.reason in LATER


def _slices(page: Page, chunked: ChunkedPage, *, fresh: bool) -> str:
    """What is wrong with chunks, which must be exact slices of the page (`fresh`: of what it is now)."""
    for chunk in chunked.chunks:
        if not 0 <= chunk.start <= chunk.end:
            return f"chunk {chunk.ordinal} has no place"
        if len(chunk.text) != chunk.end - chunk.start:
            return f"chunk {chunk.ordinal} is not as long as its place"
        if fresh and page.text[chunk.start : chunk.end] != chunk.text:
            return f"chunk {chunk.ordinal} is no slice of the page"
    if page.url != chunked.url:
        return f"they are of {chunked.url}"
    return ""


def _vectors(embedded: EmbeddedPage) -> str:
    """What is wrong with a page's vectors, or an empty string."""
    from indexer.embed.vectors import decode, flaw

    for chunk in embedded.chunks:
        try:
            problem = flaw(decode(chunk.vector), embedded.dimension)
        except IndexerError as error:
            problem = str(error)
        if problem:
            return f"the vector of chunk {chunk.ordinal}: {problem}"
    return ""
