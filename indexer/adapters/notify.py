"""Where digests go: a webhook of ours, and whatever apprise knows (mail, Telegram, Slack …)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from indexer.errors import Misconfigured, Retryable


class Notifier:
    """
    Sends a digest. Implements `ports.Notify`. Addresses hold tokens: none is ever in an error.

    `webhook`: gets the digest as JSON by POST; `urls`: of apprise, get title and Markdown.
    """

    def __init__(self, *, webhook: str = "", urls: Sequence[str] = (), timeout: float = 15.0) -> None:
        self._webhook = webhook
        self._urls = tuple(urls)
        self._timeout = timeout

    def send(self, title: str, text: str, data: Mapping[str, Any]) -> None:
        """Raises `Retryable` naming what could not be told, `Misconfigured` if apprise is missing."""
        troubles = []
        if self._webhook:
            troubles += self._post(data)
        if self._urls:
            troubles += self._tell(title, text)
        if troubles:
            raise Retryable("; ".join(troubles))

    def _post(self, data: Mapping[str, Any]) -> list[str]:
        import httpx

        try:
            answer = httpx.post(self._webhook, json=dict(data), timeout=self._timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return [f"the webhook does not answer: {type(error).__name__}"]
        return [] if answer.is_success else [f"the webhook answers {answer.status_code}"]

    def _tell(self, title: str, text: str) -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of its hundred plugins
            return self._apprise(title, text)

    def _apprise(self, title: str, text: str) -> list[str]:
        try:
            import apprise  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise Misconfigured(
                "notifier addresses need apprise: install indexer[notify] (uv sync --extra notify)"
            ) from None
        every = apprise.Apprise()
        bad = sum(not every.add(url) for url in self._urls)
        if bad:
            return [f"{bad} of {len(self._urls)} notifier addresses are none that apprise knows"]
        told = every.notify(title=title, body=text, body_format=apprise.NotifyFormat.MARKDOWN)
        return [] if told else ["not every notifier address could be told"]
