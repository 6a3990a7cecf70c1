"""Options that several commands share: SOURCES and PHASES."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from indexer.artifacts import Sources
from indexer.errors import Misconfigured


class PhaseName(StrEnum):
    """The four phases, by name."""

    SCRAPE = "scrape"
    CHUNK = "chunk"
    EMBED = "embed"
    INDEX = "index"


class RenderMode(StrEnum):
    """When a browser is used."""

    AUTO = "auto"
    NEVER = "never"


ProjectName = Annotated[str, typer.Option("--project-name", help="The project's name (see `indexer list`).")]
NoRerank = Annotated[bool, typer.Option("--no-rerank", help="Leave the reranker of [search] rerank out.")]
Name = Annotated[str, typer.Argument(metavar="[NAME]", help="The project's name, as --project-name.")]
Language = Annotated[str, typer.Option(help="Language of the site: ru or en (default: each page's own).")]

LlmChunk = Annotated[
    bool | None,
    typer.Option("--llm-chunk/--no-llm-chunk", help="Chunk with the chat model, or by paragraphs."),
]

LISTED: dict[str, Any] = {
    "urls": Annotated[
        list[str] | None, typer.Option("--urls", help="Single pages, separated by commas; repeatable.")
    ],
    "urls_file": Annotated[Path | None, typer.Option("--urls-file", help="File with one URL per line.")],
}
SOURCES: dict[str, Any] = {
    "sitemap_url": Annotated[
        list[str] | None, typer.Option("--sitemap-url", help="Sitemap or sitemap index; repeatable.")
    ],
    **LISTED,
    "crawl": Annotated[
        list[str] | None, typer.Option("--crawl", help="Start page whose links are followed; repeatable.")
    ],
}
GUARD: dict[str, Any] = {
    "allow_private": Annotated[
        list[str] | None,
        typer.Option("--allow-private", help="HOST:PORT that may be loopback or private; repeatable."),
    ],
}
CRAWL: dict[str, Any] = {
    **GUARD,
    "max_pages": Annotated[int | None, typer.Option(min=1, help="Stop discovering at this many URLs.")],
    "max_depth": Annotated[
        int | None, typer.Option(min=0, help="Follow links this many steps from the start.")
    ],
    "max_minutes": Annotated[
        float | None,
        typer.Option(min=0, help="Stop fetching after this time; what is left waits for a next run."),
    ],
    "budget": Annotated[
        int | None,
        typer.Option(min=0, help="Ask for at most so many pages, the likeliest to have changed first."),
    ],
    "include": Annotated[
        list[str] | None, typer.Option("--include", help="Only URLs matching this pattern; repeatable.")
    ],
    "exclude": Annotated[
        list[str] | None, typer.Option("--exclude", help="No URLs matching this pattern; repeatable.")
    ],
    "delay": Annotated[float | None, typer.Option(min=0, help="Seconds between requests to one host.")],
    "concurrency": Annotated[int | None, typer.Option(min=1, help="Requests in flight per host.")],
    "timeout": Annotated[float | None, typer.Option(help="Seconds without a byte before giving up.")],
    "total_timeout": Annotated[float | None, typer.Option(help="Seconds for one URL in all.")],
    "retries": Annotated[int | None, typer.Option(min=0, help="Further tries after a passing failure.")],
    "max_body_mb": Annotated[float | None, typer.Option(help="Largest decoded body in MB.")],
    "render": Annotated[
        RenderMode | None,
        typer.Option("--render", help="auto: a browser fills pages that are empty without their scripts."),
    ],
    "user_agent": Annotated[str | None, typer.Option(help="User-Agent header; name a contact in it.")],
    "ignore_robots": Annotated[
        bool | None, typer.Option("--ignore-robots/--obey-robots", help="Only for a site of your own.")
    ],
    "auth_env": Annotated[
        str | None,
        typer.Option("--auth-env", help="NAME of a variable that holds user:password for private pages."),
    ],
    "headers_env": Annotated[
        list[str] | None,
        typer.Option("--header-env", help="NAME of a variable that holds a header, Name: value; repeatable."),
    ],
    "cookies_file": Annotated[
        str | None, typer.Option("--cookies-file", help="Cookies for private pages (Netscape cookies.txt).")
    ],
    "private_origins": Annotated[
        list[str] | None,
        typer.Option("--private-origin", help="Send these only to https://HOST[:PORT]; repeatable."),
    ],
}
DATASET: dict[str, Any] = {
    "datasets": Annotated[
        Path | None,
        typer.Option("--datasets", help="JSON or TOML list of datasets with sitemap and url_prefix."),
    ],
    "dataset": Annotated[str | None, typer.Option("--dataset", help="Name of the dataset of these SOURCES.")],
    "layer": Annotated[str | None, typer.Option("--layer", help="Its rank in the source policy.")],
    "dataset_language": Annotated[
        str | None, typer.Option("--dataset-language", help="Its language (default: each page's own).")
    ],
    "edition": Annotated[str | None, typer.Option("--edition", help="Its edition, as it is to be cited.")],
    "status": Annotated[str | None, typer.Option("--status", help="Its status: in_force, project …")],
    "effective_date": Annotated[
        str | None, typer.Option("--effective-date", help="When it enters into force, YYYY-MM-DD.")
    ],
    "deprecated": Annotated[
        bool | None, typer.Option("--deprecated/--not-deprecated", help="Whether it is no longer valid.")
    ],
}
PHASES: dict[str, Any] = {
    "llm_chunk": LlmChunk,
    "workers": Annotated[
        int | None, typer.Option(min=0, help="Worker processes; 0: everything in this one.")
    ],
    "from_phase": Annotated[PhaseName, typer.Option("--from-phase", help="First phase to run.")],
    "until_phase": Annotated[PhaseName, typer.Option("--until-phase", help="Last phase to run.")],
    "allow_shrink": Annotated[
        bool, typer.Option("--allow-shrink", help="Publish even if more than a tenth of the pages are gone.")
    ],
    "force": Annotated[bool, typer.Option("--force", help="Redo the phases even where nothing changed.")],
    "register": Annotated[
        bool, typer.Option("--register/--no-register", help="Tell the bot when the index is published.")
    ],
}
DEFAULTS: dict[str, Any] = {
    "from_phase": PhaseName.SCRAPE,
    "until_phase": PhaseName.INDEX,
    "force": False,
    "allow_shrink": False,
    "register": True,
}


def named(argument: str, option: str) -> str:
    """The project's name, given as an argument or an option. Raises `Misconfigured` for two names."""
    if argument and option and argument != option:
        raise Misconfigured(f"name one project, not {argument!r} and {option!r}")
    return argument or option


def sources_of(given: dict[str, Any]) -> Sources:
    """SOURCES as typed. Raises `Misconfigured` for an address that is none."""
    from indexer.pipeline.projects import parse_sources

    return parse_sources(
        sitemaps=given.get("sitemap_url") or (),
        urls=given.get("urls") or (),
        urls_file=given.get("urls_file"),
        crawl=given.get("crawl") or (),
    )


def flags_of(crawl: dict[str, Any], phases: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """The settings among the options, by section; `None` where an option was not given."""
    values: dict[str, Any] = {
        name: (tuple(value) or None) if isinstance(value, list) else value for name, value in crawl.items()
    }
    for name in ("timeout", "total_timeout", "max_body_mb", "delay"):
        if values[name] is not None:
            values[name] = float(values[name])
    if values["cookies_file"]:
        values["cookies_file"] = str(Path(values["cookies_file"]).expanduser().resolve())
    mode = values.pop("render")
    render = {"mode": mode.value if mode else None}
    return {"crawl": values, "render": render, "chunk": {"llm": (phases or {}).get("llm_chunk")}}
