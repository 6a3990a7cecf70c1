"""
What an embedded page becomes in the index: words, BM25 weights, points. Pure.

Read first: `analysis.analyzer` (text → terms), `bm25.Statistics` (terms → weights),
`points.PointMaker` (embedded page → points).
"""
