"""
The scrape phase as Scrapy and trafilatura do it: the peer of scripts/bench_pipeline.py.

    python scripts/scrapy_peer.py URLS_FILE OUT_FOLDER CONCURRENCY

Fetches every URL of the file, robots.txt obeyed, no delay, and writes one JSON per page
with its markdown.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scrapy
import trafilatura
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):
    """One request per URL; the markdown goes to a file."""

    name = "pages"
    out: Path

    def parse(self, response: Any, **_: Any) -> Iterator[Any]:
        """Extract and write one page."""
        text = trafilatura.extract(response.text, output_format="markdown") or ""
        key = hashlib.sha256(response.url.encode()).hexdigest()[:32]
        page = json.dumps({"url": response.url, "text": text}, ensure_ascii=False)
        (self.out / f"{key}.json").write_text(page, encoding="utf-8")
        yield from ()


def main() -> int:
    """Crawl and end."""
    urls, out, concurrency = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "AUTOTHROTTLE_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
    )
    process.crawl(Pages, start_urls=urls.read_text(encoding="utf-8").split(), out=out)
    process.start()
    return 0


if __name__ == "__main__":
    sys.exit(main())
