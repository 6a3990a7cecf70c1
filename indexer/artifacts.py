"""
The values that flow: Source → Page → Chunk → EmbeddedChunk → Point.

Frozen, without behaviour. `schemas/` is generated from this module. An artifact holds no time
of day, so that the same site gives the same bytes on every run; times live in the catalogue.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

SCHEMA = 1


class State(StrEnum):
    """Where a discovered URL stands. Every URL ends as one of the last four."""

    DISCOVERED = "discovered"
    FETCHED = "fetched"
    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"
    GONE = "gone"


class Reason(StrEnum):
    """Why a URL is skipped, failed or kept: a contract with `export` and `status`."""

    NONE = ""
    # skipped: nothing is wrong, it does not belong into the index
    ROBOTS = "robots"  # robots.txt disallows it
    ROBOTS_UNAVAILABLE = "robots-unavailable"  # robots.txt answers 5xx or not at all: stay out
    NOINDEX = "noindex"  # meta robots or X-Robots-Tag
    OUT_OF_SCOPE = "out-of-scope"  # other host, or excluded by a pattern
    REDIRECT = "redirect"  # its text is kept under `final_url`
    CANONICAL = "canonical"  # names another page with the same text
    DUPLICATE = "duplicate"  # same text as another URL
    EMPTY = "empty"  # no text
    NEEDS_RENDERING = "needs-rendering"  # an empty shell filled by JavaScript
    SOFT_404 = "soft-404"  # says "not found" with status 200
    LOGIN = "login"  # a login wall
    QUARANTINED = "quarantined"  # its new version is not believed yet; the last one stands
    NOT_A_PAGE = "not-a-page"  # image, archive, feed, sitemap …
    UNSUPPORTED = "unsupported-type"
    ENCRYPTED = "encrypted"  # a document that asks for a password
    DAMAGED = "damaged"  # a document that no reader can open
    NO_TEXT = "no-text"  # a document of images: a scan
    LIMIT = "limit"  # --max-pages, --max-depth, --max-minutes or a trap limit cut it off
    BAD_URL = "bad-url"
    PENDING = "pending"  # not visited yet: the run was interrupted
    # failed: retried by the next run
    NOT_FOUND = "not-found"  # 404
    GONE = "gone"  # 410
    HTTP_CLIENT = "http-4xx"
    HTTP_SERVER = "http-5xx"
    RATE_LIMITED = "rate-limited"  # 429 to the end
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"  # DNS, refused, reset, TLS
    BAD_RESPONSE = "bad-response"  # not HTTP, truncated, undecodable
    TOO_LARGE = "too-large"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    FORBIDDEN_ADDRESS = "forbidden-address"  # loopback, private or link-local
    CHALLENGE = "challenge"  # captcha or bot protection
    RENDER_FAILED = "render-failed"  # the browser could not show it
    EXTRACT_FAILED = "extract-failed"
    CHUNK_FAILED = "chunk-failed"
    EMBED_FAILED = "embed-failed"


class Sources(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Where a project's URLs come from: the union of all of them.

    `crawl`: start URLs whose links are followed (and whose robots.txt, sitemaps and
    feeds are tried). `urls`: single pages. `files`: local documents, as `file://` URLs.
    """

    sitemaps: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    crawl: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Label(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    What a document is as a source: its dataset, and that one's rank among the sources.

    `layer`: the rank's name (`norm`, `faq` …), which a source policy orders. `language`:
    empty: the page's own. `effective_date`: ISO 8601, as given.
    """

    dataset: str = ""
    layer: str = ""
    language: str = ""
    edition: str = ""
    status: str = ""
    effective_date: str = ""
    deprecated: bool = False


class Dataset(Label, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """
    A labelled part of a project: the pages under `url_prefix`, of `sitemap`, or `urls` themselves.

    `url_prefix`: a URL, or a path that begins with `/`. `removed`: its pages are left out.
    """

    sitemap: str = ""
    url_prefix: str = ""
    urls: tuple[str, ...] = ()
    removed: bool = False


UNLABELLED = Label()


FROM_SITEMAP = "sitemap:"  # how `found_in` begins of what a sitemap lists; its URL follows


class Source(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A URL and where it was found, for example `sitemap:URL`, `link:URL`, `list`, `file`."""

    url: str
    found_in: str
    depth: int = 0
    lastmod: str = ""


class Extracted(Struct, frozen=True, kw_only=True):
    """
    What a reader gets from one HTML document. `text`: markdown of what it shows as its own; `facts`: what
    it tells machines alone; `site`: how to reach the business. `alternates`: hreflang → URL. `hidden`: kept
    out, for it is invisible or orders a language model about.
    """

    title: str
    text: str
    language: str = ""
    description: str = ""
    published: str = ""
    modified: str = ""
    canonical: str = ""
    extractor: str = ""
    alternates: dict[str, str] = field(default_factory=dict)
    site: str = ""
    facts: str = ""
    hidden: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Page(Struct, frozen=True, kw_only=True):
    """
    One document as markdown.

    `url` is its identity (canonical spelling of the final URL). `aliases` are other
    addresses with the same document. `alternates`, `listed`: hreflang → URL, as the page itself
    and as sitemaps name it in other languages. `content` digests what the chunker reads. `hidden`:
    text that was found but kept out (invisible, or orders to a language model). `site`: lines
    beside the page's own text that say how to reach the business. `declared`:
    what its meta tags say of it as a source; `label`: what it is as one.
    """

    schema: int = SCHEMA
    signature: str
    url: str
    content: str
    title: str
    text: str
    language: str = ""
    description: str = ""
    published: str = ""
    modified: str = ""
    canonical: str = ""
    content_type: str = "text/html"
    charset: str = ""
    extractor: str = ""
    aliases: tuple[str, ...] = ()
    alternates: dict[str, str] = field(default_factory=dict)
    listed: dict[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    site: tuple[str, ...] = ()
    declared: dict[str, str] = field(default_factory=dict)
    label: Label = UNLABELLED


class Chunk(Struct, frozen=True, kw_only=True):
    """
    An exact slice: `page.text[start:end] == text` (offsets in characters).

    `context` is what a reader of the slice also needs (a cut table's header); it is
    embedded and shown before `text`. In legal text, `article` and `point` name what all of
    the chunk belongs to (`23`, `2`, `2/4)`), `points` all that any of it belongs to, and
    `parent` the headings above the article.
    """

    ordinal: int
    topic: str
    text: str
    start: int
    end: int
    context: str = ""
    article: str = ""
    point: str = ""
    points: tuple[str, ...] = ()
    parent: str = ""


class ChunkedPage(Struct, frozen=True, kw_only=True):
    """
    All chunks of a page, in order, covering its text. `mode`: `semantic`, `paragraph` or `legal`.

    `translations`: keys of the URLs that it, or a sitemap, names as itself in other languages (hreflang).
    """

    schema: int = SCHEMA
    signature: str
    url: str
    title: str
    language: str
    mode: str
    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...] = ()
    label: Label = UNLABELLED
    translations: tuple[str, ...] = ()


class EmbeddedChunk(Struct, frozen=True, kw_only=True):
    """
    A chunk with its vector.

    `vector`: base64 of little-endian float32, L2-normalised. `parts` > 1: the text was
    over the model's limit, its parts were embedded and averaged.
    """

    ordinal: int
    topic: str
    text: str
    start: int
    end: int
    vector: str
    context: str = ""
    parts: int = 1
    article: str = ""
    point: str = ""
    points: tuple[str, ...] = ()
    parent: str = ""


class EmbeddedPage(Struct, frozen=True, kw_only=True):
    """
    All embedded chunks of a page, with the model that made the vectors.

    `digest`: of all else, by which altered numbers are known; empty as earlier versions wrote it.
    """

    schema: int = SCHEMA
    signature: str
    url: str
    title: str
    language: str
    model: str
    dimension: int
    chunks: tuple[EmbeddedChunk, ...]
    notes: tuple[str, ...] = ()
    label: Label = UNLABELLED
    translations: tuple[str, ...] = ()
    digest: str = ""


class Payload(Struct, frozen=True, kw_only=True):
    """
    What a point carries beside its vectors: what a bot needs to answer and to cite.

    `translation_group`: the same for the points of pages that are each other in another
    language; empty for a page that stands alone.
    """

    url: str
    doc_id: str
    title: str
    topic: str
    text: str
    context: str
    language: str
    ordinal: int
    article: str = ""
    point: str = ""
    points: tuple[str, ...] = ()
    parent: str = ""
    dataset: str = ""
    layer: str = ""
    edition: str = ""
    status: str = ""
    effective_date: str = ""
    deprecated: bool = False
    stale: bool = False  # nothing names it any more
    translation_group: str = ""


class Point(Struct, frozen=True, kw_only=True):
    """One point of the collection. `indices` ascend without repeats and pair with `values`."""

    id: str
    dense: tuple[float, ...]
    indices: tuple[int, ...]
    values: tuple[float, ...]
    payload: Payload


class Bm25Snapshot(Struct, frozen=True, kw_only=True):
    """
    What the query side of BM25 needs; frozen per generation.

    `vocab`: term → sparse index; `idf`: term → IDF. `analyzer` made the terms.
    """

    schema: int = SCHEMA
    analyzer: str
    analyzer_version: int
    k1: float
    b: float
    avg_dl: float
    num_docs: int
    vocab: dict[str, int]
    idf: dict[str, float]


class Manifest(Struct, frozen=True, kw_only=True):
    """
    What a generation is: written beside it, sent to the bot at registration.

    `signature` covers every embedded page and the index settings: the same signature
    means that there is nothing to build. `terms`: of all chunks together; their mean length may be up
    to a tenth off `avg_dl`, which clones keep. `clones`: how many generations back one was built
    from the ground; `build`: the version of what built it.
    """

    schema: int = SCHEMA
    generation: str
    collection: str
    signature: str
    project_id: str
    project: str
    language: str
    model: str
    dimension: int
    query_prefix: str
    passage_prefix: str
    dense_vector: str
    sparse_vector: str
    analyzer: str
    analyzer_version: int
    k1: float
    b: float
    avg_dl: float
    pages: int
    points: int
    terms: int = 0
    clones: int = 0
    build: int = 0


class Registration(Struct, frozen=True, kw_only=True):
    """The body of `POST {bot}/api/register-project/{id}`: all that a bot needs to serve a project."""

    id: str
    name: str
    language: str
    prompts: dict[str, str]
    tg_api_key: str
    tg_lead_group: str
    manifest: Manifest
    bm25: Bm25Snapshot
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of one URL in one phase: data, not an exception."""

    url: str
    state: State
    reason: Reason = Reason.NONE
    detail: str = ""
    final_url: str = ""
    status: int = 0
    etag: str = ""
    last_modified: str = ""
    content: str = ""
    not_modified: bool = False
    retry_after: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
