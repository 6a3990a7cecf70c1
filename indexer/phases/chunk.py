"""
Page → chunks.

A chat model, where there is one, is asked once per window of the page where its sections
start; without one, or where its answer is of no use, paragraphs and headings decide. An
outage of the model is not an answer: it is raised, so that the page is tried again; a
bad answer is final, so that it is not paid for twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins

from indexer import ids
from indexer.artifacts import Chunk, ChunkedPage, Page
from indexer.chunk import account, answer, prompt
from indexer.chunk.anchors import locate
from indexer.chunk.fitting import fit
from indexer.chunk.legal import cover
from indexer.chunk.packing import Sizes, by_sections
from indexer.chunk.semantic import Answered, Named, Window, sections, windows
from indexer.chunk.spans import is_blank
from indexer.chunk.topics import heading_topic
from indexer.chunk.units import Layout, Unit, lay_out
from indexer.errors import AllProvidersExhausted, Permanent
from indexer.ports import Chat
from indexer.settings import Chunking

NAME = "chunk"
VERSION = 5
SEMANTIC, PARAGRAPH, LEGAL = "semantic", "paragraph", "legal"

_OPTIONAL = ("context", "article", "point", "points", "parent")
_TEMPERATURE = 0.1
_SMALL_SECTION = 1 / 3  # of the limit: a section so long is a chunk of its own
_SMALLEST_WINDOW = 1000
_HIGHEST = 99_999  # chunks of a text; room for the number of one without a title
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|exceed)|too (?:long|large|many tokens)|max(?:imum)?[ _]tokens"
    r"|(?:finish|cut|ended|stopped).{0,20}length|truncated",
    re.IGNORECASE,
)


class Cut(Struct, frozen=True, kw_only=True):
    """A text's chunks and how they came about. `reasons`, if asked for: why each begins where it does."""

    mode: str
    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def signature_of(page: Page, *, settings: Chunking, chat_model: str) -> str:
    """What the chunks of `page` stand for. `chat_model`: its name, or an empty string for none."""
    return ids.signature(NAME, VERSION, _facts(settings, chat_model), page.content)


def basis_of(*, settings: Chunking, chat_model: str) -> str:
    """What chunks depend on besides their page."""
    return ids.signature(NAME, VERSION, _facts(settings, chat_model))


def _facts(settings: Chunking, chat_model: str) -> dict[str, object]:
    facts: dict[str, object] = {
        "max_chars": settings.max_chars,
        "max_tokens": settings.max_tokens,
        "legal": settings.legal,
    }
    if chat_model and settings.llm:
        facts |= {"model": chat_model, "prompt": prompt.VERSION, "window": settings.window}
    return facts


def chunk(page: Page, *, settings: Chunking, chat: Chat | None) -> ChunkedPage:
    """
    All chunks of a page.

    Raises `Retryable` and `AllProvidersExhausted` of the chat model as they are; anything
    else that it does ends in valid chunks and a note.
    """
    cut = chunk_text(page.text, title=page.title, language=page.language, settings=settings, chat=chat)
    return ChunkedPage(
        signature=signature_of(page, settings=settings, chat_model=chat.model if chat else ""),
        url=page.url,
        title=page.title,
        language=page.language,
        mode=cut.mode,
        chunks=cut.chunks,
        notes=cut.notes,
    )


def chunk_record(
    record: Mapping[str, Any], *, settings: Chunking, chat: Chat | None, why: bool = False
) -> dict[str, Any]:
    """
    `{id, text, facts?, title?, language?}` → `{id, chunks: [{topic, text, start, end, context?}]}`.

    `facts`, as `extract` gives them beside a text, are chunked as its end.
    A chunk of legal text has `article`, `point`, `points` and `parent` besides, as far as it
    has them; with `why` also a `why`. `mode` and `notes` are added. Raises `Permanent` if
    `text` is no string.
    """
    text = record.get("text")
    if not isinstance(text, str):
        raise Permanent('a record to chunk needs "text", a string of markdown')
    title, language, facts = (str(record.get(key) or "") for key in ("title", "language", "facts"))
    text = "\n\n".join(filter(None, (text, facts)))
    cut = chunk_text(text, title=title, language=language, settings=settings, chat=chat, why=why)
    rows = [to_builtins(part) for part in cut.chunks]
    for row in rows:
        del row["ordinal"]
        for name in _OPTIONAL:
            if not row[name]:
                del row[name]
    for row, reason in zip(rows, cut.reasons, strict=False):
        row["why"] = reason
    return {"id": record.get("id"), "mode": cut.mode, "chunks": rows, "notes": list(cut.notes)}


def chunk_text(
    text: str,
    *,
    title: str = "",
    language: str = "",
    settings: Chunking,
    chat: Chat | None = None,
    why: bool = False,
) -> Cut:
    """The chunks of a markdown text; see `indexer.chunk` for what they guarantee. `why`: with reasons."""
    limit = settings.max_chars
    sizes = Sizes(limit=limit, small=int(limit * _SMALL_SECTION))
    layout = lay_out(text, limit=limit, max_tokens=settings.max_tokens, mode=settings.legal)
    units: Sequence[Unit] = layout.units
    notes: Sequence[str] = ()
    if chat is None or not settings.llm or layout.legal or is_blank(text, 0, len(text)):
        packed = by_sections(layout.units, layout.levels, sizes=sizes)
        pieces = [Named(piece.first, piece.last) for piece in packed]
        mode = LEGAL if layout.legal else PARAGRAPH
    else:
        asking = _Asking(chat, layout, title=title, language=language)
        answers = asking.ask_all(settings.window)
        units, pieces = sections(layout, answers, sizes=sizes)
        mode = SEMANTIC if any(answered.boundaries for answered in answers) else PARAGRAPH
        notes = asking.notes
    units, pieces = fit(
        text,
        units,
        pieces,
        limit=limit,
        max_tokens=settings.max_tokens,
        head=lambda own, topic: f"Topic: {topic or _topic(layout, own, title, number=_HIGHEST)}",
    )
    return Cut(
        mode=mode,
        chunks=_chunks(layout, units, pieces, title),
        notes=tuple(notes),
        reasons=_reasons(layout, units, pieces, limit) if why else (),
    )


def _reasons(layout: Layout, units: Sequence[Unit], pieces: Sequence[Named], limit: int) -> tuple[str, ...]:
    """One for each chunk: pieces with nothing to see are none."""
    told = account.reasons(layout, units, pieces, limit=limit)
    return tuple(
        reason
        for reason, piece in zip(told, pieces, strict=True)
        if not is_blank(layout.text, units[piece.first].start, units[piece.last - 1].end)
    )


def _chunks(layout: Layout, units: Sequence[Unit], pieces: Sequence[Named], title: str) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    for piece in pieces:
        own = units[piece.first : piece.last]
        start, end = own[0].start, own[-1].end
        if is_blank(layout.text, start, end):
            continue
        places = [layout.places[unit.section] for unit in own if not unit.names]
        article, point, points, parent = cover(places or [layout.places[own[-1].section]])
        number = len(chunks)
        topic = piece.topic or _topic(layout, own, title, number=number + 1, keep_parent=bool(article))
        chunks.append(
            Chunk(
                ordinal=number,
                topic=topic,
                text=layout.text[start:end],
                start=start,
                end=end,
                context=own[0].context,
                article=article,
                point=point,
                points=points,
                parent=parent,
            )
        )
    return tuple(chunks)


def _topic(layout: Layout, own: Sequence[Unit], title: str, *, number: int, keep_parent: bool = False) -> str:
    paths = [layout.paths[section] for section in dict.fromkeys(unit.section for unit in own)]
    return heading_topic(title, paths, number=number, keep_parent=keep_parent)


def questions(page: Page, *, settings: Chunking) -> list[tuple[str, str]]:
    """What a chat model would be asked about a page: system and user message of each window."""
    if is_blank(page.text, 0, len(page.text)):
        return []
    layout = lay_out(page.text, limit=settings.max_chars, max_tokens=settings.max_tokens, mode=settings.legal)
    if layout.legal:
        return []
    spans = windows(layout, size=settings.window)
    return [
        (
            prompt.SYSTEM,
            prompt.ask(
                page.text[span.start : span.end],
                title=page.title,
                language=page.language,
                part=number,
                parts=len(spans),
            ),
        )
        for number, span in enumerate(spans, 1)
    ]


class _Asking:
    """Asks a chat model about a text, window by window, and notes what came of it."""

    def __init__(self, chat: Chat, layout: Layout, *, title: str, language: str) -> None:
        self.chat = chat
        self.layout = layout
        self.title = title
        self.language = language
        self.notes: list[str] = []
        self.cut_once = False

    def ask_all(self, size: int) -> list[Answered]:
        """
        One question for each window of `size` characters.

        Where a window is too long for the model, it and the windows after it are asked in
        halves. That a model refuses a long question costs nothing, so this may go on; an
        answer cut by its length is paid for, so this is tried once.
        """
        todo = deque(windows(self.layout, size=size))
        answers: list[Answered] = []
        while todo:
            span = todo.popleft()
            parts = windows(self.layout, size=size, span=span)
            if len(parts) > 1:
                todo.extendleft(reversed(parts))
                continue
            try:
                answers.append(self.ask(span, number=len(answers) + 1, count=len(answers) + 1 + len(todo)))
            except _TooLongError:
                size = _half(span)
                todo.appendleft(span)
        return answers

    def ask(self, span: Window, *, number: int, count: int) -> Answered:
        """Ask about one window. Raises `_TooLongError` if it should be asked in halves."""
        text = self.layout.text[span.start : span.end]
        question = prompt.ask(text, title=self.title, language=self.language, part=number, parts=count)
        try:
            said = self.chat(prompt.SYSTEM, question, temperature=_TEMPERATURE)
        except (Permanent, AllProvidersExhausted) as error:
            self._judge(error, span)
            self._note(span, f"the model gave no answer ({error})")
            return Answered(span)
        named = answer.parse(said)
        found = locate(self.layout.text, span.start, span.end, named)
        if not named:
            self._note(span, "the model's answer names no sections")
        elif len(found) < len(named):
            self._note(span, f"of {len(named)} places that the model named, {len(found)} were found")
        return Answered(span, tuple(found))

    def _judge(self, error: Permanent | AllProvidersExhausted, span: Window) -> None:
        """Return if the answer is final; else raise what is to be done about it."""
        refused = isinstance(error, AllProvidersExhausted)
        divisible = len(windows(self.layout, size=_half(span), span=span)) > 1
        too_long = getattr(error, "reason", "") == "length" or _TOO_LONG.search(str(error)) is not None
        if divisible and too_long and (refused or not self.cut_once):
            self.cut_once = self.cut_once or not refused
            raise _TooLongError
        if isinstance(error, AllProvidersExhausted) and error.passing:
            raise error

    def _note(self, span: Window, what: str) -> None:
        self.notes.append(f"characters {span.start} to {span.end}: {what}")


def _half(span: Window) -> int:
    return max((span.end - span.start + 1) // 2, _SMALLEST_WINDOW)


class _TooLongError(Exception):
    """The window is too long for the model."""
