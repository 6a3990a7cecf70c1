"""
Embedding without a model: what text is sent, in which parts and batches, and what a
vector must be. Pure: no I/O, no clients.

Read first: `adapters.adapter_for` (prefixes by model family), `passages.parts_of` (the text
of a chunk, split where the model's limit asks for it), `vectors.unit`, `vectors.flaw`.
"""
