"""
What belongs together stays together.

Judged one by one, a card may lose its price, a list an item, a definition its term. So
blocks that stand in the same place of repeated structures share their probabilities, and
what is kept pulls along what stands between and beside it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.contacts import says_contact
from indexer.extract import features, phrases
from indexer.extract.blocks import Block, Frame
from indexer.extract.markup import Inside
from indexer.extract.site import label_of
from indexer.money import names_money, prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Probabilities = NDArray[np.float64]

_REPEATED = 3  # siblings of one shape that make a grid of cards
_LIST_STEPS = 6  # elements between an item's text and its list
_CARDS, _ITEMS = 0.7, 0.5  # how much of a block's probability is that of its like
_CARD_BAR, _CARD_KEPT = 0.8, 0.3  # in a grid of which so much is kept, the bar is so much lower
_WHOLE_KEPT = 0.3  # of a table's words; then all of it is kept
_GAP_BAR, _GAP = 0.5, 2  # plain blocks between kept ones at most so far away
_LINKED_BAR, _LINKED_GAP = 0.4, 4  # the same for blocks of links, which an article leaves out
_FACT_BAR, _FACT_GAP = 0.2, 8  # the same for prices, phones, e-mails
_FACT_CARDS = 0.15  # in a grid of which so much is kept, they all are
_LIST_BAR, _LIST_KEPT = 0.4, 0.3  # in a list of which so much is kept, the bar is so much lower
_PRICE = 12  # words of a line that is there to name a price
_MENU = re.compile(r"(?:^|[\s_-])menu(?![_-]?(?:toggle|button|icon|user|nav|bar))(?:$|[\s_-])", re.IGNORECASE)
_OF_DISHES = re.compile(r"\b(?:menu|меню|мәзір|drinks|dishes|напитки|блюда)\b", re.IGNORECASE)
_CLEAN_BAR, _CLEAN_KEPT = 0.5, 0.75  # where so much of all that is not furniture is kept
_CLEANEST_BAR, _CLEANEST_KEPT = 0.25, 0.95
_SMALL = 400  # words; on a page of so few there is nothing to win by being strict
_ALWAYS_FURNITURE = (Inside.NAV | Inside.FORM | Inside.DIALOG | Inside.NOSCRIPT).value
_OUTER_FURNITURE = (Inside.HEADER | Inside.FOOTER | Inside.ASIDE).value  # unless within the content
_OWN = (Inside.MAIN | Inside.ARTICLE).value
_FOLDED, _IN_FORM = Inside.HIDDEN.value, Inside.FORM.value
_FURNITURE_PHRASES = sum(
    1 << phrases.NAMES.index(kind)
    for kind in (
        "consent", "rights", "subscribe", "account", "shop", "share", "related", "more", "paging", "search", "filter", "advert",
    )
)  # fmt: skip
_FURNITURE_NAMES = re.compile(
    r"cookie|consent|gdpr|breadcrumb|crumbs|menu|navbar|pagination|sidebar|related|share|social|subscribe|banner|popup"
    r"|modal|login|search",
    re.IGNORECASE,
)
_CRUMBS = re.compile(
    r"bread-?_?crumb|(?:^|[\s_-])(?:crumbs?|nav-?_?(?:header|footer)|prev-?_?next|pager)(?:$|[\s_-])",
    re.IGNORECASE,
)
_CRUMBS_BLOCKS, _CRUMBS_WORDS = 12, 60  # a longer element is a page that has breadcrumbs
_STEPS = frozenset((  # what leads from one page of a manual to the next
    "previous", "prev", "next", "up", "top", "home", "back", "contents", "content", "table", "of", "index", "toc", "first",
    "last", "page", "chapter", "section", "to", "предыдущая", "предыдущий", "следующая", "следующий", "назад", "вперед",
    "вперёд", "далее", "наверх", "содержание", "оглавление",
))  # fmt: skip
_MAX_STEPS = 12  # words
_HIGHEST = 100  # elements between a block and the grid around it
_FEW_LINKS = 0.3
_SHORT = 40  # words; what furniture says is shorter


class Groups:
    """
    Numbers of the groups that each block is in, 0 for none; and what it is whatever its probability.

    `silent`: neither stands in furniture nor says what furniture says; `plain`: silent and
    not made of links; `never`: a step of the breadcrumbs, or to the next page.
    """

    def __init__(self, blocks: list[Block]) -> None:
        self.sizes = np.array([b.words for b in blocks], dtype=np.float64) + 0.5
        self.silent = np.array(
            [not _is_furniture(_around(b)) and not _says_furniture(b) for b in blocks], dtype=np.bool_
        )
        self.plain = self.silent & np.array(
            [b.linked <= _FEW_LINKS * b.words for b in blocks], dtype=np.bool_
        )
        self._blocks = blocks
        self._told: dict[int, bool] = {}
        self._own: Mask | None = None
        sums = np.concatenate([[0.0], np.cumsum(self.sizes)])
        crumbs: dict[int, bool] = {}
        self.never = np.array(
            [_is_step(b) or _in_crumbs(b.frame, sums, crumbs) for b in blocks], dtype=np.bool_
        )
        self.wholes, self.items, self.roles, self.grids = (
            np.zeros(len(blocks), dtype=np.intp) for _ in range(4)
        )
        numbers: tuple[dict[Hashable, int], ...] = ({}, {}, {}, {})
        for k, block in enumerate(blocks):
            whole, items = _whole(block), _list_of(block)
            grid, role = _place_in_grid(block)
            for column, seen, key in zip(
                (self.wholes, self.items, self.roles, self.grids),
                numbers,
                (whole, items, role, grid),
                strict=True,
            ):
                if key is not None:
                    column[k] = seen.setdefault(key, len(seen) + 1)

    def own(self) -> Mask:
        """All that a short page has to say: plain, and no class name around speaks of furniture. Of a longer page, none."""
        if self._own is None:
            mask = np.zeros(len(self._blocks), dtype=np.bool_)
            known: dict[int, bool] = {}
            size = 0.0
            for k in np.flatnonzero(self.plain):
                if not _is_named_furniture(self._blocks[k].frame, known):
                    mask[k] = True
                    size += self.sizes[k]
                    if size >= _SMALL:
                        mask[:] = False
                        break
            self._own = mask
        return self._own

    def count_prices(self) -> int:
        """How many short lines in repeated structures name a price."""
        return sum(
            names_money(self._blocks[k].text)
            for k in np.flatnonzero(self.silent & (self.grids > 0) & (self.sizes < _PRICE))
        )

    def telling(self, among: Mask) -> Mask:
        """Those *among* the blocks that name a price, phone or e-mail address."""
        mask = np.zeros(len(self._blocks), dtype=np.bool_)
        for k in np.flatnonzero(among).tolist():
            told = self._told.get(k)
            if told is None:
                text = self._blocks[k].text
                told = self._told[k] = names_money(text) or features.has_reach(text)
            mask[k] = told
        return mask


def _whole(block: Block) -> Hashable:
    """The table or definition list that stands or falls as a whole."""
    if block.kind == "row":
        return id(block.frame.parent)
    if block.kind in ("dt", "dd"):
        frame: Frame | None = block.frame
        while frame is not None and frame.tag != "dl":
            frame = frame.parent
        return id(frame) if frame is not None else None
    return None


def _list_of(block: Block) -> Hashable:
    if block.kind != "li":
        return None
    frame: Frame | None = block.frame
    for _ in range(_LIST_STEPS):
        if frame is None:
            return None
        if frame.tag in ("ul", "ol"):
            return id(frame)
        frame = frame.parent
    return None


def _place_in_grid(block: Block) -> tuple[Hashable, Hashable]:
    """(the grid of repeated siblings around a block, its place within one of them)."""
    frame = block.frame
    path = [block.kind]
    while frame.parent is not None and len(path) <= _HIGHEST:
        path.append(frame.shape)
        if frame.parent.children.get(frame.shape, 0) >= _REPEATED:
            return id(frame.parent), (id(frame.parent), *path)
        frame = frame.parent
    return None, None


def level(groups: Groups, probabilities: Probabilities, words: Any) -> Probabilities:
    """Probabilities drawn towards the mean of their like, weighted by words."""
    sizes = words + 1
    out = _drawn(probabilities, groups.wholes, sizes, 1.0)
    out = _drawn(out, groups.roles, sizes, _CARDS)
    return _drawn(out, groups.items, sizes, _ITEMS)


def _drawn(values: Probabilities, group: Any, sizes: Any, share: float) -> Probabilities:
    if not group.any():
        return values
    means = np.bincount(group, values * sizes) / np.maximum(np.bincount(group, sizes), 1e-9)
    return np.where(group > 0, (1 - share) * values + share * means[group], values)


def complete(groups: Groups, probabilities: Probabilities, bar: float, *, strict: bool) -> Mask:
    """The blocks over the *bar*, and what they pull along. *strict*: an article, whose surroundings are not its own."""
    sizes, silent, plain = groups.sizes, groups.silent, groups.plain
    keep: Mask = probabilities > bar
    if groups.grids.any():
        keep |= _shares(groups.grids, keep, sizes, _CARD_KEPT) & (probabilities > bar * _CARD_BAR)
    keep |= plain & _between(keep, _GAP) & (probabilities > bar * _GAP_BAR)
    if not strict:
        keep |= silent & _between(keep, _LINKED_GAP) & (probabilities > bar * _LINKED_BAR)
        facts = silent & ~keep & _between(keep, _FACT_GAP) & (probabilities > bar * _FACT_BAR)
        keep |= groups.telling(facts)
        keep |= groups.telling(silent & ~keep & _shares(groups.grids, keep, sizes, _FACT_CARDS))
        keep |= silent & _shares(groups.items, keep, sizes, _LIST_KEPT) & (probabilities > bar * _LIST_BAR)
        kept_share = sizes[plain & keep].sum() / max(sizes[plain].sum(), 1.0)
        if kept_share >= _CLEAN_KEPT:
            keep |= plain & (
                probabilities > bar * (_CLEANEST_BAR if kept_share >= _CLEANEST_KEPT else _CLEAN_BAR)
            )
        keep |= groups.own()
    return _with_whole(groups.wholes, keep, sizes) & ~groups.never


def whole_tables(blocks: list[Block], keep: Mask) -> Mask:
    """*keep* and the other rows of tables, the other entries of definition lists, of which it has a good part."""
    numbers: dict[Hashable, int] = {None: 0}
    groups = np.array([numbers.setdefault(_whole(b), len(numbers)) for b in blocks], dtype=np.intp)
    return _with_whole(groups, keep, np.array([b.words for b in blocks], dtype=np.float64) + 0.5)


def with_questions(blocks: list[Block], keep: Mask) -> Mask:
    """*keep* and the lines, each a question or heading, that stand right before a folded panel whose beginning is kept."""
    out = keep.copy()
    for k in np.flatnonzero(keep[1:] & ~keep[:-1]).tolist():
        asked, inside = blocks[k], blocks[k].frame.inside
        if (
            asked.words <= _SHORT
            and (asked.kind in ("h", "summary", "dt") or asked.text.endswith("?"))
            and blocks[k + 1].frame.inside & _FOLDED
            and not inside & _FOLDED
            and not _is_furniture(inside)
        ):
            out[k] = True
    return out


def with_dishes(blocks: list[Block], keep: Mask) -> Mask:
    """*keep* and the lines of what is named a menu and ends in prices: a restaurant's, not the site's."""
    out = keep.copy()
    titled = any(blocks[k].kind == "h" and _OF_DISHES.search(blocks[k].text) for k in np.flatnonzero(keep))
    found = [
        k
        for k in np.flatnonzero(~keep).tolist()
        if _is_dish(blocks[k]) and (titled or names_money(blocks[k].text))
    ]
    if len(found) > 1:
        out[found] = True
    return out


def _is_dish(block: Block) -> bool:
    frame, steps = block.frame, 0
    if not frame.inside & _OWN or _is_furniture(frame.inside):
        return False
    if block.words > _PRICE or block.linked == block.words:
        return False
    if not prices(block.text):
        return False
    while frame.parent is not None and _MENU.search(frame.names) is None and steps < _LIST_STEPS:
        frame, steps = frame.parent, steps + 1
    return _MENU.search(frame.names) is not None


def with_labels(blocks: list[Block], keep: Mask) -> Mask:
    """*keep* and the lines that say of which kind a kept phone or time of a footer or header is."""
    out = keep.copy()
    for k in np.flatnonzero(keep).tolist():
        if blocks[k].frame.inside & _OUTER_FURNITURE and says_contact(blocks[k].text):
            label = label_of(blocks, k)
            if label is not None:
                out[label] = True
    return out


def _with_whole(groups: Any, keep: Mask, sizes: Any) -> Mask:
    return keep | _shares(groups, keep, sizes, _WHOLE_KEPT)


def _shares(groups: Any, keep: Mask, sizes: Any, share: float) -> Mask:
    """Whether a block is in one of the *groups* of which so much is kept."""
    kept = np.bincount(groups, keep * sizes) >= share * np.bincount(groups, sizes)
    kept[0] = False
    out: Mask = kept[groups]
    return out


def _between(keep: Mask, reach: int) -> Mask:
    """Whether a kept block stands within *reach* before, and another after."""
    before, after = np.zeros(len(keep), dtype=np.bool_), np.zeros(len(keep), dtype=np.bool_)
    for far in range(1, min(reach, len(keep) - 1) + 1):
        before[far:] |= keep[:-far]
        after[:-far] |= keep[far:]
    return before & after


def _around(block: Block) -> int:
    """What a block stands in; a choice that says what is offered stands in a form by its nature."""
    inside = block.frame.inside
    return inside & ~_IN_FORM if block.kind == "option" else inside


def _is_furniture(inside: int) -> bool:
    """Whether an element made for furniture is around; a header or aside within an article is its own."""
    return bool(inside & _ALWAYS_FURNITURE) or bool(inside & _OUTER_FURNITURE and not inside & _OWN)


def _is_named_furniture(frame: Frame, known: dict[int, bool]) -> bool:
    """Whether class names around a block speak of menus, banners and the like; *known*: of frames already asked."""
    chain: list[Frame] = []
    up: Frame | None = frame
    while up is not None and id(up) not in known:
        chain.append(up)
        up = up.parent
    said = up is not None and known[id(up)]
    for one in reversed(chain):
        said = known[id(one)] = said or _FURNITURE_NAMES.search(one.names) is not None
    return said


def _in_crumbs(frame: Frame, sums: Any, known: dict[int, bool]) -> bool:
    """Whether a small element around is named after breadcrumbs, or leads to the next page; `sums[k]`: size of the first k blocks."""
    up: Frame | None = frame
    while (
        up is not None
        and up.last - up.first <= _CRUMBS_BLOCKS
        and sums[up.last] - sums[up.first] <= _CRUMBS_WORDS
    ):
        said = known.get(id(up))
        if said is None:
            said = known[id(up)] = _CRUMBS.search(up.names) is not None
        if said:
            return True
        up = up.parent
    return False


def _is_step(block: Block) -> bool:
    """Whether a line consists of links to the pages before, after and above."""
    if block.words > _MAX_STEPS or 2 * block.linked < block.words or block.kind in ("row", "pre", "h"):
        return False
    tokens = phrases.tokens_of(block.text)
    return bool(tokens) and _STEPS.issuperset(tokens)


def _says_furniture(block: Block) -> bool:
    if block.words > _SHORT or block.kind == "pre":  # "print" in a listing offers nobody to print the page
        return False
    if block.says < 0:
        block.says = phrases.kinds_of(phrases.tokens_of(block.text))
    return bool(block.says & _FURNITURE_PHRASES)
