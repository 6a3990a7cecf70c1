"""
PDF → lines of text with place, size and weight; `lines` makes markdown of them.

The parser is pypdf: pure Python, so that a limit in time holds, and with limits of its
own on what streams may unpack to.
"""

from __future__ import annotations

import io
import logging
import math
import re
from collections.abc import Sequence
from typing import Any

from indexer.artifacts import Extracted, Reason
from indexer.errors import Permanent
from indexer.extract.lines import Line, Piece, join_pieces
from indexer.extract.metadata import guess_language
from indexer.extract.paragraphs import to_markdown
from indexer.extract.text import squeeze, visible

_LIMITS: dict[str, Any] = {  # bytes of one stream unpacked, parts of one page's content
    "zlib_maximum_output_length": 32_000_000,
    "lzw_maximum_output_length": 32_000_000,
    "run_length_maximum_output_length": 32_000_000,
    "brotli_maximum_output_length": 32_000_000,
    "array_based_stream_maximum_output_length": 32_000_000,
    "stream_decoding_work_maximum_length": 64_000_000,
    "stream_parsing_work_maximum_count": 1_000_000,
    "xform_maximum_invocations_per_extraction": 1_000,
    "page_tree_maximum_entries": 20_000,
    "jbig2dec_binary": None,
}
_BOLD = re.compile(r"bold|black|heavy|demi|[,-]b(?:$|[^a-z])|^cmbx|medi$", re.IGNORECASE)
_FIXED = re.compile(r"mono|courier|consol|typewriter|^cmtt|^lmmono|menlo", re.IGNORECASE)
_WORKING_TITLE = re.compile(
    r"microsoft (?:word|excel|powerpoint)|^untitled|^без (?:имени|названия)|^(?:document|документ)\d*$"
    r"|^(?:layout|slide) \d"
    r"|\.(?:docx?|odt|rtf|xlsx?|pptx?|pdf|indd|cdr|dvi|tex|qxd|pub|html?|tmp)$|^https?://|^(?:file|about):",
    re.IGNORECASE,
)
_MOJIBAKE = re.compile("[À-ÿ]{3}")
_CYRILLIC = re.compile("[А-Яа-яЁё]")
_READABLE = 0.7  # of a text's characters; the glyphs of some fonts have no known meaning
_MAX_TITLE = 300


def read_pdf(body: bytes, *, max_pages: int, max_characters: int) -> Extracted:
    """
    Title, dates and markdown of a PDF.

    Raises `Permanent` with `encrypted`, `damaged` or `no-text`.
    """
    import pypdf
    from pypdf import apply_configuration
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # of what it mends it says much
    with apply_configuration(**_LIMITS):
        try:
            reader = pypdf.PdfReader(io.BytesIO(body))
            if reader.is_encrypted and not reader.decrypt(""):
                raise Permanent("the PDF asks for a password", reason=Reason.ENCRYPTED)
            count = len(reader.pages)
        except (FileNotDecryptedError, DependencyError) as error:
            raise Permanent(f"the PDF is encrypted: {error}", reason=Reason.ENCRYPTED) from None
        except PyPdfError as error:
            raise Permanent(f"the PDF cannot be opened: {error}"[:300], reason=Reason.DAMAGED) from None
        pages, notes = _pages(reader, min(count, max_pages), max_characters)
        title, published, modified = _metadata(reader)
    if count > max_pages:
        notes.append(f"only the first {max_pages} of {count} pages were read (extract.max_document_pages)")
    _require_text(pages, count, notes)
    markdown, heading = to_markdown(pages)
    return Extracted(
        title=_title(title, heading, markdown),
        text=markdown,
        language=guess_language(markdown),
        published=published,
        modified=modified,
        extractor="pdf",
        notes=tuple(notes),
    )


def _pages(reader: Any, count: int, max_characters: int) -> tuple[list[list[Line]], list[str]]:
    """The lines of each page. One broken page is a note."""
    pages: list[list[Line]] = []
    notes: list[str] = []
    left = max_characters
    for number in range(count):
        collector = _Collector()
        try:
            reader.pages[number].extract_text(visitor_text=collector.take)
        except Exception as error:  # noqa: BLE001 - one page must not take the others with it
            notes.append(f"page {number + 1}: {type(error).__name__}: {error}"[:200])
        lines = collector.lines()
        pages.append(lines)
        left -= sum(len(line.text) for line in lines)
        if left <= 0:
            notes.append(f"only the first {number + 1} of {count} pages were read: it has too much text")
            break
    return pages, notes[:20]


class _Collector:
    """Gathers the pieces that the parser hands out into lines."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._pieces: list[Piece] = []

    def take(self, text: str, cm: Sequence[float], tm: Sequence[float], font: Any, size: float) -> None:
        """One piece: its text (a line break ends the line), matrices, font and size."""
        parts = text.split("\n")
        for index, part in enumerate(parts):
            if index:
                self._end()
            if part.strip() or (part and self._pieces):
                self._pieces.append(_piece(part, cm, tm, font, size))

    def lines(self) -> list[Line]:
        """What was gathered, in the order of the content."""
        self._end()
        return self._lines

    def _end(self) -> None:
        if self._pieces:
            line = join_pieces(self._pieces)
            if line.text:
                self._lines.append(line)
            self._pieces = []


def _piece(text: str, cm: Sequence[float], tm: Sequence[float], font: Any, size: float) -> Piece:
    """Place and size on the page, along and across the direction in which the text runs."""
    a, b = tm[0] * cm[0] + tm[1] * cm[2], tm[0] * cm[1] + tm[1] * cm[3]
    c, d = tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3]
    e, f = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
    along, across = math.hypot(a, b) or 1.0, math.hypot(c, d) or 1.0
    name = str(font.get("/BaseFont", "")).rpartition("+")[2].lstrip("/") if font is not None else ""
    return Piece(
        text=text,
        x=(e * a + f * b) / along,
        y=(e * c + f * d) / across,
        size=abs(float(size)) * across,
        bold=bool(_BOLD.search(name)),
        fixed=bool(_FIXED.search(name)),
    )


def _require_text(pages: list[list[Line]], count: int, notes: list[str]) -> None:
    text = "".join(line.text for page in pages for line in page)
    if not any(character.isalnum() for character in text):
        if notes:
            raise Permanent(f"no page of the PDF can be read: {notes[0]}", reason=Reason.DAMAGED)
        raise Permanent(f"the PDF has no text on its {count} pages: images, or a scan", reason=Reason.NO_TEXT)
    readable = sum(1 for c in text if c.isprintable() and c != "\ufffd" and not "\ue000" <= c <= "\uf8ff")
    if readable < _READABLE * len(text):
        raise Permanent("the fonts of the PDF do not say which characters they show", reason=Reason.NO_TEXT)


def _metadata(reader: Any) -> tuple[str, str, str]:
    """Title, and the dates of creation and change, as far as they can be read."""
    found: list[Any] = []
    for name in ("title", "creation_date", "modification_date"):
        try:
            value = getattr(reader.metadata, name, None)
        except Exception:  # noqa: BLE001 - a date that is none is no date
            value = None
        found.append(value if value is None or isinstance(value, str) else value.isoformat())
    title, published, modified = (value if isinstance(value, str) else "" for value in found)
    return squeeze(visible(title)), published, modified


def _title(declared: str, heading: str, markdown: str) -> str:
    """The declared title if it is one, else the first heading; never a file's or a program's name."""
    foreign = _MOJIBAKE.search(declared) and not _CYRILLIC.search(declared) and _CYRILLIC.search(markdown)
    words = any(character.isalpha() for character in declared)
    if words and not foreign and "\ufffd" not in declared and not _WORKING_TITLE.search(declared):
        return declared[:_MAX_TITLE]
    return heading[:_MAX_TITLE]
