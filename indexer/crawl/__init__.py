"""
Crawling, without a network: what a URL is, what may be fetched, what a response is, what comes next.

All pure. `indexer.pipeline.scraping` drives them, `indexer.adapters.http` fetches.

Read first: `urls` (identity), `scope` and `robots` (what may be fetched), `frontier` (what
comes next), `charset` and `sniff` (what a response is), `links` (what a page leads to).
"""
