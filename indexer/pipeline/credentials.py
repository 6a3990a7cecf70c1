"""Where a project's credentials may go: the origins of its own sources, or some of these."""

from __future__ import annotations

from indexer.artifacts import Sources
from indexer.crawl.urls import origin, resolve
from indexer.errors import Misconfigured
from indexer.settings import Crawl


def private_origins(sources: Sources, crawl: Crawl) -> list[str]:
    """
    The origins (`scheme://host[:port]`) that `crawl`'s credentials are for.

    Raises `Misconfigured` for one of `private_origins` that is no origin of the sources.
    """
    named = (resolve(url, "") for url in (*sources.crawl, *sources.sitemaps, *sources.urls))
    own = list(dict.fromkeys(origin(url) for url in named if url))
    if not crawl.private_origins:
        return own
    chosen = []
    for text in crawl.private_origins:
        url = resolve(text, "")
        if not url or origin(url) not in own:
            raise Misconfigured(
                f"crawl.private_origins names {text!r}, which is no origin of the project's sources "
                f"(these are: {', '.join(own[:10]) or 'none'})"
            )
        chosen.append(origin(url))
    return chosen
