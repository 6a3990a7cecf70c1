"""
One document per text: which of several URLs with the same text keeps it.

Decided after scraping, over the whole catalogue, from what it says alone, so neither
timing nor kills matter: the URL that the pages themselves name as canonical, else the
one nearest to the sources, else the first in the alphabet. A canonical link is trusted only
here, and only where the target says the same: templates name the home page everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from indexer.artifacts import Outcome, Page, Reason, State
from indexer.pipeline.journal import Journal, as_outcome
from indexer.ports import Artifacts, Catalogue, UrlRow

_COPIES = (Reason.DUPLICATE, Reason.CANONICAL)
_ALIKE = 0.9
_Copy = tuple[Reason, str]


def has_page(row: UrlRow | None) -> TypeGuard[UrlRow]:
    """Whether a URL has a page artifact of its own: a document, a copy of one, or one that failed later."""
    if row is None or not row.content:
        return False
    later = row.state is State.FAILED and row.reason in (Reason.CHUNK_FAILED, Reason.EMBED_FAILED)
    return row.state in (State.FETCHED, State.INDEXED) or later or is_copy(row)


def is_copy(row: UrlRow) -> bool:
    """Whether a URL was skipped because another one has the same text."""
    return row.state is State.SKIPPED and row.reason in _COPIES


def settle_duplicates(catalogue: Catalogue, artifacts: Artifacts, journal: Journal) -> None:
    """Give each text one URL; the others are skipped and say which one it is."""
    journal.flush()
    shared, naming, before = _survey(catalogue)
    copies = _exact_copies(catalogue, shared) if shared else {}
    copies |= _canonical_copies(catalogue, artifacts, naming, copies)
    for url in sorted(before | copies.keys()):
        row = catalogue.get(url)
        outcome = _restated(row, copies.get(url)) if has_page(row) else None
        if outcome is not None:
            journal.settle(outcome)
    journal.flush()


def _survey(catalogue: Catalogue) -> tuple[set[bytes], list[str], set[str]]:
    """Texts that several URLs share, URLs that name another as canonical, and copies so far."""
    seen: set[bytes] = set()
    shared: set[bytes] = set()
    naming: list[str] = []
    before: set[str] = set()
    for row in _pages(catalogue):
        content = _compact(row.content)
        (shared if content in seen else seen).add(content)
        if _canonical(row) not in ("", row.url):
            naming.append(row.url)
        if is_copy(row):
            before.add(row.url)
    return shared, naming, before


def _pages(catalogue: Catalogue) -> Iterator[UrlRow]:
    return (row for row in catalogue.rows() if has_page(row))


def _exact_copies(catalogue: Catalogue, shared: set[bytes]) -> dict[str, _Copy]:
    """URLs whose text is, to the letter, that of another URL."""
    groups: dict[str, list[UrlRow]] = {}
    for row in _pages(catalogue):
        if _compact(row.content) in shared:
            groups.setdefault(row.content, []).append(row)
    copies: dict[str, _Copy] = {}
    for rows in groups.values():
        votes = Counter(_canonical(row) for row in rows)
        keeper = min(rows, key=lambda row: (-votes[row.url], row.depth, row.url))
        for row in rows:
            if row is not keeper:
                named = _canonical(row) == keeper.url
                copies[row.url] = Reason.CANONICAL if named else Reason.DUPLICATE, keeper.url
    return copies


def _canonical_copies(
    catalogue: Catalogue, artifacts: Artifacts, naming: list[str], copies: dict[str, _Copy]
) -> dict[str, _Copy]:
    """URLs that name another one as canonical, and whose text is but for a line or two the same."""
    found: dict[str, _Copy] = {}
    for url in naming:
        row = catalogue.get(url)
        if row is None or url in copies:
            continue
        target = _canonical(row)
        target = copies[target][1] if target in copies else target
        other = catalogue.get(target)
        if target == url or not has_page(other) or _canonical(other) not in ("", target):
            continue
        mine, theirs = artifacts.load(Page, row.key), artifacts.load(Page, other.key)
        if mine and theirs and alike(mine.text, theirs.text):
            found[url] = Reason.CANONICAL, target
    return found


def alike(one: str, other: str) -> bool:
    """Whether two texts have nine tenths of their words in common, in whatever order."""
    left, right = Counter(one.split()), Counter(other.split())
    return (left & right).total() >= _ALIKE * max(left.total(), right.total())


def _canonical(row: UrlRow) -> str:
    return str(row.facts.get("canonical", ""))


def _restated(row: UrlRow, copy: _Copy | None) -> Outcome | None:
    """The row's outcome, if its standing changes."""
    if copy is None:
        return _changed(row, State.FETCHED, Reason.NONE, "", row.url) if is_copy(row) else None
    reason, keeper = copy
    if is_copy(row) and (row.reason, row.final_url) == (reason, keeper):
        return None
    return _changed(row, State.SKIPPED, reason, f"the same text is at {keeper}", keeper)


def _changed(row: UrlRow, state: State, reason: Reason, detail: str, final_url: str) -> Outcome:
    from msgspec.structs import replace

    return replace(as_outcome(row), state=state, reason=reason, detail=detail, final_url=final_url)


def _compact(content: str) -> bytes:
    return bytes.fromhex(content)[:16]
