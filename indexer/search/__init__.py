"""
How a question finds its fragments, and how good that is.

Read first: `hybrid.search` (question → hits), `fusion.dbsf` (two lists → one),
`dialogue.Answerer` (question in its dialogue → what a bot is handed, under a source
policy), `evaluate.evaluate` (labelled questions → nDCG, recall, MRR).
"""
