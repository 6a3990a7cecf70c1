"""
One HTML document → what a reader gets from it.

parse → blocks → which are the page's own → markdown, with metadata, structured facts, site
facts and what is hidden beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from indexer.artifacts import Extracted
from indexer.extract import (
    cards,
    classify,
    finish,
    hidden,
    markdown,
    mend,
    metadata,
    orders,
    second,
    site,
    structured,
)
from indexer.extract.account import Decided
from indexer.extract.blocks import Block
from indexer.extract.page import PageFacts
from indexer.extract.text import smuggled
from indexer.extract.walk import MAX_BLOCKS, Walk

_MAX_HIDDEN = 40
_MAX_HIDDEN_LENGTH = 500


class _Parsed(Struct, frozen=True):
    """What is kept of a document's tree, which is ten times the size of its source."""

    facts: PageFacts
    walk: Walk
    found: list[dict[str, Any]]
    title: str
    description: str
    ordered: list[str]
    language: str
    canonical: str
    alternates: dict[str, str]


def read(
    html: str, *, url: str, favor_recall: bool = True, watch: Callable[[Decided], None] | None = None
) -> Extracted:
    """Extract *html*, found at *url*. Never raises for what stands in the document. *watch* is told why."""
    raw = encode(html)
    parsed = _parse(raw, url)
    facts, walk = parsed.facts, parsed.walk
    verdict = classify.judge(walk.blocks, walk.frames, facts, favor_recall=favor_recall)
    keep, judge = verdict.keep, "blocks"
    if walk.blocks and second.is_doubtful(walk.blocks, verdict.probabilities, keep, facts, html):
        keep = second.confirm(walk.blocks, verdict.probabilities, keep, verdict.bar, html)
        judge = "blocks+trafilatura"
    cards.enclose(walk.cards, walk.frames, walk.blocks)
    keep = mend.with_dishes(walk.blocks, mend.with_questions(walk.blocks, keep))
    keep = cards.with_moments(walk.blocks, mend.with_labels(walk.blocks, keep))
    done = finish.finish(walk.blocks, keep, walk.labels)
    ordered = parsed.ordered + done.orders
    text = markdown.render(done.blocks)
    language = parsed.language or metadata.guess_language(text)
    told = structured.Facts(parsed.found, text, language)
    data, beside = told.page, told.beside
    if (data or beside) and not orders.is_about(text):
        data, beside = (_spared(lines, ordered) for lines in (data, beside))
    shown, apart = structured.divide(data, walk.blocks)
    apart += beside
    text = "\n\n".join(filter(None, [text, *shown]))
    lines = site.facts(walk.blocks, keep.tolist(), walk.contacts, "\n\n".join([text, *apart]))
    unseen = _hidden([*ordered, *walk.unseen], raw)
    if watch is not None:
        watch(
            Decided(
                blocks=walk.blocks,
                verdict=verdict,
                keep=keep,
                left=done.left,
                hidden=unseen,
                data=[*data, *beside],
                site=[*lines, *told.site],
            )
        )
    published, modified = metadata.dates(facts, parsed.found)
    return Extracted(
        title=parsed.title,
        text=text,
        language=language,
        description=parsed.description,
        published=published,
        modified=modified,
        canonical=parsed.canonical,
        extractor=judge,
        alternates=parsed.alternates,
        site="\n".join(dict.fromkeys([*lines, *told.site])),
        facts="\n\n".join(apart),
        hidden=unseen,
        notes=(
            *_notes(done.blocks),
            *([f"only its first {MAX_BLOCKS:,} lines were read"] if walk.cut else ()),
        ),
    )


def _parse(raw: bytes, url: str) -> _Parsed:
    """All that is read from the tree, so that it ends before the blocks are judged."""
    tree = LexborHTMLParser(raw)
    found = structured.objects(tree)
    facts = PageFacts(tree, structured.types_of(found), url)
    for node in tree.css("[data-cfemail]"):
        if address := site.unprotected(node.attributes.get("data-cfemail") or ""):
            node.replace_with(address)
    walk = Walk()
    if tree.body is not None:
        walk.run(tree.body)
    ordered: list[str] | None = []
    title, description = metadata.title(tree, facts, ordered), metadata.description(facts, ordered)
    if ordered and any(orders.is_about(text) for text in (title, *(b.text for b in walk.blocks))):
        title, description, ordered = metadata.title(tree, facts), metadata.description(facts), None
    return _Parsed(
        facts,
        walk,
        found,
        title,
        description,
        ordered or [],
        metadata.declared_language(tree, facts),
        metadata.canonical(tree, url),
        metadata.alternates(tree, url),
    )


def encode(html: str) -> bytes:
    """UTF-8 for the parser; what it cannot hold is replaced."""
    return html.replace("\x00", "").encode("utf-8", "replace")


def _spared(lines: list[str], ordered: list[str]) -> list[str]:
    """Lines without orders to a model, which are added to `ordered`."""
    parts = [orders.spared(line) for line in lines]
    ordered += [order for _, order in parts if order]
    return [line for line, _ in parts if line]


def _hidden(unseen: list[str], raw: bytes) -> tuple[str, ...]:
    found = [*unseen, *smuggled(raw)]
    return tuple(dict.fromkeys(t[:_MAX_HIDDEN_LENGTH] for t in found if t))[:_MAX_HIDDEN]


def _notes(kept: list[Block]) -> tuple[str, ...]:
    ordering = next((b.text for b in kept if b.words < 400 and hidden.addresses_model(b.text)), "")
    return (f"text addresses a language model: {ordering[:200]}",) if ordering else ()
