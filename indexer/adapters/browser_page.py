"""
One page in the browser: what it may ask for, when it has come to rest, what it then says.

Requests are decided over a DevTools session of our own, because Playwright's routing
turns the HTTP cache off (every page would load the site's scripts again) and does not
see redirects.
"""

from __future__ import annotations

import asyncio
import base64
import math
import re
from typing import TYPE_CHECKING, Any

from indexer.artifacts import Reason
from indexer.errors import Permanent

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

    from indexer.adapters.browser_proxy import GuardedProxy
    from indexer.adapters.http_private import Credentials
    from indexer.ports import Response

MAX_REQUESTS = 300  # of one page: a script that asks on and on must not harm the site
MAX_LOADS = 3  # a page may load itself again, having set a cookie
MAX_TRANSFER = 5  # times the limit of one body, for all that a page loads
QUIET = 0.5  # seconds without a change of the document
SILENCE = 1.0  # seconds without a byte of an answer that has begun
_TEXT = 120  # characters that make a page worth to be taken as it is
_WANTED = frozenset(("Script", "Stylesheet", "XHR", "Fetch", "Preflight", "EventSource"))
_AWAITED = frozenset(("Document", "Script", "Stylesheet", "XHR", "Fetch"))
_METHODS = frozenset(("GET", "HEAD", "POST", "OPTIONS"))
_KEPT_HEADERS = ("content-type", "content-security-policy")
_SANDBOX = {"name": "content-security-policy", "value": "sandbox allow-scripts allow-same-origin"}

_LANGUAGE = re.compile(
    rb"<html\b[^>]*?\slang\s*=\s*[\"']?([A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)", re.IGNORECASE
)

_REST = """([quiet, limit]) => new Promise(done => {
  const end = () => { watch.disconnect(); done((document.body?.innerText || '').trim().length); };
  let timer = setTimeout(end, quiet);
  const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, quiet); });
  watch.observe(document, {subtree: true, childList: true, characterData: true});
  setTimeout(end, limit);
})"""
# Open shadow trees become ordinary elements with their slots filled; what is said to those
# without scripts goes. Gives the length alone if that is over the limit.
_DOCUMENT = """limit => {
  const open = scope => {
    for (const host of scope.querySelectorAll('*')) {
      const root = host.shadowRoot;
      if (!root) continue;
      open(root);
      for (const slot of root.querySelectorAll('slot')) {
        const given = slot.assignedNodes({flatten: true});
        slot.replaceWith(...(given.length ? given : slot.childNodes));
      }
      host.replaceChildren(...root.childNodes);
    }
  };
  try { open(document); } catch (error) { /* the document as far as it could be opened */ }
  for (const node of document.querySelectorAll('noscript')) node.remove();
  const html = '<!DOCTYPE html>' + document.documentElement.outerHTML;
  return html.length > limit ? html.length : html;
}"""


class Traffic:
    """
    What a page asks for. The first document is answered with `shell`; none is fetched.

    It is shown in a sandbox: it opens no windows, sends no forms, downloads nothing.

    `moved`: the address that a script wanted to leave for.
    """

    def __init__(
        self,
        session: CDPSession,
        shell: Response,
        *,
        proxy: GuardedProxy,
        credentials: Credentials,
        max_bytes: int,
    ) -> None:
        self.moved = ""
        self._session = session
        self._shell = shell
        self._proxy = proxy
        self._credentials = credentials
        self._left = max_bytes * MAX_TRANSFER
        self._frame = ""
        self._address = ""
        self._loads = 0
        self._requests = 0
        self._open: dict[str, float] = {}  # request → until when it is waited for
        self._answers: set[asyncio.Task[None]] = set()

    async def start(self, user_agent: str) -> None:
        """From here on nothing is asked for unseen, nor under another name."""
        tree = await self._session.send("Page.getFrameTree")
        self._frame = tree["frameTree"]["frame"]["id"]
        self._session.on("Fetch.requestPaused", self._paused)
        self._session.on("Network.requestWillBeSent", self._sent)
        self._session.on("Network.responseReceived", self._heard)
        self._session.on("Network.dataReceived", self._received)
        for event in ("Network.loadingFinished", "Network.loadingFailed"):
            self._session.on(event, self._ended)
        await self._session.send("Network.enable")
        await self._session.send("Emulation.setUserAgentOverride", self._visitor(user_agent))
        await self._session.send("Page.setPrerenderingAllowed", {"isAllowed": False})
        await self._session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def stop(self) -> None:
        """The page is closed: nothing is to be answered any more."""
        for answer in self._answers:
            answer.cancel()

    @property
    def busy(self) -> bool:
        """Whether something is still on its way that may change the document."""
        now = asyncio.get_running_loop().time()
        return any(until > now for until in self._open.values())

    def check(self) -> None:
        """Raises `Permanent` if the page has loaded more than it may."""
        if self._left < 0:
            raise Permanent("its scripts load more than the limit (--max-body-mb)", reason=Reason.TOO_LARGE)

    def _visitor(self, user_agent: str) -> dict[str, str]:
        """Who asks, and in which language: the shell's own, so that a site that asks does not switch."""
        declared = _LANGUAGE.search(self._shell.body[:4096])
        language = {"acceptLanguage": declared.group(1).decode()} if declared else {}
        return {"userAgent": user_agent, **language}

    # ── events ──────────────────────────────────────────────────────────────────────────

    def _sent(self, event: dict[str, Any]) -> None:
        if event.get("type") in _AWAITED:
            self._open[event["requestId"]] = math.inf

    def _heard(self, event: dict[str, Any]) -> None:
        """A body that no script reads never comes to its end."""
        if event["requestId"] in self._open:
            self._open[event["requestId"]] = asyncio.get_running_loop().time() + SILENCE

    def _ended(self, event: dict[str, Any]) -> None:
        self._open.pop(event["requestId"], None)

    def _received(self, event: dict[str, Any]) -> None:
        self._heard(event)
        self._left -= max(event.get("dataLength", 0), event.get("encodedDataLength", 0))

    def _paused(self, event: dict[str, Any]) -> None:
        answer = asyncio.ensure_future(self._answer(event))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)

    async def _answer(self, event: dict[str, Any]) -> None:
        from playwright.async_api import Error

        command, rest = self._decide(event)
        try:
            await self._session.send(command, {"requestId": event["requestId"], **rest})
        except Error:  # the page has gone, or has given the request up
            return

    def _decide(self, event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The DevTools command that settles a request, and its arguments."""
        request, kind = event["request"], event["resourceType"]
        url, method = str(request["url"]), request["method"]
        if kind == "Document":
            return self._document(url, method, main=event["frameId"] == self._frame)
        self._requests += 1
        wanted = kind in _WANTED and method in _METHODS and url.startswith(("http://", "https://"))
        if not wanted or self._requests > MAX_REQUESTS or self._left < 0:
            return "Fetch.failRequest", {"errorReason": "BlockedByClient"}
        self._proxy.admit(url)
        return "Fetch.continueRequest", self._private(url, request["headers"])

    def _private(self, url: str, headers: dict[str, str]) -> dict[str, Any]:
        """
        The project's credentials for exactly this hop: they follow no redirect.

        A page of another host is not lent them: what it may ask of a private one is what
        anybody may.
        """
        if not self._credentials.knows(self._shell.final_url):
            return {}
        own = next((value for name, value in headers.items() if name.lower() == "cookie"), "")
        added = {name.decode(): value.decode() for name, value in self._credentials.headers(url, own)}
        names = {name.lower() for name in added}
        if not names - {"cookie"} and added.get("Cookie", "") == own:
            return {}
        kept = {name: value for name, value in headers.items() if name.lower() not in names}
        return {"headers": [{"name": name, "value": value} for name, value in {**kept, **added}.items()]}

    def _document(self, url: str, method: str, *, main: bool) -> tuple[str, dict[str, Any]]:
        if not main:
            return "Fetch.failRequest", {"errorReason": "BlockedByClient"}
        self._address = self._address or url
        self._loads += 1
        if url == self._address and method == "GET" and self._loads <= MAX_LOADS:
            headers = self._shell.headers
            kept = [{"name": name, "value": headers[name]} for name in _KEPT_HEADERS if name in headers]
            body = base64.b64encode(self._shell.body).decode()
            answer = {"responseCode": 200, "responseHeaders": [*kept, _SANDBOX], "body": body}
            return "Fetch.fulfillRequest", answer
        if url != self._address and method == "GET" and url.startswith(("http://", "https://")):
            self.moved = self.moved or url
        return "Fetch.failRequest", {"errorReason": "Aborted"}


async def come_to_rest(page: Page, traffic: Traffic, *, patience: float) -> None:
    """
    Until nothing is loading, the document does not change, and there is text.

    At the latest after `patience` seconds: a page that never rests is taken as it is then.
    """
    from playwright.async_api import Error

    loop = asyncio.get_running_loop()
    until = loop.time() + patience
    while not traffic.moved and (left := until - loop.time()) > 0:
        traffic.check()
        try:
            text = await page.evaluate(_REST, [QUIET * 1000, left * 1000])
        except Error as error:
            if "context was destroyed" not in str(error):  # it loads itself again
                raise
            await asyncio.sleep(QUIET / 5)
            continue
        if text >= _TEXT and not traffic.busy:
            return
    traffic.check()


async def document(page: Page, *, max_bytes: int) -> bytes:
    """The document as it now is, as UTF-8. Raises `Permanent` if it is over the limit."""
    html = await page.evaluate(_DOCUMENT, max_bytes)
    body = html.encode("utf-8", "replace") if isinstance(html, str) else b""
    if not isinstance(html, str) or len(body) > max_bytes:
        raise Permanent(
            f"its scripts make a document larger than {max_bytes / 2**20:g} MB (--max-body-mb)",
            reason=Reason.TOO_LARGE,
        )
    return body
