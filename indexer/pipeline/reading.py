"""
Responses → durable pages, in worker processes, a few at a time.

A batch per call, so that pickling is not paid for page by page. A worker stages what it
read and goes on; the driver waits for the disk, with several batches at once.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Outcome, Reason, State
from indexer.crawl.robots import product_token, user_agent
from indexer.ids import url_key
from indexer.phases import scrape
from indexer.phases.scrape import Reading, Scraped
from indexer.pipeline.pools import InlineExecutor
from indexer.pipeline.verdicts import KEPT
from indexer.ports import Artifacts, RawResponses, Response, Staged
from indexer.settings import Settings

BATCH = 2
LARGE = 2**20  # bytes; a page's tree and blocks are up to forty times as large
_TRIMMED = LARGE // 4
_DOCUMENTS = (b"%PDF", b"PK\x03\x04")


class Keeping(Struct, frozen=True, kw_only=True):
    """Where the answers of a run are kept."""

    raw: RawResponses
    visit: int

    def keep(self, response: Response) -> bool:
        """Keep an answer before it is read: whatever then happens, it need not be asked for again."""
        whole = response.status == 200 and response.final_url == response.url  # noqa: PLR2004 - HTTP
        if whole and response.url.startswith("http"):
            self.raw.save(response, self.visit)
        return whole


def read_batch(
    artifacts: Artifacts, reading: Reading, keeping: Keeping | None, responses: list[Response]
) -> tuple[list[Scraped], list[Staged]]:
    """Read responses and stage their pages; the pages themselves stay in the worker."""
    results: list[Scraped] = []
    staged: list[Staged] = []
    for response in responses:
        kept = keeping is not None and keeping.keep(response)
        scraped = scrape.read(response, reading=reading)
        outcome = scraped.outcome
        if keeping and kept and outcome.state is not State.FETCHED and outcome.reason not in KEPT:
            keeping.raw.delete(response.url)
        if scraped.page is not None:
            staged.append(artifacts.stage(url_key(scraped.page.url), scraped.page))
            scraped = replace(scraped, page=None)
        results.append(scraped)
    if any(len(response.body) > _TRIMMED for response in responses):
        _trim()
    return results, staged


def _trim() -> None:
    """Give the memory of a large page back; by itself glibc keeps it for the next one."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def reading_of(settings: Settings) -> Reading:
    """How the settings say that responses are read."""
    extract = settings.extract
    return Reading(
        favor_recall=extract.favor_recall,
        max_document_pages=extract.max_document_pages,
        meta_prefix=extract.meta_prefix if extract.labels else "",
        token=product_token(user_agent(settings.crawl)),
    )


_Asked = tuple[Response, asyncio.Future[Scraped]]
_Read = tuple[list[Scraped], list[Staged]]


class Readers:
    """
    Reads responses through a pool, or in this process for `None`.

    `width` batches are in flight; of responses over `LARGE` one at a time, so that memory is
    bounded by one of them. A response that ends its worker takes its batch with it; each
    of that batch is then tried once more, alone.
    """

    def __init__(
        self,
        pool: Executor | None,
        *,
        artifacts: Artifacts,
        reading: Reading,
        width: int,
        keeping: Keeping | None = None,
    ) -> None:
        self.reading = reading
        self._pool = pool
        self._inline = pool is None or isinstance(pool, InlineExecutor)
        self._artifacts = artifacts
        self._read = partial(read_batch, artifacts, reading, keeping)
        self._tasks: set[asyncio.Future[None]] = set()
        self._width = width
        self._active = 0
        self._waiting: deque[_Asked] = deque()
        self._large: deque[_Asked] = deque()
        self._large_active = False
        self._alone = asyncio.Lock()

    @property
    def capacity(self) -> int:
        """How many responses may wait or be read, so that no worker is idle and memory stays flat."""
        return (self._width + 1) * BATCH

    async def read(self, response: Response) -> Scraped:
        """What a response came to; its page is durable when this returns."""
        if self._inline and response.body.startswith(_DOCUMENTS):  # seconds: fetches would time out
            return (await self._settled(await asyncio.to_thread(self._read, [response])))[0]
        if self._pool is None or response.status != 200:  # noqa: PLR2004 - HTTP: only these cost anything
            return (await self._settled(self._read([response])))[0]
        result: asyncio.Future[Scraped] = asyncio.get_running_loop().create_future()
        (self._large if len(response.body) > LARGE else self._waiting).append((response, result))
        self._pump()
        try:
            return await result
        except BrokenExecutor:
            return await self._read_alone(response)

    def _pump(self) -> None:
        while self._active < self._width:
            large = bool(self._large) and not self._large_active
            if large:
                batch, self._large_active = [self._large.popleft()], True
            else:
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            if not batch:
                return
            self._active += 1
            task = asyncio.ensure_future(self._read_all(batch, large=large))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _read_all(self, batch: list[_Asked], *, large: bool) -> None:
        try:
            try:
                read = await asyncio.wrap_future(self._submit([response for response, _ in batch]))
            except asyncio.CancelledError:  # the run ends: nobody would wait for another batch
                self._waiting.clear()
                self._large.clear()
                raise
            finally:  # a worker is free; what it read goes to the disk beside the next batch
                self._active -= 1
                if large:
                    self._large_active = False
                self._pump()
            results = await self._settled(read)
        except Exception as error:  # noqa: BLE001 - each of the batch raises it where it is waited for
            for _, result in batch:
                if not result.done():
                    result.set_exception(error)
            return
        for (_, result), scraped in zip(batch, results, strict=True):
            if not result.done():  # else the run was cancelled
                result.set_result(scraped)

    async def _settled(self, read: _Read) -> list[Scraped]:
        """The results, once their pages are durable."""
        results, staged = read
        if staged:
            await asyncio.to_thread(self._artifacts.commit, staged)
        return results

    def _submit(self, responses: list[Response]) -> Future[_Read]:
        assert self._pool is not None
        try:
            return self._pool.submit(self._read, responses)
        except BrokenExecutor as error:
            broken: Future[_Read] = Future()
            broken.set_exception(error)
            return broken

    async def _read_alone(self, response: Response) -> Scraped:
        async with self._alone:
            try:
                return (await self._settled(await asyncio.wrap_future(self._submit([response]))))[0]
            except BrokenExecutor:
                return Scraped(
                    outcome=Outcome(
                        url=response.url,
                        state=State.FAILED,
                        reason=Reason.EXTRACT_FAILED,
                        detail="it ended the worker that read it",
                        status=response.status,
                    )
                )
