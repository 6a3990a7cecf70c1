"""
llms.txt: a site's own list of what matters, as markdown links.

Many sites list there the markdown twin of a page (`page.md` of `page`, `page.html.md` of
`page.html`): where the page itself is known, the twin is the same text twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MAX_LINKS = 10_000
MAX_BYTES = 4 * 1024 * 1024
_LINK = re.compile(r"\]\(\s*<?((?:[^()\s<>]|\([^()\s]*\))+)|<(https?://[^\s<>]+)>")
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_SUFFIX = ".md"


def links_of(body: bytes) -> Iterator[str]:
    """Link targets as written, in order; none for what is HTML (a site's way to say that it has none)."""
    text = body[:MAX_BYTES].decode("utf-8-sig", "replace")
    if _HTML.match(text):
        return
    for match in islice(_LINK.finditer(text), MAX_LINKS):
        yield match.group(1) or match.group(2)


def twins_of(url: str) -> tuple[str, ...]:
    """Addresses of the page that a markdown file may be the twin of; none for any other URL."""
    path, mark, query = url.partition("?")
    if not path.endswith(_SUFFIX):
        return ()
    stem = path.removesuffix(_SUFFIX)
    found = [stem, f"{stem}/", f"{stem}.html"]
    found += [stem.removesuffix(name) for name in ("index", "index.html") if stem.endswith(f"/{name}")]
    return tuple(twin + mark + query for twin in found)
