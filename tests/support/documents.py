"""Small PDF and DOCX files, written out by hand."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Mapping

WORDS = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
    for key, name in (("T", "Title"), ("1", "heading 1"), ("2", "heading 2"), ("C", "toc 1"))
)
_NUMBERING = (
    '<w:abstractNum w:abstractNumId="0">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2."/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="russianLower"/><w:lvlText w:val="%2)"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
)


def raw_pdf(objects: Iterable[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of these objects; the first is its catalogue."""
    out, offsets = b"%PDF-1.7\n", []
    for number, data in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, data)
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(offsets) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, entries)
    return (
        out + table + b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, len(out))
    )


def stream(data: bytes, *, times: int = 1) -> bytes:
    """A stream object, packed `times` times."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    return b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(data), b"/FlateDecode " * times, data)


def pdf(*pages: str | bytes, title: str = "", times: int = 1) -> bytes:
    """
    A PDF of pages.

    A page as text has a line per line: `x y size text` with `*` before the size for bold;
    as bytes it is the content itself. The font's codes are windows-1251.
    """
    font = b"<</Type/Font/Subtype/Type1/BaseFont/%s/Encoding/WinAnsiEncoding/ToUnicode 5 0 R>>"
    fixed = [font % b"Helvetica", font % b"Helvetica-Bold", stream(_to_unicode())]
    kids = b" ".join(b"%d 0 R" % (7 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        *fixed,
        b"<</Title<feff%s>>>" % title.encode("utf-16-be").hex().encode(),
    ]
    for number, page in enumerate(pages):
        content = page if isinstance(page, bytes) else _content(page)
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R"
            b"/Resources<</Font<</F 3 0 R/B 4 0 R>>>>>>" % (8 + 2 * number),
            stream(content, times=times),
        ]
    return raw_pdf(objects, b"/Info 6 0 R" if title else b"")


def _content(page: str) -> bytes:
    out = b""
    for line in filter(None, page.strip().splitlines()):
        x, y, size, text = line.strip().split(" ", 3)
        font = b"B" if size.startswith("*") else b"F"
        data = text.encode("cp1251").hex().encode()
        out += b"BT /%s %s Tf %s %s Td <%s> Tj ET\n" % (
            font,
            size.strip("*").encode(),
            x.encode(),
            y.encode(),
            data,
        )
    return out


def _to_unicode() -> bytes:
    known = [(code, bytes([code]).decode("cp1251", "ignore")) for code in range(32, 256)]
    pairs = [b"<%02x> <%04x>" % (code, ord(letter)) for code, letter in known if letter]
    blocks = [pairs[start : start + 100] for start in range(0, len(pairs), 100)]
    body = b"".join(b"%d beginbfchar\n%s\nendbfchar\n" % (len(block), b"\n".join(block)) for block in blocks)
    return b"begincmap\n1 begincodespacerange\n<00> <ff>\nendcodespacerange\n" + body + b"endcmap"


def paragraph(text: str, *, style: str = "", number: str = "", depth: int = 0) -> str:
    """A `w:p`; `number`: 1 counts 1., 1.1., 2 has bullets and letters below."""
    inner = f'<w:pStyle w:val="{style}"/>' if style else ""
    if number:
        inner += f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{inner}</w:pPr>{run(text)}</w:p>"


def run(text: str) -> str:
    """A `w:r`."""
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def docx(body: str, *, parts: Mapping[str, str | bytes] | None = None, title: str = "") -> bytes:
    """A DOCX of the elements of its body; `parts` are added or take the place of usual ones."""
    core = f'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></c>'
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document {WORDS}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {WORDS}>{_STYLES}</w:styles>",
        "word/numbering.xml": f"<w:numbering {WORDS}>{_NUMBERING}</w:numbering>",
        "docProps/core.xml": core,
        **(parts or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
