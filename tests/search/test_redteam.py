"""A pack of hard questions is judged by stated rules."""

from msgspec.structs import replace

from indexer.pipeline.redteam import _answered
from indexer.search.context import Background, Context, Fragment, Signals
from indexer.search.redteam import (
    CONDITIONAL,
    GO,
    NO_GO,
    Case,
    Expect,
    Fault,
    Result,
    Wanted,
    changes,
    invented,
    judge,
    unfit,
    verdict,
)
from indexer.search.vocabulary import load

FRAGMENT = Fragment(
    number=1,
    id="a",
    dataset="tariffs",
    layer="tariff",
    language="ru",
    edition="2026",
    status="in_force",
    effective_date="2026-01-01",
    deprecated=False,
    source="https://example.org/rules",
    title="Тарифы",
    topic="Тарифы › Статья 1",
    article="1",
    point="1",
    points=("1",),
    parent="",
    refers_to=(),
    auxiliary=False,
    aspect=None,
    role="hit",
    body="1. Стоянка стоит 900 рублей в сутки.",
)
CONTEXT = Context(
    id="q",
    question="Сколько стоит стоянка?",
    language="ru",
    route="ordinary",
    why=(),
    topic="стоянка",
    background=Background(),
    sufficiency="sufficient",
    reason="",
    fallback="none",
    fragments=(FRAGMENT,),
    aspects=(),
    conflicts=(),
    signals=Signals(),
)
EXPECT = Expect(
    route="ordinary",
    language="ru",
    allowed_languages=("ru",),
    must_include=(Wanted(dataset="tariffs", article="1", quote="900 рублей"),),
    must_not_layers=("archive",),
    first_layer="tariff",
    sufficient=True,
    fallback="none",
)


def _kinds(expect, context=CONTEXT, advisory=()):
    case = Case(id="q", question="?", expect=expect, advisory=advisory)
    return [fault.kind for fault in judge(case, context) if not fault.advisory]


def _result(name, *, passed=True, faults=(), scores=None):
    return Result(
        id=name,
        kind="",
        question="?",
        passed=passed,
        route="",
        sufficiency="",
        fallback="",
        articles=(),
        faults=faults,
        scores=scores or {},
    )


def test_a_context_that_is_right_has_no_fault():
    assert _kinds(EXPECT) == []


def test_each_wrong_is_named_by_its_kind():
    archived = replace(CONTEXT, fragments=(replace(FRAGMENT, layer="archive"),))
    assert _kinds(EXPECT, archived) == ["leak", "substitution"]
    assert _kinds(replace(EXPECT, sufficient=False)) == ["padded"]
    assert _kinds(EXPECT, replace(CONTEXT, route="broad", fallback="not_found")) == ["route", "fallback"]
    other = replace(EXPECT, must_include=(Wanted(dataset="tariffs", article="2"),))
    assert _kinds(other) == ["missing"]
    assert _kinds(replace(other, route="exact_lookup"), replace(CONTEXT, route="exact_lookup")) == ["article"]
    assert _kinds(replace(EXPECT, sufficient=False), advisory=("sufficient",)) == []
    pointed = replace(EXPECT, must_include=(Wanted(dataset="tariffs", point="4)"),))
    at_point = replace(CONTEXT, fragments=(replace(FRAGMENT, point="2", points=("2", "2/4)")),))
    assert _kinds(pointed) == ["missing"]
    assert _kinds(pointed, at_point) == []
    english = replace(CONTEXT, fragments=(replace(FRAGMENT, language="en"),))
    assert _kinds(EXPECT, english) == ["language", "language"]


def test_an_answer_must_not_name_what_no_fragment_has():
    vocabulary = load()
    assert invented("По статье 1 стоянка стоит 900 рублей.", CONTEXT, vocabulary) == []
    kinds = [fault.text for fault in invented("По статье 7 стоянка стоит 950 рублей.", CONTEXT, vocabulary)]
    assert kinds == ["article 7 is in no fragment", "950 is in no fragment"]


def test_the_verdict_follows_blockers_share_and_scores():
    good = [_result(str(number)) for number in range(19)]
    assert verdict(good) == GO
    failed = _result("f", passed=False, faults=(Fault(kind="missing", text=""),))
    assert verdict([*good, failed]) == GO
    assert verdict([*good, failed, failed]) == CONDITIONAL
    assert verdict([*good, *[failed] * 9]) == NO_GO
    assert verdict([*good, _result("b", faults=(Fault(kind="leak", text=""),))]) == NO_GO
    assert verdict([*good, _result("b", faults=(Fault(kind="leak", text="", advisory=True),))]) == GO
    assert verdict([_result("a", scores={"neutrality": 1})]) == NO_GO
    assert verdict([]) == NO_GO


def test_runs_are_compared_by_case():
    results = [_result("a"), _result("b", passed=False), _result("c")]
    assert changes(results, {"a": False, "b": True}) == {"mended": ["a"], "broken": ["b"], "new": ["c"]}


def test_a_chat_models_answer_is_scored_and_its_rubbish_survived():
    class Chat:
        model = "test"
        calls = 0

        def __init__(self, *answers):
            self.answers = iter(answers)

        def __call__(self, system, user, *, temperature=0.0):
            return next(self.answers)

    scores = '{"groundedness": 2, "source_discipline": 1, "neutrality": 9, "safe_failure": 2, "structural_completeness": 0}'
    answer, given, faults = _answered(CONTEXT, Chat("900 рублей", f"Sure: {scores}"))
    assert (answer, given["neutrality"], given["structural_completeness"], faults) == ("900 рублей", 2, 0, [])
    assert _answered(CONTEXT, Chat("900 рублей", "fine"))[2][0].advisory


def test_a_case_that_would_judge_nothing_is_unfit():
    def told(**fields):
        return unfit(Case(id="q", question="?", expect=Expect(**fields)))

    assert told(sufficient=False) == told(route="ordinary") == ""
    assert "nothing to judge" in told()
    assert "nothing to judge" in told(notes="x")
    assert "no route nope" in told(route="ordinary", route_also_ok=("nope",))
    assert "no fallback nope" in told(fallback="nope")
    assert "empty" in unfit(Case(id="q", question=" ", expect=EXPECT))
