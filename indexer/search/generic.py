"""
What the questions of a language share, taken out of one that is in other words than the index.

Vectors of questions have a common part, and some chunks are near to all of it: in another
language these hubs stand before the chunk that is asked for. As CSLS does (Conneau et al. 2018),
their nearness to questions in general is subtracted: q · d − s · mean(g · d) over generic
questions g, which is asking with the vector q − s · mean(g).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from indexer.errors import IndexerError
from indexer.search.vocabulary import Vocabulary

if TYPE_CHECKING:
    from indexer.ports import Vector

log = logging.getLogger("indexer")

STRENGTH = 0.7  # of 0.5 to 1 all are within 0.005 nDCG@10, in both directions between Russian and English


class Generic:
    """Takes the common part of its language's questions out of a question's vector."""

    def __init__(
        self,
        vocabulary: Callable[[], Vocabulary],
        embed_queries: Callable[[Sequence[str]], Sequence[Vector]],
        *,
        default: str,
    ) -> None:
        self._vocabulary = vocabulary
        self._embed = embed_queries
        self._default = default
        self._means: dict[str, Vector | None] = {}

    def without(self, question: str, vector: Vector) -> Vector | None:
        """The vector to ask with; `None` in a language whose questions are not known."""
        import numpy as np

        language = self._vocabulary().detect(question, default=self._default)
        if language not in self._means:
            known = self._vocabulary().languages.get(language)
            generic = known.generic if known else ()
            self._means[language] = self._mean(generic) if generic else None
        mean = self._means[language]
        if mean is None:
            return None
        rest = np.asarray(vector - STRENGTH * mean, dtype=np.float32)
        length = float(np.linalg.norm(rest))
        return rest / np.float32(length) if length else None

    def _mean(self, questions: Sequence[str]) -> Vector | None:
        """`None`, with a warning, where the model fails: the question itself has its vector."""
        import numpy as np

        try:
            mean: Vector = np.mean(self._embed(questions), axis=0)
        except IndexerError as error:
            log.warning("%s; a question in another language is asked as it is", error)
            return None
        return mean
