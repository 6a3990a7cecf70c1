"""
What a bot is handed for a question: fragments it may cite, and how far they go.

Read first: `Context` (the contract), `gather.Gatherer.answer` (how it comes about).
"""

from __future__ import annotations

from msgspec import Struct

from indexer.search.routing import Why

NONE, NOT_FOUND, INSUFFICIENT = "none", "not_found", "insufficient"


class Turn(Struct, frozen=True, kw_only=True):
    """One earlier message; `sources`: URLs that an answer rested on, where they are known."""

    role: str
    content: str
    sources: tuple[str, ...] = ()


class Fragment(Struct, frozen=True, kw_only=True):
    """
    One piece of a source, `number` from 1.

    `article`: of legal text its own; of a text about one article, that article. `refers_to`:
    all that it names. `auxiliary`: in another language than the question. `aspect`: which
    part of the question it is for. `role`: `hit`, `lookup` (the place that was named),
    `structure` (belongs to a hit), `reference` (what an explanation refers to).
    """

    number: int
    id: str
    dataset: str
    layer: str
    language: str
    edition: str
    status: str
    effective_date: str
    deprecated: bool
    source: str
    title: str
    topic: str
    article: str
    point: str
    points: tuple[str, ...]
    parent: str
    refers_to: tuple[str, ...]
    auxiliary: bool
    aspect: int | None
    role: str
    body: str


class Aspect(Struct, frozen=True, kw_only=True):
    """One part of the question, answered apart."""

    number: int
    question: str
    layers: tuple[str, ...]
    sufficiency: str
    reason: str


class Conflict(Struct, frozen=True, kw_only=True):
    """Different wordings of one place in one layer: none is dropped. `fragments`: their numbers."""

    dataset: str
    layer: str
    language: str
    article: str
    point: str
    sources: tuple[str, ...]
    fragments: tuple[int, ...]


class LeftOut(Struct, frozen=True, kw_only=True):
    """A fragment for which the size of the context had no room."""

    id: str
    source: str
    article: str
    point: str
    aspect: int | None


class Background(Struct, frozen=True, kw_only=True):
    """
    What was said before and the question depends on; empty fields: nothing that is certain.

    `article` and `source`: the one place that the reply chain rests on.
    """

    used: bool = False
    question: str = ""
    article: str = ""
    source: str = ""


class Signals(Struct, frozen=True, kw_only=True):
    """
    What the answer must say of itself.

    `overview`: several articles, without a claim to be complete; `project`: a fragment is of
    a text that is not in force yet; `deprecated`: one is of an edition that is no longer valid.
    """

    overview: bool = False
    project: bool = False
    deprecated: bool = False


class Context(Struct, frozen=True, kw_only=True):
    """
    The answer of `indexer context`.

    `sufficiency`: `sufficient`, `weak` or `empty`, with a `reason`; `fallback`: `none`,
    `not_found` or `insufficient`. `question` is the target, `background` what it leans on.
    `left_out`: what did not fit into the size that was allowed; a conflict names its sources too.
    """

    id: str | int | None
    question: str
    language: str
    route: str
    why: tuple[Why, ...]
    topic: str
    background: Background
    sufficiency: str
    reason: str
    fallback: str
    fragments: tuple[Fragment, ...]
    aspects: tuple[Aspect, ...]
    conflicts: tuple[Conflict, ...]
    signals: Signals
    left_out: tuple[LeftOut, ...] = ()


def as_text(context: Context) -> str:
    """For a prompt: what is known of the question, then each fragment under a line that names its source."""
    head = [
        f"Question: {context.question}",
        f"Route: {context.route} · language: {context.language} · fallback: {context.fallback}",
        f"Sources: {context.sufficiency} ({context.reason})",
    ]
    if context.background.used:
        about = " · ".join(filter(None, (context.background.question, _article(context.background.article))))
        head.append(f"Background: {about}")
    flags = [name for name in ("overview", "project", "deprecated") if getattr(context.signals, name)]
    if flags:
        head.append(f"Signals: {', '.join(flags)}")
    head += [
        f"Conflict: {_article(one.article)} {one.point}: fragments {', '.join(map(str, one.fragments))}"
        for one in context.conflicts
    ]
    if context.left_out:
        places = dict.fromkeys(
            " ".join(filter(None, (_article(one.article), one.point))) or one.source
            for one in context.left_out
        )
        head.append(f"Left out for size: {len(context.left_out)} fragments ({', '.join(places)})")
    return "\n\n".join(["\n".join(head), *map(block_of, context.fragments)])


def block_of(fragment: Fragment) -> str:
    """A fragment as text, under the line that names its source."""
    facts = (
        fragment.dataset,
        fragment.layer,
        fragment.language,
        fragment.edition,
        fragment.status,
        fragment.effective_date,
        "DEPRECATED" if fragment.deprecated else "",
        "auxiliary language" if fragment.auxiliary else "",
        f"aspect {fragment.aspect}" if fragment.aspect else "",
        _article(fragment.article),
        f"point {fragment.point}" if fragment.point else "",
        fragment.source,
    )
    return f"[{fragment.number}] {' · '.join(filter(None, facts))}\n{fragment.body}"


def _article(number: str) -> str:
    return f"article {number}" if number else ""
