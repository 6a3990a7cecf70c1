"""
PDF and DOCX → markdown.

Pure, within limits of pages, text, unpacked size and time: a document can waste some
seconds of a worker, but neither hang nor crash it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from indexer.artifacts import Extracted, Reason
from indexer.errors import Permanent
from indexer.extract import orders
from indexer.extract.deadline import within

VERSION = 3  # of the rules here, in `pdf`, `lines` and `docx`: part of a page's signature
MAX_SECONDS = 120.0
MAX_CHARACTERS = 2_000_000
TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


def read_document(
    body: bytes,
    *,
    kind: str,
    max_pages: int = 500,
    max_characters: int = MAX_CHARACTERS,
    max_seconds: float = MAX_SECONDS,
) -> Extracted:
    """
    Title and markdown of a document of *kind* (a key of `TYPES`).

    What is over a limit of pages or characters is left out, which a note says, and so is what
    gives orders to a language model, which `hidden` lists. Raises
    `Permanent` with `encrypted`, `damaged`, `no-text`, or `extract-failed` for one that takes
    too long.
    """
    read = _reader(kind)
    try:
        found = within(max_seconds, lambda: read(body, max_pages=max_pages, max_characters=max_characters))
    except Permanent:
        raise
    except TimeoutError as error:
        raise Permanent(f"the {kind.upper()} cannot be read: {error}", reason=Reason.EXTRACT_FAILED) from None
    except Exception as error:  # a parser meets the unexpected in a hundred ways
        detail = f"{type(error).__name__}: {error}"[:200]
        raise Permanent(f"the {kind.upper()} cannot be read ({detail})", reason=Reason.DAMAGED) from error
    text, ordered = orders.without(found.text)
    return replace(found, text=text, hidden=(*found.hidden, *ordered)) if ordered else found


def _reader(kind: str) -> Callable[..., Extracted]:
    if kind == "pdf":
        from indexer.extract.pdf import read_pdf

        return read_pdf
    from indexer.extract.docx import read_docx

    return read_docx
