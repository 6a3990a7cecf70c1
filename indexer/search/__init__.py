"""
How a question finds its fragments, and how good that is.

Read first: `hybrid.search` (question → hits), `fusion.dbsf` (two lists → one),
`evaluate.evaluate` (labelled questions → nDCG, recall, MRR).
"""
