"""
How fast the pipeline is on a folder of HTML, and its scrape phase against Scrapy.

    uv run --with scrapy scripts/bench_pipeline.py FOLDER [--rounds 3] [--json OUT]

The folder is served by a process of its own. Each phase is one `indexer` command, timed
from outside, start-up included; memory is the proportional size of its whole process tree,
sampled ten times a second (Linux). The peer crawls the same URL list over the same server
with the same concurrency and no delay, extracts with trafilatura, and also writes one
JSON per page. Rounds alternate which side goes first; the ratio is the median over rounds
of peer seconds / our seconds: above 1 means that we are faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

SCRIPTS = Path(__file__).resolve().parent
PROC = Path("/proc")
PHASES = {
    "scrape": ("pages", "indexed"),
    "chunk": ("chunks", "chunks"),
    "embed": ("vectors", "embedded"),
    "index": ("points", "points"),
}


@dataclass
class Timed:
    """One command: wall seconds, peak resident MB of its process tree, what it printed."""

    seconds: float
    peak_mb: float
    out: str = ""


@dataclass
class Phase:
    """A phase of one run: `count` things named `unit`."""

    name: str
    unit: str
    count: int
    seconds: float
    peak_mb: float


@dataclass
class Round:
    """Scrape seconds and pages of both sides, in one round."""

    first: str
    ours: float
    peer: float
    our_pages: int
    peer_pages: int

    @property
    def ratio(self) -> float:
        """Peer seconds per our second."""
        return self.peer / self.ours


@dataclass
class Bench:
    """One measurement: where the site is, where things go, how both sides crawl."""

    origin: str
    urls: Path
    work: Path
    concurrency: int
    workers: int
    rounds: list[Round] = field(default_factory=list)

    def indexer(self, folder: Path, *words: str) -> tuple[Timed, dict[str, Any]]:
        """One `indexer` command with `--json` over a projects folder."""
        timed = run([sys.executable, "-m", "indexer", "--json", "-q", "--projects-dir", str(folder), *words])
        return timed, json.loads(timed.out)

    def scrape(self, folder: Path) -> tuple[Timed, dict[str, Any]]:
        """Create a project and run its first phase."""
        source = ["--urls-file", str(self.urls), "--allow-private", self.origin.removeprefix("http://")]
        pace = ["--concurrency", str(self.concurrency), "--delay", "0", "--workers", str(self.workers)]
        words = ["--name", "bench", *source, *pace, "--until-phase", "scrape", "--no-register"]
        return self.indexer(folder, "init-project", *words)

    def peer(self, out: Path) -> Timed:
        """The same with Scrapy and trafilatura."""
        script = str(SCRIPTS / "scrapy_peer.py")
        return run([sys.executable, script, str(self.urls), str(out), str(self.concurrency)])

    def compare(self, number: int) -> Round:
        """One round: both sides once, from nothing."""
        ours, out = self.work / f"ours{number}", self.work / f"peer{number}"
        sides = ["ours", "peer"] if number % 2 == 0 else ["peer", "ours"]
        timed: dict[str, Timed] = {}
        for side in sides:
            timed[side] = self.scrape(ours)[0] if side == "ours" else self.peer(out)
        result = Round(
            first=sides[0],
            ours=timed["ours"].seconds,
            peer=timed["peer"].seconds,
            our_pages=sum(1 for _ in (ours / "bench" / "1_pages").glob("*.json")),
            peer_pages=sum(1 for _ in out.glob("*.json")),
        )
        shutil.rmtree(ours)
        shutil.rmtree(out)
        return result

    def warm_up(self) -> None:
        """One page through all phases: what is made once per machine is no part of any phase."""
        page = self.urls.read_text(encoding="utf-8").split()[0]
        words = ["--name", "warm", "--urls", page, "--no-llm-chunk", "--no-register"]
        guard = ["--allow-private", self.origin.removeprefix("http://")]
        self.indexer(self.work / "warm", "init-project", *words, *guard)

    def phases(self) -> list[Phase]:
        """All four phases of one fresh project, each as a command of its own."""
        folder, measured = self.work / "phases", []
        for name, (unit, key) in PHASES.items():
            if name == "scrape":
                timed, report = self.scrape(folder)
            else:
                words = ["--from-phase", name, "--until-phase", name, "--no-llm-chunk", "--no-register"]
                more = ["--project-name", "bench", "--workers", str(self.workers)]
                timed, report = self.indexer(folder, "seed", *more, *words)
            measured.append(Phase(name, unit, report[key], timed.seconds, timed.peak_mb))
        return measured


def run(command: list[str]) -> Timed:
    """Run a command to its end. Raises `SystemExit` with its last words if it fails."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True)
        peak = _Peak(process.pid)
        out, _ = process.communicate()
        seconds = time.perf_counter() - started
        megabytes = peak.stop()
        if process.returncode not in (0, 3):  # 3: done, but some pages failed
            err.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{err.read()[-2000:]}")
    return Timed(seconds=seconds, peak_mb=megabytes, out=out)


class _Peak:
    """Watches the resident size of a process and all that it started."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak, self._end = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """The peak in MB; 0 where there is no /proc."""
        self._end.set()
        self._thread.join()
        return self._peak / 1e6

    def _watch(self) -> None:
        while PROC.is_dir() and not self._end.wait(0.1):
            self._peak = max(self._peak, sum(_resident(pid) for pid in _tree(self._pid)))


def _tree(root: int) -> Iterator[int]:
    """A process and its descendants."""
    pending = [root]
    while pending:
        pid = pending.pop()
        yield pid
        for children in (PROC / str(pid) / "task").glob("*/children"):
            try:
                pending.extend(int(child) for child in children.read_text().split())
            except OSError:  # it ended meanwhile
                continue


def _resident(pid: int) -> int:
    """The process's own share: pages that several processes have in common are counted once."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder behind a server process; gives the origin."""
    command = [sys.executable, str(SCRIPTS / "serve_site.py"), str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline() if server.stdout else ""
        if " at " not in line:
            raise SystemExit(f"{folder} cannot be served")
        yield line.split(" at ")[1].split("/,")[0]
    finally:
        server.terminate()
        server.communicate()


def page_urls(origin: str) -> list[str]:
    """The site's pages, as its sitemap lists them."""
    with urllib.request.urlopen(f"{origin}/sitemap.xml") as answer:
        sitemap = answer.read().decode()
    return [part.partition("</loc>")[0] for part in sitemap.split("<loc>")[1:]]


def show(bench: Bench, phases: list[Phase]) -> None:
    """Print both tables."""
    if phases:
        _show_phases(phases)
    for number, one in enumerate(bench.rounds, 1):
        print(
            f"round {number} ({one.first} first): ours {one.ours:.2f} s, {one.our_pages} pages; "
            f"Scrapy + trafilatura {one.peer:.2f} s, {one.peer_pages} pages; ratio {one.ratio:.2f}"
        )
    if bench.rounds:
        print(f"scrape against Scrapy + trafilatura, median of ratios: {median_ratio(bench):.2f}")


def _show_phases(phases: list[Phase]) -> None:
    total = sum(phase.seconds for phase in phases)
    print(f"\n{'phase':8} {'count':>14} {'seconds':>9} {'per second':>18} {'share':>7} {'peak MB':>9}")
    for phase in phases:
        rate = f"{phase.count / phase.seconds:.1f} {phase.unit}/s"
        amount = f"{phase.count} {phase.unit}"
        share = f"{phase.seconds / total:.0%}"
        print(f"{phase.name:8} {amount:>14} {phase.seconds:9.2f} {rate:>18} {share:>7} {phase.peak_mb:9.0f}")
    print(f"{'all':8} {'':>14} {total:9.2f} {'':>18} {'100%':>7} {max(p.peak_mb for p in phases):9.0f}")


def median_ratio(bench: Bench) -> float:
    """The median over rounds of peer seconds / our seconds."""
    return median(one.ratio for one in bench.rounds)


def main() -> int:
    """Measure and print; `--json` also writes the figures."""
    options = _options()
    peer = not options.no_peer
    if peer and importlib.util.find_spec("scrapy") is None:
        print(
            f"the comparison needs Scrapy: uv run --with scrapy {sys.argv[0]} …, or leave it out: --no-peer"
        )
        return 2
    with served(options.folder) as origin, tempfile.TemporaryDirectory() as name:
        urls = page_urls(origin)
        work = Path(name)
        (work / "urls.txt").write_text("\n".join(urls) + "\n", encoding="utf-8")
        bench = Bench(origin, work / "urls.txt", work, options.concurrency, options.workers)
        os.environ["INDEXER_MODELS__CACHE_DIR"] = str(options.model_cache or work / "model")
        print(
            f"{len(urls)} pages of {options.folder} at {origin}/, concurrency {bench.concurrency}, no delay"
        )
        print(f"{bench.workers} workers, {os.cpu_count()} cores")
        bench.warm_up()
        phases = [] if options.no_phases else bench.phases()
        for number in range(options.rounds if peer else 0):
            bench.rounds.append(bench.compare(number))
        show(bench, phases)
        if options.json:
            figures = {
                "pages": len(urls),
                "phases": [asdict(phase) for phase in phases],
                "rounds": [{**asdict(one), "ratio": one.ratio} for one in bench.rounds],
            }
            options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the pipeline on a folder of HTML.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="comparisons with the peer (default 3)")
    parser.add_argument(
        "--concurrency", type=int, default=8, help="requests in flight, both sides (default 8)"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="our worker processes")
    parser.add_argument("--model-cache", type=Path, help="keep the embedded model's graph here between runs")
    parser.add_argument("--no-peer", action="store_true", help="only our own phases")
    parser.add_argument("--no-phases", action="store_true", help="only the comparison")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
