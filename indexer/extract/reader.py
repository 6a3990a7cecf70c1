"""
One HTML document → what a reader gets from it.

parse → blocks → which are the page's own → markdown, with metadata, structured facts, site
facts and what is hidden beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from indexer.artifacts import Extracted
from indexer.extract import classify, hidden, markdown, metadata, site, structured
from indexer.extract.blocks import Block, Walk
from indexer.extract.page import PageFacts
from indexer.extract.text import smuggled

_MAX_HIDDEN = 40
_MAX_HIDDEN_LENGTH = 500
_RECALL = 1.15
_PRECISION = 1.0


def read(html: str, *, url: str, favor_recall: bool = True) -> Extracted:
    """Extract *html*, found at *url*. Never raises for what stands in the document."""
    raw = html.replace("\x00", "").encode("utf-8", "replace")
    tree = LexborHTMLParser(raw)
    facts = PageFacts(tree, html, url)
    walk = Walk()
    body = tree.body
    if body is not None:
        walk.run(body)
    keep = select(walk, facts, favor_recall=favor_recall)
    kept = [b for b, k in zip(walk.blocks, keep, strict=True) if k]
    left = [b for b, k in zip(walk.blocks, keep, strict=True) if not k]
    text = markdown.render(kept)
    language = metadata.language(tree, facts, text)
    found = structured.objects(tree)
    told = structured.Facts(found, text, language)
    if told.page:
        text = "\n\n".join(filter(None, [text, *told.page]))
    lines = site.facts(left, walk.contacts, text)
    published, modified = metadata.dates(facts, found)
    return Extracted(
        title=metadata.title(tree, facts),
        text=text,
        language=language,
        description=metadata.description(facts),
        published=published,
        modified=modified,
        canonical=metadata.canonical(tree, url),
        extractor="blocks",
        alternates=metadata.alternates(tree, url),
        site="\n".join(dict.fromkeys([*lines, *told.site])),
        hidden=_hidden(walk.unseen, raw),
        notes=_notes(kept),
    )


def select(walk: Walk, facts: PageFacts, *, favor_recall: bool) -> Any:
    """Which blocks are the page's own text: a mask."""
    blocks = walk.blocks
    if not blocks:
        return np.zeros(0, dtype=np.bool_)
    words = np.array([b.words for b in blocks], dtype=np.float64)
    probabilities = classify.judge(blocks, walk.frames, facts)
    return classify.best_set(probabilities, words, beta=_RECALL if favor_recall else _PRECISION)


def _hidden(unseen: list[str], raw: bytes) -> tuple[str, ...]:
    found = [*unseen, *smuggled(raw)]
    return tuple(dict.fromkeys(t[:_MAX_HIDDEN_LENGTH] for t in found if t))[:_MAX_HIDDEN]


def _notes(kept: list[Block]) -> tuple[str, ...]:
    ordering = next((b.text for b in kept if b.words < 400 and hidden.addresses_model(b.text)), "")  # noqa: PLR2004
    return (f"text addresses a language model: {ordering[:200]}",) if ordering else ()
