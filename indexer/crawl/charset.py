"""
Bytes → text: the WHATWG order, corrected where the bytes say otherwise.

Byte order mark, then what the bytes can only be (UTF-8), then HTTP header, then meta
or XML declaration, then detection with a bias to Russian. A declaration that the bytes
do not fit loses: server defaults lie more often than pages.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import webencodings

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_PRESCAN = 65_536
_SAMPLE = 65_536
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"""<meta\b[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""", re.IGNORECASE)
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_CYRILLIC = ("windows-1251", "koi8-r", "koi8-u", "iso-8859-5", "ibm866", "x-mac-cyrillic")
_DETECTED = ("windows-1251", "koi8-r", "iso-8859-5", "ibm866")
_LATIN = ("windows-1252", "iso-8859-2", "iso-8859-15", "macintosh")
_ALIASES = {
    "win-1251": "windows-1251",
    "win1251": "windows-1251",
    "cp-1251": "windows-1251",
    "1251": "windows-1251",
}
_TAG = re.compile(rb"<[a-z/!]", re.IGNORECASE)
_BROKEN = re.compile("[\udc80-\udcff]+")  # bytes that are no UTF-8, as `surrogateescape` keeps them
_CAPITALS = re.compile(r"\b[А-ЯЁ]{2,}\b")
_FEW_ERRORS = 0.05
_STRAY = 8  # broken bytes that are not looked at
_MIXED = 0.3  # good characters for each broken byte, that make a page UTF-8 with other text in it
_NEARLY_ALL = 0.9
_CONFIDENT = 0.55
_MARGIN = 0.15
# how common a lower-case letter is in Russian text, relative to the most common
_LETTERS = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_SHARES = (
    *(10.9, 8.5, 8.0, 7.3, 6.7, 6.3, 5.5, 4.7, 4.5, 4.4, 3.5, 3.2, 3.0, 2.8, 2.6, 2.0, 1.9),
    *(1.7, 1.7, 1.6, 1.6, 1.4, 1.2, 1.0, 0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.3, 0.1, 0.1),
)
_FREQUENCY = dict(zip(_LETTERS, _SHARES, strict=True))


def decode(body: bytes, content_type: str = "") -> tuple[str, str]:
    """
    Text and the charset it was read in (WHATWG name).

    NUL characters are dropped; bytes that fit nowhere become U+FFFD, but for a paragraph in another
    charset that was pasted into a page of UTF-8.
    """
    name, skip = _choose(body, content_type)
    text = body[skip:].decode(_codec(name), "replace")
    if name == "utf-8" and text.count("\ufffd") > _STRAY:
        text = _with_pasted(body[skip:])
    return text.replace("\0", "").removeprefix("\ufeff"), name


def _choose(body: bytes, content_type: str) -> tuple[str, int]:
    """Charset and how many bytes of byte order mark to skip."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name, len(mark)
    name = wide(body)
    if name:
        return name, 0
    header, inner = declared_in_header(content_type), declared_in_document(body)
    if body.isascii():
        stateful = [name for name in (header, inner) if name == "iso-2022-jp"]
        return (stateful or ["utf-8"])[0], 0
    declared = [name for name in (header, inner) if name]
    if _is_utf8(body, declared):
        return "utf-8", 0
    if header in ("windows-1252", "utf-8") and inner and inner != "utf-8":
        declared = [inner]  # the header is a server's default
    for name in declared:
        if name != "utf-8" and _fits(body, name):
            return _most_plausible(body, name), 0
    return _detect(body), 0


def declared_in_header(content_type: str) -> str:
    """The charset of a Content-Type header; the first one counts."""
    match = _HEADER.search(content_type)
    return _lookup(match.group(1)) if match else ""


def declared_in_document(body: bytes) -> str:
    """The charset of a meta tag or XML declaration; UTF-16 there can only mean UTF-8."""
    head = body[:_PRESCAN]
    match = _XML.match(head) or _META.search(_COMMENT.sub(b"", head))
    name = _lookup(match.group(1).decode("ascii", "replace")) if match else ""
    return "utf-8" if name.startswith("utf-16") else name


@lru_cache(maxsize=256)
def _lookup(label: str) -> str:
    label = label.strip().lower()
    found = webencodings.lookup(_ALIASES.get(label, label))
    if found is None:
        return ""
    return "windows-1252" if found.name == "x-user-defined" else str(found.name)


@lru_cache(maxsize=64)
def _codec(name: str) -> str:
    found = webencodings.lookup(name)
    return str(found.codec_info.name) if found else name


def _is_utf8(body: bytes, declared: list[str]) -> bool:
    """
    Whether the bytes are UTF-8, a few broken ones aside.

    Text in another charset is next to never valid UTF-8; only a few characters of an
    East Asian multi-byte charset can be.
    """
    text = body.decode("utf-8", "replace")
    errors = text.count("\ufffd") - body.count(b"\xef\xbf\xbd")
    good = _beyond_ascii(text) - errors
    if errors:
        few = errors <= max(1, _FEW_ERRORS * good)
        mixed = good > 20 and good >= _MIXED * errors and not set(declared) - {"utf-8"}  # noqa: PLR2004
        return mixed or (good > 0 and few and (good > 20 or "utf-8" in declared))  # noqa: PLR2004
    other = [name for name in declared if name not in ("utf-8", *_CYRILLIC, *_LATIN)]
    return not other or "utf-8" in declared or good > 8  # noqa: PLR2004 - characters


def _with_pasted(body: bytes) -> str:
    """UTF-8 whose broken bytes are read in the one-byte charset that they are most likely of."""
    text = body.decode("utf-8", "surrogateescape")
    best, score = _best_cyrillic(b"".join(_raw(found) for found in _BROKEN.finditer(text)))
    codec = _codec(best if score >= _CONFIDENT else "windows-1252")
    return _BROKEN.sub(lambda found: _raw(found).decode(codec, "replace"), text)


def _raw(found: re.Match[str]) -> bytes:
    return found[0].encode("utf-8", "surrogateescape")


def _fits(body: bytes, name: str) -> bool:
    text = body.decode(_codec(name), "replace")
    return text.count("\ufffd") <= _FEW_ERRORS * _beyond_ascii(text)


def _beyond_ascii(text: str) -> int:
    """How many characters are not ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _most_plausible(body: bytes, declared: str) -> str:
    """The declared single-byte charset, unless the text is clearly Russian in another one."""
    if declared not in (*_CYRILLIC, *_LATIN):
        return declared
    best, score = _best_cyrillic(body)
    own = _plausibility(body, declared) if declared in _CYRILLIC else 0.0
    return best if score >= _CONFIDENT and score > own + _MARGIN else declared


def _detect(body: bytes) -> str:
    """What undeclared bytes most likely are."""
    best, score = _best_cyrillic(body)
    if score >= _CONFIDENT:
        return best
    from charset_normalizer import from_bytes

    sample = _telling(body)[:16_384]
    guess = from_bytes(sample).best()
    name = (_lookup(guess.encoding.replace("_", "-")) if guess else "") or "windows-1252"
    same = sample.decode(_codec(name), "replace") == sample.decode("cp1252", "replace")
    return "windows-1252" if same else name


def wide(body: bytes) -> str:
    """UTF-16 without a byte order mark, seen by its markup or by every other byte being NUL; empty if not."""
    head = body[:4000]
    zeros = head.count(0)
    if not zeros:
        return ""
    narrow = _TAG.search(head)
    for name, tag, half in (("utf-16-le", b"<\0", head[1::2]), ("utf-16-be", b"\0<", head[::2])):
        marked = tag in head and not narrow
        if (marked or zeros > len(head) // 5) and half.count(0) > _NEARLY_ALL * zeros:
            return name
    return ""


def _best_cyrillic(body: bytes) -> tuple[str, float]:
    return max(((name, _plausibility(body, name)) for name in _DETECTED), key=lambda pair: pair[1])


def _plausibility(body: bytes, name: str) -> float:
    """
    How much the non-ASCII bytes look like Russian in this charset: about 1 for prose, under 0.4 for noise.

    Letters count by how common they are, against the mean of real text: capitals in words
    of nothing else only, and inside words (what lower case turns into under the wrong
    charset) against it.
    """
    text = _telling(body).decode(_codec(name), "replace")
    high = [character for character in text if character > "\x7f"]
    if not high:
        return 0.0
    common = sum(_FREQUENCY.get(character, 0.0) for character in high)
    common += sum(_FREQUENCY.get(letter, 0.0) for word in _CAPITALS.findall(text) for letter in word.lower())
    letters = sum(1 for character in high if "\u0400" <= character <= "\u04ff")
    inner_capitals = len(re.findall(r"(?<=[а-яёa-z])[А-ЯЁ]|(?<=[А-ЯЁ])[А-ЯЁ](?=[а-яё])", text))
    prose = common / (5.7 * len(high))  # 5.7: the mean of the table over real text
    return min(1.0, prose) * letters / len(high) - inner_capitals / len(high)


def _telling(body: bytes) -> bytes:
    """A sample around the first non-ASCII bytes."""
    match = re.search(rb"[\x80-\xff]", body)
    start = max(0, match.start() - 64) if match else 0
    return body[start : start + _SAMPLE]
