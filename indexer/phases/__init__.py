"""
The story of one project: four phases, each from one artifact to the next.

They do not know each other; `indexer.pipeline` drives them and keeps what they give.

Read first: `scrape`, `chunk`, `embed`, `index`, in this order.
"""
