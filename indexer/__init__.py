"""
indexer: a company's website becomes a searchable knowledge base, and stays true.

Source → Page → Chunk → EmbeddedChunk → Point. Four phases, each a function from
one URL's artifact to the next, driven by one small engine that knows signatures.

Read first: `indexer.artifacts` (the values), `indexer.ports` (the edges),
`indexer.pipeline.run` (the main path).
"""

__version__ = "0.1.0"
