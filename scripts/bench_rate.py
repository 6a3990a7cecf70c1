"""
How busy an embedding server is kept within the rate limit that it states.

    uv run scripts/bench_rate.py [--per-minute 3000] [--latency 0.3] [--seconds 30] [--concurrency 32]

A loopback server answers each request after a while, states its limit in `x-ratelimit-…` headers and
keeps to it with a bucket that holds a twentieth of a minute: what is over is answered with 429. One
`indexer add-files` embeds a folder that takes about as long as asked. Printed are the requests a
minute from the first to the last answer, as a share of the limit, and how many were refused.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from bench_reindex import answer_of


class _Limited(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    per_minute = 0
    latency = 0.0
    level = 0.0
    at = 0.0
    done: ClassVar[list[float]] = []
    refused = 0
    lock = threading.Lock()

    @classmethod
    def allowed(cls) -> bool:
        """Whether the bucket holds one more request."""
        with cls.lock:
            now = time.monotonic()
            full = cls.per_minute / 20
            cls.level = min(full, cls.level + (now - cls.at) * cls.per_minute / 60) if cls.at else full
            cls.at = now
            if cls.level < 1:
                cls.refused += 1
                return False
            cls.level -= 1
            return True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        allowed = self.allowed()
        time.sleep(self.latency if allowed else 0)
        body = json.dumps(answer_of(asked) if allowed else {"error": {"message": "too many"}}).encode()
        self.send_response(200 if allowed else 429)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("x-ratelimit-limit-requests", str(self.per_minute))
        self.send_header("x-ratelimit-reset-requests", "20ms")
        self.end_headers()
        self.wfile.write(body)
        if allowed:
            with self.lock:
                self.done.append(time.monotonic())

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 128


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--per-minute", type=int, default=3000)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--concurrency", type=int, default=32)
    options = parser.parse_args()
    _Limited.per_minute, _Limited.latency = options.per_minute, options.latency
    server = _Server(("127.0.0.1", 0), _Limited)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    number = int(options.seconds * options.per_minute / 60)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = folder / "pages"
        pages.mkdir()
        for i in range(number):
            (pages / f"{i}.md").write_text(f"# Offer {i}\n\nOffer number {i} costs {i + 10} euros.\n")
        config = folder / "indexer.toml"
        config.write_text(
            f'[models]\nembedding = ["bench/digest"]\nbatch_items = 1\nconcurrency = {options.concurrency}\n'
            f'[providers.bench]\nbase_url = "http://127.0.0.1:{server.server_address[1]}/v1"\n'
            'api_key_env = ["BENCH_KEY"]\n',
            encoding="utf-8",
        )
        env = {**os.environ, "BENCH_KEY": "none", "INDEXER_CONFIG": str(config)}
        ours = [sys.executable, "-m", "indexer", "--projects-dir", str(folder / "projects")]
        for words in (
            ["init-project", "--name", "bench", "--no-register"],
            ["add-files", str(pages), "--project-name", "bench", "--no-llm-chunk", "--no-register"],
        ):
            done = subprocess.run([*ours, *words], capture_output=True, text=True, env=env, check=False)
            if done.returncode:
                raise SystemExit(done.stderr[-2000:])
    server.shutdown()
    took = max(_Limited.done) - min(_Limited.done)
    rate = 60 * (len(_Limited.done) - options.per_minute / 20) / took  # the first burst came for free
    print(
        f"{len(_Limited.done)} requests in {took:.1f} s, {_Limited.refused} refused; "
        f"{rate:.0f} a minute of {options.per_minute} allowed: {rate / options.per_minute:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
