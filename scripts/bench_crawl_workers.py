"""Imported by the worker processes of scripts/bench_crawl.py: sets extraction aside there too."""

from bench_crawl import set_extraction_aside

set_extraction_aside()
