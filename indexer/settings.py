"""
Settings: defaults < indexer.toml < environment < flags → one frozen `Settings`.

The only reader of `os.environ`. Environment names are `INDEXER_SECTION__KEY`
(`INDEXER_CRAWL__DELAY=2`); a value is read as TOML, else as a plain string.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from indexer.errors import Misconfigured
from indexer.private import Private, given_secret, passwords_in, read_address, read_private

Positive = Annotated[int, Meta(gt=0)]
Count = Annotated[int, Meta(ge=0)]
_MOST = 1e9  # more is a slip, and `inf` a run that never ends
Seconds = Annotated[float, Meta(ge=0, le=_MOST)]
Timeout = Annotated[float, Meta(gt=0, le=_MOST)]
Variable = Annotated[str, Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]  # a name: never the value itself

CONFIG_NAME = "indexer.toml"
ENV_PREFIX = "INDEXER_"
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
    """BM25 parameters and analyzer (`stem` by language, or `plain`: base tokens only)."""

    k1: Annotated[float, Meta(gt=0, le=_MOST)] = 1.5
    b: Annotated[float, Meta(ge=0, le=1)] = 0.75
    analyzer: Literal["stem", "plain"] = "stem"
    keep_generations: Annotated[int, Meta(ge=1)] = 2


class Search(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    `prefetch`: fusion depth per leg, constant whatever the limit.

    `fusion`: `dbsf` weighs the keyword leg by how much of the question it covers
    (`coverage_gate` 0: not at all), `weighted` is DBSF with `dense_weight` for the dense leg
    and the rest of 1 for the other, `rrf` goes by ranks alone.

    `group`: hits are pages, with up to `group_size` of their chunks each.
    """

    prefetch: Positive = 200
    fusion: Literal["dbsf", "weighted", "rrf"] = "dbsf"
    coverage_gate: Annotated[float, Meta(ge=0, le=1)] = 0.4
    dense_weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    group: bool = False
    group_size: Positive = 5


class Policy(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Which sources may answer, of a project with datasets; enforced by filter, not by score.

    `order`: of layers, the best first. `grounds`: those that an answer must rest on (empty:
    the first of `order`); others only explain. `hidden`: never shown, but for routes that
    `unlock` names with them. `fallback_languages`: where the question's own has no ground;
    empty: any. `vocabulary`: a TOML file of words that are joined to those shipped.
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
    coverage: Annotated[float, Meta(ge=0, le=1)] = 0.6


class Provider(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One OpenAI-compatible server. Keys come from the environment or a file, never from a flag.

    `api_key_env`: names of variables, each holding one key or several separated by
    commas; `api_key_file`: one key per line. Together they are the key pool.
    """

    base_url: str
    api_key_env: tuple[str, ...] = ()
    api_key_file: str = ""
    timeout: Timeout = 60.0
    headers: dict[str, str] = field(default_factory=dict)


class Models(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chains of `provider/model`, tried in order. `dimension` 0: what the model gives."""

    extract: tuple[str, ...] = ()
    embedding: tuple[str, ...] = (LOCAL_MODEL,)
    dimension: Count = 0
    max_tokens: Count = 0
    batch_items: Positive = 128
    batch_tokens: Positive = 100_000
    adapter: str = ""
    threads: Count = 0
    precision: Literal["int8", "fp32"] = "int8"
    cache_dir: str = ""


class Store(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where vectors live: `edge` (this process) or a Qdrant server URL."""

    url: str = ""
    api_key_env: str = "QDRANT_API_KEY"
    timeout: Timeout = 30.0
    prefer_grpc: bool = False
    grpc_port: Positive = 6334


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


class Settings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be configured. `prices`: `provider/model` → money per million tokens."""

    projects_dir: str = "projects"
    crawl: Crawl = field(default_factory=Crawl)
    render: Render = field(default_factory=Render)
    extract: Extract = field(default_factory=Extract)
    chunk: Chunking = field(default_factory=Chunking)
    index: Index = field(default_factory=Index)
    search: Search = field(default_factory=Search)
    policy: Policy = field(default_factory=Policy)
    models: Models = field(default_factory=Models)
    providers: dict[str, Provider] = field(default_factory=dict)
    prices: dict[str, Annotated[float, Meta(ge=0)]] = field(default_factory=dict)
    store: Store = field(default_factory=Store)
    registry: Registry = field(default_factory=Registry)
    bot: Bot = field(default_factory=Bot)
    run: Run = field(default_factory=Run)
    notify: Notify = field(default_factory=Notify)


def load(
    config: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """
    Merge all layers into one `Settings`.

    `config`: a file that must exist; without it, `$INDEXER_CONFIG` or ./indexer.toml if
    there is one. `flags`: nested, `None` values count as not given. Raises
    `Misconfigured` naming the file or variable, the key and what was expected.
    """
    environ = os.environ if environ is None else environ
    path = config or (Path(environ["INDEXER_CONFIG"]) if environ.get("INDEXER_CONFIG") else None)
    data: dict[str, Any] = {}
    origin = "the configuration"
    if path is not None or Path(CONFIG_NAME).is_file():
        origin = str(path or CONFIG_NAME)
        data = _read_toml(path or Path(CONFIG_NAME))
        _convert(data, origin)
    _merge(data, _from_environment(environ))
    _convert(data, "the environment (INDEXER_*)")
    _merge(data, _given(flags or {}))
    return _convert(data, "the options")


def secret(name: str, environ: Mapping[str, str] | None = None) -> str:
    """
    The value of a variable that holds a secret, or an empty string.

    `NAME_FILE` names a file that holds it instead (as container secrets are given); a `NAME`
    that is set goes before. Raises `Misconfigured` if that file cannot be read.
    """
    return given_secret(os.environ if environ is None else environ, name)


def registry_url(registry: Registry, environ: Mapping[str, str] | None = None) -> str:
    """The URL of the registry's server, or empty. Raises `Misconfigured` for an unreadable file."""
    return secret(registry.url_env, environ) or (registry.url_file and read_address(registry.url_file))


def config_home(environ: Mapping[str, str] | None = None) -> Path:
    """Where programs keep their configuration (XDG)."""
    named = (os.environ if environ is None else environ).get("XDG_CONFIG_HOME", "")
    return Path(named) if named else Path.home() / ".config"


def private(crawl: Crawl, environ: Mapping[str, str] | None = None) -> Private:
    """The credentials that `crawl` refers to. Raises `Misconfigured` naming what is missing or malformed."""
    return read_private(
        auth_env=crawl.auth_env,
        headers_env=crawl.headers_env,
        cookies_file=crawl.cookies_file,
        lookup=lambda name: secret(name, environ),
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Misconfigured(f"configuration file {path} does not exist; check --config") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"configuration file {path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"{path} is not valid TOML: {error}; correct that line") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """`INDEXER_PROJECTS_DIR` and every `INDEXER_SECTION__KEY`."""
    data: dict[str, Any] = {}
    if environ.get("INDEXER_PROJECTS_DIR"):
        data["projects_dir"] = environ["INDEXER_PROJECTS_DIR"]
    for name, text in environ.items():
        if not name.startswith(ENV_PREFIX) or "__" not in name:
            continue
        *tables, key = name.removeprefix(ENV_PREFIX).lower().split("__")
        node = data
        for table in tables:
            node = node.setdefault(table, {})
        try:
            node[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            node[key] = text
    return data


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in flags.items():
        if isinstance(value, Mapping):
            out[key] = _given(value)
        elif value is not None:
            out[key] = value
    return out


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = dict(value) if isinstance(value, Mapping) else value


def _convert(data: Mapping[str, Any], origin: str) -> Settings:
    try:
        return msgspec.convert(data, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise Misconfigured(f"in {origin}: {error}") from None


def secrets(settings: Settings, environ: Mapping[str, str] | None = None) -> list[str]:
    """Every secret that the settings refer to, so that output can be cleaned of them."""
    names = [settings.store.api_key_env, settings.bot.token_env, settings.bot.secret_env]
    names += [name for provider in settings.providers.values() for name in provider.api_key_env]
    found = [part.strip() for name in names for part in secret(name, environ).split(",")]
    for provider in settings.providers.values():
        if provider.api_key_file and Path(provider.api_key_file).is_file():
            found += Path(provider.api_key_file).read_text(encoding="utf-8", errors="replace").split()
        found += provider.headers.values()
    crawl = settings.crawl
    found += [secret(name, environ) for name in (crawl.auth_env, *crawl.headers_env)]
    notify = settings.notify
    for name in (notify.webhook_env, notify.urls_env):
        found += secret(name, environ).split()
    with contextlib.suppress(Misconfigured):  # said where they are used
        found += passwords_in(registry_url(settings.registry, environ))
    with contextlib.suppress(Misconfigured):
        found += private(crawl, environ).secrets()
    return [text for text in found if text]
