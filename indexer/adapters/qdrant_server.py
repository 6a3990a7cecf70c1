"""
One Qdrant server: its client, patience with passing failures, errors a person can read.

The client's own retries know no back-off and also repeat what cannot succeed; here a
call is repeated on 429 (as Retry-After says), 5xx, time-outs and lost connections only.
All calls made through here are idempotent: a time-out may have been a success.
"""

from __future__ import annotations

import json
import logging
import random
import time
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from indexer.errors import IndexerError, Misconfigured, Permanent, Retryable
from indexer.settings import Store, secret

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

log = logging.getLogger("indexer")

TRIES = 6
FIRST_TRIES = 2  # of a server that has never been reached: more likely a wrong URL than a restart
FIRST_DELAY = 0.5  # seconds, doubled at each try
LONGEST_DELAY = 60.0  # seconds, also where Retry-After asks for more
OLDEST = (1, 10)  # the first version with the IDF modifier and batched queries

UNREACHABLE = "unreachable"

_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_TRANSIENT_CODES = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL"}
_REFUSED_CODES = {"UNAUTHENTICATED", "PERMISSION_DENIED"}
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"  # in OpenSSL's words, also behind gRPC
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

Result = TypeVar("Result")


class TooLarge(Permanent):
    """The request's body is over the server's limit: send it in halves."""


class Missing(Permanent):
    """The collection is not there (any more)."""


class Server:
    """A server by its settings; connects at the first call. `sleep` waits between tries."""

    def __init__(self, settings: Store, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self._sleep = sleep
        self._client: QdrantClient | None = None
        self._met = False
        parts = urlsplit(settings.url if "://" in settings.url else f"//{settings.url}")
        self._host = parts.hostname or ""
        self._plain = parts.scheme != "https"
        # without user name and password: this is shown
        self.url = settings.url.replace(f"{parts.netloc.rpartition('@')[0]}@", "")

    def call(self, what: str, request: Callable[[QdrantClient], Result]) -> Result:
        """
        The result of `request(client)`, patiently. `what` completes "Qdrant … refused to".

        Raises `Retryable` when it does not answer to the end, `Misconfigured` for a wrong
        key or URL, `TooLarge`, `Missing`, or `Permanent` with the server's reason.
        """
        from tenacity import RetryCallState, Retrying, retry_if_exception_type

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.retry_after if isinstance(error, Retryable) else None
            delay = FIRST_DELAY * 2 ** (state.attempt_number - 1) if asked is None else asked
            return min(delay, LONGEST_DELAY) * random.uniform(1.0, 1.1)  # noqa: S311 - not a secret

        def enough(state: RetryCallState) -> bool:
            error = state.outcome.exception() if state.outcome else None
            absent = not self._met and getattr(error, "reason", "") == UNREACHABLE
            return state.attempt_number >= (FIRST_TRIES if absent else TRIES)

        def say(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            log.info("%s; trying again in %.1f s", error, state.upcoming_sleep)

        retrying = Retrying(
            retry=retry_if_exception_type(Retryable),
            stop=enough,
            wait=wait,
            sleep=self._sleep,
            before_sleep=say,
            reraise=True,
        )
        result: Result = retrying(self._once, what, request)
        return result

    def _once(self, what: str, request: Callable[[QdrantClient], Result]) -> Result:
        try:
            result = request(self._connected())
        except Exception as error:
            raise self._mapped(error, what) from error
        self._met = True
        return result

    def check(self) -> str:
        """Its version. Raises `Misconfigured` for a server that is too old, or no Qdrant."""
        version = self.call("tell its version", lambda client: client.info().version)
        found = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        if found < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise Misconfigured(f"Qdrant at {self.url} is version {version}; {oldest} or newer is needed")
        return str(version)

    def _connected(self) -> QdrantClient:
        if self._client is not None:
            return self._client
        from qdrant_client import QdrantClient

        key = secret(self.settings.api_key_env) or None
        if key and self._plain and self._host not in _LOOPBACK:
            log.warning("the API key goes to %s unencrypted; use an https URL", self.url)
        trusted = self._trusted()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same, in the client's words
            self._client = QdrantClient(
                url=self.settings.url,
                api_key=key,
                timeout=self.settings.timeout,  # type: ignore[arg-type]  # it rounds up
                prefer_grpc=self.settings.prefer_grpc,
                grpc_port=self.settings.grpc_port,
                check_compatibility=False,  # it only warns; `check` refuses
                **trusted,
            )
        weakref.finalize(self, self._client.close)
        return self._client

    def _trusted(self) -> dict[str, Any]:
        """The client's options for authorities of one's own. Raises `Misconfigured` for a file of none."""
        path = self.settings.ca_file
        if not path:
            return {}
        import ssl

        try:
            context = ssl.create_default_context(cafile=path)
            return {"verify": context, "grpc_options": {"root_certificates": Path(path).read_bytes()}}
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured(f"[store] ca_file {path} holds no certificate: {error}") from None

    # ── errors ──────────────────────────────────────────────────────────────────────────

    def _mapped(self, error: Exception, what: str) -> IndexerError:
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        if isinstance(error, IndexerError):
            mapped = error
        elif isinstance(error, UnexpectedResponse):
            headers = {name.lower(): value for name, value in error.headers.items()}
            mapped = self._of_status(error.status_code or 0, _reason(error.content), headers, what)
        elif isinstance(error, QdrantException):  # 429 with Retry-After, also one it cannot read
            mapped = Retryable(
                f"Qdrant at {self.url} asks to slow down ({error}); run again later",
                reason="rate-limited",
                retry_after=getattr(error, "retry_after_s", None),
            )
        elif isinstance(error, ResponseHandlingException):
            mapped = self._of_transport(error.source)
        elif callable(getattr(error, "code", None)):  # grpc.RpcError
            mapped = self._of_code(error, what)
        elif isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError):
            mapped = Misconfigured(
                f"Qdrant at {self.url} cannot be asked to {what}: {error}; check [store] url"
            )
        else:
            mapped = self._of_transport(error)
        return mapped

    def _of_status(self, status: int, reason: str, headers: dict[str, str], what: str) -> IndexerError:
        if status in (401, 403):
            return self._refused_key()
        if status == 413 or "larger than allowed" in reason:  # noqa: PLR2004
            return TooLarge(f"Qdrant at {self.url} takes no request of this size: {reason}")
        if status in _TRANSIENT:
            asked = headers.get("retry-after", "")
            return Retryable(
                f"Qdrant at {self.url} failed to {what} (status {status}: {reason}); run again later",
                reason="http-5xx",
                retry_after=float(asked) if asked.isdigit() else None,
            )
        if "json" not in headers.get("content-type", ""):
            return self._no_qdrant(f"status {status}: {reason}")
        kind = Missing if status == 404 else Permanent  # noqa: PLR2004
        return kind(f"Qdrant at {self.url} refused to {what} (status {status}): {reason}")

    def _of_code(self, error: Any, what: str) -> IndexerError:
        code, reason = error.code().name, " ".join(str(error.details()).split())[:300]
        if code in _REFUSED_CODES:
            return self._refused_key()
        if "larger than max" in reason:
            return TooLarge(f"Qdrant at {self.url} takes no request of this size: {reason}")
        if _UNTRUSTED in reason:
            return self._untrusted(reason)
        if code in _TRANSIENT_CODES:
            return Retryable(f"Qdrant at {self.url} failed to {what} ({code}: {reason}); run again later")
        kind = Missing if code == "NOT_FOUND" else Permanent
        return kind(f"Qdrant at {self.url} refused to {what} ({code}): {reason}")

    def _of_transport(self, error: Exception) -> IndexerError:
        from pydantic import ValidationError

        text = " ".join(str(error).split())[:200] or type(error).__name__
        if isinstance(error, (ValidationError, UnicodeError, json.JSONDecodeError)):
            return Misconfigured(
                f"what answers at {self.url} is no Qdrant server ({text}); check [store] url"
            )
        if _UNTRUSTED in text:
            return self._untrusted(text)
        return Retryable(
            f"Qdrant at {self.url} cannot be reached ({text}); start it, or check [store] url",
            reason=UNREACHABLE,
        )

    def _no_qdrant(self, answer: str) -> Misconfigured:
        return Misconfigured(f"what answers at {self.url} is no Qdrant server ({answer}); check [store] url")

    def _untrusted(self, text: str) -> Misconfigured:
        return Misconfigured(
            f"the certificate of Qdrant at {self.url} is not trusted ({text}); "
            "name its authority in [store] ca_file"
        )

    def _refused_key(self) -> Misconfigured:
        name = self.settings.api_key_env
        have = "is wrong" if secret(name) else "is not set"
        return Misconfigured(f"Qdrant at {self.url} refuses the API key: {name} {have}")


def _reason(content: bytes) -> str:
    """Qdrant's own words, or the start of whatever was answered."""
    try:
        return str(json.loads(content)["status"]["error"])[:300]
    except (ValueError, KeyError, TypeError, IndexError):
        return " ".join(content[:200].decode("utf-8", "replace").split())
