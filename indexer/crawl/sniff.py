"""
What a response really is: by its bytes first, by its Content-Type where bytes say nothing.

Then what an HTML page really is: an error page with status 200, a login form, a bot
check, a shell that scripts would fill. Wording alone never decides; the page must also
have next to nothing else to say.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from indexer.artifacts import Reason
from indexer.contacts import says_contact
from indexer.crawl.charset import wide
from indexer.money import names_money

_SHORT = 700  # characters: an error page's text; an article about error pages is longer
_BARE = 120
_LINE = 20  # characters
_MAGIC: tuple[tuple[bytes, Reason], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Reason.UNSUPPORTED),  # old Office
    (b"{\\rtf", Reason.UNSUPPORTED),
    (b"\x89PNG\r\n", Reason.NOT_A_PAGE),
    (b"\xff\xd8\xff", Reason.NOT_A_PAGE),
    (b"GIF8", Reason.NOT_A_PAGE),
    (b"\x00\x00\x01\x00", Reason.NOT_A_PAGE),
    (b"II*\x00", Reason.NOT_A_PAGE),
    (b"MM\x00*", Reason.NOT_A_PAGE),
    (b"\x1f\x8b", Reason.NOT_A_PAGE),
    (b"BZh", Reason.NOT_A_PAGE),
    (b"7z\xbc\xaf", Reason.NOT_A_PAGE),
    (b"Rar!", Reason.NOT_A_PAGE),
    (b"\xfd7zXZ", Reason.NOT_A_PAGE),
    (b"(\xb5/\xfd", Reason.NOT_A_PAGE),
    (b"ID3", Reason.NOT_A_PAGE),
    (b"OggS", Reason.NOT_A_PAGE),
    (b"fLaC", Reason.NOT_A_PAGE),
    (b"wOFF", Reason.NOT_A_PAGE),
    (b"wOF2", Reason.NOT_A_PAGE),
    (b"\x7fELF", Reason.NOT_A_PAGE),
    (b"MZ\x90", Reason.NOT_A_PAGE),
    (b"SQLite format 3", Reason.NOT_A_PAGE),
    (b"\x1aE\xdf\xa3", Reason.NOT_A_PAGE),
)
_OFFICE = ("xl/", "ppt/", "visio/", "META-INF/container.xml", "content.xml")
_WORD = re.compile(r"(?:word/)?document\d*\.xml", re.IGNORECASE)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_PDF = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,64}%PDF-")
_FEED_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>|\s)*+<(?:rss|feed|rdf:rdf)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_START = re.compile(
    rb"(?:<!--.*?-->|<\?xml[^>]*>|\s|\xef\xbb\xbf)*+<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|h1|div|p|table|article|main)\b",
    re.IGNORECASE | re.DOTALL,
)
_XML_START = re.compile(rb"\s*<(?:\?xml|rss|feed|urlset|sitemapindex|rdf:rdf|svg|opml)\b", re.IGNORECASE)
_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_TEXT_TYPES = ("text/plain", "text/markdown", "text/x-markdown")
_UNKNOWN_TYPES = (
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "unknown/unknown",
    "application/unknown",
    "*/*",
)
_DOCUMENT_TYPES = re.compile(r"application/(?:pdf|msword|rtf|vnd\.(?:ms-|openxmlformats|oasis))")

_NOT_FOUND = re.compile(
    r"(?:страниц\w*|адрес\w*|документ\w*|раздел\w*|материал\w*|url)[^.!?]{0,60}?"
    r"(?:не\s+(?:была\s+|был\s+)?(?:найден|существу|обнаружен)|отсутству[ею]т\b|удал[её]н[аоы]?\b)"
    r"|(?:не\s+(?:найден|существует|обнаружен)\w*)[^.!?]{0,40}?(?:страниц|адрес|документ|раздел)"
    r"|таких?\s+страниц\w*\s+(?:не|нет)|такой\s+страницы|нет\s+такой\s+страницы"
    r"|ошибка\s+404|404\s+ошибка|error\s+404|404\s+error|\b404\b[\s:.,|—–-]{0,4}not\s+found"
    r"|page\s+(?:you\s+\w+[^.!?]{0,50}?\s)?(?:was\s+|is\s+|could\s+)?(?:not\s+(?:be\s+)?found|missing|unavailable)"
    r"|(?:page|url|document)[^.!?]{0,60}?(?:can(?:no|')t\s+be\s+found|does\s*n[o']t\s+exist|no\s+longer\s+(?:exists|available)"
    r"|has\s+been\s+(?:removed|deleted))|(?:can(?:'|no)t|could\s*n[o']t)\s+find\s+(?:the|that|this)\s+page"
    r"|бет\s+табылмады|сторінк\w+\s+не\s+(?:знайдено|існує)",
    re.IGNORECASE,
)
_ERROR_HEADING = re.compile(
    r"\b404\b|не\s+найден|не\s+существу|not\s+found|ошибка|error|упс|ой\b|oops|sorry|табылмады|не\s+знайдено|nothing\s+here",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b(?:вход|войти|войдите|авторизац\w*|авторизуйтесь|логин|личн\w+\s+кабинет\w*|sign\s*in|log\s*in|login|log-in"
    r"|authenticat\w+|account\s+access|кіру|увійти|вхід)\b",
    re.IGNORECASE,
)
_LOGIN_PATH = re.compile(
    r"/(?:[\w-]*login|log-in|signin|sign-in|auth|authorize|sso|oauth2?|cas|vhod|account/login)\b",
    re.IGNORECASE,
)
_CHALLENGE_MARKUP = re.compile(
    r"challenge-platform|cf-chl|cf_chl|__cf_chl|jschl|cf-browser-verification|_incapsula_resource|px-captcha|perimeterx"
    r"|/showcaptcha|smartcaptcha|ddos-guard|geo\.captcha-delivery|datadome|awswaf|aws-waf-token|qrator|__ddg|kasada"
    r"|servicepipe|variti|stormwall",
    re.IGNORECASE,
)
_CHALLENGE_TEXT = re.compile(
    r"just\s+a\s+moment|checking\s+(?:if\s+the\s+site|your\s+browser)|attention\s+required.{0,5}cloudflare|ddos[\s-]?guard"
    r"|ddos\s+protection|проверка\s+(?:вашего\s+)?браузера|проверяем\s+(?:ваш\s+)?браузер|подтвердите,?\s+что\s+(?:вы|запросы)"
    r"|вы\s+не\s+робот|verify(?:ing)?\s+(?:that\s+)?you\s+are\s+(?:a\s+)?(?:not\s+a\s+robot|human)"
    r"|are\s+you\s+(?:a\s+)?(?:human|robot)"
    r"|i'?m\s+not\s+a\s+robot|security\s+check|pardon\s+our\s+interruption|unusual\s+traffic"
    r"|request\s+unsuccessful.{0,20}incapsula"
    r"|enable\s+(?:javascript\s+and\s+)?cookies\s+to\s+continue|bot\s+verification|человек\s+или\s+робот",
    re.IGNORECASE,
)
_SHELL_ROOT = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #q-app, #main-app, #react-root, #application,"
    " app-root, [ng-app], main, #main"
)
_NEEDS_SCRIPT = re.compile(
    r"(?:enable|turn\s+on|requires?|need(?:s|ed)?(?:\s+to\s+enable)?|without)\s+javascript|javascript\s+(?:is\s+)?(?:required|disabled|must)"
    r"|(?:включит\w+|нужен|требуется|необходим\w*|поддержк\w+|отключ[её]н)[^.]{0,40}\bjavascript|javascript[^.]{0,40}(?:отключ|выключ|включ|необходим)",
    re.IGNORECASE,
)
_LOADING = re.compile(
    r"(?:(?:please\s+wait|подождите|пожалуйста|идёт|идет|page|страниц\w*|the|app|\w{1,20})[\s,.…:!-]+){0,3}"
    r"(?:loading|загрузка|загружается|загружаем|please\s+wait|подождите|жүктелуде|завантаження)[^.!?]{0,30}[\s.!…]*",
    re.IGNORECASE,
)
_NOISE = ["script", "style", "noscript", "template", "svg", "iframe"]
_AROUND = ["nav", "header", "footer", "aside"]


class Kind(Struct, frozen=True):
    """
    What a body is: `html`, `text`, `markdown`, `pdf` or `docx`; else `reason` says why it is no page.

    A `feed` is no page, but leads to some.
    """

    name: str = ""
    reason: Reason = Reason.NONE
    detail: str = ""


def kind_of(body: bytes, headers: Mapping[str, str], *, status: int = 200) -> Kind:
    """The kind of a 2xx body. Bytes win over the header."""
    if status in (204, 205) or not body.strip():
        return Kind(reason=Reason.EMPTY, detail="the answer has no body")
    declared = essence(headers.get("content-type", ""))
    document = _document(body)
    if document is not None:
        return document
    known = _magic(body)
    if known:
        return Kind(reason=known, detail=f"the bytes are no text (served as {declared or 'no type'})")
    if _HTML_START.match(body[:4096]):
        return Kind("html")
    binary = _binary(body)
    if declared in _HTML_TYPES and not binary:
        return Kind("html")
    return _kind_by_type(body, declared, binary=binary)


def _kind_by_type(body: bytes, declared: str, *, binary: bool) -> Kind:
    """What a body is whose bytes do not say so."""
    if _XML_START.match(body[:1024]):
        return Kind(reason=Reason.NOT_A_PAGE, detail=f"XML that is no page ({declared or 'no type'})")
    if declared in (*_HTML_TYPES, *_TEXT_TYPES, *_UNKNOWN_TYPES):
        if binary:
            return Kind(reason=Reason.NOT_A_PAGE, detail=f"binary data served as {declared or 'no type'}")
        return Kind("markdown" if "markdown" in declared else "text")
    if _DOCUMENT_TYPES.match(declared):
        return Kind(reason=Reason.UNSUPPORTED, detail=declared)
    return Kind(reason=Reason.NOT_A_PAGE, detail=declared)


def essence(content_type: str) -> str:
    """`text/html` of `Text/HTML, text/html; charset=x`."""
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


class Look(Struct, frozen=True, kw_only=True):
    """
    A page as a reader without scripts sees it: `text` without what surrounds it, `around` with it.

    `root_empty`: it has an application root, and nothing in it. `password`: it asks for one.
    """

    title: str
    heading: str
    text: str
    around: str
    noscript: str = ""
    scripts: bool = False
    root_empty: bool = False
    password: bool = False


def look_at(tree: Any) -> Look:
    """What there is to see. The tree loses scripts, styles, frames and, if short, what surrounds its text."""
    title, heading = _text_of(tree, "head > title, title"), _text_of(tree, "h1, h2")
    scripts = tree.css_first("script") is not None
    noscript = " ".join(_blank(node.text()) for node in tree.css("noscript"))
    password = any(not _is_hidden(field) for field in tree.css("input[type=password i]"))
    tree.strip_tags(_NOISE, recursive=True)
    around = text = _blank(tree.body.text(separator=" ")) if tree.body is not None else ""
    root_empty = False
    if len(around) <= 4 * _SHORT:  # only short pages are looked at closely
        roots = tree.css(_SHELL_ROOT)
        root_empty = bool(roots) and not any(_blank(root.text()) for root in roots)
        main = _text_of(tree, "main, [role=main]")
        if not main and tree.body is not None:
            tree.strip_tags(_AROUND, recursive=True)
            main = _blank(tree.body.text(separator=" "))
        text = main
    return Look(
        title=title,
        heading=heading,
        text=text,
        around=around,
        noscript=noscript,
        scripts=scripts,
        root_empty=root_empty,
        password=password,
    )


def _is_hidden(field: Any) -> bool:
    """Whether an element around says that it is not shown: an application's form for password managers."""
    node = field
    while node is not None:
        attributes = node.attributes
        style = (attributes.get("style") or "").replace(" ", "").lower()
        if "hidden" in attributes or "display:none" in style:
            return True
        node = node.parent
    return False


def is_shell(look: Look) -> str:
    """
    Why a page must be rendered: an empty application root, a bare demand for JavaScript. Empty if not.

    What stands around an empty root (a menu, a footer) does not make it a page.
    """
    empty = len(look.text) <= _BARE // 3 or len(look.around) <= _BARE
    if look.scripts and look.root_empty and empty:
        return "its application root is empty until scripts run"
    if len(look.around) > _BARE:
        return ""
    if look.scripts and _LOADING.fullmatch(look.around):
        return "it says that it is loading, and nothing else"
    told = _NEEDS_SCRIPT.search(look.noscript) is not None and not _says_more(look)
    if told or _NEEDS_SCRIPT.search(look.around):
        return "it asks for JavaScript and says nothing else"
    return "it has no text but scripts" if look.scripts and not look.around else ""


def _says_more(look: Look) -> bool:
    """Whether a short page tells something as it is: a phone, a price, a line under a heading."""
    under = len(look.text) - len(look.heading)
    return says_contact(look.around) or names_money(look.around) or (bool(look.heading) and under > _LINE)


def is_challenge(html: str, look: Look, headers: Mapping[str, str]) -> str:
    """Which bot check a page is, by its words or machinery; empty for none."""
    if headers.get("cf-mitigated", "").lower() == "challenge":
        return "cf-mitigated: challenge"
    if len(look.around) > 2 * _SHORT:
        return ""
    words = _CHALLENGE_TEXT.search(f"{look.title} {look.around}")
    if not words and len(look.around) >= _BARE:
        return ""
    machinery = _CHALLENGE_MARKUP.search(html[:200_000])
    if words and (machinery or _CHALLENGE_TEXT.search(f"{look.title} {look.heading}")):
        return words.group(0)
    return machinery.group(0) if machinery and len(look.around) < _BARE else ""


def is_soft_404(look: Look) -> str:
    """The words with which a short page says that it is not there; empty if it does not."""
    if len(look.text) > _SHORT:
        return ""
    said = _NOT_FOUND.search(look.text)
    heading = _ERROR_HEADING.search(f"{look.title} {look.heading}")
    named = _NOT_FOUND.search(f"{look.title} {look.heading}")
    if said and (heading or len(look.text) < 2 * _BARE):
        return said.group(0)
    return named.group(0) if named and len(look.text) < 2 * _BARE else ""


def is_login(look: Look, url: str) -> str:
    """Why a page is a login wall: a password field, the words for it, and nothing else. Empty if not."""
    if not look.password or len(look.text) > _SHORT:
        return ""
    if _LOGIN.search(f"{look.title} {look.heading}"):
        return "its heading asks to log in"
    if _LOGIN_PATH.search(url):
        return "its address is that of a login form"
    return "it has a password field and next to no text" if len(look.text) < _BARE // 3 else ""


def _magic(body: bytes) -> Reason:
    head = body[:64]
    for mark, reason in _MAGIC:
        if head.startswith(mark):
            return reason
    if head[4:8] == b"ftyp" or (head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI ")):
        return Reason.NOT_A_PAGE
    return Reason.NONE


def _document(body: bytes) -> Kind | None:
    """The kind of a document, archive or feed; `None` for what is none of these."""
    if _FEED_START.match(body[:4096]):
        return Kind("feed", Reason.NOT_A_PAGE, "a feed")
    if _PDF.match(body):
        return Kind("pdf")
    if body.startswith(_ZIP):
        names = _names(body)
        if any(_WORD.fullmatch(name) for name in names):
            return Kind("docx")
        office = any(name.startswith(_OFFICE) for name in names)
        reason = Reason.UNSUPPORTED if office else Reason.NOT_A_PAGE
        return Kind(reason=reason, detail="an office document of another kind" if office else "an archive")
    if body.startswith(b"\xd0\xcf\x11\xe0") and _ENCRYPTED_OFFICE in body:
        return Kind(reason=Reason.ENCRYPTED, detail="an office document that asks for a password")
    return None


def _names(body: bytes) -> list[str]:
    """The names of an archive's files; of a broken one, those that its first bytes spell."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return [name.decode() for name in re.findall(rb"(?:word|xl|ppt)/[\w.]*", body[:65_536])]


def _binary(body: bytes) -> bool:
    """Whether the start of a body is no text in any charset."""
    head = body[:2048]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or wide(head):
        return False
    control = sum(1 for byte in head if byte < ord(" ") and byte not in b"\t\n\r\f\x1b\0")
    return control > len(head) // 50 or head.count(0) > len(head) // 8


def _blank(text: str | None) -> str:
    return " ".join((text or "").split())


def _text_of(tree: Any, selector: str) -> str:
    node = tree.css_first(selector)
    return _blank(node.text(separator=" ")) if node is not None else ""
