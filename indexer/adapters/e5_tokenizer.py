"""
The tokenizer of multilingual-e5-small: SentencePiece unigram over the package's vocabulary.

Written here because it must be there at once: the `tokenizers` package takes 1.5 s to
build this vocabulary, a dictionary of it 0.15 s, and words repeat, so that their pieces
are remembered. Equal to `tokenizers` on ids (a test compares them).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, cached_property

from indexer.adapters.clean import clean
from indexer.adapters.e5_weights import E5Weights, open_weights

SPACE = "▁"  # how SentencePiece spells a space
SPECIALS = 2  # <s> and </s> around every text
UNKNOWN_PENALTY = 10.0  # below the rarest piece, as SentencePiece has it
REMEMBERED = 200_000  # words
REMEMBERED_LENGTH = 32

_SPACES = re.compile(r" {2,}")


def normalise(text: str) -> str:
    """
    What every engine may see: NFKC, without NUL and lone surrogates.

    The package's C code allots four code points for each byte; U+FDFA alone becomes 18.
    After NFKC no code point grows in its table.
    """
    return unicodedata.normalize("NFKC", clean(text))


class E5Tokenizer:
    """Text → token ids, specials included. Thread-safe: words are only ever added."""

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights
        self._words: dict[str, list[int]] = {}

    def count(self, text: str) -> int:
        """Tokens of `text`, specials included."""
        return SPECIALS + sum(len(ids) for ids in map(self._word, self._split(text)))

    def ids(self, text: str) -> list[int]:
        """Token ids of `text`, specials included."""
        ids = [self._weights.bos]
        for word in self._split(text):
            ids += self._word(word)
        ids.append(self._weights.eos)
        return ids

    def _split(self, text: str) -> list[str]:
        folded = normalise(text).translate(self._weights.folding)
        return [SPACE + word for word in _SPACES.sub(" ", folded).strip(" ").split(" ") if word]

    def _word(self, word: str) -> list[int]:
        ids = self._words.get(word)
        if ids is None:
            ids = self._best_pieces(word)
            if len(word) <= REMEMBERED_LENGTH and len(self._words) < REMEMBERED:
                self._words[word] = ids
        return ids

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        """Piece → id, without the special ones: page text that spells `</s>` is no end of text."""
        vocabulary = {piece: number for number, piece in enumerate(self._weights.pieces)}
        weights = self._weights
        for number in (weights.bos, weights.eos, weights.pad, weights.unk):
            vocabulary.pop(weights.pieces[number], None)
        vocabulary.pop("<mask>", None)
        return vocabulary

    @cached_property
    def _scores(self) -> list[float]:
        return [float(score) for score in self._weights.scores]

    @cached_property
    def _unknown(self) -> float:
        return min(self._scores) - UNKNOWN_PENALTY

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._vocabulary))

    def _best_pieces(self, word: str) -> list[int]:
        """The pieces with the greatest sum of log probabilities (Viterbi), runs of unknown fused."""
        known, scores, longest = self._vocabulary, self._scores, self._longest
        unk, unknown = self._weights.unk, self._unknown
        length = len(word)
        best = [0.0] + [float("-inf")] * length
        came: list[tuple[int, int]] = [(0, unk)] * (length + 1)
        for start in range(length):
            base = best[start]
            single = False
            for end in range(start + 1, min(start + longest, length) + 1):
                piece = known.get(word[start:end])
                if piece is None:
                    continue
                single = single or end == start + 1
                score = base + scores[piece]
                if score > best[end]:
                    best[end], came[end] = score, (start, piece)
            if not single and base + unknown > best[start + 1]:
                best[start + 1], came[start + 1] = base + unknown, (start, unk)
        ids: list[int] = []
        end = length
        while end:
            end, piece = came[end]
            if not (piece == unk and ids and ids[-1] == unk):
                ids.append(piece)
        return ids[::-1]


@cache
def open_tokenizer() -> E5Tokenizer:
    """The tokenizer, once a process: its vocabulary takes a fifth of a second to read."""
    return E5Tokenizer(open_weights())
