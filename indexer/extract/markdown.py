"""Blocks as markdown: headings, lists, definitions, tables and code keep their structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexer.extract.blocks import Block, Frame

_LOOKS_LIKE_MARKUP = re.compile(r"^(#{1,6}\s|```|~~~|\||={3,}$|-{3,}$)", re.MULTILINE)
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_ROW_BLOCKS = 4
_ROW_WORDS = 24
_REPEATED = 4  # words; a block of so many said twice is a second rendering of the same
_DEFINITION = 40  # words; a longer definition gets its own lines


def render(blocks: Sequence[Block]) -> str:
    """Markdown of *blocks*, in order; blank lines between blocks, none inside a list."""
    blocks = list(_without_copies(blocks))
    out: list[str] = []
    carded = _carded_items(blocks)
    heading, base, k = 1, 0, 0
    tight = False  # whether the last line belongs to a list
    while k < len(blocks):
        block = blocks[k]
        taken, line, listed = 1, "", False
        row = _row(blocks, k)
        if block.kind == "h":
            heading = block.level
            line = "#" * heading + " " + block.text
        elif block.kind == "summary":
            line = "#" * min(heading + 1, 6) + " " + block.text
        elif block.kind == "pre":
            line = _fenced(block.text)
        elif block.kind == "row":
            taken, line = _table(blocks, k)
        elif block.kind == "dt":
            taken, line, listed = _definition(blocks, k)
        elif block.kind == "option":
            taken, line = _options(blocks, k)
        elif block.level and id(_item(block)) not in carded and block.kind in ("li", "p"):
            base = block.level if not tight else min(base, block.level)
            indent = "  " * (block.level - base)
            if row > 1 and block.kind == "li":
                taken, text = row, _joined(blocks, k, row)
            else:
                text = block.text
            if block.kind == "li":
                mark = f"{block.number}. " if block.number else "- "
                line = indent + mark + text.replace("\n", "\n" + indent + " " * len(mark))
            else:
                line = indent + "  " + text.replace("\n", "\n" + indent + "  ")
            listed = True
        elif row > 1:
            taken, line = row, _joined(blocks, k, row)
        else:
            line = _plain(block.text)
        if out:
            out.append("\n" if listed and tight else "\n\n")
        out.append(line)
        tight = listed
        k += taken
    return "".join(out)


def _without_copies(blocks: Sequence[Block]) -> Iterator[Block]:
    seen: set[str] = set()
    for block in blocks:
        if block.words >= _REPEATED and block.kind not in ("row", "pre", "dt", "dd"):
            if block.text in seen:
                continue
            seen.add(block.text)
        yield block


def _item(block: Block) -> Frame | None:
    frame: Frame | None = block.frame
    while frame is not None and frame.tag != "li":
        frame = frame.parent
    return frame


def _carded_items(blocks: Sequence[Block]) -> set[int]:
    """List items that are cards with a heading of their own: their lines are no list."""
    return {id(_item(b)) for b in blocks if b.kind in ("h", "row", "pre")} - {id(None)}


def _row(blocks: Sequence[Block], k: int) -> int:
    """How many blocks from *k* on are cells of one row: name and price, day and hours."""
    block = blocks[k]
    if block.kind not in ("p", "li") or block.words > _ROW_WORDS:
        return 1
    frame: Frame | None = block.frame
    while frame is not None and frame.last - frame.first < 2:
        frame = frame.parent
    if (
        frame is None
        or frame.last - frame.first > _ROW_BLOCKS
        or frame.tag in ("body", "main", "article", "section")
    ):
        return 1
    size = frame.last - frame.first
    cells = [b for b in blocks[k : k + size] if frame.holds(b)]
    if len(cells) < 2 or any(b.kind not in ("p", "li") or "\n" in b.text for b in cells):
        return 1
    if any(b.kind == "li" for b in cells[1:]) or sum(b.words for b in cells) > _ROW_WORDS:
        return 1
    last = cells[-1].text
    digits = len(_DIGIT.findall(last))
    named = _LETTER.search(cells[0].text) and digits > 1 and digits * 3 >= len(last.replace(" ", ""))
    return len(cells) if named and all(b.words <= _ROW_WORDS // 2 for b in cells) else 1


def _joined(blocks: Sequence[Block], k: int, count: int) -> str:
    return " — ".join(b.text for b in blocks[k : k + count])


def _definition(blocks: Sequence[Block], k: int) -> tuple[int, str, bool]:
    """(blocks taken, lines, whether it is a list line) of a term and its definition."""
    term = blocks[k].text.rstrip(": ")
    if k + 1 < len(blocks) and blocks[k + 1].kind == "dd":
        definition = blocks[k + 1]
        if definition.words <= _DEFINITION and "\n" not in definition.text:
            return 2, f"- {term}: {definition.text}", True
        return 2, f"{_plain(term)}\n: " + definition.text.replace("\n", "\n  "), False
    return 1, _plain(blocks[k].text), False


def _options(blocks: Sequence[Block], k: int) -> tuple[int, str]:
    end = k
    while (
        end < len(blocks)
        and blocks[end].kind == "option"
        and blocks[end].frame.parent is blocks[k].frame.parent
    ):
        end += 1
    return end - k, " / ".join(b.text for b in blocks[k:end])


def _plain(text: str) -> str:
    """A paragraph that no reader of markdown takes for something else."""
    return _LOOKS_LIKE_MARKUP.sub(r"\\\1", text)


def _fenced(code: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}\n{code}\n{fence}"


def _table(blocks: Sequence[Block], k: int) -> tuple[int, str]:
    """(rows taken, a markdown table); the first row heads it if none says that it does."""
    end = k
    while (
        end < len(blocks) and blocks[end].kind == "row" and blocks[end].frame.parent is blocks[k].frame.parent
    ):
        end += 1
    group = blocks[k:end]
    rows = [[cell.replace("|", "\\|") for cell in b.cells] for b in group]
    if len(rows) == 1 or len(rows[0]) == 1:
        return len(rows), "\n".join(_plain(" — ".join(filter(None, row))) for row in rows)
    heads = max(sum(1 for b in group if b.level), 1)
    header = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[:heads], strict=True)]
    lines = [header, ["---"] * len(header), *rows[heads:]]
    return len(rows), "\n".join("| " + " | ".join(row) + " |" for row in lines)
