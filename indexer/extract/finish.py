"""What is left to do once the judges have spoken: out with orders, controls and copies; cards get names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from indexer.extract import cards, markdown, orders, phrases, titles
from indexer.extract.blocks import Block, Frame
from indexer.extract.text import count_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORDER, CONTROL, COPY = "orders a language model about", "a control", "a copy of what stands before"


class Finished(Struct, frozen=True):
    """
    `blocks`: to be written. `left`: number of a block that is not, though judged as content → rule.

    `orders`: what told a language model something.
    """

    blocks: list[Block]
    left: dict[int, str]
    orders: list[str]


def finish(blocks: list[Block], keep: NDArray[np.bool_], labels: list[tuple[Frame, str]]) -> Finished:
    """The blocks that are written, of those that *keep* says are the page's own."""
    told = orders.found(blocks, keep)
    left = {k: ORDER for k, order in told.items() if not order.cells}
    for k, order in told.items():
        if order.cells:
            _say_only(blocks[k], order.cells)
    left |= {
        k: CONTROL
        for k, block in enumerate(blocks)
        if keep[k] and k not in left and block.kind == "button" and phrases.is_command(block.text)
    }
    kept = {id(block): k for k, block in enumerate(blocks) if keep[k] and k not in left}
    written = list(markdown.without_copies([blocks[k] for k in kept.values()]))
    for block in written:
        del kept[id(block)]
    left |= dict.fromkeys(kept.values(), COPY)
    return Finished(
        titles.named(cards.arranged(written), labels), left, [order.said for order in told.values()]
    )


def _say_only(block: Block, cells: list[str]) -> None:
    block.text = " ".join(filter(None, cells))
    block.words = count_words(block.text)
    if block.cells:
        block.cells = cells
