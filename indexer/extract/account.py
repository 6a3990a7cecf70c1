"""
Why each block of a page was kept or left out: the steps of `reader.read`, told block by block.

Probabilities are those after what belongs together was drawn together (`mend.level`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from indexer.extract import finish
from indexer.extract.markup import Inside
from indexer.extract.text import squeeze

if TYPE_CHECKING:
    from indexer.extract.blocks import Block
    from indexer.extract.classify import Verdict

OVER, TOGETHER, CONFIRMED = "over the bar", "stands with what is kept", "trafilatura takes it"
UNDER, FORM, DENIED = "under the bar", "furniture by its form", "trafilatura leaves it out"
ORDER, CONTROL, COPY = finish.ORDER, finish.CONTROL, finish.COPY
HIDDEN, DATA, SITE = "hidden", "structured data", "kept for the site"
_TOLD = (
    Inside.NAV, Inside.HEADER, Inside.FOOTER, Inside.ASIDE, Inside.FORM, Inside.DIALOG, Inside.NOSCRIPT,
    Inside.MAIN, Inside.ARTICLE,
)  # fmt: skip


class Decided(Struct, frozen=True, kw_only=True):
    """
    What `reader.read` decided on. `keep`: the last word on each block; `verdict`: the first
    judge's. `left`: kept blocks that are not written, by `finish`'s rule. `hidden`, `data`: texts
    not seen, and added from structured data. `site`: lines kept for the site.
    """

    blocks: list[Block]
    verdict: Verdict
    keep: Any
    left: dict[int, str]
    hidden: tuple[str, ...]
    data: list[str]
    site: list[str]


class Line(Struct, frozen=True, kw_only=True):
    """One block: kept or not, by which rule. `inside`: elements around that say what they are for."""

    kept: bool
    rule: str
    kind: str
    text: str
    probability: float | None = None
    bar: float | None = None
    inside: tuple[str, ...] = ()


def lines(decided: Decided) -> list[Line]:
    """The account of a page in reading order; what is hidden, and what is not of a block, last."""
    bar = round(float(decided.verdict.bar), 3)
    # Also a label and what it labels, each for itself.
    site = {part for line in decided.site for part in (line, *line.split(": ", 1))}
    told = [
        Line(
            kept=bool(kept) and number not in decided.left,
            rule=_rule(decided, number, block, site),
            kind=block.kind,
            text=block.text,
            probability=round(float(decided.verdict.probabilities[number]), 3),
            bar=bar,
            inside=tuple(str(flag.name).lower() for flag in _TOLD if block.frame.inside & flag),
        )
        for number, (block, kept) in enumerate(zip(decided.blocks, decided.keep, strict=True))
    ]
    told += [Line(kept=True, rule=DATA, kind="", text=text) for text in decided.data]
    seen = {squeeze(block.text) for block in decided.blocks}
    told += [
        Line(kept=False, rule=SITE, kind="", text=text)
        for text in decided.site
        if not seen & {text, text.partition(": ")[2]}
    ]
    ordered = {decided.blocks[k].text for k, rule in decided.left.items() if rule == ORDER}
    return told + [
        Line(kept=False, rule=HIDDEN, kind="", text=text) for text in decided.hidden if text not in ordered
    ]


def _rule(decided: Decided, number: int, block: Block, site: set[str]) -> str:
    over = decided.verdict.probabilities[number] > decided.verdict.bar
    first, last = bool(decided.verdict.keep[number]), bool(decided.keep[number])
    if number in decided.left:
        return decided.left[number]
    if last:
        return CONFIRMED if not first else OVER if over else TOGETHER
    rule = DENIED if first else FORM if over else UNDER
    return f"{rule}; {SITE}" if squeeze(block.text).rstrip(":") in site else rule
