"""The command `plan`: a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from indexer.cli.console import table
from indexer.cli.options import CRAWL, SOURCES, LlmChunk, flags_of, sources_of
from indexer.cli.session import Session, command
from indexer.errors import Misconfigured

if TYPE_CHECKING:
    from indexer.pipeline.estimate import Cost, Plan
    from indexer.ports import Project

SHOWN = 15  # lines of a list on a terminal; --json has all
_MINUTE, _HOUR = 60, 3600


def add(app: typer.Typer) -> None:
    """Register the command."""
    command(app, "plan", sources=SOURCES, crawl=CRAWL)(plan)


def plan(
    session: Session,
    *,
    project_name: Annotated[
        str, typer.Option("--project-name", help="An existing project, whose sources and pages count.")
    ] = "",
    sample: Annotated[int, typer.Option(min=0, max=200, help="Pages to read for the estimates.")] = 8,
    llm_chunk: LlmChunk = None,
    sources: dict[str, Any],
    crawl: dict[str, Any],
) -> None:
    """Say what a run would do: URLs, exclusions, tokens, money, time. Nothing is written."""
    from indexer.pipeline.plan import plan as plan_run
    from indexer.pipeline.projects import stored_sources, with_options

    parsed, flags = sources_of(sources), flags_of(crawl, {"llm_chunk": llm_chunk})
    planned = with_options(_project(session, project_name), parsed, flags)
    made = plan_run(
        session.wiring(planned),
        planned,
        stored_sources(planned),
        sample=sample,
        progress=session.console,
    )
    session.console.say(f"Planning completed: {made.found} URLs")
    session.console.result(made, _text(made))


def _project(session: Session, name: str) -> Project:
    from indexer.ports import Project

    if not name:
        return Project(id="", name="")
    if not session.wiring().has_registry:  # looking into it would create it
        raise Misconfigured(f"there is no project {name!r}: there are none yet; plan with SOURCES alone")
    return session.project(name)


def _text(plan: Plan) -> str:
    left = sum(one.urls for one in plan.left)
    parts = [
        _sources(plan),
        f"URLs found {plan.found} = {plan.asked} to be asked for + {left} left out",
        _left(plan),
        _paths(plan),
    ]
    if plan.known:
        parts.append(
            f"{plan.known} have a page from earlier runs; {plan.conditional} are asked only whether "
            "they have changed"
        )
    if plan.follows_links:
        more = f" (the sampled pages alone name {plan.sample.new_links})" if plan.sample.new_links else ""
        parts.append(f"links are followed by a run, not by a plan: it may find more pages{more}")
    if plan.ignore_robots:
        parts.append("robots.txt is ignored (--ignore-robots)")
    parts += [f"note: {note}" for note in plan.notes]
    return "\n".join(part for part in [*parts, _estimate(plan)] if part)


def _sources(plan: Plan) -> str:
    rows = [[one.source, str(one.found), str(one.new), str(one.duplicates)] for one in plan.sources]
    return _some(table(rows, ["source", "named", "new", "duplicates"]), "sources")


def _left(plan: Plan) -> str:
    lines = []
    for one in plan.left:
        limit = f" (--max-pages {plan.max_pages} and other limits)" if one.reason == "limit" else ""
        more = ", …" if one.urls > len(one.examples) else ""
        lines.append(f"  {one.reason}: {one.urls}{limit}, for example {', '.join(one.examples[:2])}{more}")
    return "\n".join(lines)


def _paths(plan: Plan) -> str:
    rows = [[path, str(count)] for path, count in plan.paths.items()]
    return _some(table(rows, ["path", "URLs"]), "paths") if rows else ""


def _some(lines: str, what: str) -> str:
    shown = lines.splitlines()
    rest = len(shown) - 1 - SHOWN
    return "\n".join([*shown[: SHOWN + 1], f"… and {rest} more {what} (--json)"] if rest > 0 else shown)


def _estimate(plan: Plan) -> str:
    guess, sample = plan.estimate, plan.sample
    if guess.pages is None:
        return f"time to fetch ~{_time(guess.fetch_seconds)}; pages and tokens are not estimated (--sample 0)"
    if sample.stored:
        basis = f"by {sample.stored} stored pages"
    else:
        others = "".join(f", {count} {reason}" for reason, count in sorted(sample.others.items()))
        basis = f"by {sample.asked} URLs read now: {sample.pages} pages{others}"
    rows = [
        f"estimated {basis}",
        f"  pages        ~{guess.pages}",
        f"  text         ~{guess.characters} characters, ~{guess.chunks} chunks, ~{guess.tokens} tokens",
        f"  to embed     ~{guess.tokens_owed} tokens after cache hits",
        f"               ~{guess.tokens_per_page} tokens for each page more or changed",
    ]
    if guess.chat_calls or len(plan.costs) > 1:
        rows.append(f"  chat model   ~{guess.chat_calls} calls, ~{guess.chat_tokens} tokens")
    rows.append(
        f"  time         ~{_time(guess.seconds or 0)} (fetch ~{_time(guess.fetch_seconds)}, "
        f"chat ~{_time(guess.chat_seconds or 0)}, embed ~{_time(guess.embed_seconds or 0)})"
    )
    return "\n".join([*rows, *(f"  money        {_money(cost)}" for cost in plan.costs)])


def _money(cost: Cost) -> str:
    if cost.cost is None:
        return f'no price known for {cost.model}: [prices] "{cost.model}" = … per million tokens'
    if not cost.per_million:
        return f"{cost.model}: none"
    return f"~{cost.cost:.4f} for {cost.model}, at {cost.per_million:g} per million tokens"


def _time(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"
