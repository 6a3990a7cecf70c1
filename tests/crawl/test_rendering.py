"""Pages that are empty until their scripts run: when they are rendered, and what they may not do."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from typing import Any

import pytest
from msgspec.structs import replace

from indexer.adapters.browser import BrowserRender, find_chromium
from indexer.adapters.browser_page import MAX_REQUESTS
from indexer.adapters.http_private import Credentials
from indexer.artifacts import Sources
from indexer.errors import IndexerError, Misconfigured, Permanent, Retryable
from indexer.ports import Response
from indexer.private import Private
from indexer.settings import Crawl, Render, Settings
from tests.support.scraping import PROSE, Project, article
from tests.support.web import Reply, Request, Site

try:
    find_chromium("")
    _MISSING = ""
except Misconfigured as missing:
    _MISSING = str(missing)
needs_browser = pytest.mark.skipif(bool(_MISSING), reason=f"not rendered here: {_MISSING}")

SHELL = '<!DOCTYPE html><html lang="ru"><head><meta charset="utf-8"><title>Услуги</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>'
SERVICES = " ".join(f"Услуга {part}: {PROSE}" for part in range(5))
APP = """(async () => {
  const text = await (await fetch('/api' + location.pathname)).text();
  document.getElementById('root').innerHTML = `<main><h1>Услуги</h1><p>${text}</p><a href="/linked">дальше</a></main>`;
})()"""


class FakeBrowser:
    """Fills every shell with `body`; `calls` counts."""

    def __init__(self) -> None:
        self.calls = 0
        self.body = article("Услуги")
        self.final_url = ""
        self.error: IndexerError | None = None

    async def __call__(self, response: Response) -> Response:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return replace(
            response, body=self.body.encode(), final_url=self.final_url or response.final_url, rendered=True
        )

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.fixture
def site():
    with Site({"/": SHELL}) as site:
        site.page("/app.js", APP, content_type="text/javascript; charset=utf-8")
        site.page("/api/", SERVICES, content_type="text/plain; charset=utf-8")
        yield site


@pytest.fixture
def project(tmp_path, site):
    return Project(tmp_path, site)


# ── when ────────────────────────────────────────────────────────────────────────────────


def test_without_rendering_a_shell_is_skipped_by_name(project, site):
    site.page("/plain", article("О нас"))
    project.scrape(Sources(urls=(site.url("/"), site.url("/plain"))))
    assert project.standing() == {"/": "needs-rendering", "/plain": "fetched"}
    assert "root is empty" in project.rows()["/"].detail


def test_only_shells_are_rendered_and_their_links_followed(project, site):
    browser = FakeBrowser()
    browser.body = article("Услуги", links=("/plain",))
    site.page("/plain", article("О нас"))
    project.scrape(Sources(crawl=(site.url("/"),)), render=lambda _: browser)
    assert project.standing() == {"/": "fetched", "/plain": "fetched"}
    assert browser.calls == 1
    assert "rendered" in project.pages()["/"].notes
    assert "rendered" not in project.pages()["/plain"].notes


def test_a_shell_that_was_skipped_is_rendered_once_that_is_turned_on(project, site):
    sources = Sources(urls=(site.url("/"), site.url("/plain")))
    site.page("/plain", article("О нас"))
    project.scrape(sources)
    browser = FakeBrowser()
    project.scrape(sources, render=lambda _: browser)
    assert project.standing()["/"] == "fetched"
    assert browser.calls == 1


@pytest.mark.parametrize("validators", [True, False])
def test_an_unchanged_shell_is_not_rendered_again_within_its_time(project, site, validators):
    site.page("/", SHELL, validators=validators)
    sources, browser = Sources(urls=(site.url("/"),)), FakeBrowser()
    project.scrape(sources, render=lambda _: browser)
    before = project.files()
    browser.body = article("Новое")
    report = project.scrape(sources, render=lambda _: browser)
    assert (browser.calls, report.not_modified, report.changed) == (1, 1, 0)
    assert project.files() == before
    assert site.hits("/")[-1].status == (304 if validators else 200)


def test_a_rendered_page_is_rendered_again_when_its_time_is_over_or_its_shell_changes(project, site):
    sources, browser = Sources(urls=(site.url("/"),)), FakeBrowser()
    project.scrape(sources, render=lambda _: browser)
    browser.body = article("Второе")
    project.scrape(sources, render=lambda _: browser, max_age_hours=0.0)
    assert project.pages()["/"].title == "Второе"
    browser.body = article("Третье")
    site.page("/", SHELL.replace("app.js", "app.js?v=2"))
    project.scrape(sources, render=lambda _: browser)
    assert project.pages()["/"].title == "Третье"
    assert browser.calls == 3


def test_a_page_that_is_empty_in_a_browser_too_is_not_shown_to_it_on_every_run(project, site):
    site.page("/plain", article("О нас"))
    sources, browser = Sources(urls=(site.url("/"), site.url("/plain"))), FakeBrowser()
    browser.body = SHELL
    for _ in range(2):
        project.scrape(sources, render=lambda _: browser)
        assert project.standing()["/"] == "needs-rendering"
        assert "in a browser too" in project.rows()["/"].detail
    assert browser.calls == 1


def test_a_page_that_cannot_be_rendered_just_now_keeps_its_last_good_version(project, site):
    sources, browser = Sources(urls=(site.url("/"),)), FakeBrowser()
    project.scrape(sources, render=lambda _: browser)
    browser.error = Retryable("the browser crashed", reason="render-failed")
    project.scrape(sources, render=lambda _: browser, max_age_hours=0.0)
    assert project.standing() == {"/": "render-failed"}
    assert project.pages()["/"].title == "Услуги"
    browser.error = None
    project.scrape(sources, render=lambda _: browser, max_age_hours=0.0)
    assert project.standing() == {"/": "fetched"}


def test_rendering_turned_off_again_leaves_the_page_as_it_is(project, site):
    sources = Sources(urls=(site.url("/"),))
    project.scrape(sources, render=lambda _: FakeBrowser())
    project.scrape(sources, max_age_hours=0.0)
    assert project.pages()["/"].title == "Услуги"


def test_a_script_that_leaves_for_another_page_is_a_redirect_and_obeys_the_scope(project, site):
    browser = FakeBrowser()
    browser.final_url = site.url("/plain")
    site.page("/plain", article("О нас"))
    project.scrape(Sources(crawl=(site.url("/"),)), render=lambda _: browser)
    assert project.standing() == {"/": "redirect", "/plain": "fetched"}
    browser.final_url = "https://elsewhere.example/"
    project.scrape(Sources(crawl=(site.url("/"),)), render=lambda _: browser, force=True)
    assert project.standing()["/"] == "out-of-scope"


def test_a_missing_browser_is_said_before_anything_is_done(indexer, site):
    words = ("--name", "shop", "--crawl", site.url("/"), "--allow-private", site.host, "--render", "auto")
    done = indexer("init-project", *words, INDEXER_RENDER__CHROMIUM="/no/such/chromium")
    done.fails(2, "--render auto needs", "install")
    assert indexer("list", "--json").ok().json == []
    assert site.paths() == []


# ── with a browser ──────────────────────────────────────────────────────────────────────


def browser_for(*sites: Site, credentials: Credentials | None = None, **settings: Any) -> BrowserRender:
    crawl = Crawl(allow_private=tuple(site.host for site in sites), user_agent="TestBot/1.0", timeout=5.0)
    return BrowserRender(Render(**{"timeout": 10.0, **settings}), crawl, credentials=credentials)


def shown(site: Site, body: str, *, path: str = "/", **settings: Any) -> Response:
    """One page rendered, the browser started and ended for it."""

    async def run() -> Response:
        browser = browser_for(site, **settings)
        try:
            return await browser(answer(site.url(path), body))
        finally:
            await browser.aclose()

    return asyncio.run(run())


def answer(url: str, body: str) -> Response:
    headers = {"content-type": "text/html; charset=utf-8"}
    return Response(url=url, final_url=url, status=200, headers=headers, body=body.encode())


def script(code: str) -> str:
    return f'<!DOCTYPE html><meta charset="utf-8"><body><div id="root"></div><script>{code}</script>'


SAY = "document.body.append(' Приём ведут по записи. '.repeat(20));"


def real(settings: Settings) -> BrowserRender:
    return BrowserRender(settings.render, settings.crawl)


@needs_browser
def test_a_page_filled_by_javascript_is_indexed(project, site):
    site.page("/linked", article("Дальше"))
    project.scrape(Sources(crawl=(site.url("/"),)), render=real, user_agent="TestBot/1.0 (+mail)")
    assert project.standing() == {"/": "fetched", "/linked": "fetched"}
    page = project.pages()["/"]
    assert "Услуга 4" in page.text
    assert "rendered" in page.notes
    assert len(site.hits("/")) == 1  # the browser got what was fetched
    assert {request.headers["user-agent"] for request in site.log} == {"TestBot/1.0 (+mail)"}
    (asked,) = site.hits("/api/")
    assert asked.headers["accept-language"] == "ru"


@needs_browser
def test_the_command_renders_and_says_so(indexer, site):
    words = (
        "--name",
        "shop",
        "--crawl",
        site.url("/"),
        "--allow-private",
        site.host,
        "--until-phase",
        "scrape",
    )
    site.page("/linked", article("Дальше"))
    indexer("init-project", *words, "--render", "auto").ok()
    told = indexer("explain", site.url("/"), "--project-name", "shop", "--json").ok().json
    assert "rendered" in told["page"]["notes"]


@needs_browser
def test_a_robots_rule_keeps_a_shell_from_the_browser(project, site):
    site.page("/robots.txt", "User-agent: *\nDisallow: /private", content_type="text/plain")
    site.page("/private", SHELL)
    site.page("/plain", article("О нас"))
    project.scrape(Sources(urls=(site.url("/private"), site.url("/plain"))), render=real)
    assert project.standing()["/private"] == "robots"
    assert site.paths() == ["/robots.txt", "/plain"]


@needs_browser
def test_scripts_cannot_reach_private_addresses_by_any_way(site):
    with Site() as canary, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        site.page("/hop", status=302, headers={"Location": canary.url("/redirected")})
        target, port = canary.host, canary.port
        code = f"""
        for (const host of ['{target}', 'localhost:{port}', '[::1]:{port}', '[::ffff:127.0.0.1]:{port}', '2130706433:{port}'])
          fetch(`http://${{host}}/fetched`, {{mode: 'no-cors'}}).catch(() => 0);
        fetch('/hop', {{mode: 'no-cors'}}).catch(() => 0);
        navigator.sendBeacon('http://{target}/beacon', 'x');
        try {{ new WebSocket('ws://{target}/socket') }} catch (error) {{}}
        new EventSource('http://{target}/events');
        new Worker(URL.createObjectURL(new Blob(["fetch('http://{target}/worker', {{mode: 'no-cors'}}); try {{ new WebSocket('ws://{target}/socket2') }} catch (e) {{}}"])));
        const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{stun.getsockname()[1]}'}}]}});
        peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer));
        for (const [tag, name] of [['img', 'src'], ['iframe', 'src'], ['script', 'src'], ['object', 'data'], ['embed', 'src'], ['video', 'src']]) {{
          const node = document.createElement(tag); node[name] = 'http://{target}/' + tag; document.body.append(node);
        }}
        for (const rel of ['stylesheet', 'prefetch', 'preload', 'preconnect', 'dns-prefetch', 'manifest', 'icon'])
          document.head.insertAdjacentHTML('beforeend', `<link rel="${{rel}}" as="script" href="http://{target}/${{rel}}">`);
        document.body.insertAdjacentHTML('beforeend', '<form method="post" action="http://{target}/form" target="_blank"><input name="a"></form>');
        document.forms[0].submit(); window.open('http://{target}/popup');
        {SAY}"""
        shown(site, script(code))
        assert canary.connections == 0
        assert canary.paths() == []
        with pytest.raises(BlockingIOError):
            stun.recv(1)
        assert site.hits("/hop")


@needs_browser
def test_pictures_fonts_frames_and_media_are_not_asked_for(site):
    code = """document.body.insertAdjacentHTML('beforeend',
      '<img src="/picture.png"><video src="/film.mp4" autoplay></video><iframe src="/frame"></iframe>'
      + '<style>@font-face{font-family:x;src:url(/font.woff2)}p{font-family:x;background:url(/back.png)}</style><p>x');
    navigator.serviceWorker?.register('/worker.js').catch(() => 0);"""
    shown(site, script(code + SAY))
    assert site.paths() == []


@needs_browser
def test_a_script_that_asks_on_and_on_is_held_back(site):
    shown(site, script("setInterval(() => fetch('/api/?' + Math.random()), 1);" + SAY))
    assert len(site.log) <= MAX_REQUESTS


@needs_browser
@pytest.mark.parametrize("code", ["while (true) {}", "setTimeout(() => { while (true) {} }, 100)"])
def test_a_hanging_script_ends_by_the_deadline(site, code):
    started = time.monotonic()
    with pytest.raises(Retryable, match="do not end within 2 s") as caught:
        shown(site, script(code), timeout=2.0)
    assert caught.value.reason == "timeout"
    assert time.monotonic() - started < 15


@needs_browser
def test_a_page_that_never_rests_is_taken_as_it_is(site):
    code = f"{SAY} setInterval(() => document.getElementById('root').textContent = Math.random(), 50)"
    assert "по записи" in shown(site, script(code)).body.decode()


@needs_browser
def test_late_text_dialogs_reloads_and_shadow_trees_are_all_waited_for(site):
    code = (
        """alert(1); confirm(2);
    if (!document.cookie) { document.cookie = 'seen=1'; location.reload(); }
    customElements.define('price-list', class extends HTMLElement {
      connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<p>Цена: <slot>нет</slot></p>'; }
    });
    setTimeout(() => { document.body.insertAdjacentHTML('beforeend', '<price-list>500 рублей</price-list>');"""
        + SAY
    )
    html = shown(site, script(code + "}, 1500)")).body.decode()
    assert "<p>Цена: 500 рублей</p>" in html
    assert "по записи" in html


@needs_browser
def test_a_document_that_grows_without_end_is_refused(site):
    with pytest.raises(Permanent, match="larger than 10 MB") as caught:
        shown(site, script("document.body.append('слово '.repeat(3e6))"))
    assert caught.value.reason == "too-large"


@needs_browser
@pytest.mark.parametrize("code", ["location = '/else'", "setTimeout(() => location.replace('/else'), 300)"])
def test_where_a_script_leaves_for_is_told_and_not_followed(site, code):
    assert shown(site, script(code)).final_url == site.url("/else")
    assert site.paths() == []


@needs_browser
def test_credentials_go_to_their_own_origin_alone(site):
    with Site() as other:
        for place in (site, other):
            place.route("/data", lambda _: Reply(SERVICES, content_type="text/plain; charset=utf-8"))
        site.page("/away", status=302, headers={"Location": other.url("/after")})
        private = Private([("Authorization", "Basic czNjcmV0"), ("X-Token", "t0ken")])
        urls = ("/data", "/away", other.url("/data"))
        code = "".join(f"fetch('{url}', {{mode: 'no-cors'}}).catch(() => 0);" for url in urls) + SAY

        async def run() -> None:
            browser = browser_for(site, other, credentials=Credentials(private, [site.origin]))
            try:
                await browser(answer(site.url("/"), script(code)))
            finally:
                await browser.aclose()

        asyncio.run(run())
        (own,) = site.hits("/data")
        assert (own.headers["authorization"], own.headers["x-token"]) == ("Basic czNjcmV0", "t0ken")
        assert {request.path for request in other.log} == {"/data", "/after"}
        assert not any({"authorization", "x-token"} & set(request.headers) for request in other.log)


@needs_browser
@pytest.mark.parametrize("both", [True, False])
def test_a_page_is_lent_credentials_for_another_origin_only_if_its_own_is_private_too(site, both):
    with Site() as private_site:
        reply = Reply(SERVICES, headers={"Access-Control-Allow-Origin": "*"}, content_type="text/plain")
        private_site.route("/data", lambda _: reply)
        private = Private([("Authorization", "Basic czNjcmV0")])
        code = f"fetch('{private_site.url('/data')}').catch(() => 0);" + SAY

        async def run() -> None:
            origins = [private_site.origin, *([site.origin] if both else [])]
            browser = browser_for(site, private_site, credentials=Credentials(private, origins))
            try:
                await browser(answer(site.url("/"), script(code)))
            finally:
                await browser.aclose()

        asyncio.run(run())
        (asked,) = private_site.hits("/data")
        assert ("authorization" in asked.headers) == both


@needs_browser
def test_contexts_are_recycled_and_what_they_know_goes_with_them(site):
    cookies: list[str] = []

    def seen(request: Request) -> Reply:
        cookies.append(request.headers.get("cookie", ""))
        return Reply("ok", headers={"Cache-Control": "no-store"}, content_type="text/plain")

    site.route("/seen", seen)
    site.page(
        "/app.js",
        "window.loaded = 1",
        content_type="text/javascript",
        headers={"Cache-Control": "max-age=600"},
    )
    page = (
        script(f"fetch('/seen').then(() => {{ document.cookie = 'known=1; path=/'; {SAY} }})")
        + '<script src="/app.js"></script>'
    )

    async def run() -> None:
        browser = browser_for(site, max_pages_per_context=2, concurrency=1)
        try:
            for number in range(4):
                await browser(answer(site.url(f"/page/{number}"), page))
        finally:
            await browser.aclose()

    asyncio.run(run())
    assert cookies == ["", "known=1", "", "known=1"]
    assert len(site.hits("/app.js")) == 2  # cached within a context


@needs_browser
def test_a_crashed_browser_fails_its_page_and_is_started_once_more(site):
    async def run() -> None:
        browser = browser_for(site, timeout=20.0)
        try:
            for _ in range(2):
                await browser(answer(site.url("/"), script(SAY)))
                page = asyncio.create_task(browser(answer(site.url("/"), script("setInterval(() => 0, 10)"))))
                await asyncio.sleep(1)
                for child in _children("--headless"):
                    os.kill(child, signal.SIGKILL)
                with pytest.raises(Retryable, match="browser") as caught:
                    await page
                assert caught.value.reason == "render-failed"
            with pytest.raises(Retryable, match="crashed twice"):
                await browser(answer(site.url("/"), script(SAY)))
        finally:
            await browser.aclose()

    asyncio.run(run())
    assert _children("--headless") == []


def _children(word: str) -> list[int]:
    """Our own descendants whose command line has `word` and that were started first of their kind."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()]
    family, grown = {os.getpid()}, True
    while grown:
        more = {int(row[0]) for row in rows if int(row[1]) in family} - family
        family |= more
        grown = bool(more)
    return [
        int(row[0]) for row in rows
        if int(row[0]) in family and word in row[3] and "--type=" not in row[3] and not row[2].startswith("Z")
    ]  # fmt: skip
