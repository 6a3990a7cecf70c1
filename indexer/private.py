"""
Credentials for private pages: what variables and a cookies file hold, and what of it a URL gets.

Values are sent to the project's own origins and to nothing else: a header goes to the
exact origin (scheme, host, port), a cookie to the exact host and port, by its own
domain, path and `Secure`. No value stands in a repr or an error.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from indexer.errors import Misconfigured

if TYPE_CHECKING:
    from http.cookiejar import Cookie, CookieJar

Lookup = Callable[[str], str]  # the name of a variable → its value

_COLUMNS = 7  # of a Netscape cookies file
_HTTP_ONLY = "#HttpOnly_"
_LEAST_SECRET = 8  # characters; shorter cookies are settings ("ru", "dark"), not secrets
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(\S[^\r\n\0]*)")
_OURS = frozenset(  # what only the client itself can say
    (
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "host",
        "te",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    )
)


def passwords_in(url: str) -> list[str]:
    """Every spelling of a password that the URL of a server holds, the longest first."""
    rest = url.partition("://")[2] or url
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[0] if "@" in rest else ""
    # A password with a bare "/", "?" or "#" is a mistake that must not be shown either.
    found = {part.partition(":")[2] for part in (authority, rest.rpartition("@")[0])}
    found.update(re.findall(r"[?&]\w*password=([^&\s]+)", rest))
    found.update([unquote(text) for text in found])
    return sorted(filter(None, found), key=len, reverse=True)


def read_address(path: str) -> str:
    """The URL that a file holds. Raises `Misconfigured` if it cannot be read or is empty."""
    try:
        found = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise Misconfigured(f"{path}, which should hold a server's URL, cannot be read: {why}") from None
    if not found:
        raise Misconfigured(f"{path} is empty; write the server's URL into it")
    return found


class Private:
    """What is known of a visitor: headers, and cookies in a jar that keeps their rules."""

    def __init__(self, headers: Sequence[tuple[str, str]] = (), cookies: Sequence[Cookie] = ()) -> None:
        self._headers = tuple(headers)
        self._jar = _jar(cookies) if cookies else None

    def __bool__(self) -> bool:
        return bool(self._headers) or self._jar is not None

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Name and value of each header, for the project's own origins."""
        return self._headers

    def cookies(self, url: str) -> str:
        """The Cookie header for a URL of the project's own hosts; empty if none fits."""
        if self._jar is None:
            return ""
        from urllib.request import Request

        request = Request(url)  # noqa: S310 - asked by nobody: the jar reads the address from it
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie") or ""

    def secrets(self) -> list[str]:
        """Every value, whole and its telling part, to be kept out of output."""
        found = []
        for name, value in self._headers:
            found += [value, value.rpartition(" ")[2]]
            if name.lower() == "authorization" and value.startswith("Basic "):
                found += _decoded(value.removeprefix("Basic "))
        values = [cookie.value or "" for cookie in self._jar or ()]
        return [*found, *(value for value in values if len(value) >= _LEAST_SECRET)]


def read_private(*, auth_env: str, headers_env: Sequence[str], cookies_file: str, lookup: Lookup) -> Private:
    """
    The credentials that these settings refer to.

    Raises `Misconfigured` naming the variable or the file and line, never what it holds.
    """
    headers = []
    if auth_env:
        headers.append(("Authorization", _basic(auth_env, lookup(auth_env))))
    headers += [_header(name, lookup(name)) for name in headers_env]
    names = [name.lower() for name, _ in headers]
    for name in names:
        if names.count(name) > 1:
            raise Misconfigured(f"the header {name} is given twice by crawl.auth_env and crawl.headers_env")
    return Private(headers, _read_cookies(Path(cookies_file)) if cookies_file else ())


def _basic(variable: str, value: str) -> str:
    _require(variable, value, "crawl.auth_env", "user:password")
    user, colon, password = value.partition(":")
    if not (user and colon and password) or not value.isprintable():
        raise Misconfigured(f"the variable {variable} (crawl.auth_env) does not hold user:password")
    return "Basic " + base64.b64encode(value.encode()).decode()


def _decoded(token: str) -> list[str]:
    pair = base64.b64decode(token).decode()
    return [pair, pair.partition(":")[2]]


def _header(variable: str, value: str) -> tuple[str, str]:
    _require(variable, value, "crawl.headers_env", "Name: value")
    match = _HEADER.fullmatch(value)
    if match is None:
        raise Misconfigured(f'the variable {variable} (crawl.headers_env) does not hold one "Name: value"')
    if match.group(1).lower() in _OURS:
        raise Misconfigured(f"the variable {variable} (crawl.headers_env) names a header that cannot be set")
    return match.group(1), match.group(2).rstrip()


def _require(variable: str, value: str, setting: str, shape: str) -> None:
    if not value:
        raise Misconfigured(f"the variable {variable} ({setting}) is not set; let it hold {shape}")


def _read_cookies(path: Path) -> list[Cookie]:
    try:
        lines = path.expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise Misconfigured(f"the cookies file {path} (crawl.cookies_file) cannot be read: {why}") from None
    found = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(_HTTP_ONLY)
        if not text.strip() or text.startswith("#"):
            continue
        cookie = _cookie(text.split("\t"))
        if cookie is None:
            raise Misconfigured(
                f"line {number} of the cookies file {path} (crawl.cookies_file) is no cookie; it needs "
                f"{_COLUMNS} columns separated by tabs, as browsers' exports have"
            )
        found.append(cookie)
    if not found:
        raise Misconfigured(f"the cookies file {path} (crawl.cookies_file) holds no cookie")
    return found


def _jar(cookies: Sequence[Cookie]) -> CookieJar:
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    strict = DefaultCookiePolicy.DomainStrictNonDomain  # a host's own cookie is not its subdomains'
    jar = CookieJar(DefaultCookiePolicy(netscape=True, rfc2965=False, strict_ns_domain=strict))
    for cookie in cookies:
        jar.set_cookie(cookie)
    return jar


def _cookie(columns: list[str]) -> Cookie | None:
    """Domain, subdomains too?, path, secure?, expiry in Unix seconds (0: session), name, value."""
    from http.cookiejar import Cookie

    if len(columns) != _COLUMNS:
        return None
    domain, subdomains, path, secure, expiry, name, value = (column.strip() for column in columns)
    flags = {subdomains.upper(), secure.upper()} <= {"TRUE", "FALSE"}
    plain = expiry.partition(".")[0]
    if not (domain and path.startswith("/") and name and flags and plain.isdigit()):
        return None
    if not (name + value).isprintable() or ";" in name + value:
        return None
    wide = subdomains.upper() == "TRUE"
    host = domain.lstrip(".").lower()
    return Cookie(
        version=0,
        name=name,
        value=value,
        port=None,
        port_specified=False,
        domain="." + host if wide else _as_jar(host),
        domain_specified=wide,
        domain_initial_dot=wide,
        path=path,
        path_specified=True,
        secure=secure.upper() == "TRUE",
        expires=int(plain) or None,
        discard=int(plain) == 0,
        comment=None,
        comment_url=None,
        rest={},
    )


def _as_jar(host: str) -> str:
    """A host without a dot as the jar knows it."""
    return host if "." in host or ":" in host else f"{host}.local"


def given_secret(environ: Mapping[str, str], name: str) -> str:
    """What `NAME` holds, else the file that `NAME_FILE` names. Raises `Misconfigured` if unreadable."""
    text = environ.get(name, "").strip()
    path = environ.get(f"{name}_FILE", "").strip() if name and not text else ""
    if not path:
        return text
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Misconfigured(f"the file {path} that {name}_FILE names cannot be read: {why}") from None
