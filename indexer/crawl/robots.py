"""
robots.txt: the rules by Protego, what to make of odd answers by RFC 9309.

4xx: no rules. 5xx or no answer: stay out, and delete nothing. An HTML page instead of
rules: no rules.
"""

from __future__ import annotations

import re

from protego import Protego

from indexer import __version__
from indexer.artifacts import Reason
from indexer.crawl.urls import netloc
from indexer.settings import Crawl

MAX_BYTES = 512 * 1024
_SITEMAP_LINE = re.compile(r"^\s*site-?maps?\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"#.*")
_MARKUP = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|!--|[a-z]+[\s>])", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z_-]+")


class Robots:
    """
    What one origin's robots.txt lets us do. `crawl_delay` in seconds, 0 if it names none.

    `closed`: why nothing may be fetched at all; empty if something may. `reason`: the verdict then.
    """

    def __init__(
        self,
        *,
        rules: Protego | None = None,
        token: str = "",
        closed: str = "",
        reason: Reason = Reason.ROBOTS_UNAVAILABLE,
    ) -> None:
        self._rules = rules
        self._token = token
        self.closed = closed
        self._reason = reason
        self.sitemaps: tuple[str, ...] = ()
        self.crawl_delay = (rules.crawl_delay(token) if rules else None) or 0.0

    def verdict(self, url: str) -> tuple[Reason, str]:
        """Why a URL must not be fetched, with what says so; `Reason.NONE` if it may."""
        if self.closed:
            return self._reason, f"staying out of {netloc(url)}: {self.closed}"
        if self._rules is not None and not self._rules.can_fetch(url, self._token):
            return Reason.ROBOTS, f"robots.txt of {netloc(url)} disallows it for {self._token}"
        return Reason.NONE, ""


def read_robots(status: int, body: bytes, *, token: str, trouble: str = "") -> Robots:
    """
    Rules of an answer for the product token of our User-Agent.

    `status` 0: no answer at all, because of `trouble`. 429 counts as 5xx: it asks us to
    stay away.
    """
    if status == 0 or status >= 500 or status == 429:  # noqa: PLR2004 - HTTP
        return Robots(closed=f"robots.txt is not available ({trouble or f'status {status}'})")
    if not 200 <= status < 300:  # noqa: PLR2004 - HTTP
        return Robots()
    text = _text(body[:MAX_BYTES])
    if _MARKUP.match(text):
        return Robots()
    robots = Robots(rules=Protego.parse(text), token=token)
    robots.sitemaps = tuple(dict.fromkeys(_SITEMAP_LINE.findall(_COMMENT.sub("", text))))
    return robots


def user_agent(crawl: Crawl) -> str:
    """What we call ourselves: honest, with a contact if there is one."""
    if crawl.user_agent:
        return crawl.user_agent
    return f"indexer/{__version__}" + (f" (+{crawl.contact})" if crawl.contact else "")


def product_token(user_agent: str) -> str:
    """The name that robots rules are addressed to: `TestBot/1.0 (+mail)` → `TestBot`."""
    match = _TOKEN.match(user_agent.strip())
    return match.group(0) if match else user_agent


def _text(body: bytes) -> str:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    try:
        return body.decode("utf-8-sig").lstrip("\ufeff")
    except UnicodeDecodeError:
        return body.decode("windows-1251", "replace")
