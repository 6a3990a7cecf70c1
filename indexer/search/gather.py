"""
From an understood question to what may be cited: the source policy at work.

    the layers that an answer rests on, by filter → places that were named → hits, with their
    articles → what explanations refer to → is it enough? → only then, explanations

What is weak or empty is never padded from other layers. Each part of a mixed question, and
each edition of a comparison, is gathered apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from indexer.artifacts import Dataset
from indexer.errors import Misconfigured
from indexer.search import routing
from indexer.search.judge import OUTSTANDING, SLIGHT, Judge, Task, nearest, standout
from indexer.search.library import Library, Piece, Shelf, for_aspect, unique
from indexer.search.references import Reference, references
from indexer.search.routing import Question, years, years_in
from indexer.search.sufficiency import EMPTY, SUFFICIENT, WEAK, Matcher
from indexer.search.vocabulary import Vocabulary, Words
from indexer.settings import Policy

EXPLANATIONS = 3  # of one explaining layer
_WHOLE, _SHORT = 12, 4  # chunks of an article that is given whole: of the first hits, of others
_MOST, _MOST_WIDE = 4, 8  # chunks of a task, for each of `fragments`
_WHOLE_AT_MOST = 40  # chunks of an article that was asked for
_FIRST, _FIRST_WIDE = 2, 3  # best hits whose articles are given whole
_RANKS = 5  # how soon a lower rank says less of a section
_POOL = 200  # hits that the most diverse are taken from
_BEST = 3  # chunks of an article that an explanation refers to, where it is long
_WIDE = (routing.BROAD, routing.SENSITIVE)
UNLOCKING = (routing.HISTORICAL, routing.COMPARISON)
_NEAREST = 10  # articles that one with a named subject must be among


class Found(Struct, kw_only=True):
    """What a task came to. `pieces` in the order of layers; `note`: why it is not sufficient."""

    task: Task
    pieces: list[Piece]
    sufficiency: str
    note: str


class Gatherer:
    """Answers questions from one library under one policy."""

    def __init__(
        self, library: Library, *, policy: Policy, datasets: Sequence[Dataset], vocabulary: Vocabulary
    ) -> None:
        self.library = library
        self.policy = policy
        self.datasets = datasets
        self.vocabulary = vocabulary
        self.judge = Judge(Matcher(library.analyze, library.reader.snapshot), policy)
        self._sizes: dict[tuple[tuple[str, ...] | None, str], int] = {}
        self._words = list(vocabulary.languages.values())
        present = dict.fromkeys(one.layer for one in datasets)
        self.order = (*policy.order, *(layer for layer in present if layer not in policy.order))
        self.labelled = bool(datasets)
        known = [layer for layer in policy.order if layer in present]
        shown = [layer for layer in present if layer not in policy.hidden]
        first = policy.order[:1] if known or not shown else tuple(shown)[:1]
        self.grounds = policy.grounds or first
        self.years = years(datasets)
        _agree(policy, self.grounds)

    def layers(self, route: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The layers that a route may rest on, and those that it may explain with."""
        unlocked = self.policy.unlock.get(route, ())
        shown = [layer for layer in self.order if layer not in self.policy.hidden]
        if route == routing.HISTORICAL and (unlocked or any(one.deprecated for one in self.datasets)):
            return unlocked, ()  # that edition alone: none, where the policy unlocks none
        grounds = tuple(layer for layer in self.order if layer in self.grounds)
        return grounds, tuple(layer for layer in shown if layer not in grounds)

    def gather(self, task: Task, question: Question) -> Found:
        """The pieces of one task and whether they are enough."""
        words = self.vocabulary[question.language]
        own, others = self._languages(question.language, task.layers)
        shelf = Shelf(layers=task.layers, languages=own, deprecated=task.deprecated)
        abroad = replace(shelf, languages=others)
        limit = self.policy.broad_fragments if task.wide else self.policy.fragments
        named, missing = self._look_up(task.places, shelf, abroad)
        if task.lookup:
            return self._looked_up(task, named, missing, shelf, words)
        behind, _ = self._look_up(task.background, shelf, abroad)
        pool = self.library.find(task.queries, shelf, _POOL)
        hits = _diverse(pool, limit, wide=task.wide)
        explanations = self._explanations(task, question)
        guides = self._guides(task, explanations)
        referred, absent = self._referred(guides, task, question, shelf, abroad)
        most = (_MOST_WIDE if task.wide else _MOST) * self.policy.fragments
        ground = unique([*named, *behind, *self._with_articles(hits, shelf, task), *referred])[:most]
        if not ground and others:
            ground = for_aspect(self.library.find(task.queries, abroad, limit), None)
        ground += self._structure(ground, shelf)
        sufficiency, note = self.judge(task, question, unique(ground), behind, referred, pool, words)
        if absent and sufficiency == SUFFICIENT and not behind:
            sufficiency, note = WEAK, f"what explains this refers to article {absent}, which is not there"
        pieces = unique(ground)
        if sufficiency != SUFFICIENT and others and not task.background:
            more = self.library.find(task.queries, abroad, _POOL)
            pieces = unique([*pieces, *more[:limit]])
            if standout(more) >= OUTSTANDING and nearest(more) > nearest(pool) and not question.quantity:
                sufficiency, note = SUFFICIENT, "a text in another language stands out"
        if sufficiency == SUFFICIENT:
            pieces += self._anchored(guides, pieces)
        return Found(task=task, pieces=for_aspect(pieces, task.number), sufficiency=sufficiency, note=note)

    # ── places ──────────────────────────────────────────────────────────────────────────

    def _languages(
        self, language: str, layers: tuple[str, ...] | None
    ) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """Languages of the layers: that of the question, and those to fall back on."""
        if not self.labelled:
            return None, ()
        there = dict.fromkeys(
            one.language for one in self.datasets if one.language and (layers is None or one.layer in layers)
        )
        if not there:
            return None, ()
        wanted = self.policy.fallback_languages or tuple(there)
        size = {one: self._size(layers, one) for one in (*wanted, language)}
        others = tuple(
            one for one in wanted if one in there and one != language and size[one] > size.get(language, 0)
        )
        return ((language,), others) if language in there else (others, ())

    def _size(self, layers: tuple[str, ...] | None, language: str) -> int:
        """How many chunks there are: a language that has less adds nothing."""
        key = (layers, language)
        if key not in self._sizes:
            shelf = Shelf(layers=layers, languages=(language,))
            self._sizes[key] = self.library.size(shelf)
        return self._sizes[key]

    def _look_up(
        self, places: Sequence[Reference], shelf: Shelf, abroad: Shelf
    ) -> tuple[list[Piece], list[Reference]]:
        """Chunks of named places, and the places that are nowhere. Never a neighbouring article."""
        found: list[Piece] = []
        missing: list[Reference] = []
        for place in places:
            article = self._article(place, shelf) or self._article(place, abroad)
            exact = [one for one in article if _is_at(one, place)]
            if not exact:
                missing.append(place)
            found += exact + [replace(one, role="structure") for one in article if one not in exact]
        return unique(found), missing

    def _article(self, place: Reference, shelf: Shelf) -> list[Piece]:
        if place.article:
            return self.library.at(shelf, role="lookup", article=(place.article,))[:_WHOLE_AT_MOST]
        return (
            self.library.at(shelf, role="lookup", points=place.labels)[:_WHOLE_AT_MOST]
            if place.labels
            else []
        )

    def _looked_up(
        self, task: Task, pieces: list[Piece], missing: Sequence[Reference], shelf: Shelf, words: Words
    ) -> Found:
        """An exact look-up: what stands at the places, and nothing else."""
        sufficiency, note = SUFFICIENT, "the place that was named is there"
        if not pieces:
            sufficiency, note = EMPTY, "there is no such place"
        elif missing:
            labels = ", ".join(" ".join(filter(None, (one.article, *one.labels[:1]))) for one in missing)
            sufficiency, note = WEAK, f"not there: {labels}"
        elif absent := self._editions_not_there(task, pieces):
            sufficiency, note = WEAK, f"the place is there, but no edition of {', '.join(absent)} is"
        elif self._is_own(pieces, words) and self._is_about_another(task, pieces, shelf):
            sufficiency, note = WEAK, f"the place is there, but is not about {', '.join(task.subject)}"
        return Found(task=task, pieces=for_aspect(pieces, task.number), sufficiency=sufficiency, note=note)

    def _editions_not_there(self, task: Task, pieces: Sequence[Piece]) -> list[str]:
        """Years of the question that are of no dataset and in no text of the place: of another edition."""
        if not self.years:
            return []
        told = years_in(" ".join(f"{one.payload.topic} {one.payload.text}" for one in pieces))
        return sorted(years_in(task.question) - self.years - told)

    def _is_about_another(self, task: Task, pieces: Sequence[Piece], shelf: Shelf) -> bool:
        """Whether the place lacks the subject that the question names with it, or others are nearer."""
        if not task.subject:
            return False
        if self.judge.covers(task.subject, pieces) < SLIGHT:
            return True
        nearest = dict.fromkeys(
            one.place for one in self.library.find([" ".join(task.subject)], shelf, _POOL)
        )
        return not {one.place for one in pieces} & set(list(nearest)[:_NEAREST])

    @staticmethod
    def _is_own(pieces: Sequence[Piece], words: Words) -> bool:
        return any(one.payload.language == words.language for one in pieces)

    def _with_articles(self, hits: Sequence[Piece], shelf: Shelf, task: Task) -> list[Piece]:
        """Hits; the best one's article whole, in all its wordings, if it is not long."""
        out: list[Piece] = []
        most = 2 * len(hits)
        for number, hit in enumerate(hits):
            article = hit.payload.article
            if article:
                first = number < (_FIRST_WIDE if task.wide else _FIRST)
                whole = self.library.at(shelf, role="structure", article=(article,))
                whole = [one for one in whole if one.payload.dataset == hit.payload.dataset]
                if len(whole) <= (_WHOLE if first else _SHORT) and len(out) < most:
                    out += [hit if one.id == hit.id else one for one in whole]
                    continue
            out.append(hit)
        return unique(out)

    def _structure(self, ground: Sequence[Piece], shelf: Shelf) -> list[Piece]:
        """Points of the same article that a fragment refers to, and other wordings of what was found."""
        have = {one.id for one in ground}
        more: list[Piece] = []
        for piece in ground:
            payload = piece.payload
            if not payload.article or not any(words.here.find(payload.text) for words in self._words):
                continue
            labels = {
                label
                for one in references(payload.text, self._words)
                if not one.article
                for label in one.labels
            }
            if labels - set(payload.points):
                near = self.library.at(
                    shelf,
                    role="structure",
                    article=(payload.article,),
                    url=(payload.url,),
                    points=tuple(labels),
                )
                more += [one for one in near if one.id not in have]
        return unique(more)

    # ── explanations ────────────────────────────────────────────────────────────────────

    def _explanations(self, task: Task, question: Question) -> list[Piece]:
        """The best of the layers that explain, in the order of the policy and the question's language."""
        _, explaining = self.layers(question.route)
        found: list[Piece] = []
        for layer in explaining if self.labelled else ():
            own, _ = self._languages(question.language, (layer,))
            shelf = Shelf(layers=(layer,), languages=own, deprecated=False)
            found += self.library.find(task.queries, shelf, EXPLANATIONS)
        return found

    def _anchored(self, explanations: Sequence[Piece], ground: Sequence[Piece]) -> list[Piece]:
        """Those that are about an article that was found: an explanation stands beside what it explains."""
        articles = {one.payload.article for one in ground if one.payload.article}
        if not articles:
            return list(explanations)
        return [
            one
            for one in explanations
            if any(
                named.article in articles
                for named in references(f"{one.payload.title}\n{one.payload.text}", self._words)
            )
        ]

    def _guides(self, task: Task, explanations: Sequence[Piece]) -> list[Piece]:
        """Explanations that fit the question, the best first."""
        if not task.subject:
            return []
        fit = [(self.judge.covers(task.subject, [one]), one) for one in explanations]
        ranked = sorted(fit, key=lambda one: -one[0])
        return [one for covered, one in ranked if covered >= self.policy.coverage]

    def _referred(
        self, guides: Sequence[Piece], task: Task, question: Question, shelf: Shelf, abroad: Shelf
    ) -> tuple[list[Piece], str]:
        """
        What explanations refer to, in the layers that an answer may rest on.

        First what each is about: the articles of its title, else the first that it names. If
        that of the best is nowhere, its number is the second value.
        """
        about: dict[str, None] = {}
        besides: dict[str, None] = {}
        first: list[str] = []
        for guide in guides:
            titled = [one.article for one in references(guide.payload.title, self._words) if one.article]
            named = [one.article for one in references(guide.payload.text, self._words) if one.article]
            main = titled or named[:1]
            first = first or main
            about |= dict.fromkeys(main)
            besides |= dict.fromkeys(named)
        found: list[Piece] = []
        there: set[str] = set()
        for number in about | besides:
            if number not in about and len(found) > 2 * self.policy.fragments:
                break
            for where in (shelf, abroad):
                whole = self.library.at(where, role="reference", article=(number,))
                there |= {number} if whole else set()
                if whole and (where is shelf or question.route in _WIDE):
                    found += self._shortened(whole, task, where, number)
                    break
        absent = first[0] if first and not there & set(first) else ""
        return [] if absent else found, absent

    def _shortened(self, whole: list[Piece], task: Task, where: Shelf, number: str) -> list[Piece]:
        if len(whole) <= _WHOLE:
            return whole
        best = self.library.find(task.queries, where, _WHOLE if task.wide else _BEST, article=(number,))
        return [replace(one, role="reference") for one in best]


def _agree(policy: Policy, grounds: Sequence[str]) -> None:
    """Raises `Misconfigured` where parts of a policy contradict each other."""
    both = [layer for layer in grounds if layer in policy.hidden]
    if both:
        named = ", ".join(both)
        raise Misconfigured(
            f"[policy] hidden holds {named}, which answers must rest on (grounds, or the first of order); "
            "take it out of one of the two"
        )
    wrong = [route for route in policy.unlock if route not in UNLOCKING]
    if wrong:
        raise Misconfigured(
            f"[policy] unlock names {', '.join(wrong)}; routes that may unlock are {', '.join(UNLOCKING)}"
        )


def _is_at(piece: Piece, place: Reference) -> bool:
    """
    Whether a chunk belongs to a named place: its point or sub-point among the chunk's points.

    Sub-points that stand in one line with what announces them are known by their marks.
    """
    if not place.labels:
        return True
    points = (piece.payload.point, *piece.payload.points)
    if place.subpoint and not place.point:
        return any(point.rpartition("/")[2] == f"{place.subpoint})" for point in points)
    if any(label in points for label in place.labels):
        return True
    mark = rf"(?<![^\W_])\(?{re.escape(place.subpoint)}\)"
    return bool(place.subpoint) and place.point in points and bool(re.search(mark, piece.payload.text))


def _diverse(hits: Sequence[Piece], limit: int, *, wide: bool) -> list[Piece]:
    """
    The best hits of `limit` articles or pages.

    `wide`: one of each before the second of any; else at most twice as many hits, in their order.
    """
    if not wide:
        places = list(dict.fromkeys(hit.place for hit in hits))[:limit]
        return [hit for hit in hits if hit.place in places][: 2 * limit]
    sections: dict[str, float] = {}
    for rank, hit in enumerate(hits):
        sections[hit.payload.parent] = sections.get(hit.payload.parent, 0.0) + 1 / (_RANKS + rank)
    total = sum(sections.values())
    turns: dict[tuple[str, str], int] = {}
    ranked = []
    for rank, hit in enumerate(hits):
        turn = turns[hit.place] = turns.get(hit.place, -1) + 1
        share = sections[hit.payload.parent] / total if hit.payload.parent else 0.0
        ranked.append((turn, rank * (1 - share), hit))
    return [hit for _, _, hit in sorted(ranked, key=lambda one: one[:2])[:limit]]
