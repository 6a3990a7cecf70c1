"""
A question within its dialogue → `Context`.

A question that cannot be understood alone is resolved from the source that the reply chain
rests on, if that is exactly one; the words of the question before are searched with it. In
doubt it stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from msgspec.structs import replace

from indexer.search import routing
from indexer.search.budget import renumbered, within
from indexer.search.context import (
    INSUFFICIENT,
    NONE,
    NOT_FOUND,
    Aspect,
    Background,
    Conflict,
    Context,
    Fragment,
    Signals,
    Turn,
)
from indexer.search.gather import Found, Gatherer
from indexer.search.judge import Task
from indexer.search.library import Piece
from indexer.search.references import Reference, references
from indexer.search.routing import Question, Router
from indexer.search.sufficiency import EMPTY, SUFFICIENT, WEAK
from indexer.search.vocabulary import read_of, tokens

_ENDING = 3  # letters of an ordinal's ending
_TURNS = 50  # that a question may lean on
IN_FORCE = ("", "in_force", "explanatory", "historical")


class Answerer:
    """Answers with contexts, one question after the other."""

    def __init__(
        self, router: Router, gatherer: Gatherer, *, refine: Callable[[Question], Question] | None = None
    ) -> None:
        """`refine`: has a second look at the route of a question that stands alone."""
        self.router = router
        self.refine = refine
        self.gatherer = gatherer
        self._words = list(router.vocabulary.languages.values())

    def answer(self, text: str, history: Sequence[Turn] = (), *, id: str | int | None = None) -> Context:  # noqa: A002
        """The context of one question. `history`: earlier turns, oldest first."""
        question = self.router.read(read_of(text))
        background, before = Background(), None
        if question.dependent and history:
            background, before = self._resolve(question, history)
        elif self.refine is not None:
            question = self.refine(question)
        tasks = self._tasks(question, background, before)
        found = [self.gatherer.gather(task, self._asked(question, before)) for task in tasks]
        return self._context(id, replace(question, text=text), background, found)

    # ── what was said before ────────────────────────────────────────────────────────────

    def _resolve(self, question: Question, history: Sequence[Turn]) -> tuple[Background, Question | None]:
        """
        The one place that the last turns rest on, and the last question that stands alone.

        Of several places the one that is counted: "the second one".
        """
        article = source = ""
        last = [replace(turn, content=read_of(turn.content)) for turn in reversed(history[-_TURNS:])]
        for turn in last:
            named = [one.article for one in references(turn.content, self._words) if one.article]
            numbers = list(dict.fromkeys(named))
            if numbers or turn.sources:
                counted = self._counted(question)
                if len(numbers) > 1 and 0 < counted <= len(numbers):
                    numbers = [numbers[counted - 1]]
                article = numbers[0] if len(numbers) == 1 else ""
                source = turn.sources[0] if len(turn.sources) == 1 else ""
                break
        asked = (self.router.read(turn.content) for turn in last if turn.role == "user")
        before = next((one for one in asked if not one.dependent), None)
        told = before.text if before else ""
        used = bool(article or source or told)
        return Background(used=used, question=told, article=article, source=source), before

    def _counted(self, question: Question) -> int:
        """Which of several is meant: 2 for "the second one"; 0 if the question does not count."""
        words = self.router.vocabulary[question.language]
        found = [
            value
            for token in tokens(question.text)
            for stem, value in words.ordinals.items()
            if token.startswith(stem.replace("ё", "е")) and len(token) - len(stem) <= _ENDING
        ]
        return found[0] if len(set(found)) == 1 else 0

    @staticmethod
    def _asked(question: Question, before: Question | None) -> Question:
        """The question as it is judged: a number that the question before was for is still wanted."""
        if before is None or question.subject[1:]:
            return question
        if before.quantity and question.route in (routing.ORDINARY, routing.SIMPLE):
            return replace(question, quantity=True, text=before.text)
        return question

    # ── tasks ───────────────────────────────────────────────────────────────────────────

    def _tasks(self, question: Question, background: Background, before: Question | None) -> list[Task]:
        grounds, _ = self.gatherer.layers(question.route)
        labelled = self.gatherer.labelled
        layers = grounds if labelled else None
        queries, subject = self._queries(question, before)
        places = self._places(question, background)
        behind = (Reference(background.article),) if background.article and not question.here else ()
        if question.route == routing.HISTORICAL:
            behind = ()  # the number is that of another edition
        deprecated = None if question.route == routing.HISTORICAL or not labelled else False
        task = Task(
            number=None,
            question=question.text,
            queries=queries,
            subject=subject,
            wants={**(before.wants if before else {}), **question.wants},
            layers=layers,
            wide=question.route in (routing.BROAD, routing.SENSITIVE),
            lookup=question.route == routing.EXACT
            or (question.route == routing.HISTORICAL and any(one.article for one in places)),
            places=places,
            background=behind,
            deprecated=deprecated,
        )
        if question.route == routing.COMPARISON:
            unlocked = self.gatherer.policy.unlock.get(question.route, ())
            now = replace(task, number=1, wide=True)
            return [now, replace(now, number=2, layers=unlocked, background=(), deprecated=None)]
        if question.route == routing.MIXED:
            return [self._part(task, number, part) for number, part in enumerate(question.aspects, 1)]
        return [task]

    def _part(self, task: Task, number: int, text: str) -> Task:
        part = self.router.read(text)
        return replace(
            task,
            number=number,
            question=text,
            queries=(text, " ".join(part.subject), *self._expanded(part)),
            subject=part.subject,
            wants=part.wants,
            wide=part.route == routing.BROAD,
            places=part.references,
        )

    def _places(self, question: Question, background: Background) -> tuple[Reference, ...]:
        """Places that the question names; "this article" is the one that was spoken of."""
        if question.here and background.article:
            return tuple(replace(one, article=background.article) for one in question.references) or (
                Reference(background.article),
            )
        if question.here:
            return ()
        return question.references

    def _queries(
        self, question: Question, before: Question | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What to search for, and the words that a text must hold to be about it."""
        words = self.router.vocabulary[question.language]
        subject = tuple(question.subject)
        queries = [question.topic, " ".join(subject)]
        if before is not None:
            about = " ".join(before.subject)
            queries = [before.topic, about, f"{about} {' '.join(subject)}" if subject else "", *queries[1:]]
            subject = before.subject if question.route != routing.SENSITIVE else (*before.subject, *subject)
        if question.route == routing.SENSITIVE and subject:
            topic = " ".join(subject)
            queries += [angle.format(topic=topic) for angle in words.expand.get("sensitive", ())]
        queries += self._expanded(question)
        if question.status and words.expand.get("status"):
            queries.append(words.expand["status"])
        return tuple(query for query in dict.fromkeys(queries) if query), subject

    def _expanded(self, question: Question) -> list[str]:
        """How pages name what a question wants: "opening hours" where it asks "when do you open"."""
        expand = self.router.vocabulary[question.language].expand
        return [expand[kind] for kind in dict.fromkeys(question.wants.values())]

    # ── the result ──────────────────────────────────────────────────────────────────────

    def _context(
        self, name: str | int | None, question: Question, background: Background, found: Sequence[Found]
    ) -> Context:
        sufficiency, reason = _overall(found)
        pieces = [
            piece
            for one in found
            for piece in self._ranked(one.pieces, question)
            if sufficiency == SUFFICIENT or one.task.layers is None or piece.payload.layer in one.task.layers
        ]
        fragments = [self._fragment(number, piece, question) for number, piece in enumerate(pieces, 1)]
        conflicts = _conflicts(fragments)
        fitting, left = within(fragments, self.gatherer.policy.max_chars)
        if left and sufficiency == SUFFICIENT and (lost := _lost(fragments, fitting)):
            sufficiency, reason = WEAK, lost
        fallback = NONE
        if sufficiency != SUFFICIENT:
            fallback = NOT_FOUND if sufficiency == EMPTY else INSUFFICIENT
        return Context(
            id=name,
            question=question.text,
            language=question.language,
            route=question.route,
            why=question.why,
            topic=question.topic,
            background=background,
            sufficiency=sufficiency,
            reason=reason,
            fallback=fallback,
            fragments=tuple(fitting),
            aspects=tuple(
                Aspect(
                    number=one.task.number,
                    question=one.task.question,
                    layers=one.task.layers or (),
                    sufficiency=one.sufficiency,
                    reason=one.note,
                )
                for one in found
                if one.task.number is not None
            ),
            conflicts=tuple(renumbered(conflicts, fragments, fitting)),
            left_out=tuple(left),
            signals=Signals(
                overview=question.route in (routing.BROAD, routing.SENSITIVE),
                project=any(one.status not in IN_FORCE and not one.deprecated for one in fitting),
                deprecated=any(one.deprecated for one in fitting),
            ),
        )

    def _ranked(self, pieces: Sequence[Piece], question: Question) -> list[Piece]:
        """By layer, the question's language first; as they were found besides, an article together."""
        order = {layer: rank for rank, layer in enumerate(self.gatherer.order)}
        first: dict[tuple[str, str], int] = {}
        for rank, piece in enumerate(pieces):
            first.setdefault(piece.place, rank)

        def key(one: Piece) -> tuple[int, bool, int, bool, str, int]:
            payload = one.payload
            foreign = payload.language != question.language
            return (
                order.get(payload.layer, len(order)),
                foreign,
                first[one.place],
                question.route == routing.EXACT and one.role != "lookup",
                payload.url,
                payload.ordinal,
            )

        return sorted(pieces, key=key)

    def _fragment(self, number: int, piece: Piece, question: Question) -> Fragment:
        payload = piece.payload
        named = tuple(
            dict.fromkeys(
                one.article
                for one in references(f"{payload.title}\n{payload.text}", self._words)
                if one.article and one.article != payload.article
            )
        )
        lone = named[0] if len(named) == 1 else ""
        return Fragment(
            number=number,
            id=piece.id,
            dataset=payload.dataset,
            layer=payload.layer,
            language=payload.language,
            edition=payload.edition,
            status=payload.status,
            effective_date=payload.effective_date,
            deprecated=payload.deprecated,
            source=payload.url,
            title=payload.title,
            topic=payload.topic,
            article=payload.article or lone,
            point=payload.point,
            points=payload.points,
            parent=payload.parent,
            refers_to=named,
            auxiliary=bool(payload.language) and payload.language != question.language,
            aspect=piece.aspect,
            role=piece.role,
            body=f"{payload.context}\n{payload.text}" if payload.context else payload.text,
        )


def _lost(fragments: Sequence[Fragment], fitting: Sequence[Fragment]) -> str:
    """Why a context is not enough whose size has no room for a part of the question; empty if it is."""
    missing = {one.aspect for one in fragments} - {one.aspect for one in fitting}
    if not missing:
        return ""
    parts = ", ".join(str(number) for number in sorted(filter(None, missing)))
    of = f" of part {parts}" if parts else ""
    return f"no fragment{of} fits into the size that is allowed (policy.max_chars)"


def _overall(found: Sequence[Found]) -> tuple[str, str]:
    """Of all tasks: sufficient if each is; empty if each is; else weak."""
    kinds = {one.sufficiency for one in found}
    if len(found) == 1:
        return found[0].sufficiency, found[0].note
    reasons = "; ".join(f"{one.task.number}: {one.note}" for one in found)
    if kinds in ({SUFFICIENT}, {EMPTY}):
        return kinds.pop(), reasons
    return WEAK, reasons


def _conflicts(fragments: Sequence[Fragment]) -> tuple[Conflict, ...]:
    """Places of one dataset that several pages word differently."""
    places: dict[tuple[str, str, str, str, str], list[Fragment]] = {}
    for one in fragments:
        if one.article and not (one.refers_to and one.article in one.refers_to):
            key = (one.dataset, one.layer, one.language, one.article, one.point)
            places.setdefault(key, []).append(one)
    return tuple(
        Conflict(
            dataset=key[0],
            layer=key[1],
            language=key[2],
            article=key[3],
            point=key[4],
            sources=tuple(dict.fromkeys(one.source for one in members)),
            fragments=tuple(one.number for one in members),
        )
        for key, members in places.items()
        if len({urlsplit(one.source).path for one in members}) > 1
        and len({" ".join(one.body.split()) for one in members}) > 1
    )
