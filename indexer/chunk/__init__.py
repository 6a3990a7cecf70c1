"""
A page's markdown becomes chunks: exact slices, in order, that cover the text.

Blocks (what the markdown consists of) become units (what is not torn, and how good a
cut before each is), units become pieces within the limit, pieces become chunks with a
topic. A chat model, where there is one, only places boundaries: its answer is searched
in the text, and the text is cut there.

Guaranteed for any text and any answer: `text[start:end] == chunk.text`, ascending,
without overlap; no chunk is blank or over the limit; between two chunks, before the
first and after the last there are only blank characters (`spans.BLANK`: white space, and
characters that are never drawn).

Read first: `indexer.chunk.units` (what is not torn), `indexer.chunk.packing` (where it is
cut), `indexer.chunk.semantic` (a model's boundaries), `indexer.phases.chunk` (the phase).
"""
