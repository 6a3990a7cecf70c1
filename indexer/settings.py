"""
Settings: defaults < indexer.toml < environment < flags → one frozen `Settings`.

The only reader of `os.environ`. Environment names are `INDEXER_SECTION__KEY`
(`INDEXER_CRAWL__DELAY=2`); a value is read as TOML, else as a plain string.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from indexer.errors import Misconfigured
from indexer.inherited import Inherited, inherited
from indexer.private import Private, given_secret, passwords_in, read_address, read_private
from indexer.sections import (
    LOCAL_MODEL,
    Bot,
    Chunking,
    Crawl,
    Extract,
    Index,
    Models,
    Notify,
    Policy,
    Provider,
    Registry,
    Render,
    Run,
    Search,
    Section,
    Store,
)

__all__ = [
    "CONFIG_NAME",
    "ENV_PREFIX",
    "LOCAL_MODEL",
    "Bot",
    "Chunking",
    "Crawl",
    "Extract",
    "Index",
    "Models",
    "Notify",
    "Policy",
    "Provider",
    "Registry",
    "Render",
    "Run",
    "Search",
    "Section",
    "Settings",
    "Store",
    "chosen_config",
    "config_home",
    "lasting",
    "load",
    "private",
    "registry_url",
    "secret",
    "secrets",
]

CONFIG_NAME = "indexer.toml"
ENV_PREFIX = "INDEXER_"


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
    path = chosen_config(config, environ)
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


def chosen_config(config: Path | None, environ: Mapping[str, str] | None = None) -> Path | None:
    """The configuration file that was named: `config`, or `$INDEXER_CONFIG`."""
    named = (os.environ if environ is None else environ).get("INDEXER_CONFIG", "")
    return config or (Path(named) if named else None)


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


def secret_names(settings: Settings) -> list[str]:
    """Every variable that runs with these settings read a secret from."""
    names = [settings.store.api_key_env] if settings.store.url else []
    names += [settings.bot.token_env, settings.bot.secret_env]
    names += [name for provider in settings.providers.values() for name in provider.api_key_env]
    names += [settings.crawl.auth_env, *settings.crawl.headers_env]
    names += [settings.notify.webhook_env, settings.notify.urls_env]
    return [name for name in dict.fromkeys(names) if name]


def lasting(
    layers: Sequence[Settings], names: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Inherited:
    """
    What of the environment a later run must be given; `layers`: the settings of all that it will work on.

    `names`: further variables that hold secrets.
    """
    environ = os.environ if environ is None else environ
    first = layers[0]
    return inherited(
        environ,
        names=[*names, *(name for one in layers for name in secret_names(one))],
        secrets=[text for one in layers for text in secrets(one, environ)],
        postgres=bool(registry_url(first.registry, environ)),
        url=first.registry.url_env,
    )


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
