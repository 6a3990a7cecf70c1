"""The tables of indexer.toml, each with its keys and defaults; `indexer.settings` reads them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Positive = Annotated[int, Meta(gt=0)]
Count = Annotated[int, Meta(ge=0)]
_MOST = 1e9  # more is a slip, and `inf` a run that never ends
Seconds = Annotated[float, Meta(ge=0, le=_MOST)]
Timeout = Annotated[float, Meta(gt=0, le=_MOST)]
Variable = Annotated[str, Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]  # a name: never the value itself

LOCAL_MODEL = "local/multilingual-e5-small"


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of indexer.toml: unknown keys are refused by name."""


class Crawl(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How pages are fetched. Times in seconds, sizes in MB of decoded body. `max_minutes`: of
    one run's scraping; 0: no limit. `budget`: pages asked for in one run, the likeliest to have
    changed first; 0: all.

    `auth_env` names a variable holding `user:password`, `headers_env` variables holding
    `Name: value` each, `cookies_file` a Netscape cookies.txt: for private pages.
    `private_origins` narrows where they are sent; empty: to the origins of all sources.
    `strikes`: on how many days a page must not be found (404 twice in a run) before it goes.
    `keep_raw`: answers are kept compressed, those over `max_raw_mb` (compressed) are not.
    """

    delay: Seconds = 0.1
    concurrency: Positive = 8
    timeout: Timeout = 20.0
    total_timeout: Timeout = 60.0
    retries: Count = 2
    max_body_mb: Annotated[float, Meta(gt=0, le=_MOST)] = 10.0
    keep_raw: bool = True
    max_raw_mb: Annotated[float, Meta(gt=0, le=_MOST)] = 4.0
    max_pages: Positive = 10_000
    max_depth: Count = 12
    max_minutes: Seconds = 0.0
    budget: Count = 0
    max_redirects: Count = 10
    strikes: Positive = 1
    max_retry_after: Seconds = 120.0
    max_crawl_delay: Seconds = 10.0
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    user_agent: str = ""
    contact: str = ""
    ignore_robots: bool = False
    auth_env: Variable = ""
    headers_env: tuple[Variable, ...] = ()
    cookies_file: str = ""
    private_origins: tuple[str, ...] = ()


class Render(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Pages that are empty until their scripts run. `mode` auto: those are shown to a browser.

    `chromium`: its program (empty: found on PATH). `timeout`: seconds for one page in all.
    A rendered page is rendered again after `max_age_hours`, even if its shell is unchanged.
    """

    mode: Literal["auto", "never"] = "never"
    chromium: str = ""
    timeout: Timeout = 30.0
    concurrency: Positive = 2
    max_pages_per_context: Positive = 50
    max_age_hours: Seconds = 24.0


class Extract(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How a response becomes markdown. `max_document_pages`: of a PDF or DOCX.

    `labels`: meta tags `meta_prefix:status` and the like are read (`*`: of any prefix); a
    project with datasets turns it on.
    """

    favor_recall: bool = True
    max_document_pages: Positive = 500
    labels: bool = False
    meta_prefix: str = "*"


class Chunking(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Chunk limits in characters, and in tokens of all that is embedded (estimated from above).

    `window` is how many characters of a page one chat call sees.
    `legal`: articles and points are boundaries and fields; auto: of texts that are so divided.
    """

    max_chars: Annotated[int, Meta(ge=200)] = 1500
    max_tokens: Annotated[int, Meta(ge=128)] = 512
    window: Annotated[int, Meta(ge=1000)] = 24_000
    llm: bool = True
    legal: Literal["auto", "always", "never"] = "auto"


class Index(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    BM25 parameters and analyzer (`stem` by language, or `plain`: base tokens only).

    `clone_from`: chunks from which on the next generation is a clone of the live one with what changed.
    """

    k1: Annotated[float, Meta(gt=0, le=_MOST)] = 1.5
    b: Annotated[float, Meta(ge=0, le=1)] = 0.75
    analyzer: Literal["stem", "plain"] = "stem"
    keep_generations: Annotated[int, Meta(ge=1)] = 2
    clone_from: Count = 2000


class Search(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    `prefetch`: fusion depth per leg, constant whatever the limit.

    `fusion`: `dbsf` weighs the keyword leg by how much of the question it covers
    (`coverage_gate` 0: not at all), `weighted` is DBSF with `dense_weight` for the dense leg
    and the rest of 1 for the other, `rrf` goes by ranks alone.

    `group`: hits are pages, with up to `group_size` of their chunks each. `rerank`: a
    `provider/model` that puts the first `rerank_depth` hits in order, within `rerank_timeout` s.
    """

    prefetch: Positive = 200
    fusion: Literal["dbsf", "weighted", "rrf"] = "dbsf"
    coverage_gate: Annotated[float, Meta(ge=0, le=1)] = 0.4
    dense_weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    group: bool = False
    group_size: Positive = 5
    rerank: str = ""
    rerank_depth: Positive = 50
    rerank_timeout: Timeout = 10.0


class Policy(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Which sources may answer, of a project with datasets; enforced by filter, not by score.

    `order`: of layers, the best first. `grounds`: those that an answer must rest on (empty:
    the first of `order`); others only explain. `hidden`: never shown, but for routes that
    `unlock` names with them. `fallback_languages`: where the question's own has no ground;
    empty: any. `vocabulary`: a TOML file of words that are joined to those shipped.
    `max_chars`: of all fragments of a context as text, each under its source's line; 0: any.
    """

    order: tuple[str, ...] = ("norm", "commentary", "faq", "deprecated")
    grounds: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ("deprecated",)
    unlock: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"historical": ("deprecated",), "comparison": ("deprecated",)}
    )
    fallback_languages: tuple[str, ...] = ()
    vocabulary: str = ""
    fragments: Positive = 8
    broad_fragments: Positive = 24
    max_chars: Count = 0
    coverage: Annotated[float, Meta(ge=0, le=1)] = 0.6


class Provider(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One OpenAI-compatible server. Keys come from the environment or a file, never from a flag.

    `api_key_env`: names of variables, each holding one key or several separated by
    commas; `api_key_file`: one key per line. Together they are the key pool. What is allowed
    `…_per_minute` holds for each key; 0: what the server states in its answers.
    """

    base_url: str
    api_key_env: tuple[str, ...] = ()
    api_key_file: str = ""
    timeout: Timeout = 60.0
    headers: dict[str, str] = field(default_factory=dict)
    requests_per_minute: Count = 0
    tokens_per_minute: Count = 0


class Models(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Chains of `provider/model`, tried in order. `dimension` 0: what the model gives.

    `extract`: what cuts pages by meaning and answers in a red team. `route`: what has a second
    look at a question's route. `concurrency`: requests for vectors that are under way to a server
    at a time.
    """

    extract: tuple[str, ...] = ()
    route: tuple[str, ...] = ()
    embedding: tuple[str, ...] = (LOCAL_MODEL,)
    dimension: Count = 0
    max_tokens: Count = 0
    batch_items: Positive = 128
    batch_tokens: Positive = 100_000
    concurrency: Positive = 4
    adapter: str = ""
    threads: Count = 0
    precision: Literal["int8", "fp32"] = "int8"
    cache_dir: str = ""


class Store(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Where vectors live: `edge` (this process) or a Qdrant server URL.

    `ca_file`: certificates of authorities that its own is checked by (PEM); empty: the
    usual ones. `shards`, `replicas`: of a new collection, in a cluster; with more than one shard each counts
    its own N and df.
    """

    url: str = ""
    api_key_env: str = "QDRANT_API_KEY"
    ca_file: str = ""
    timeout: Timeout = 30.0
    prefer_grpc: bool = False
    grpc_port: Positive = 6334
    shards: Positive = 1
    replicas: Positive = 1


class Registry(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Where projects are registered: a file in the projects folder, or a PostgreSQL server.

    The server's URL holds a password: `url_env` names a variable that holds it, `url_file` a
    file (read if the variable is empty); neither: the file. `timeout`: to connect, and of a statement.
    """

    url_env: Variable = "INDEXER_REGISTRY_URL"
    url_file: str = ""
    timeout: Timeout = 15.0


class Bot(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The running bot that projects are registered with.

    `token_env`: names the variable that holds its bearer token; `secret_env`: the one that
    holds the secret that requests are signed with.
    """

    url: str = ""
    token_env: str = "INDEXER_BOT_TOKEN"  # noqa: S105 - the name of a variable, not a secret
    secret_env: str = "INDEXER_BOT_SECRET"  # noqa: S105 - the same
    timeout: Timeout = 15.0
    retries: Count = 3


class Notify(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Who is told what a run did. Addresses hold tokens, so variables are named that hold them.

    `webhook_env`: an address that gets the digest as JSON; `urls_env`: addresses of apprise
    (mailto://, tgram://, slack:// …), separated by spaces. `when`: only if there is something to tell.
    """

    webhook_env: Variable = "INDEXER_WEBHOOK"
    urls_env: Variable = "INDEXER_NOTIFY_URLS"
    when: Literal["changes", "always"] = "changes"
    timeout: Timeout = 15.0


class Run(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    `workers` 0: everything in this process. A killed run is resumed within `resume_hours`.

    `metrics_dir`: where each run leaves `indexer-NAME.prom` for a textfile collector.
    """

    workers: Count = 2
    resume_hours: Seconds = 24.0
    metrics_dir: str = ""
