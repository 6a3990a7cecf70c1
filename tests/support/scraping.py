"""Scraping a loopback site into a folder, with the real catalogue, artifacts and fetcher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from indexer.adapters.catalogue import SqliteCatalogue
from indexer.adapters.files import FileArtifacts
from indexer.adapters.http import HttpFetch
from indexer.adapters.raw import FileRaw
from indexer.artifacts import Page, Sources
from indexer.pipeline.scraping import ScrapeReport, require_pages, scrape_all
from indexer.ports import Render, UrlRow
from indexer.settings import Settings, load
from tests.support.web import Site

PROSE = "работает ежедневно, первый визит лучше согласовать по телефону, гарантия действует год."


def article(title: str, *, links: tuple[str, ...] = (), head: str = "", text: str = "") -> str:
    """A page whose text is its own."""
    anchors = "".join(f'<a href="{link}">раздел</a> ' for link in links)
    words = text or " ".join(f"{title}: раздел {part} {PROSE}" for part in range(4))
    return (
        f'<!DOCTYPE html><html lang="ru"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
        f"<body><main><h1>{title}</h1><p>{words}</p></main><nav>{anchors}</nav></body></html>"
    )


def sitemap(site: Site, *paths: str) -> str:
    """A sitemap of these paths."""
    locations = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'


class Project:
    """One project folder; every `scrape` is a run of its own."""

    def __init__(self, folder: Path, *sites: Site) -> None:
        self.folder = folder
        self.sites = sites
        self.reports: list[ScrapeReport] = []

    def settings(self, **crawl: Any) -> Settings:
        hosts = [site.host for site in self.sites]
        defaults = {"delay": 0.0, "retries": 0, "timeout": 2.0, "allow_private": hosts}
        return load(flags={"crawl": {**defaults, **crawl}, "run": {"workers": 0}}, environ={})

    def scrape(
        self, sources: Sources, *, pool: Executor | None = None, close: bool = True, force: bool = False,
        only: tuple[str, ...] | None = None, favor_recall: bool = True,
        render: Callable[[Settings], Render] | None = None, max_age_hours: float = 24.0, **crawl: Any,
    ) -> ScrapeReport:  # fmt: skip
        """Run once; `close` 0: the visit stays open, as after a kill."""
        catalogue = SqliteCatalogue(self.folder)
        settings = self.settings(**crawl)
        if not favor_recall:
            settings = load(
                flags={
                    "crawl": {"delay": 0.0, "allow_private": list(settings.crawl.allow_private)},
                    "extract": {"favor_recall": False},
                },
                environ={},
            )
        settings = replace(settings, render=replace(settings.render, max_age_hours=max_age_hours))
        fetch = HttpFetch(settings.crawl)

        async def run() -> ScrapeReport:
            browser = render(settings) if render else None
            try:
                return await scrape_all(
                    sources, settings=settings, catalogue=catalogue, artifacts=self.artifacts, fetch=fetch,
                    render=browser, raw=FileRaw(self.folder, limit=2**22), pool=pool, visit=visit,
                    only=only, force=force,
                )  # fmt: skip
            finally:
                await fetch.aclose()
                if browser is not None:
                    await browser.aclose()

        try:
            visit = catalogue.open_visit(24)
            report = asyncio.run(run())
            if close:
                catalogue.close_visit(visit)
            require_pages(catalogue)
        finally:
            catalogue.close()
        self.reports.append(report)
        return report

    @property
    def artifacts(self) -> FileArtifacts:
        return FileArtifacts(self.folder)

    def rows(self) -> dict[str, UrlRow]:
        """Rows by path (or whole URL, if of no site of ours)."""
        catalogue = SqliteCatalogue(self.folder)
        try:
            rows = list(catalogue.rows())
        finally:
            catalogue.close()
        return {self._short(row.url): row for row in rows}

    def standing(self) -> dict[str, str]:
        """What became of each URL: `fetched`, or the reason."""
        return {path: row.reason or row.state for path, row in self.rows().items()}

    def pages(self) -> dict[str, Page]:
        """Pages of URLs that stand."""
        return {
            path: page
            for path, row in self.rows().items()
            if row.state in ("fetched", "indexed") and (page := self.artifacts.load(Page, row.key))
        }

    def files(self) -> dict[str, bytes]:
        """All page artifacts, byte for byte."""
        return {path.name: path.read_bytes() for path in sorted((self.folder / "1_pages").glob("*.json"))}

    def _short(self, url: str) -> str:
        for site in self.sites:
            if url.startswith(site.origin):
                return url.removeprefix(site.origin)
        return url
