"""
What was found, judged: is it enough to answer from?

By the words of the question that one place holds, by a name or a number that is asked for,
and by how far the nearest text stands out. See `sufficiency` for how words are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import fsum, sqrt

from msgspec import Struct

from indexer.contacts import tells
from indexer.search import routing
from indexer.search.library import Piece
from indexer.search.references import Reference, without_references
from indexer.search.routing import Question
from indexer.search.sufficiency import EMPTY, SUFFICIENT, WEAK, Matcher, counted, names_in
from indexer.search.vocabulary import Words
from indexer.settings import Policy

OUTSTANDING = 2.0  # deviations by which the nearest text of a topic that is there stands out
SLIGHT = 0.3  # coverage below which a text is about something else
_HINT = 0.01  # of a question that is loaded: its own words are hardly those of a text
_TENTH = 9
_MARKS = re.compile(r"(?m)^\W*(?:[^\W\d]+\s+)?\d+(?:[-.]\d+)*[.)]?(?=\s|$)")  # of points and headings


class Task(Struct, frozen=True, kw_only=True):
    """One part of a question: what to search for, and where. `places`, `wants`: as of the question."""

    number: int | None
    question: str
    queries: tuple[str, ...]
    subject: tuple[str, ...]
    layers: tuple[str, ...] | None
    wide: bool = False
    lookup: bool = False
    wants: Mapping[str, str] = {}
    places: tuple[Reference, ...] = ()
    background: tuple[Reference, ...] = ()
    deprecated: bool | None = None


class Judge:
    """Judges tasks under one policy."""

    def __init__(self, matcher: Matcher, policy: Policy) -> None:
        self.matcher = matcher
        self.policy = policy

    def _named(self, task: Task, words: Words) -> tuple[str, ...]:
        """The subject without words in another language's letters."""
        return tuple(
            word for word in task.subject if set(word) <= words.letters or not set(word) & words.letters
        )

    def covers(
        self, subject: Sequence[str], pieces: Sequence[Piece], wants: Mapping[str, str] | None = None
    ) -> float:
        """The best coverage of the subject by one article or page. `wants`: as of a question."""
        units: dict[tuple[str, str], list[str]] = {}
        for one in pieces:
            payload = one.payload
            units.setdefault(one.place, []).append(f"{payload.topic}\n{payload.context}\n{payload.text}")
        return max(
            (self.matcher.coverage(subject, self.matcher.text(unit), wants) for unit in units.values()),
            default=0.0,
        )

    def __call__(
        self,
        task: Task,
        question: Question,
        ground: Sequence[Piece],
        behind: Sequence[Piece],
        referred: Sequence[Piece],
        pool: Sequence[Piece],
        words: Words,
    ) -> tuple[str, str]:
        """Whether the ground is enough for a task, and why."""
        if not ground:
            return EMPTY, "nothing was found in the layers that an answer may rest on"
        own = [one for one in ground if one.payload.language in (question.language, "")] or list(ground)
        if own and own[0].payload.language not in (question.language, "") and not (behind or referred):
            apart = standout(pool) >= OUTSTANDING
            told = f"a text in another language {'stands' if apart else 'hardly stands'} out"
            return (SUFFICIENT if apart else WEAK), told
        subject = self._named(task, words)
        covered = self.covers(subject, own, task.wants)
        told = f"one place holds {covered:.0%} of what is asked"
        if not subject and not behind:
            return WEAK, "the question names nothing that could be looked for"
        lacks = self._lacks_number if question.quantity else self._lacks_name
        spoken_of = question.quantity or behind or referred
        lacking = lacks(task, question, subject, own, words)
        lacking = lacking or ("" if spoken_of else self._lacks_word(task, subject, own))
        if lacking:
            return WEAK, lacking
        if spoken_of:
            how = "the place that was spoken of is there" if behind else told
            return SUFFICIENT, f"an explanation that fits refers to it; {told}" if referred else how
        wide = task.wide and not question.refined
        slight = wide or question.route in (routing.COMPARISON, routing.HISTORICAL)
        least = SLIGHT if slight or standout(pool) >= OUTSTANDING else self.policy.coverage
        if question.route == routing.SENSITIVE and not question.refined:
            least = _HINT
        return (SUFFICIENT, told) if covered >= least else (WEAK, told)

    def _lacks_word(self, task: Task, subject: Sequence[str], pieces: Sequence[Piece]) -> str:
        """Words that are most of what is asked and stand in no text at all; empty if there are none."""
        told = {
            kind for kind in set(task.wants.values()) if any(tells(one.payload.text, kind) for one in pieces)
        }
        unknown = [word for word in self.matcher.unknown(subject) if task.wants.get(word) not in told]
        most = bool(unknown) and self.matcher.share(unknown, subject) >= self.policy.coverage
        return f"no text has the word {' or '.join(unknown)}" if most else ""

    def _lacks_name(
        self, task: Task, _: Question, subject: Sequence[str], pieces: Sequence[Piece], words: Words
    ) -> str:
        """A name that is most of what is asked and stands nowhere; empty if there is none."""
        for name in names_in(task.question):
            bare = [word for word in name if word not in words.frame and set(word) <= words.letters]
            most = self.matcher.share(bare, subject) >= self.policy.coverage
            if (
                len(bare) > 1
                and most
                and not any(
                    self.matcher.text([one.payload.text, one.payload.topic]).has_name(bare) for one in pieces
                )
            ):
                return f"no text has the name {' '.join(bare)}"
        return ""

    def _lacks_number(
        self, task: Task, question: Question, subject: Sequence[str], pieces: Sequence[Piece], words: Words
    ) -> str:
        """Why no piece gives the number that is asked for; empty if one does."""
        unit = counted(question.text, words)
        for one in pieces:
            text = self.matcher.text([one.payload.topic, one.payload.text])
            if unit and not (text.has(unit) or (words.agglutinative and text.has_root(unit))):
                continue
            bare = without_references(_MARKS.sub("", one.payload.text), [words])
            if (
                self.matcher.text([bare]).has_number(words)
                and self.matcher.coverage(subject, text, task.wants) >= self.policy.coverage - 0.1
            ):
                return ""
        return f"no text gives a number of {unit}" if unit else "no text gives the number"


def standout(pool: Sequence[Piece]) -> float:
    """
    How far the nearest text stands out: its distance to the tenth, in deviations of all.

    Where nothing fits, all texts are about equally near; the scale of a model's cosines cancels out.
    """
    near = sorted((one.dense for one in pool if one.dense), reverse=True)
    if len(near) <= _TENTH:
        return 0.0
    mean = fsum(near) / len(near)
    deviation = sqrt(fsum((one - mean) ** 2 for one in near) / len(near))
    return (near[0] - near[_TENTH]) / deviation if deviation else 0.0


def nearest(pool: Sequence[Piece]) -> float:
    """The cosine of the nearest text; 0 for none."""
    return max((one.dense for one in pool), default=0.0)
