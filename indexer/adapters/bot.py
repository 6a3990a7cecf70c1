"""
The running bot: `POST {bot}/api/register-project/{id}` registers a project, `GET` tells what is served.

A request carries the bearer token, if there is one; with a secret also a time and a
signature over both it and the body, so that the bot can refuse what is forged or replayed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from indexer.errors import Misconfigured, Permanent, Retryable
from indexer.records import Served

TIMESTAMP = "X-Indexer-Timestamp"
SIGNATURE = "X-Indexer-Signature"
IDEMPOTENCY = "Idempotency-Key"
LONGEST_WAIT = 60.0  # seconds, also where Retry-After asks for more

_RETRIED = {408, 425, 429, 500, 502, 503, 504}
_REFUSED = {401, 403}
_UNKNOWN = 404
_NO_SUCH_CALL = {405, 501}


class HttpBot:
    """
    The bot at `url`. Implements `ports.Bot`.

    `token` goes into the Authorization header and nowhere else, `secret` into signatures.
    `sleep` and `clock` (Unix time) are passed in by tests.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str,
        timeout: float,
        retries: int,
        secret: str = "",
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Misconfigured(
                f"bot URL {_shown(url)!r} is no http(s) address, for example https://bot.example.com"
            )
        self.url = url.rstrip("/")
        self._token = token
        self._secret = secret
        self._hidden = [value for value in (token, secret, parts.password, _basic(parts)) if value]
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._clock = clock

    def register(self, project_id: str, manifest: Mapping[str, Any]) -> None:
        """
        Tell the bot about a published generation. Idempotent: the id is in the path, and the
        same body has the same idempotency key whenever it is sent.

        Raises `Retryable` when the bot is down to the end of all tries, `Permanent` when
        it refuses, both naming the address and the answer.
        """
        body = msgspec.json.encode(dict(manifest))
        self._patiently(lambda: self._ask("POST", project_id, body), self._retries)

    def check(self, project_id: str) -> Served:
        """
        What the bot serves of a project. Raises as `register` does, after one try more.

        A bot that has no such call is known to answer, and nothing else.
        """
        status, content = self._patiently(lambda: self._ask("GET", project_id, b""), min(self._retries, 1))
        if status in _NO_SUCH_CALL:
            return Served(url=_shown(self.url), tells=False)
        return Served(url=_shown(self.url), known=status != _UNKNOWN, generation=_generation(content))

    def _patiently(self, ask: Callable[[], tuple[int, bytes]], retries: int) -> tuple[int, bytes]:
        from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt
        from tenacity import wait_exponential_jitter as growing

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.retry_after if isinstance(error, Retryable) else None
            return min(asked, LONGEST_WAIT) if asked is not None else growing(multiplier=0.5, max=10)(state)

        retrying = Retrying(
            stop=stop_after_attempt(retries + 1),
            wait=wait,
            retry=retry_if_exception_type(Retryable),
            reraise=True,
            sleep=self._sleep,
        )
        answer: tuple[int, bytes] = retrying(ask)
        return answer

    def _ask(self, method: str, project_id: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of an answer that is no failure."""
        import httpx

        where = f"{_shown(self.url)}/api/register-project/{project_id}"
        address = f"{self.url}/api/register-project/{project_id}"
        try:
            answer = httpx.request(
                method,
                address,
                content=body or None,
                headers=self._headers(method, project_id, body),
                timeout=self._timeout,
            )
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Misconfigured(f"bot URL {_shown(self.url)!r} cannot be used: {error}") from None
        except httpx.HTTPError as error:
            raise Retryable(f"the bot does not answer at {where}: {type(error).__name__}") from None
        status = answer.status_code
        tells_nothing = method == "GET" and status in (_UNKNOWN, *_NO_SUCH_CALL)
        if answer.is_success or tells_nothing:
            return status, answer.content
        said = self._clean(" ".join(answer.text[:200].split()))
        if status in _RETRIED:
            asked = answer.headers.get("retry-after", "")
            raise Retryable(
                f"the bot answers {status} at {where}: {said}",
                retry_after=float(asked) if asked.isdigit() else None,
            )
        hint = "; check the token and the secret" if status in _REFUSED else ""
        raise Permanent(f"the bot refuses the project at {where}: {status} {said}{hint}")

    def _headers(self, method: str, project_id: str, body: bytes) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if method == "POST":
            headers["Content-Type"] = "application/json"
            headers[IDEMPOTENCY] = hashlib.sha256(project_id.encode() + b"\0" + body).hexdigest()[:32]
        if self._secret:
            when = str(int(self._clock()))
            headers |= {TIMESTAMP: when, SIGNATURE: signature_of(self._secret, when, body)}
        return headers

    def _clean(self, text: str) -> str:
        for value in self._hidden:
            text = text.replace(value, "***")
        return text


def _basic(parts: SplitResult) -> str:
    """What a login in the address becomes in a header."""
    if not parts.password:
        return ""
    return base64.b64encode(f"{parts.username or ''}:{parts.password}".encode()).decode()


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """`v1=` and the hexadecimal HMAC-SHA256 of the time, a full stop and the body."""
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"


def _generation(content: bytes) -> str:
    """What a bot says it serves: `generation` of the object, or of its `manifest`."""
    try:
        told = msgspec.json.decode(content)
    except msgspec.MsgspecError:
        return ""
    if not isinstance(told, dict):
        return ""
    manifest = told.get("manifest")
    inner = manifest.get("generation") if isinstance(manifest, dict) else ""
    found = told.get("generation") or inner
    return found[:200] if isinstance(found, str) else ""


def _shown(url: str) -> str:
    """The address without credentials."""
    return re.sub(r"//[^/@]*@", "//", url)
