"""
The edges of indexer: each module implements a protocol of `indexer.ports` over one
third-party client. Only `indexer.pipeline.wiring` names them.

Read first: `files` (artifacts), `sqlite` (registry and URL catalogue), `postgres` (registry on a
server), `http` (fetching).
"""
