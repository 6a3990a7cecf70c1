"""Registration with the running bot: `POST {bot}/api/register-project/{id}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from indexer.errors import Misconfigured, Permanent, Retryable

_RETRIED = {408, 425, 429, 500, 502, 503, 504}


class HttpBot:
    """
    The bot at `url`. Implements `ports.Bot`.

    `token` goes into the Authorization header and nowhere else. `sleep` is passed in by tests.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str,
        timeout: float,
        retries: int,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Misconfigured(
                f"bot URL {_shown(url)!r} is no http(s) address, for example https://bot.example.com"
            )
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep

    def register(self, project_id: str, manifest: Mapping[str, Any]) -> None:
        """
        Tell the bot about a published generation. Idempotent: the id is in the path.

        Raises `Retryable` when the bot is down to the end of all tries, `Permanent` when
        it refuses, both naming the address and the answer.
        """
        import httpx
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

        def post() -> None:
            self._post(httpx, project_id, manifest)

        policy: dict[str, Any] = {"sleep": self._sleep} if self._sleep else {}
        Retrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=wait_exponential_jitter(multiplier=0.5, max=10),
            retry=retry_if_exception_type(Retryable),
            reraise=True,
            **policy,
        )(post)

    def _post(self, httpx: Any, project_id: str, manifest: Mapping[str, Any]) -> None:
        address = f"{self.url}/api/register-project/{project_id}"
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        where = f"{_shown(self.url)}/api/register-project/{project_id}"
        try:
            answer = httpx.post(address, json=dict(manifest), headers=headers, timeout=self._timeout)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Misconfigured(f"bot URL {_shown(self.url)!r} cannot be used: {error}") from None
        except httpx.HTTPError as error:
            raise Retryable(f"the bot does not answer at {where}: {type(error).__name__}") from None
        if answer.is_success:
            return
        said = " ".join(answer.text[:200].split()).replace(self._token or "\0", "***")
        if answer.status_code in _RETRIED:
            raise Retryable(f"the bot answers {answer.status_code} at {where}: {said}")
        hint = "; check the token" if answer.status_code in (401, 403) else ""
        raise Permanent(f"the bot refuses the project at {where}: {answer.status_code} {said}{hint}")


def _shown(url: str) -> str:
    """The address without credentials."""
    return re.sub(r"//[^/@]*@", "//", url)
