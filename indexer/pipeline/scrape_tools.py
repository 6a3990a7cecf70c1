"""What a run over a site works with, and what it says afterwards."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from msgspec import Struct, field

from indexer.errors import IndexerError
from indexer.ports import Artifacts, Catalogue, Fetch, RawResponses, Render
from indexer.settings import Settings

ScrapeProgress = Callable[[int, int, int, str], None]


class ScrapeReport(Struct, kw_only=True):
    """
    What this run did. What URLs came to is in the catalogue.

    `fetched`: answers with a body; `not_modified`: 304; `changed`: pages written;
    `kept`: pages that stand although they could not be had; `cut_off`: URLs over a
    limit. `notes`: sources that gave nothing, and why.
    """

    fetched: int = 0
    not_modified: int = 0
    changed: int = 0
    kept: int = 0
    failed: int = 0
    cut_off: int = 0
    notes: list[str] = field(default_factory=list)


class Tools(Struct, frozen=True, kw_only=True):
    """
    What a run works with. `render`: fills shells. `pool`: reads responses; `None`: in this
    process. `raw`: keeps answers; `None`: they are not kept. `accept_loss`: pages that are not
    found twice go, even if most of the site does.
    """

    settings: Settings
    catalogue: Catalogue
    artifacts: Artifacts
    fetch: Fetch
    render: Render | None = None
    pool: Executor | None
    visit: int
    force: bool
    progress: ScrapeProgress
    raw: RawResponses | None = None
    accept_loss: bool = False


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to show of several that came together: one of ours, if there is one."""
    ours, others = group.split(IndexerError)
    chosen: BaseException = ours or others or group
    while isinstance(chosen, BaseExceptionGroup):
        chosen = chosen.exceptions[0]
    return chosen
