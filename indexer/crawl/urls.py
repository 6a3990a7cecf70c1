"""
One spelling per page: the identity of URLs.

Parsing is that of browsers (WHATWG, by Ada): backslashes, line breaks, odd IP
spellings, IDN, dot segments. Ours is what makes two spellings one: no fragment, no
credentials, no tracking parameters, no session ids, one percent-encoding.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import ada_url

from indexer.artifacts import Reason
from indexer.errors import Permanent

MAX_URL = 8000
DEFAULT_PORTS = {"http": "80", "https": "443"}

_TRACKING = re.compile(
    r"(?:utm_\w+|hsa_\w+|pk_(?:campaign|kwd|source|medium|content|cid)|mtm_\w+|gclid|gclsrc|dclid|gbraid|wbraid"
    r"|gad_source|fbclid|yclid|ysclid|_openstat|msclkid|twclid|ttclid|igshid|igsh|mc_[ce]id|srsltid|mkt_tok"
    r"|_hsenc|_hsmi|_ga|_gl|_ym_\w+|vero_id|rb_clickid|roistat|roistat_visit|calltouch_tm|oly_(?:anon|enc)_id"
    r"|s_cid|spm|epik|cx_(?:click|recs_click)|__hs\w+|wickedid)",
    re.IGNORECASE,
)
_SESSION = re.compile(
    r"(?:phpsessid|jsessionid|aspsessionid\w*|asp\.net_sessionid|oscsid|zenid|cfid|cftoken|phpsess|sessid"
    r"|session_?id)",
    re.IGNORECASE,
)
_SESSION_LIKE = re.compile(r"(?:sid|s|session)=[0-9a-z]{24,}", re.IGNORECASE)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid|sessionid)=[^/;]*", re.IGNORECASE)
_PARTS = re.compile(r"(https?)://(?:[^/?#@]*@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]")
_QUERY_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CREDENTIALS = re.compile(r"(?<=//)[^/?#@\s\"']*@")


def canonical(href: str, base: str = "", *, charset: str = "utf-8") -> str:
    """
    The one spelling of an http(s) URL, resolved against `base`.

    `charset`: of the document that `href` stands in; browsers encode queries in it.
    Raises `Permanent` (`bad-url`) for what is no http(s) URL.
    """
    href = href.strip(" \t\r\n\f\0\ufeff\xa0")
    if not charset.lower().startswith("utf") and "?" in href and not href.isascii():
        href = _encode_query(href, charset)
    try:
        absolute = ada_url.join_url(base, _clean(href)) if base else ada_url.normalize_url(_clean(href))
    except ValueError:
        raise _bad(href, "it cannot be read as a URL") from None
    match = _PARTS.fullmatch(absolute)
    if match is None:
        raise _bad(href, "only http:// and https:// addresses are fetched")
    scheme, host, path, query = match.groups()
    host = _host(host, href)
    path = _ESCAPE.sub(_recode, _PATH_SESSION.sub("", path)) or "/"
    url = f"{scheme}://{host}{path}"
    if query:
        kept = [_QUERY_ESCAPE.sub(_recode, pair) for pair in query.split("&") if _matters(pair)]
        if kept:
            url += "?" + "&".join(kept)
    if len(url) > MAX_URL:
        raise _bad(href, f"it is longer than {MAX_URL} characters")
    return url


def absolute(href: str, base: str) -> str:
    """
    Where a Location header leads: resolved, without fragment and credentials, otherwise as written.

    Nothing is taken out of the query: a server may insist on it. Raises `Permanent` (`bad-url`).
    """
    try:
        target = ada_url.join_url(base, _clean(href.strip()))
    except ValueError:
        raise _bad(href, "it cannot be read as a URL") from None
    match = _PARTS.fullmatch(target)
    if match is None:
        raise _bad(href, "only http:// and https:// addresses are fetched")
    scheme, host, path, query = match.groups()
    return f"{scheme}://{_host(host, href)}{path or '/'}" + (f"?{query}" if query else "")


def resolve(href: str, base: str, *, charset: str = "utf-8") -> str:
    """As `canonical`, but an empty string for what is no http(s) URL. Remembers what it saw."""
    if href.startswith("/") and not href.startswith(("//", "/\\")):  # the same from every page of a site
        base = origin(base) + "/"
    return _resolve(href, base, charset)


@lru_cache(maxsize=16_384)
def _resolve(href: str, base: str, charset: str) -> str:
    try:
        return canonical(href, base, charset=charset)
    except Permanent:
        return ""


def redact(text: str) -> str:
    """`text` without the credentials of URLs in it."""
    return _CREDENTIALS.sub("", text)


def netloc(url: str) -> str:
    """`host[:port]` of a canonical URL."""
    return url.split("/", 3)[2]


def origin(url: str) -> str:
    """`scheme://host[:port]` of a canonical URL."""
    return "/".join(url.split("/", 3)[:3])


def path_and_query(url: str) -> str:
    """What follows the origin of a canonical URL, from its slash on."""
    parts = url.split("/", 3)
    return "/" + parts[3] if len(parts) > 3 else "/"  # noqa: PLR2004 - scheme, nothing, host, rest


def path_of(url: str) -> str:
    """The path of a canonical URL."""
    return path_and_query(url).partition("?")[0]


def readable(text: str) -> str:
    """Percent-escapes decoded, where they are UTF-8."""
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _clean(href: str) -> str:
    return href if href.isascii() else href.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _host(host: str, href: str) -> str:
    """Host and port in lower case without a final dot; what no resolver would take is refused."""
    if host.startswith("["):
        return host
    name, colon, port = host.partition(":")
    name = name.rstrip(".") if not name.startswith(".") else ""
    if not name or len(name) > 253 or any(not 0 < len(label) <= 63 for label in name.split(".")):  # noqa: PLR2004 - DNS
        raise _bad(href, "its host is no host name")
    return name + colon + port


def _recode(match: re.Match[str]) -> str:
    """Escapes of unreserved characters decoded, others in upper case, forbidden characters escaped."""
    text, digits = match.group(0), match.group(1)
    if digits is None:
        return "".join(f"%{byte:02X}" for byte in text.encode("utf-8"))
    value = int(digits, 16)
    return chr(value) if value in _UNRESERVED else f"%{digits.upper()}"


def _matters(pair: str) -> bool:
    if not pair:
        return False
    name = pair.partition("=")[0]
    return not (_TRACKING.fullmatch(name) or _SESSION.fullmatch(name) or _SESSION_LIKE.fullmatch(pair))


def _encode_query(href: str, charset: str) -> str:
    """Letters of the query escaped in the document's charset, as browsers do; the path stays UTF-8."""
    path, mark, query = href.partition("?")
    query, sharp, fragment = query.partition("#")
    try:
        data = query.encode(charset, "xmlcharrefreplace")
    except LookupError:
        return href
    return path + mark + "".join(chr(b) if b < 0x80 else f"%{b:02X}" for b in data) + sharp + fragment  # noqa: PLR2004 - ASCII


def _bad(href: str, why: str) -> Permanent:
    return Permanent(f"{redact(href)[:200]!r} is no address to fetch: {why}", reason=Reason.BAD_URL)
