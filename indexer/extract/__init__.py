"""
HTML → markdown: what a visitor reads on a page, without what surrounds it.

Read first: `reader.read` (the steps in order), `blocks.Walk` (the page as blocks),
`classify.best_set` (which are kept), `markdown.render`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.artifacts import Extracted

VERSION = 15  # of the rules and the weights: part of a page's signature


def extract(html: str, *, url: str, favor_recall: bool = True) -> Extracted:
    """
    Read *html*, the decoded document found at *url*: its title, text as markdown, and more.

    Pure, deterministic and thread-safe; no input makes it raise. `favor_recall` keeps what
    may be content; without it only what probably is.
    """
    from indexer.extract.reader import read

    return read(html, url=url, favor_recall=favor_recall)
