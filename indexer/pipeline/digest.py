"""
What a person wants to read in the morning: pages new, changed (with what changed), moved, gone, failed.

Also prices and hours that changed, golden questions whose best fragment is another one,
cost and time. JSON for programs, Markdown for people.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sized
from typing import Any

from msgspec import Struct, field

from indexer.artifacts import Page, State
from indexer.contacts import names_hours
from indexer.money import names_money
from indexer.pipeline.gates import Asked
from indexer.pipeline.quarantine import Held
from indexer.pipeline.report import Report
from indexer.ports import Artifacts, Catalogue, Edition

_LINES = 40  # of a page's difference; the rest is counted
_LONG = 4000  # lines of a page beyond which only its head is compared
_WIDTH = 400  # characters of a line
_SHOWN = 50  # pages of a kind in the Markdown; the JSON has all


class Named(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page, and what is to be said of it."""

    url: str
    title: str = ""
    why: str = ""
    to: str = ""


class Changed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page with another text. `lines` begin with `-` or `+`; `prices`, `hours`: those that name some."""

    url: str
    title: str
    lines: tuple[str, ...]
    more: int = 0
    prices: tuple[str, ...] = ()
    hours: tuple[str, ...] = ()


class Digest(Struct, kw_only=True):
    """What one run did to what is live."""

    report: Report
    new: list[Named] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    moved: list[Named] = field(default_factory=list)
    gone: list[Named] = field(default_factory=list)
    failed: list[Named] = field(default_factory=list)
    kept: list[Named] = field(default_factory=list)
    held_back: list[Named] = field(default_factory=list)
    stale: list[Named] = field(default_factory=list)
    golden: list[Asked] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to tell."""
        told = (self.new, self.changed, self.moved, self.gone, self.failed, self.kept, self.held_back)
        return not any(told) and not self.golden and not self.report.exit


def compare(
    digest: Digest,
    before: Mapping[str, Edition],
    after: Mapping[str, Edition],
    *,
    catalogue: Catalogue,
    artifacts: Artifacts,
    previous: Artifacts,
) -> None:
    """Fill in what the live index holds now and did not before, and the other way round."""
    texts = {one.content: one.url for one in after.values()}
    for key, one in sorted(after.items(), key=lambda item: item[1].url):
        if key not in before:
            digest.new.append(Named(url=one.url, title=one.title))
        elif before[key].content != one.content:
            digest.changed.append(_changed(one, artifacts.load(Page, key), previous.load(Page, key)))
    for key, one in sorted(before.items(), key=lambda item: item[1].url):
        if key in after:
            continue
        if one.content in texts:
            digest.moved.append(Named(url=one.url, title=one.title, to=texts[one.content]))
            continue
        row = catalogue.get(one.url)
        why = " · ".join(part for part in (row.reason, row.detail) if part) if row else ""
        digest.gone.append(Named(url=one.url, title=one.title, why=why))


def survey(digest: Digest, catalogue: Catalogue, held: list[Held]) -> None:
    """Fill in what failed, what was kept, and what is stale."""
    digest.held_back = [Named(url=one.url, why=one.why) for one in held]
    known = {one.url for one in held}
    for row in catalogue.rows():
        why = " · ".join(part for part in (row.reason, row.detail) if part)
        if row.state in (State.FAILED, State.DISCOVERED):
            digest.failed.append(Named(url=row.url, why=why))
        elif row.state in (State.FETCHED, State.INDEXED):
            if row.reason and row.url not in known:
                digest.kept.append(Named(url=row.url, why=why))
            if row.stale:
                digest.stale.append(Named(url=row.url, why=f"named nowhere since {row.stale[:10]}"))


def _changed(one: Edition, now: Page | None, old: Page | None) -> Changed:
    if now is None or old is None:
        return Changed(url=one.url, title=one.title, lines=())
    lines = list(differences(old.text, now.text))
    return Changed(
        url=one.url,
        title=one.title,
        lines=tuple(lines[:_LINES]),
        more=max(0, len(lines) - _LINES),
        prices=tuple(line for line in lines if names_money(line))[:_LINES],
        hours=tuple(line for line in lines if names_hours(line))[:_LINES],
    )


def differences(old: str, new: str) -> Iterator[str]:
    """Lines that went (`- …`) and came (`+ …`), in order, without what is around them."""
    left, right = (
        [line.strip() for line in text.splitlines() if line.strip()][:_LONG] for text in (old, new)
    )
    for line in difflib.unified_diff(left, right, lineterm="", n=0):
        if line.startswith(("---", "+++", "@@")):
            continue
        text = line[1:]
        yield f"{line[0]} {text[:_WIDTH]}{' …' if len(text) > _WIDTH else ''}"


# ── Markdown ────────────────────────────────────────────────────────────────────────────


def markdown(digest: Digest) -> str:
    """The digest as a person reads it."""
    report = digest.report
    lines = [f"# {report.project}: {headline(digest)}", ""]
    lines += _changes(digest.changed)
    for title, pages in (
        ("New", digest.new),
        ("Moved", digest.moved),
        ("Gone", digest.gone),
        ("Held back: the last good version stands until a person believes the new one", digest.held_back),
        ("Failed", digest.failed),
        ("Could not be had; the last good version stands", digest.kept),
        ("Answers, but nothing names it any more", digest.stale),
    ):
        lines += _section(title, pages)
    lines += _questions(digest.golden)
    lines += ["## Cost", ""]
    lines.append(
        f"{report.seconds:.1f} s; {report.fetched} answers with a body, {report.not_modified} unchanged; "
        f"{report.embedded} chunks embedded, {report.embed_cached} from cache; "
        f"{report.chat_calls} chat calls. Live: {report.generation or '-'} with {report.points} points."
    )
    return "\n".join(lines) + "\n"


def headline(digest: Digest) -> str:
    """The run in one line."""
    counts: dict[str, Sized] = {
        "new": digest.new, "changed": digest.changed, "moved": digest.moved, "gone": digest.gone,
        "held back": digest.held_back, "failed": digest.failed, "kept": digest.kept,
    }  # fmt: skip
    told = ", ".join(f"{len(pages)} {name}" for name, pages in counts.items() if pages)
    code = f" (exit {digest.report.exit})" if digest.report.exit else ""
    return (told or "nothing changed") + code


def _changes(pages: list[Changed]) -> list[str]:
    if not pages:
        return []
    lines = [f"## Changed ({len(pages)})", ""]
    facts = [page for page in pages if page.prices or page.hours]
    if facts:
        lines.append(
            f"Prices or hours changed on {len(facts)}: {', '.join(page.url for page in facts[:_SHOWN])}"
        )
        lines.append("")
    for page in pages[:_SHOWN]:
        told = [name for name, found in (("prices", page.prices), ("hours", page.hours)) if found]
        lines += [
            f"### {page.title or page.url}",
            "",
            page.url + (f" ({', '.join(told)})" if told else ""),
            "",
        ]
        lines += ["```diff", *page.lines, *([f"… {page.more} more lines"] if page.more else []), "```", ""]
    return lines + _rest(len(pages))


def _section(title: str, pages: list[Named]) -> list[str]:
    if not pages:
        return []
    lines = [f"## {title} ({len(pages)})", ""]
    for page in pages[:_SHOWN]:
        told = " · ".join(part for part in (page.title, f"→ {page.to}" if page.to else "", page.why) if part)
        lines.append(f"- {page.url}" + (f": {told}" if told else ""))
    return [*lines, *_rest(len(pages)), ""]


def _questions(asked: list[Asked]) -> list[str]:
    if not asked:
        return []
    lines = [f"## Golden questions with another best fragment ({len(asked)})", ""]
    for one in asked[:_SHOWN]:
        lines.append(f"- {one.question} (nDCG@10 {one.before:.2f} → {one.after:.2f})")
        lines.append(f"  - before: {one.url_before}: {_short(one.text_before)}")
        lines.append(f"  - now: {one.url_after}: {_short(one.text_after)}")
    return [*lines, ""]


def _rest(count: int) -> list[str]:
    return [f"… and {count - _SHOWN} more in the JSON", ""] if count > _SHOWN else []


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat[:160] + (" …" if len(flat) > 160 else "")  # noqa: PLR2004 - a line


def facts_of(digest: Digest) -> dict[str, Any]:
    """The URLs that a bot may have cached."""
    return {
        "new": [one.url for one in digest.new],
        "changed": [one.url for one in digest.changed],
        "gone": [one.url for one in (*digest.gone, *digest.moved)],
    }
