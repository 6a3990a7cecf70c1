"""Blocks as markdown: headings, lists, definitions, tables and code keep their structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexer.extract.blocks import PARTS, Block, Frame
from indexer.money import names_money

_LOOKS_LIKE_MARKUP = re.compile(r"^(#{1,6}\s|```|~~~|\||={3,}$|-{3,}$)", re.MULTILINE)
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_ROW_BLOCKS = 4
_ROW_WORDS = 24
_ENUMERATED = re.compile(r"\(?(?:\d{1,3}(?:[./]\d{1,3})*|[a-zа-яё])[.)]\s", re.IGNORECASE)
_ASKS = ("?", ":")
_REPEATED = 4  # words; a block of so many said twice is a second rendering of the same
_CUT_OFF = re.compile(r"\s*(?:\.\.\.|…)$")
_START = 24  # characters that a shortened text and its whole must share, at least
_END = "---"  # what follows is not about the name above any more
_MOST_INDENTS = 8  # levels; a list nested deeper is written as deep as this
_DEFINITION = 40  # words; a longer definition gets its own lines


def render(blocks: Sequence[Block]) -> str:
    """Markdown of *blocks*, in order; blank lines between blocks, none inside a list."""
    return _Writer(blocks).write()


def without_copies(blocks: Sequence[Block]) -> Iterator[Block]:
    """
    *blocks* without second renderings of the same: copies, and beginnings cut off with an ellipsis.

    A copy stands under the same heading and the same short line before it: two questions may
    have one answer, three tariffs one deposit, and each is to keep it.
    """
    seen: set[tuple[str, str, str]] = set()
    starts: dict[str, list[str]] = {}
    for block in blocks:
        if _may_be_copy(block) and not _CUT_OFF.search(block.text):
            starts.setdefault(block.text[:_START], []).append(block.text)
    heading = label = ""
    for block in blocks:
        if block.kind == "h":
            heading, label = block.text, ""
        elif not _may_be_copy(block):
            label = block.text
        elif (place := (heading, label, block.text)) in seen or _is_beginning(block.text, starts):
            continue
        else:
            seen.add(place)
            if block.text.endswith(_ASKS):
                label = block.text
        yield block


def _is_beginning(text: str, starts: dict[str, list[str]]) -> bool:
    """Whether a text that ends in an ellipsis is the beginning of another one."""
    if not _CUT_OFF.search(text):
        return False
    stem = _CUT_OFF.sub("", text)
    whole = starts.get(stem[:_START], ()) if len(stem) >= _START else ()
    return any(one.startswith(stem) and len(one) > len(stem) for one in whole)


def _may_be_copy(block: Block) -> bool:
    """A line long enough to be one; no row of a table, and no point of an enumeration."""
    return (
        block.words >= _REPEATED
        and block.kind not in ("row", "pre", "dt", "dd", "summary")
        and not block.number
        and not _ENUMERATED.match(block.text)
    )


class _Writer:
    """One pass over the blocks; each step takes one or more and gives their lines."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._at = 0
        self._rank = 1  # of the last heading
        self._base = 0  # nesting of the outermost item in the list being written
        self._part: Frame | None = None  # that the last name is of
        self._outer: dict[int, Frame | None] = {}  # outermost lists by what stands in them
        self._list: Frame | None = None  # the list that the last lines belong to
        # items that are cards with a heading or table of their own: their lines are no list
        self._cards = {id(_item_of(b)) for b in blocks if b.kind in ("h", "row", "pre")} - {id(None)}

    def write(self) -> str:
        out: list[str] = []
        while self._at < len(self._blocks):
            before = self._list
            if self._is_left(self._blocks[self._at]):
                out.append("\n\n" + _END)
            line, self._list = self._next()
            if out:
                out.append("\n" if before is not None and before is self._list else "\n\n")
            out.append(line)
        return "".join(out)

    def _is_left(self, block: Block) -> bool:
        """Whether a block without a heading comes after a part of the page that has a name of its own."""
        if block.kind in ("h", "summary"):
            self._part = _part_of(block) if block.kind == "summary" else None
        elif self._part is not None and not self._part.holds(block):
            self._part = None
            return True
        return False

    def _next(self) -> tuple[str, Frame | None]:
        """(the lines of the next blocks, the list they belong to)."""
        block = self._blocks[self._at]
        if block.kind == "row":
            return self._table(), None
        if block.kind == "dt":
            return self._definition(block)
        if block.kind == "option":
            return self._options(block), None
        cells = self._row()
        if block.kind in ("li", "p") and block.level and id(_item_of(block)) not in self._cards:
            outer = self._outer_list(block)
            if block.kind == "li" or outer is self._list:
                return self._item(block, self._take(cells if block.kind == "li" else 1), outer), outer
        text = self._take(cells)
        if block.kind == "h":
            self._rank = block.level
            text = "#" * block.level + " " + text
        elif block.kind == "summary":
            text = "#" * min(self._rank + 1, 6) + " " + text
        elif block.kind == "pre":
            text = _fenced(text)
        else:
            text = _plain(text)
        return text, None

    def _take(self, count: int) -> str:
        taken = self._blocks[self._at : self._at + count]
        self._at += count
        return " — ".join(b.text for b in taken)

    def _run(self, kind: str, frame: Frame | None) -> list[Block]:
        """Take the blocks of one kind whose frames have the same parent."""
        start = self._at
        while self._at < len(self._blocks):
            block = self._blocks[self._at]
            if block.kind != kind or block.frame.parent is not frame:
                break
            self._at += 1
        return list(self._blocks[start : self._at])

    # -- kinds

    def _item(self, block: Block, text: str, outer: Frame | None) -> str:
        self._base = block.level if outer is not self._list else min(self._base, block.level)
        indent = "  " * min(block.level - self._base, _MOST_INDENTS)
        if block.kind == "li":
            mark = f"{block.mark or '-'} "
            return indent + mark + text.replace("\n", "\n" + indent + " " * len(mark))
        return indent + "  " + text.replace("\n", "\n" + indent + "  ")

    def _definition(self, block: Block) -> tuple[str, Frame | None]:
        """The terms from here on, with all that defines them."""
        around = _frame_of(block, "dl")
        term = " / ".join(b.text.rstrip(": ") for b in self._run_of("dt", around))
        definitions = [b.text for b in self._run_of("dd", around)]
        if not definitions:
            return _plain(term), None
        size = sum(len(text.split()) for text in definitions)
        if size <= _DEFINITION and not any("\n" in text for text in definitions):
            return f"- {term}: {'; '.join(definitions)}", around or block.frame.parent
        return "\n".join([_plain(term), *(": " + text.replace("\n", "\n  ") for text in definitions)]), None

    def _run_of(self, kind: str, around: Frame | None) -> list[Block]:
        """Take the blocks of one kind that stand in one definition list."""
        start = self._at
        while self._at < len(self._blocks) and self._blocks[self._at].kind == kind:
            if self._at > start and _frame_of(self._blocks[self._at], "dl") is not around:
                break
            self._at += 1
        return list(self._blocks[start : self._at])

    def _options(self, block: Block) -> str:
        return " / ".join(b.text for b in self._run("option", block.frame.parent))

    def _table(self) -> str:
        """The first row heads the table if none says that it does; one that names a group of rows is bold."""
        group = self._run("row", self._blocks[self._at].frame.parent)
        rows = [[cell.replace("|", "\\|") for cell in b.cells] for b in group]
        if len(rows) == 1 or len(rows[0]) == 1:
            return "\n".join(_plain(" — ".join(filter(None, row))) for row in rows)
        heads = max(sum(1 for b in group if b.level), 1)
        for block, row in zip(group[heads:-1], rows[heads:-1], strict=True):
            if block.section and row[0]:
                row[0] = f"**{row[0]}**"
        header = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[:heads], strict=True)]
        lines = [header, ["---"] * len(header), *rows[heads:]]
        return "\n".join("| " + " | ".join(row) + " |" for row in lines)

    # -- structure

    def _outer_list(self, block: Block) -> Frame | None:
        """The outermost list around *block*, within the card it stands in."""
        frame = block.frame.parent if block.frame.tag == "li" else block.frame
        known, chain = self._outer, list[Frame]()
        while frame is not None and id(frame) not in known:
            if frame.tag == "li" and id(frame) in self._cards:
                known[id(frame)] = None
                break
            chain.append(frame)
            frame = frame.parent
        found = known[id(frame)] if frame is not None else None
        for inner in reversed(chain):
            if found is None and inner.tag in ("ul", "ol", "menu", "dir"):
                found = inner
            known[id(inner)] = found
        return found

    def _row(self) -> int:
        """How many blocks from here on are cells of one row: name and price, day and hours."""
        block = self._blocks[self._at]
        if block.kind not in ("p", "li") or block.words > _ROW_WORDS:
            return 1
        frame: Frame | None = block.frame
        while frame is not None and frame.last - frame.first < 2:
            frame = frame.parent
        if frame is None or frame.last - frame.first > _ROW_BLOCKS:
            return 1
        near = self._blocks[self._at : self._at + frame.last - frame.first]
        cells = [b for b in near if frame.holds(b)]
        return len(cells) if _is_row(cells) else 1


def _is_row(cells: list[Block]) -> bool:
    """A name first, a number last, all short, no sentences."""
    if len(cells) < 2 or sum(b.words for b in cells) > _ROW_WORDS:
        return False
    if any(b.kind not in ("p", "li") or "\n" in b.text for b in cells) or any(
        b.kind == "li" for b in cells[1:]
    ):
        return False
    if any(b.text[-1] in ".!?" for b in cells[:-1]) or all(b.links and names_money(b.text) for b in cells):
        return False  # sentences; or cards, each with a price of its own
    last = cells[-1].text.replace(" ", "")
    digits = len(_DIGIT.findall(last))
    return _LETTER.search(cells[0].text) is not None and digits > 1 and digits * 3 >= len(last)


def _item_of(block: Block) -> Frame | None:
    return _frame_of(block, "li")


def _part_of(name: Block) -> Frame | None:
    """What a summary names: its folded details, or the card it was found to be the name of."""
    return name.frame if name.frame.tag in PARTS else _frame_of(name, "details")


def _frame_of(block: Block, tag: str) -> Frame | None:
    """The innermost element of that name around a block."""
    frame: Frame | None = block.frame
    while frame is not None and frame.tag != tag:
        frame = frame.parent
    return frame


def _plain(text: str) -> str:
    """A paragraph that no reader of markdown takes for something else."""
    return _LOOKS_LIKE_MARKUP.sub(r"\\\1", text)


def _fenced(code: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}\n{code}\n{fence}"
