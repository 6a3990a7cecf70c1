"""
What a night without news costs beside bare conditional requests, and what one changed page adds.

    uv run scripts/bench_reindex.py FOLDER [--rounds 5]

The folder is served by a process of its own, and indexed once; vectors come from a loopback
server that makes them of a text's digest, so that no model's speed is measured. Then in each
round, from one server: a bare asyncio loop over httpx asks for every page with the validators that it
has, and `indexer reindex` does its whole work. Both are timed as processes, from start to end.
The ratio is the median over rounds of our seconds / bare seconds. At last one page is changed,
and a run is timed again.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from bench_pipeline import served

CONCURRENCY = 8
DIMENSION = 384
BARE = "bare"


async def _bare(catalogue: str) -> int:
    """Every page that the catalogue knows, asked with its validators; returns how many were 304."""
    import httpx

    with sqlite3.connect(catalogue) as database:
        rows = database.execute("SELECT url, etag, last_modified FROM urls").fetchall()
    unchanged = 0
    limits = httpx.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    async with httpx.AsyncClient(limits=limits, timeout=30) as client:

        async def work() -> None:
            nonlocal unchanged
            while rows:
                url, etag, modified = rows.pop()
                asked = {"If-None-Match": etag, "If-Modified-Since": modified}
                answer = await client.get(
                    url, headers={name: value for name, value in asked.items() if value}
                )
                unchanged += answer.status_code == httpx.codes.NOT_MODIFIED

        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    return unchanged


class _Embeddings(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(answer_of(asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def answer_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What an embedding server says to a request: a vector of each text's digest."""
    rows = [
        {"object": "embedding", "index": number, "embedding": _vector(text)}
        for number, text in enumerate(asked["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": asked["model"], "data": rows, "usage": usage}


def _vector(text: object) -> str:
    raw = hashlib.shake_128(repr(text).encode()).digest(DIMENSION)
    return base64.b64encode(struct.pack(f"<{DIMENSION}f", *(byte - 127.5 for byte in raw))).decode()


@contextmanager
def _embeddings() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _configured(folder: Path, embeddings: str) -> dict[str, str]:
    """The environment of our commands: a configuration file of their own."""
    config = folder / "indexer.toml"
    config.write_text(
        f'[models]\nembedding = ["bench/digest"]\n\n[providers.bench]\nbase_url = "{embeddings}"\n'
        'api_key_env = ["BENCH_KEY"]\n',
        encoding="utf-8",
    )
    return {**os.environ, "BENCH_KEY": "none", "INDEXER_CONFIG": str(config)}


def _timed(command: list[str], env: dict[str, str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return time.perf_counter() - started, done.stdout


def _change(site: Path) -> None:
    """One more paragraph on the first page that has a body."""
    for page in sorted(site.rglob("*.html")):
        html = page.read_bytes()
        at = html.rfind(b"</body>")
        if at > 0:
            page.write_bytes(html[:at] + b"<p>One more paragraph, written by the benchmark.</p>" + html[at:])
            return


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, _embeddings() as embeddings:
        folder = Path(name)
        site = Path(shutil.copytree(options.folder, folder / "site"))
        env = _configured(folder, embeddings)
        ours = [sys.executable, "-m", "indexer", "--projects-dir", str(folder / "projects"), "--json"]
        again = [*ours, "reindex", "--project-name", "bench"]
        catalogue = str(folder / "projects" / "bench" / "urls.db")
        with served(site) as origin:
            host = origin.removeprefix("http://")
            words = ["--sitemap-url", f"{origin}/sitemap.xml", "--allow-private", host, "--delay", "0"]
            words += ["--concurrency", str(CONCURRENCY), "--no-llm-chunk", "--no-register"]
            seconds, out = _timed([*ours, "init-project", "--name", "bench", *words], env)
            report = json.loads(out)
            print(f"indexed {report['indexed']} pages, {report['points']} chunks in {seconds:.1f} s")
            ratios = []
            for number in range(1, options.rounds + 1):
                bare, unchanged = _timed([sys.executable, __file__, BARE, catalogue], env)
                mine, out = _timed(again, env)
                ratios.append(mine / bare)
                print(
                    f"round {number}: bare {bare:.2f} s, {unchanged.strip()} unchanged; reindex {mine:.2f} s,"
                    f" {json.loads(out)['not_modified']} unchanged; ratio {ratios[-1]:.2f}"
                )
            print(f"a night without news, median of ratios: {median(ratios):.2f}")
            _change(site)
            mine, out = _timed(again, env)
            report = json.loads(out)
            print(f"one page changed: {mine:.2f} s, {report['embedded']} chunks embedded")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == [BARE]:
        print(asyncio.run(_bare(sys.argv[2])))
    else:
        sys.exit(main())
