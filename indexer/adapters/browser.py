"""
Pages that are empty until their scripts run: `ports.Render` over Playwright and an installed Chromium.

One browser a run, started when the first such page comes. Pages of a context share its
cache, and a context is thrown away after some pages, with all that has gathered in it.
The browser has no way out but `browser_proxy`. It never knows the project's credentials:
they are added to single requests for the origins that they are for.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from indexer.adapters.browser_page import Traffic, come_to_rest, document
from indexer.adapters.browser_proxy import GuardedProxy
from indexer.adapters.http_guard import GuardedBackend, Resolver, resolve
from indexer.adapters.http_private import Credentials
from indexer.artifacts import Reason
from indexer.crawl.robots import user_agent
from indexer.crawl.urls import redact
from indexer.errors import Misconfigured, Retryable
from indexer.ports import Response
from indexer.settings import Crawl, Render

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Playwright

log = logging.getLogger("indexer")

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
STARTS = 2  # a browser that crashed is started once more
_STARTING = 60.0
_CLOSING = 5.0
_PATIENCE = 0.6  # of a page's time: then it is taken as it is
_VIEW = (1280, 2000)  # tall: what waits to be scrolled into view comes sooner
_FLAGS = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # names are resolved by the proxy alone
    "--js-flags=--max-old-space-size=512",
)


def find_chromium(program: str) -> str:
    """
    The installed browser, and that Playwright is there to drive it.

    Raises `Misconfigured` saying what to install; nothing is ever downloaded.
    """
    if importlib.util.find_spec("playwright") is None:
        raise Misconfigured(
            "--render auto needs Playwright; install it with `uv sync --extra browser` "
            "or `pip install 'indexer[browser]'`"
        )
    found = shutil.which(program) if program else next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        wanted = f"{program} is no program that can be run" if program else "there is no Chromium on PATH"
        raise Misconfigured(
            f"--render auto needs Chromium, but {wanted}; install it (Debian: apt-get install chromium), "
            "or name its program with INDEXER_RENDER__CHROMIUM"
        )
    return str(Path(found).absolute())


class BrowserRender:
    """
    Implements `ports.Render`. To be used and closed within one event loop.

    Raises `Misconfigured` if there is no browser to use.
    """

    def __init__(
        self,
        render: Render,
        crawl: Crawl,
        *,
        credentials: Credentials | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        self._program = find_chromium(render.chromium)
        self._settings = render
        self._credentials = credentials or Credentials()
        self._user_agent = user_agent(crawl)
        self._max_bytes = int(crawl.max_body_mb * 2**20)
        self._proxy = GuardedProxy(
            GuardedBackend(crawl.allow_private, resolver=resolver), timeout=crawl.timeout
        )
        self._turn = asyncio.Semaphore(render.concurrency)
        self._opening = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._starts = 0
        self._idle: list[_Context] = []

    async def __call__(self, response: Response) -> Response:
        """As `ports.Render`."""
        from playwright.async_api import Error

        async with self._turn:
            context = None
            try:
                context = await self._context()
                async with asyncio.timeout(self._settings.timeout):
                    rendered = await self._show(context, response)
            except TimeoutError:
                message = f"its scripts do not end within {self._settings.timeout:g} s ([render] timeout)"
                await self._throw_away(context)
                raise Retryable(message, reason=Reason.TIMEOUT) from None
            except Error as error:
                await self._throw_away(context)
                raise Retryable(_told(error), reason=Reason.RENDER_FAILED) from None
            except BaseException:
                await self._throw_away(context)
                raise
            await self._give_back(context)
            return rendered

    async def aclose(self) -> None:
        """End the browser and all that belongs to it."""
        await self._quit()
        if self._playwright is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_CLOSING):
                    await self._playwright.stop()
            self._playwright = None
        await self._proxy.aclose()

    # ── one page ────────────────────────────────────────────────────────────────────────

    async def _show(self, context: _Context, response: Response) -> Response:
        from playwright.async_api import Error

        page = context.page = await context.browsing.new_page()
        page.on("popup", lambda popup: asyncio.ensure_future(popup.close()))
        session = await context.browsing.new_cdp_session(page)
        traffic = context.traffic = Traffic(
            session,
            response,
            proxy=self._proxy,
            credentials=self._credentials,
            max_bytes=self._max_bytes,
        )
        await traffic.start(self._user_agent)
        try:
            await page.goto(response.final_url, wait_until="commit", timeout=0)
        except Error:
            if not traffic.moved:
                raise
        if not traffic.moved:
            await come_to_rest(page, traffic, patience=self._settings.timeout * _PATIENCE)
        if traffic.moved:
            return replace(response, final_url=traffic.moved, body=b"", rendered=True)
        body = await document(page, max_bytes=self._max_bytes)
        body = self._credentials.scrub(response.final_url, body)
        headers = {**response.headers, "content-type": "text/html; charset=utf-8"}
        return replace(response, headers=headers, body=body, rendered=True)

    # ── contexts ────────────────────────────────────────────────────────────────────────

    async def _context(self) -> _Context:
        async with self._opening:
            if self._browser is None or not self._browser.is_connected():
                await self._start()
            if self._idle:
                return self._idle.pop()
        assert self._browser is not None
        browsing = await self._browser.new_context(
            viewport={"width": _VIEW[0], "height": _VIEW[1]},
            service_workers="block",
            accept_downloads=False,
        )
        await browsing.add_init_script("window.open = () => null")
        await browsing.route_web_socket("**/*", lambda socket: socket.close())
        return _Context(browsing)

    async def _give_back(self, context: _Context) -> None:
        """Close the page; keep its context for the next one, unless it has had its pages."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(_CLOSING):
                await context.close_page()
        except (TimeoutError, Error):
            await self._throw_away(context)
            return
        context.pages += 1
        if context.pages >= self._settings.max_pages_per_context:
            await self._throw_away(context)
        else:
            self._idle.append(context)

    async def _throw_away(self, context: _Context | None) -> None:
        """Close a context; a browser that does not let go of it is ended."""
        from playwright.async_api import Error

        if context is None:
            return
        if context.traffic is not None:
            context.traffic.stop()
        try:
            async with asyncio.timeout(_CLOSING):
                await context.browsing.close()
        except TimeoutError:
            await self._quit()
        except Error:  # it has gone with its browser
            return

    # ── the browser ─────────────────────────────────────────────────────────────────────

    async def _start(self) -> None:
        from playwright.async_api import Error, async_playwright

        if self._starts >= STARTS:
            raise Retryable("the browser crashed twice in this run", reason=Reason.RENDER_FAILED)
        if self._starts:
            log.warning("the browser crashed; it is started once more")
        self._starts += 1
        self._idle.clear()
        root = os.geteuid() == 0 if hasattr(os, "geteuid") else False
        try:
            async with asyncio.timeout(_STARTING):
                if self._playwright is None:
                    self._playwright = await async_playwright().start()
                    self._address = await self._proxy.start()
                self._browser = await self._playwright.chromium.launch(
                    executable_path=self._program,
                    headless=True,
                    args=[*_FLAGS, f"--user-agent={self._user_agent}"],
                    chromium_sandbox=not root,  # Chromium has no sandbox for root
                    proxy={"server": self._address},
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                    timeout=0,
                )
        except (Error, TimeoutError, OSError) as error:
            raise Misconfigured(
                f"{self._program} does not start: {_told(error)}; try `{self._program} --headless --dump-dom "
                "about:blank`, or turn rendering off with --render never"
            ) from None

    async def _quit(self) -> None:
        browser, self._browser = self._browser, None
        self._idle.clear()
        if browser is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_CLOSING):
                    await browser.close()


class _Context:
    """A browser context, how many pages it has had, and the one it shows."""

    def __init__(self, browsing: BrowserContext) -> None:
        self.browsing = browsing
        self.pages = 0
        self.page: Page | None = None
        self.traffic: Traffic | None = None

    async def close_page(self) -> None:
        if self.page is not None:
            await self.page.goto("about:blank")  # else requests yet undecided would go out as it closes
        if self.traffic is not None:
            self.traffic.stop()
        if self.page is not None:
            await self.page.close()
        self.page = self.traffic = None


def _told(error: BaseException) -> str:
    """What the browser says, in one line."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return redact(f"the browser says: {line.strip()}")[:300]
