"""
What recall demands of the judges, whatever they have learnt.

A page of few words has nothing to lose: all that stands in none of the site's own frames is
its text. A list of terms keeps its descriptions; a heading that stays brings its first line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.extract.blocks import Block, Frame
from indexer.extract.features import MANY_LINKS
from indexer.extract.markup import Inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_WORDS = 400
_SITE = (
    Inside.NAV
    | Inside.HEADER
    | Inside.FOOTER
    | Inside.DIALOG
    | Inside.SELECT
    | Inside.ARIA_HIDDEN
    | Inside.BUTTON
).value
_OWN = (Inside.MAIN | Inside.ARTICLE).value
_NAMES = re.compile(
    r"cookie|consent|gdpr|breadcrumb|crumbs|menu|navbar|pagination|sidebar|related|share|social|subscribe|banner|popup",
    re.IGNORECASE,
)


def restore(blocks: list[Block], keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """*keep*, and on a page of few words all blocks that are not the site's own frame."""
    own = np.array([_is_own(block) for block in blocks], dtype=np.bool_)
    words: Any = np.array([block.words for block in blocks])
    if not own.any() or words[own].sum() > FEW_WORDS:
        return keep
    return keep | own


def _is_own(block: Block) -> bool:
    """Whether a block is the page's own by where it stands, and no collection of links."""
    if block.words and block.linked / block.words >= MANY_LINKS:
        return False
    inside = block.frame.inside
    if inside & _SITE and not (inside & _OWN and not inside & (Inside.NAV | Inside.DIALOG).value):
        return False
    frame: Frame | None = block.frame
    while frame is not None:
        if _NAMES.search(frame.names):
            return False
        frame = frame.parent
    return True
