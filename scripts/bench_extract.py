"""
Pages per second of `indexer.extract` beside trafilatura's default, in one run on one core.

    python scripts/bench_extract.py DIRECTORY [--limit N] [--profile]

DIRECTORY holds `*.html` or `*.html.gz`. Each page is read by both, one after the other, so
that whatever else the machine does falls on both; CPU time counts, decoding the file does
not, nor loading models. `--profile` shows instead where the time of `indexer.extract` goes.
"""

from __future__ import annotations

import argparse
import cProfile
import gzip
import pstats
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import trafilatura

from indexer.extract import extract

_WARM_UP = "A text without a declared language, so that the guesser is loaded as well. " * 5
_URL = "https://bench.example/page"


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--limit", type=int, help="so many pages, spread over the directory")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    paths = sorted(p for p in asked.directory.iterdir() if p.name.endswith((".html", ".html.gz")))
    if asked.limit:
        paths = paths[:: max(1, len(paths) // asked.limit)][: asked.limit]
    if not paths:
        sys.exit(f"{asked.directory}: no *.html or *.html.gz")
    for html in pages(paths[:3]):  # loads what is loaded once
        extract(html, url=_URL)
        trafilatura.extract(html)
    extract(f"<html><body><p>{_WARM_UP}</p></body></html>", url=_URL)
    if asked.profile:
        profile(paths)
    else:
        compare(paths)


def pages(paths: list[Path]) -> Iterator[str]:
    """The decoded documents, one at a time."""
    for path in paths:
        raw = path.read_bytes()
        yield (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")


def compare(paths: list[Path]) -> None:
    """Read every page twice."""
    own = peer = 0.0
    for html in pages(paths):
        own += seconds(lambda html=html: extract(html, url=_URL))
        peer += seconds(lambda html=html: trafilatura.extract(html))
    print(f"{len(paths)} pages, CPU time on one core")
    print(f"indexer.extract  {len(paths) / own:7.1f} pages/s")
    print(f"trafilatura      {len(paths) / peer:7.1f} pages/s  ({trafilatura.__version__}, defaults)")
    print(f"ratio            {peer / own:7.2f}")


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that *work* takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def profile(paths: list[Path]) -> None:
    """Show the 25 functions that take longest."""
    profiler = cProfile.Profile()
    for html in pages(paths):
        profiler.runcall(extract, html, url=_URL)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
