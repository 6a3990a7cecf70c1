"""What `set` can change: one table of keys, each with where it goes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from indexer.errors import Misconfigured
from indexer.pipeline.projects import check_bot_url, check_language, parse_sources, stored_sources
from indexer.ports import Project
from indexer.settings import Settings, load

_PROMPT = re.compile(r"(prompt[1-9]\d?|start_reply)")
_SOURCES = {"sitemap_url": "sitemaps", "urls": "urls", "crawl": "crawl"}
_COLUMNS = ("bot_url", "tg_api_key", "tg_lead_group", "language")
SECTIONS = ("crawl", "extract", "chunk", "index", "search", "policy")
KEYS = (
    "language, bot-url, tg-api-key, tg-lead-group, prompt1 … prompt99, start-reply, "
    "sitemap-url, urls, crawl (comma lists that replace the stored ones), "
    "or SECTION.KEY of the configuration (crawl.delay, chunk.max_chars, index.analyzer …)"
)


def change(project: Project, key: str, value: str) -> Project:
    """
    The project with `key` set to `value`; an empty value clears it.

    Raises `Misconfigured` for an unknown key or a value that does not fit.
    """
    name = key.strip().replace("-", "_").lower()
    if name in _COLUMNS:
        if name == "language":
            check_language(value)
        if name == "bot_url":
            check_bot_url(value.strip())
        return msgspec.structs.replace(project, **{name: value.strip()})
    if _PROMPT.fullmatch(name):
        prompts = {**project.prompts, name: value}
        return msgspec.structs.replace(
            project, prompts={prompt: text for prompt, text in prompts.items() if text}
        )
    if name in _SOURCES:
        return _with_sources(project, name, value)
    section, dot, setting = name.partition(".")
    if dot and section in SECTIONS:
        return _with_setting(project, section, setting, value)
    raise Misconfigured(f"{key!r} is no key of a project; known: {KEYS}")


def _with_sources(project: Project, name: str, value: str) -> Project:
    parts = [part.strip() for part in re.split(r"[,\s]+", value) if part.strip()]
    given = parse_sources(
        sitemaps=parts if name == "sitemap_url" else (),
        urls=parts if name == "urls" else (),
        crawl=parts if name == "crawl" else (),
    )
    field = _SOURCES[name]
    sources = msgspec.structs.replace(stored_sources(project), **{field: getattr(given, field)})
    return msgspec.structs.replace(
        project, options={**project.options, "sources": msgspec.to_builtins(sources, builtin_types=())}
    )


def _with_setting(project: Project, section: str, setting: str, value: str) -> Project:
    import tomllib

    stored: dict[str, Any] = dict(project.options.get(section, {}))
    if not value.strip():
        stored.pop(setting, None)
    else:
        try:
            stored[setting] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            stored[setting] = value
    if setting in _list_settings(section) and isinstance(stored.get(setting), str):
        stored[setting] = [part.strip() for part in stored[setting].split(",") if part.strip()]
    load(flags={section: stored}, environ={})  # refuses what does not fit
    return msgspec.structs.replace(project, options={**project.options, section: stored})


def _list_settings(section: str) -> set[str]:
    """The settings of a section that are lists."""
    defaults = getattr(Settings(), section)
    return {name for name in defaults.__struct_fields__ if isinstance(getattr(defaults, name), tuple)}
