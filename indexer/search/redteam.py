"""
A pack of hard questions against an index: what each must bring, and what must never come.

Blockers are a forbidden layer, another layer in place of the ground, another article than
the one named, and a result that is called sufficient and is not. With a chat model the
answers are scored as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from indexer.search.context import INSUFFICIENT, NONE, NOT_FOUND, Context, Fragment, Turn
from indexer.search.references import references
from indexer.search.routing import EXACT, MIXED, ROUTES
from indexer.search.sufficiency import SUFFICIENT
from indexer.search.vocabulary import Vocabulary

BLOCKERS = ("leak", "substitution", "article", "padded", "invented")
SCORES = ("groundedness", "source_discipline", "neutrality", "safe_failure", "structural_completeness")
FALLBACKS = (NONE, NOT_FOUND, INSUFFICIENT)
GO, CONDITIONAL, NO_GO = "go", "conditional go", "no-go"
RULES = (
    "go: no blocker, at least 95 % of the cases passed and, if answers were scored, a mean of 1.6 of 2",
    "conditional go: no blocker, at least 85 % and a mean of 1.2",
    "no-go: anything else, also where no case was run",
    "skipped cases (with a `setup`: an index of their own) were not run and count for nothing",
)
_LEVELS = ((GO, 95.0, 1.6), (CONDITIONAL, 85.0, 1.2))


class Wanted(Struct, frozen=True, kw_only=True):
    """What must be among the fragments: of this dataset, an article or page, holding `quote`."""

    dataset: str
    article: str = ""
    page: str = ""
    quote: str = ""
    point: str = ""
    aspect: int | None = None


class Countable(Struct, frozen=True, kw_only=True):
    """Articles that count towards `min_distinct_articles`."""

    dataset: str
    articles: tuple[str, ...]


class Expect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is right; what is not named is not judged."""

    route: str = ""
    route_also_ok: tuple[str, ...] = ()
    language: str = ""
    allowed_languages: tuple[str, ...] = ()
    must_include: tuple[Wanted, ...] = ()
    must_not_layers: tuple[str, ...] = ()
    allowed_layers: tuple[str, ...] = ()
    first_layer: str | None = None
    min_distinct_articles: int = 0
    countable_articles: tuple[Countable, ...] = ()
    aspects: int = 0
    sufficient: bool | None = None
    fallback: str = ""
    fallback_also_ok: tuple[str, ...] = ()
    or_fallback: bool = False
    notes: str = ""


class Case(Struct, frozen=True, kw_only=True):
    """
    One question. `setup`: an index that differs from the project's.

    `advisory`: fields of `expect` that are reported and do not block.
    """

    id: str
    question: str
    expect: Expect
    kind: str = ""
    mode: str = ""
    history: tuple[Turn, ...] = ()
    setup: dict[str, Any] = field(default_factory=dict)
    advisory: tuple[str, ...] = ()


class Fault(Struct, frozen=True, kw_only=True):
    """One thing that is wrong. `kind` is one of `BLOCKERS`, or says which field it is about."""

    kind: str
    text: str
    advisory: bool = False


class Result(Struct, frozen=True, kw_only=True):
    """How one case fared. `scores`: of the answer, 0 to 2 each; empty without a chat model."""

    id: str
    kind: str
    question: str
    passed: bool
    route: str
    sufficiency: str
    fallback: str
    articles: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    answer: str = ""
    scores: dict[str, int] = field(default_factory=dict)


def unfit(case: Case) -> str:
    """Why a case would judge nothing or could never be right; empty if it is fit."""
    expect = case.expect
    if not case.question.strip():
        return "the question is empty"
    routes = [one for one in (expect.route, *expect.route_also_ok) if one and one not in ROUTES]
    if routes:
        return f"there is no route {', '.join(routes)}; routes are {', '.join(ROUTES)}"
    falls = [one for one in (expect.fallback, *expect.fallback_also_ok) if one and one not in FALLBACKS]
    if falls:
        return f"there is no fallback {', '.join(falls)}; there are {', '.join(FALLBACKS)}"
    if not case.setup and replace(expect, notes="") == Expect():
        return "`expect` names nothing to judge"
    return ""


def judge(case: Case, context: Context) -> list[Fault]:
    """What is wrong with a context, the advisory ones marked."""
    expect, fragments = case.expect, context.fragments
    if expect.or_fallback and not fragments and context.fallback != NONE:
        return []
    found = [*_about(expect, context), *_layers(expect, fragments), *_contents(expect, fragments)]
    if expect.sufficient is not None and (context.sufficiency == SUFFICIENT) != expect.sufficient:
        kind = "padded" if context.sufficiency == SUFFICIENT else "sufficient"
        found.append(("sufficient", kind, f"it is {context.sufficiency}: {context.reason}"))
    return [Fault(kind=kind, text=text, advisory=name in case.advisory) for name, kind, text in found]


_Found = list[tuple[str, str, str]]  # field, kind, text


def _about(expect: Expect, context: Context) -> _Found:
    found: _Found = []
    if expect.route and context.route not in (expect.route, *expect.route_also_ok):
        found.append(("route", "route", f"route {context.route}, wanted {expect.route}"))
    if expect.language and context.language != expect.language:
        found.append(("language", "language", f"language {context.language}, wanted {expect.language}"))
    allowed = expect.allowed_languages
    foreign = {one.language for one in context.fragments if allowed and one.language not in allowed}
    if foreign:
        found.append(("allowed_languages", "language", f"fragments in {', '.join(sorted(foreign))}"))
    unmarked = [one for one in context.fragments if one.language != context.language and not one.auxiliary]
    if unmarked:
        found.append(("allowed_languages", "language", "another language is not marked as auxiliary"))
    if expect.fallback and context.fallback not in (expect.fallback, *expect.fallback_also_ok):
        found.append(("fallback", "fallback", f"fallback {context.fallback}, wanted {expect.fallback}"))
    aspects = {one.aspect for one in context.fragments if one.aspect is not None}
    if expect.route == MIXED and len(aspects) < expect.aspects:
        found.append(("aspects", "aspects", f"{len(aspects)} aspects kept apart, wanted {expect.aspects}"))
    return found


def _layers(expect: Expect, fragments: Sequence[Fragment]) -> _Found:
    there = {one.layer for one in fragments}
    found: _Found = [
        ("must_not_layers", "leak", f"layer {layer} is there")
        for layer in expect.must_not_layers
        if layer in there
    ]
    if expect.first_layer and fragments and fragments[0].layer != expect.first_layer:
        found.append(("first_layer", "substitution", f"the first layer is {fragments[0].layer}"))
    return found


def _contents(expect: Expect, fragments: Sequence[Fragment]) -> _Found:
    kind = "article" if expect.route == EXACT else "missing"
    found: _Found = [
        ("must_include", kind, f"missing: {one.dataset} {one.article or one.page} {one.point}".strip())
        for one in expect.must_include
        if not _holds(fragments, one)
    ]
    if expect.min_distinct_articles:
        have = {
            (group.dataset, one.article)
            for group in expect.countable_articles
            for one in fragments
            if one.dataset == group.dataset and one.article in group.articles
        }
        if len(have) < expect.min_distinct_articles:
            wanted = expect.min_distinct_articles
            found.append(("min_distinct_articles", "narrow", f"{len(have)} articles, wanted {wanted}"))
    return found


def _holds(fragments: Sequence[Fragment], want: Wanted) -> bool:
    bodies = [
        one.body
        for one in fragments
        if one.dataset == want.dataset
        and (not want.article or one.article == want.article)
        and (not want.page or want.page in one.source)
        and (not want.point or _is_at(one, want.point))
    ]
    return bool(bodies) and _plain(want.quote) in _plain(" ".join(bodies))


def _is_at(fragment: Fragment, point: str) -> bool:
    """Whether a fragment belongs to a point `2`, a sub-point of it `2/4)`, or a sub-point `4)` of any."""
    points = (fragment.point, *fragment.points)
    return point in points or any(one.rpartition("/")[2] == point for one in points)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def invented(answer: str, context: Context, vocabulary: Vocabulary) -> list[Fault]:
    """Articles and numbers in an answer that stand in no fragment and not in the question."""
    words = list(vocabulary.languages.values())
    known = " ".join([context.question, *(f"{one.topic} {one.body}" for one in context.fragments)])
    there = {one.article for one in context.fragments} | {one.article for one in references(known, words)}
    faults = [
        Fault(kind="invented", text=f"article {one.article} is in no fragment")
        for one in references(answer, words)
        if one.article and one.article not in there
    ]
    numbers = set(re.findall(r"\d{2,}", answer)) - set(re.findall(r"\d{2,}", known)) - there
    return faults + [Fault(kind="invented", text=f"{one} is in no fragment") for one in sorted(numbers)]


def verdict(results: Sequence[Result]) -> str:
    """By `RULES`."""
    if not results or blockers(results):
        return NO_GO
    share = 100 * sum(one.passed for one in results) / len(results)
    mean = mean_score(results)
    return next(
        (name for name, least, score in _LEVELS if share >= least and (mean is None or mean >= score)), NO_GO
    )


def blockers(results: Sequence[Result]) -> list[tuple[str, Fault]]:
    """(case, fault) of all that block."""
    return [
        (one.id, fault)
        for one in results
        for fault in one.faults
        if fault.kind in BLOCKERS and not fault.advisory
    ]


def mean_score(results: Sequence[Result]) -> float | None:
    """Of all answers' scores, 0 to 2; `None` if none was scored."""
    scores = [score for one in results for score in one.scores.values()]
    return sum(scores) / len(scores) if scores else None


def changes(results: Sequence[Result], before: Mapping[str, bool]) -> dict[str, list[str]]:
    """Cases that pass or fail otherwise than in the run before."""
    now = {one.id: one.passed for one in results}
    both = [name for name in now if name in before]
    return {
        "mended": [name for name in both if now[name] and not before[name]],
        "broken": [name for name in both if before[name] and not now[name]],
        "new": [name for name in now if name not in before],
    }


def markdown(report: Mapping[str, Any], results: Collection[Result]) -> str:
    """The report for people."""
    meta = report["run"]
    lines = [
        f"# Red team: {report['verdict']}",
        "",
        *(f"- {name}: {value}" for name, value in meta.items()),
        "",
        f"{report['passed']} of {report['cases']} passed ({report['share']} %), "
        f"{len(report['blockers'])} blockers, {len(report['skipped'])} skipped"
        + (f", answers {report['mean_score']} of 2" if report["mean_score"] is not None else ""),
        "",
        *(f"> {rule}" for rule in RULES),
        "",
        "## Blockers",
        "",
        *([f"- {one['case']}: {one['kind']}: {one['text']}" for one in report["blockers"]] or ["none"]),
        "",
        "## Since the last run",
        "",
        *(f"- {name}: {', '.join(cases) or 'none'}" for name, cases in report["changes"].items()),
        "",
        "## Cases",
        "",
        "| case | kind | result | route | sufficiency | faults |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {' | '.join(_row(one))} |" for one in results]
    lines += [f"| {name} | | skipped: it needs an index of its own | | | |" for name in report["skipped"]]
    return "\n".join(lines) + "\n"


def _row(one: Result) -> tuple[str, ...]:
    faults = "; ".join(f"{fault.text}{' (advisory)' if fault.advisory else ''}" for fault in one.faults)
    passed = "passed" if one.passed else "failed"
    return one.id, one.kind, passed, one.route, one.sufficiency, faults.replace("|", "/")
