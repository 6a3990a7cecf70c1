"""
Which URLs belong to a project, and which are traps.

A pattern reads as in robots.txt: a prefix of path and query, `*` for anything, a final
`$` for the end. One with `://` is matched against the whole URL, one that starts
neither with `/` nor `*` anywhere in the path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from indexer.artifacts import Reason
from indexer.crawl.urls import netloc, path_and_query, path_of, readable
from indexer.settings import Crawl

MAX_SEGMENTS = 24
MAX_SAME_SEGMENT = 4
CALENDAR_STEP = 3  # what a step from one calendar page to the next costs in depth

_MEDIA = frozenset(
    [
        "jpg",
        "jpeg",
        "jpe",
        "png",
        "gif",
        "webp",
        "avif",
        "svg",
        "ico",
        "bmp",
        "tif",
        "tiff",
        "psd",
        "ai",
        "eps",
        "heic",
        "mp3",
        "wav",
        "ogg",
        "oga",
        "flac",
        "aac",
        "m4a",
        "mid",
        "wma",
        "mp4",
        "m4v",
        "avi",
        "mov",
        "mkv",
        "webm",
        "mpg",
        "mpeg",
        "wmv",
        "flv",
        "3gp",
        "zip",
        "rar",
        "7z",
        "gz",
        "tgz",
        "bz2",
        "xz",
        "tar",
        "iso",
        "dmg",
        "exe",
        "msi",
        "apk",
        "ipa",
        "deb",
        "rpm",
        "jar",
        "bin",
        "css",
        "js",
        "mjs",
        "map",
        "woff",
        "woff2",
        "ttf",
        "otf",
        "eot",
        "swf",
        "torrent",
        "ics",
        "vcf",
        "crx",
        "dll",
        "dwg",
        "cdr",
    ]
)
_DOCUMENTS = frozenset(
    [
        "doc",
        "dot",
        "xls",
        "xlsx",
        "xlsm",
        "ppt",
        "pptx",
        "pps",
        "ppsx",
        "odt",
        "ods",
        "odp",
        "rtf",
        "djvu",
        "epub",
    ]
)
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{2,8})$")
_REPEATED = re.compile(r"(/[^/]+(?:/[^/]+){0,3}?)\1{2,}(?=/|$)")
_CALENDAR = re.compile(
    r"calend|kalend|%D0%BA%D0%B0%D0%BB%D0%B5%D0%BD%D0%B4|schedule|agenda|events?\b|[?&](?:month|year|date|day)=",
    re.IGNORECASE,
)
_DATED = re.compile(r"(?:/\d{1,4}){1,3}/?$|[=/](?:19|20)\d{2}(?:-?\d{1,2}){0,2}(?:[/&]|$)")


class Scope(Struct, frozen=True, kw_only=True):
    """
    The sites of a project's sources, and the patterns that its URLs must (not) match.

    A site is a host with or without `www.`, over http or https. `max_depth`: links away
    from the sources.
    """

    sites: frozenset[str]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int = 12

    def has(self, url: str) -> bool:
        """Whether the URL lies on one of the sites."""
        return site(url) in self.sites

    def too_deep(self, url: str, depth: int) -> bool:
        """Whether nothing but its depth speaks against a URL."""
        return depth > self.max_depth and not self.verdict(url)[0]

    def verdict(self, url: str, *, depth: int = 0) -> tuple[Reason, str]:
        """Why a URL is not to be fetched, with what says so; `Reason.NONE` if it is."""
        if not self.has(url):
            return Reason.OUT_OF_SCOPE, f"{netloc(url)} is none of the project's sites"
        for pattern in self.exclude:
            if matches(pattern, url):
                return Reason.OUT_OF_SCOPE, f"excluded by {pattern}"
        if self.include and not any(matches(pattern, url) for pattern in self.include):
            return Reason.OUT_OF_SCOPE, "matches none of the include patterns"
        reason = by_extension(url)
        if reason:
            return reason, "by its extension"
        if depth > self.max_depth:
            return Reason.LIMIT, f"more than {self.max_depth} links from the start"
        trap = repetition(url)
        return (Reason.LIMIT, trap) if trap else (Reason.NONE, "")


def scope_of(urls: Iterable[str], crawl: Crawl) -> Scope:
    """The scope spanned by canonical URLs of sources."""
    return Scope(
        sites=frozenset(site(url) for url in urls),
        include=crawl.include,
        exclude=crawl.exclude,
        max_depth=crawl.max_depth,
    )


def site(url: str) -> str:
    """Host and port; `www.` and the scheme make no difference."""
    return netloc(url).removeprefix("www.")


def by_extension(url: str) -> Reason:
    """Reason for a URL whose name says that it is no page; `Reason.NONE` otherwise."""
    match = _EXTENSION.search(path_of(url))
    extension = match.group(1).lower() if match else ""
    if extension in _MEDIA:
        return Reason.NOT_A_PAGE
    return Reason.UNSUPPORTED if extension in _DOCUMENTS else Reason.NONE


def repetition(url: str) -> str:
    """Which trap a path looks like: relative links that pile up on themselves. Empty for none."""
    path = path_of(url)
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > MAX_SEGMENTS:
        return f"more than {MAX_SEGMENTS} path segments"
    if len(segments) > MAX_SAME_SEGMENT and max(Counter(segments).values()) > MAX_SAME_SEGMENT:
        return "a path segment repeats"
    return "its path repeats itself" if len(segments) > 2 and _REPEATED.search(path) else ""  # noqa: PLR2004 - thrice


def step(parent: str, child: str) -> int:
    """
    How much deeper a link leads.

    From one dated calendar page to another it counts more, so that an endless calendar
    ends after a few months while everything else is still reached.
    """
    return CALENDAR_STEP if is_calendar(parent) and is_calendar(child) else 1


def is_calendar(url: str) -> bool:
    """Whether a URL names a day, month or year of a calendar."""
    text = path_and_query(url)
    return bool(_DATED.search(text) and _CALENDAR.search(text))


def matches(pattern: str, url: str) -> bool:
    """Whether a URL, escaped or readable, matches an include or exclude pattern."""
    text = url if "://" in pattern else path_and_query(url)
    compiled = _compile(pattern)
    return bool(compiled.match(text) or ("%" in text and compiled.match(readable(text))))


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    anchored = pattern.endswith("$")
    body = pattern.removesuffix("$")
    if not body.startswith(("/", "*")) and "://" not in body:
        body = "*" + body
    expression = ".*".join(re.escape(part) for part in body.split("*"))
    return re.compile(expression + ("$" if anchored else ""), re.DOTALL)
