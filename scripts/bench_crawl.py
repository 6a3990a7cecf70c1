"""
How much the crawler costs beside bare fetching: pages/s against an asyncio loop over httpx.

    uv run scripts/bench_crawl.py FOLDER [--rounds 5] [--pages 1000]

All sides fetch the same URL list from the same server process at the same concurrency and
parse each page with selectolax. The bare loop does nothing else. `fetch` is our fetcher, with
its address guard, politeness and limits, and the reading of links and directives. `scrape` is
the whole `init-project … --until-phase scrape` with its worker processes, robots.txt,
catalogue, kept answers and durable pages, where only extraction is replaced by the text of the
body. Start-up is left out: each measures itself from its first request on. The ratio is the
median over rounds of bare seconds / our seconds: 1 means that all else is free.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench_pipeline import page_urls, served


async def _bare(urls: list[str], concurrency: int) -> float:
    import httpx
    from selectolax.lexbor import LexborHTMLParser

    queue = list(reversed(urls))
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(limits=limits, timeout=30) as client:

        async def work() -> None:
            while queue:
                answer = await client.get(queue.pop())
                tree = LexborHTMLParser(answer.content)
                assert tree.body is None or tree.body.text() is not None
                _ = [node.attributes.get("href") for node in tree.css("a[href]")]

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        return time.perf_counter() - started


async def _fetching(origin: str, urls: list[str], concurrency: int) -> float:
    from msgspec.structs import replace
    from selectolax.lexbor import LexborHTMLParser

    from indexer.adapters.http import HttpFetch
    from indexer.crawl.links import read_directives
    from indexer.settings import load

    guard = (origin.removeprefix("http://"),)
    crawl = replace(load(environ={}).crawl, delay=0.0, concurrency=concurrency, allow_private=guard)
    fetch = HttpFetch(crawl)
    queue = list(reversed(urls))

    async def work() -> None:
        while queue:
            answer = await fetch(queue.pop())
            tree = LexborHTMLParser(answer.body)
            read_directives(tree, url=answer.final_url, token="bench", header="", charset="utf-8")

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    seconds = time.perf_counter() - started
    await fetch.aclose()
    return seconds


def set_extraction_aside() -> None:
    """From here on a page's text is that of its body, in this process."""
    from selectolax.lexbor import LexborHTMLParser

    import indexer.extract
    from indexer.artifacts import Extracted

    def body_text(html: str, **_: object) -> Extracted:
        body = LexborHTMLParser(html).body
        return Extracted(title=html[:40], text=body.text() if body is not None else "", language="en")

    indexer.extract.extract = body_text


def _scrape(origin: str, urls: Path, concurrency: int, workers: int) -> float:
    from indexer.adapters.http import HttpFetch
    from indexer.cli.app import app
    from indexer.pipeline import pools

    set_extraction_aside()
    pools.PRELOAD.append("bench_crawl_workers")
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    first = 0.0
    call = HttpFetch.__call__

    async def timed(self: HttpFetch, *args: object, **kwargs: object) -> object:
        nonlocal first
        first = first or time.perf_counter()
        return await call(self, *args, **kwargs)  # type: ignore[arg-type]

    HttpFetch.__call__ = timed  # type: ignore[method-assign, assignment]
    with tempfile.TemporaryDirectory() as folder:
        words = ["--projects-dir", folder, "-q", "init-project", "--name", "bench", "--urls-file", str(urls)]
        words += [
            "--allow-private",
            origin.removeprefix("http://"),
            "--delay",
            "0",
            "--workers",
            str(workers),
        ]
        words += ["--concurrency", str(concurrency), "--until-phase", "scrape", "--no-register"]
        try:
            app(words)
        except SystemExit as end:
            if end.code not in (0, None, 3):
                raise
        return time.perf_counter() - first


def main() -> int:
    """Measure and print."""
    options = _options()
    if options.side:
        print(f"seconds {_side(options):.3f}")
        return 0
    with served(options.folder) as origin, tempfile.TemporaryDirectory() as name:
        urls = page_urls(origin)[: options.pages]
        listed = Path(name) / "urls.txt"
        listed.write_text("\n".join(urls) + "\n", encoding="utf-8")
        print(f"{len(urls)} pages at {origin}/, concurrency {options.concurrency}")
        ratios: dict[str, list[float]] = {"fetch": [], "scrape": []}
        for number in range(options.rounds):
            sides = ("scrape", "fetch", "bare") if number % 2 == 0 else ("bare", "fetch", "scrape")
            seconds = {side: _timed(side, listed, origin, options) for side in sides}
            for side, found in ratios.items():
                found.append(seconds["bare"] / seconds[side])
            figures = ", ".join(f"{side} {seconds[side]:.2f} s" for side in ("bare", "fetch", "scrape"))
            print(f"round {number + 1}: {figures}")
        print(f"fetch + parse against a bare httpx loop, median of ratios: {median(ratios['fetch']):.2f}")
        print(f"the whole scrape phase, extraction set aside: {median(ratios['scrape']):.2f}")
    return 0


def _side(options: argparse.Namespace) -> float:
    urls = options.folder.read_text(encoding="utf-8").split()
    if options.side == "bare":
        return asyncio.run(_bare(urls, options.concurrency))
    if options.side == "fetch":
        return asyncio.run(_fetching(options.origin, urls, options.concurrency))
    return _scrape(options.origin, options.folder, options.concurrency, options.workers)


def _timed(side: str, listed: Path, origin: str, options: argparse.Namespace) -> float:
    command = [sys.executable, __file__, str(listed), "--side", side, "--origin", origin]
    command += ["--workers", str(options.workers), "--concurrency", str(options.concurrency)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(out.rpartition("seconds ")[2])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the crawler against a bare httpx loop.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", type=int, default=1000, help="of the site (default 1000)")
    parser.add_argument(
        "--concurrency", type=int, default=8, help="requests in flight, both sides (default 8)"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="our worker processes")
    parser.add_argument("--side", choices=("bare", "fetch", "scrape"), help=argparse.SUPPRESS)
    parser.add_argument("--origin", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
