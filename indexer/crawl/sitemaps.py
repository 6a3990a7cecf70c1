"""
Sitemaps as they are found: indexes, gzip by its bytes, text lists, RSS and Atom, broken ones.

A file that is cut or ill-formed gives its whole entries. One that declares entities is
refused: nothing in a sitemap needs them. Entries are streamed; the caller stops when it
has enough.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from msgspec import Struct

from indexer.errors import Permanent

MAX_UNPACKED = 100 * 1024 * 1024
MAX_ENTRIES = 250_000
_GZIP = b"\x1f\x8b"
_GZIP_LAYERS = 4
_ENTRIES = frozenset(("url", "sitemap", "item", "entry"))
_START = re.compile(rb"<(?:[\w-]+:)?(?:urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)
_HTML = re.compile(rb"\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_END = re.compile(rb"</(?:[\w-]+:)?(?:urlset|sitemapindex|rss|feed|rdf)\s*>", re.IGNORECASE)
_WHOLE = re.compile(_END.pattern + rb"\s*$", re.IGNORECASE)
_ENTRY_END = re.compile(rb"</(?:[\w-]+:)?(?:url|sitemap|item|entry)\s*>", re.IGNORECASE)
_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});)")
_DECLARED = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""", re.IGNORECASE)
_CDATA = re.compile(rb"(<!\[CDATA\[.*?\]\]>)", re.DOTALL)


class Entry(Struct, frozen=True, kw_only=True):
    """
    One entry as written: URLs are not yet resolved. `lastmod`: ISO 8601, or empty.

    `languages`: hreflang → URL, of the page in other languages (and often its own).
    """

    url: str
    lastmod: str = ""
    sitemap: bool = False
    languages: dict[str, str] = {}


def read_sitemap(body: bytes) -> Iterator[Entry]:
    """
    The entries of a sitemap, index, feed or list of URLs, in order.

    Raises `Permanent` saying what the file is instead, if it is none of these.
    """
    data = unpack(body)
    if not data.strip():
        raise Permanent("it is empty")
    data = _as_utf8(data)
    start = _START.search(data)
    if b"<!ENTITY" in data[: start.start() if start else 100_000].upper():
        raise Permanent("it declares XML entities, which no sitemap needs")
    if start is None:
        if _HTML.match(data) or data.lstrip().startswith(b"<"):
            raise Permanent(
                "it is no sitemap but " + ("an HTML page" if b"<html" in data.lower() else "other XML")
            )
        return _from_lines(data)
    return _from_xml(_mended(data[start.start() :]))


def is_closed(data: bytes) -> bool:
    """Whether unpacked XML has its end; a list of lines has none to miss."""
    start = _START.search(data)
    return start is None or _END.search(data, start.end()) is not None


def unpack(body: bytes) -> bytes:
    """
    Gunzip as often as the bytes say so; a cut archive gives what is whole.

    Raises `Permanent` over the limit.
    """
    return unpack_whole(body)[0]


def unpack_whole(body: bytes) -> tuple[bytes, bool]:
    """As `unpack`, and whether every archive around the bytes was whole."""
    whole = True
    for _ in range(_GZIP_LAYERS):
        if not body.startswith(_GZIP):
            break
        body, ended = _gunzip(body)
        whole = whole and ended
    return body, whole


def _gunzip(data: bytes) -> tuple[bytes, bool]:
    out = io.BytesIO()
    ended = False
    while data.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            while data and not unpacker.eof:
                out.write(unpacker.decompress(data, 1 << 20))
                data = unpacker.unconsumed_tail
                if out.tell() > MAX_UNPACKED:
                    raise Permanent(f"it unpacks to more than {MAX_UNPACKED >> 20} MB")
        except zlib.error:
            return out.getvalue(), False
        ended = unpacker.eof
        data = unpacker.unused_data
    return out.getvalue(), ended


def _as_utf8(data: bytes) -> bytes:
    """UTF-8 without byte order mark."""
    for mark, codec in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            data = data.removeprefix(mark)
            return data if codec == "utf-8" else data.decode(codec, "replace").encode("utf-8")
    declared = _DECLARED.search(data[:1000])
    if declared and declared.group(1).lower() not in (b"utf-8", b"utf8"):
        try:
            return data.decode(declared.group(1).decode("ascii"), "replace").encode("utf-8")
        except LookupError:
            pass
    return data


def _mended(data: bytes) -> bytes:
    """Half an entry at the end cut off, bare ampersands escaped (not within CDATA)."""
    if not _WHOLE.search(data[-200:]):
        end = max((match.end() for match in _ENTRY_END.finditer(data)), default=0)
        data = data[:end]
    if b"<![CDATA[" not in data:
        return _BARE_AMPERSAND.sub(b"&amp;", data)
    parts = _CDATA.split(data)
    return b"".join(p if p.startswith(b"<![CDATA[") else _BARE_AMPERSAND.sub(b"&amp;", p) for p in parts)


def _from_xml(data: bytes) -> Iterator[Entry]:
    from lxml import etree

    events = etree.iterparse(
        io.BytesIO(data),
        events=("end",),
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    count = 0
    try:
        for _, element in events:
            name = _local(element)
            if name not in _ENTRIES or _namespace(element).endswith(("image/1.1", "video/1.1")):
                continue
            for entry in _entries(element, name):
                yield entry
                count += 1
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
            if count >= MAX_ENTRIES:
                return
    except etree.XMLSyntaxError:
        return  # what came before stands


def _entries(element: Any, name: str) -> Iterator[Entry]:
    own = _namespace(element)
    values: dict[str, str] = {}
    alternates: list[str] = []
    languages: dict[str, str] = {}
    for child in element:
        local = _local(child)
        if local == "link" and child.get("href"):
            relation = child.get("rel", "alternate")
            if own == _namespace(child):  # Atom
                if relation == "alternate":
                    values.setdefault("loc", child.get("href"))
            elif relation == "alternate":  # xhtml:link
                alternates.append(child.get("href"))
                if code := child.get("hreflang", "").strip().lower():
                    languages.setdefault(code, child.get("href").strip())
        elif own == _namespace(child):
            values.setdefault(local, (child.text or "").strip())
    url = values.get("loc") or values.get("link") or _permalink(values, element)
    lastmod = iso_date(
        values.get("lastmod")
        or values.get("updated")
        or values.get("pubDate")
        or values.get("published")
        or ""
    )
    if url:
        yield Entry(url=url, lastmod=lastmod, sitemap=name == "sitemap", languages=languages)
    for alternate in alternates:
        yield Entry(url=alternate.strip(), lastmod=lastmod)


def _permalink(values: dict[str, str], element: Any) -> str:
    guid = values.get("guid", "")
    if not guid.startswith(("http://", "https://")):
        return ""
    return "" if any(_local(c) == "guid" and c.get("isPermaLink") == "false" for c in element) else guid


def _from_lines(data: bytes) -> Iterator[Entry]:
    count = 0
    for line in io.BytesIO(data):
        text = line.strip().decode("utf-8", "replace")
        if text.lower().startswith(("http://", "https://")) and len(text.split()) == 1:
            yield Entry(url=text)
            count += 1
            if count >= MAX_ENTRIES:
                return


def _local(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _namespace(element: Any) -> str:
    tag = element.tag
    return tag[1:].partition("}")[0] if isinstance(tag, str) and tag.startswith("{") else ""


def iso_date(text: str) -> str:
    """A date as ISO 8601, or an empty string for what is none: a hint that cannot be read is no hint."""
    text = text.strip()
    if not text:
        return ""
    for candidate in (text, text.split()[0]):
        try:
            return datetime.fromisoformat(candidate).isoformat()
        except ValueError:
            continue
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError):
        return ""
