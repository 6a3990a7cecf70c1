"""
Response → Page.

Pure: what came over the wire is judged (status, bytes, charset, what kind of page it
is), its links and directives are read, and its main content becomes markdown. No time
of day enters, so the same response gives the same page, byte for byte.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from msgspec import Struct

from indexer import ids
from indexer.artifacts import Outcome, Page, Reason, State
from indexer.crawl.charset import decode
from indexer.crawl.links import Directives, header_rules, read_directives
from indexer.crawl.sniff import (
    Kind,
    essence,
    is_challenge,
    is_login,
    is_shell,
    is_soft_404,
    kind_of,
    look_at,
)
from indexer.crawl.urls import canonical, readable, resolve
from indexer.errors import Permanent
from indexer.ports import Response

NAME = "scrape"
VERSION = 1
RENDERED = "rendered"  # the note of a page that a browser filled
_NOINDEX_HEADER = "its header asks not to be indexed"
_TITLE = 150
_MAX_LINKS = 2000
_SITE_LINES, _SITE_LINE = 40, 300  # kept of a page; characters of one
_OK = range(200, 300)
_STATUS_REASONS = {404: Reason.NOT_FOUND, 410: Reason.GONE, 429: Reason.RATE_LIMITED}
_CLASS_REASONS = {4: Reason.HTTP_CLIENT, 5: Reason.HTTP_SERVER}


class Reading(Struct, frozen=True, kw_only=True):
    """
    How a response is read. `token`: the product token that page directives may address.

    `max_document_pages`: of a PDF or DOCX; what is over it is left out. `meta_prefix`: of
    the meta tags that label a page as a source; empty: they are not read.
    """

    favor_recall: bool = True
    max_document_pages: int = 500
    token: str = "indexer"  # noqa: S105 - the name in our User-Agent
    meta_prefix: str = ""


class Scraped(Struct, frozen=True, kw_only=True):
    """
    What a response came to: an outcome, and a page where there is one.

    `links`: where to go on from here, `alternates`: those of them that are this page in
    another language; `canonical`: which URL the page names as its own, if another. The
    outcome's `final_url` is where a meta refresh leads.
    """

    outcome: Outcome
    page: Page | None = None
    links: tuple[str, ...] = ()
    alternates: tuple[str, ...] = ()
    canonical: str = ""


def reading_key(reading: Reading) -> str:
    """While it stands, an unchanged response means an unchanged page."""
    from indexer import extract
    from indexer.extract import documents

    facts = {
        "favor_recall": reading.favor_recall,
        "token": reading.token,
        "documents": documents.VERSION,
        "max_document_pages": reading.max_document_pages,
        "extract": getattr(extract, "VERSION", 0),
    }
    if reading.meta_prefix:
        facts["meta_prefix"] = reading.meta_prefix
    return ids.signature(NAME, VERSION, facts)[:16]


def signature_of(response: Response, *, reading: Reading) -> str:
    """What the page of a response stands for."""
    headers = response.headers
    return ids.signature(
        NAME,
        VERSION,
        {"reading": reading_key(reading)},
        page_url(response),
        headers.get("content-type", ""),
        headers.get("x-robots-tag", ""),
        response.body,
    )


def page_url(response: Response) -> str:
    """The identity of the document: the canonical spelling of what answered."""
    if response.final_url.startswith("file:"):
        return response.final_url
    return canonical(response.final_url)


def read(response: Response, *, reading: Reading) -> Scraped:
    """
    Judge and read a response.

    Never raises for what a server sent: the outcome says what is wrong with it.
    """
    url = page_url(response)
    refused = _by_status(response)
    if refused is not None:
        return Scraped(outcome=_outcome(response, *refused))
    kind = kind_of(response.body, response.headers, status=response.status)
    if kind.reason:
        links = _feed_links(response.body, url) if kind.name == "feed" else ()
        return Scraped(outcome=_outcome(response, State.SKIPPED, kind.reason, kind.detail), links=links)
    if kind.name in ("pdf", "docx"):
        return _read_document(response, url, kind, reading)
    text, charset = decode(response.body, response.headers.get("content-type", ""))
    if kind.name != "html":
        return _read_text(response, url, text, charset, kind, reading)
    return _read_html(response, url, text, charset, reading)


def _by_status(response: Response) -> tuple[State, Reason, str] | None:
    """State, reason and detail for what is no success; `None` for a 2xx."""
    status = response.status
    if status in _OK:
        return None
    if status in (401, 407):
        return State.SKIPPED, Reason.LOGIN, f"status {status}"
    if status in (403, 429, 503):
        challenge = _challenge_in(response)
        if challenge:
            return State.FAILED, Reason.CHALLENGE, f"status {status}: {challenge}"
    reason = _STATUS_REASONS.get(status) or _CLASS_REASONS.get(status // 100, Reason.BAD_RESPONSE)
    return State.FAILED, reason, f"status {status}"


def _challenge_in(response: Response) -> str:
    from selectolax.lexbor import LexborHTMLParser

    html, _ = decode(response.body[:200_000], response.headers.get("content-type", ""))
    return is_challenge(html, look_at(LexborHTMLParser(html)), response.headers)


def _read_html(response: Response, url: str, html: str, charset: str, reading: Reading) -> Scraped:
    directives, refused = _judge_html(response, url, html, charset, reading)
    if refused is not None:
        state, reason, detail = refused
        follow = reason in (Reason.NOINDEX, Reason.NEEDS_RENDERING)
        outcome = _outcome(response, state, reason, detail, final_url=_refreshed(directives, reason))
        links = directives.links[:_MAX_LINKS] if follow else ()
        return Scraped(outcome=outcome, links=links, alternates=tuple(directives.alternates.values()))
    return _extract(response, url, html, charset, directives, reading)


def _judge_html(
    response: Response, url: str, html: str, charset: str, reading: Reading
) -> tuple[Directives, tuple[State, Reason, str] | None]:
    """What the page says of itself, and why it is no page. Its tree, ten times its size, ends here."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    directives = read_directives(
        tree,
        url=url,
        token=reading.token,
        header=response.headers.get("x-robots-tag", ""),
        charset=charset,
        meta_prefix=reading.meta_prefix,
    )
    return directives, _by_content(response, url, html, tree, directives)


def _by_content(
    response: Response, url: str, html: str, tree: Any, directives: Directives
) -> tuple[State, Reason, str] | None:
    """State, reason and detail for a page that is not to be indexed; `None` for one that is."""
    if directives.refresh and directives.refresh != url:
        return State.SKIPPED, Reason.REDIRECT, "meta refresh"
    look = look_at(tree)
    challenge = is_challenge(html, look, response.headers)
    if challenge:
        return State.FAILED, Reason.CHALLENGE, challenge
    if directives.noindex:
        return State.SKIPPED, Reason.NOINDEX, "the page asks not to be indexed"
    for reason, detail in (
        (Reason.SOFT_404, is_soft_404(look)),
        (Reason.LOGIN, is_login(look, url)),
        (Reason.NEEDS_RENDERING, is_shell(look)),
    ):
        if detail:
            return State.SKIPPED, reason, f"{detail} (in a browser too)" if response.rendered else detail
    return None


def _extract(
    response: Response, url: str, html: str, charset: str, directives: Directives, reading: Reading
) -> Scraped:
    from indexer.extract import extract
    from indexer.extract.text import visible

    links = directives.links[:_MAX_LINKS]
    try:
        extracted = extract(html, url=url, favor_recall=reading.favor_recall)
    except Permanent as error:
        return Scraped(
            outcome=_outcome(response, State.FAILED, Reason.EXTRACT_FAILED, str(error)), links=links
        )
    except Exception as error:  # noqa: BLE001 - one page that breaks a parser must not end the run
        detail = f"{type(error).__name__}: {error}"[:300]
        return Scraped(outcome=_outcome(response, State.FAILED, Reason.EXTRACT_FAILED, detail), links=links)
    text = "\n\n".join(filter(None, (extracted.text, extracted.facts)))
    if not text.strip():
        return Scraped(outcome=_outcome(response, State.SKIPPED, Reason.EMPTY, "no text"), links=links)
    title = " ".join(visible(extracted.title).split())
    page = Page(
        signature=signature_of(response, reading=reading),
        url=url,
        content=ids.digest(title, extracted.language, text),
        title=title,
        text=text,
        language=extracted.language,
        description=extracted.description,
        published=extracted.published,
        modified=extracted.modified,
        canonical=directives.canonical,
        content_type=essence(response.headers.get("content-type", "")) or "text/html",
        charset=charset,
        extractor=extracted.extractor,
        alternates=directives.alternates,
        links=links,
        notes=(*extracted.notes, RENDERED) if response.rendered else extracted.notes,
        hidden=extracted.hidden,
        site=tuple(line[:_SITE_LINE] for line in extracted.site.splitlines())[:_SITE_LINES],
        declared=directives.declared,
    )
    other = directives.canonical if directives.canonical != url else ""
    alternates = tuple(directives.alternates.values())
    outcome = _page_outcome(response, page)
    return Scraped(outcome=outcome, page=page, links=links, alternates=alternates, canonical=other)


def _feed_links(body: bytes, url: str) -> tuple[str, ...]:
    """The entries of an RSS or Atom feed; none of one that cannot be read."""
    from indexer.crawl.sitemaps import read_sitemap

    try:
        entries = list(islice(read_sitemap(body), _MAX_LINKS))
    except Permanent:
        return ()
    return tuple(dict.fromkeys(filter(None, (resolve(entry.url, url) for entry in entries))))


def _read_document(response: Response, url: str, kind: Kind, reading: Reading) -> Scraped:
    """A PDF or DOCX: its text is the page."""
    if "noindex" in header_rules(response.headers.get("x-robots-tag", ""), reading.token):
        return Scraped(outcome=_outcome(response, State.SKIPPED, Reason.NOINDEX, _NOINDEX_HEADER))
    from indexer.extract.documents import TYPES, read_document

    try:
        found = read_document(response.body, kind=kind.name, max_pages=reading.max_document_pages)
    except Permanent as error:
        reason = Reason(error.reason or Reason.EXTRACT_FAILED)
        state = State.FAILED if reason is Reason.EXTRACT_FAILED else State.SKIPPED
        return Scraped(outcome=_outcome(response, state, reason, str(error)))
    title = found.title or _name_of(url)
    page = Page(
        signature=signature_of(response, reading=reading),
        url=url,
        content=ids.digest(title, found.language, found.text),
        title=title,
        text=found.text,
        language=found.language,
        published=found.published,
        modified=found.modified,
        content_type=TYPES[kind.name],
        extractor=found.extractor,
        notes=found.notes,
        hidden=found.hidden,
    )
    return Scraped(outcome=_page_outcome(response, page), page=page)


def _read_text(
    response: Response, url: str, text: str, charset: str, kind: Kind, reading: Reading
) -> Scraped:
    """A plain text or markdown document is its own markdown."""
    if "noindex" in header_rules(response.headers.get("x-robots-tag", ""), reading.token):
        return Scraped(outcome=_outcome(response, State.SKIPPED, Reason.NOINDEX, _NOINDEX_HEADER))
    from indexer.extract import orders
    from indexer.extract.metadata import guess_language
    from indexer.extract.text import visible

    text, ordered = orders.without(visible(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n"))
    if not text.strip():
        return Scraped(outcome=_outcome(response, State.SKIPPED, Reason.EMPTY, "no text"))
    title, language = _title_of(text, url), guess_language(text)
    page = Page(
        signature=signature_of(response, reading=reading),
        url=url,
        content=ids.digest(title, language, text),
        title=title,
        text=text,
        language=language,
        content_type="text/markdown" if kind.name == "markdown" else "text/plain",
        charset=charset,
        extractor="text",
        hidden=ordered,
    )
    return Scraped(outcome=_page_outcome(response, page), page=page)


def _title_of(text: str, url: str) -> str:
    """The first heading, else the first line if it is short, else the file's name."""
    first = text.lstrip().partition("\n")[0].strip()
    if first.startswith("#"):
        return first.lstrip("#").strip()[:_TITLE]
    if len(first) <= _TITLE // 2:
        return first
    return _name_of(url)


def _name_of(url: str) -> str:
    return readable(url.partition("?")[0].rstrip("/").rpartition("/")[2])[:_TITLE]


def _refreshed(directives: Directives, reason: Reason) -> str:
    return directives.refresh if reason is Reason.REDIRECT else ""


def _outcome(
    response: Response, state: State, reason: Reason, detail: str, *, final_url: str = ""
) -> Outcome:
    headers = response.headers
    return Outcome(
        url=response.url,
        state=state,
        reason=reason,
        detail=detail,
        final_url=final_url,
        status=response.status,
        etag=headers.get("etag", ""),
        last_modified=headers.get("last-modified", ""),
    )


def facts_of(page: Page) -> dict[str, Any]:
    """What the catalogue knows of a page, so that nobody has to open it: hidden texts, lines of the site."""
    facts = {"hidden": len(page.hidden), "site": list(page.site)}
    return {name: fact for name, fact in facts.items() if fact}


def _page_outcome(response: Response, page: Page) -> Outcome:
    headers = response.headers
    return Outcome(
        url=page.url,
        state=State.FETCHED,
        final_url=page.url,
        status=response.status,
        etag=headers.get("etag", ""),
        last_modified=headers.get("last-modified", ""),
        content=page.content,
        facts=facts_of(page),
    )
