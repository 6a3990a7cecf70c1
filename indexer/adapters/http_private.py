"""Which credentials one request gets: those of its exact origin, and never any other."""

from __future__ import annotations

from collections.abc import Iterable

from indexer.crawl.urls import netloc, origin
from indexer.private import Private

_TELLING = 12  # characters: a secret so long stands in a page for nothing else

Headers = list[tuple[bytes, bytes]]


class Credentials:
    """
    Credentials bound to origins (`scheme://host[:port]`). Asked hop by hop, so no redirect takes them along.

    Cookies go to the origins' hosts and ports; whether also without TLS is their own rule.
    """

    def __init__(self, private: Private | None = None, origins: Iterable[str] = ()) -> None:
        self._private = private or Private()
        self._origins = frozenset(origins) if self._private else frozenset()
        self._places = frozenset(netloc(place) for place in self._origins)
        telling = [secret for secret in self._private.secrets() if len(secret) >= _TELLING]
        self._telling = sorted((secret.encode() for secret in telling), key=len, reverse=True)

    @property
    def origins(self) -> list[str]:
        """Where credentials go."""
        return sorted(self._origins)

    def knows(self, url: str) -> bool:
        """Whether a page is of one of the hosts that credentials go to."""
        return netloc(url) in self._places

    def headers(self, url: str, given: str = "") -> Headers:
        """The headers for a URL. `given`: cookies that its host set on the way, which win by name."""
        cookies = [given] if given else []
        headers: Headers = []
        if origin(url) in self._origins:
            for name, value in self._private.headers():
                if name.lower() == "cookie":
                    cookies.append(value)
                else:
                    headers.append((name.encode(), value.encode()))
        if self.knows(url):
            cookies.append(self._private.cookies(url))
        merged = _merged(cookies)
        return [*headers, (b"Cookie", merged.encode())] if merged else headers

    def scrub(self, url: str, body: bytes) -> bytes:
        """The body of a page that shows its visitor his own credentials, without them."""
        if self.knows(url):
            for secret in self._telling:
                body = body.replace(secret, b"***")
        return body


def _merged(headers: Iterable[str]) -> str:
    pairs: dict[str, str] = {}
    for pair in (part.strip() for header in headers for part in header.split(";")):
        if pair:
            pairs.setdefault(pair.partition("=")[0], pair)
    return "; ".join(pairs.values())
