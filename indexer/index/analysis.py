"""
Analyzers: text → terms, the same chain for chunks and for questions.

Base tokens: NFC, Unicode lower case, split on what is neither letter nor digit.
`plain` is exactly these. `stem` puts each through a Snowball stemmer chosen by script:
any Cyrillic letter → Russian, else English (the Russian one folds ё into е).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from indexer.errors import Misconfigured

DEFAULT = "stem"

_TOKEN = re.compile(r"[^\W_]+")
_CYRILLIC = re.compile("[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]")
_STEMS_KEPT = 1 << 17  # most texts repeat far fewer distinct words
_local = threading.local()


class Analyzer(Struct, frozen=True):
    """A named chain. `version` changes whenever any text would give other terms. Thread-safe."""

    name: str
    version: int
    chain: Callable[[str], list[str]]

    def __call__(self, text: str) -> list[str]:
        """The terms of `text`, in order, with repeats."""
        return self.chain(text)


def analyzer(name: str, *, version: int = 0) -> Analyzer:
    """
    The analyzer of this name.

    `version` (of an index, 0: whichever) must be the one known here: terms of two
    versions must never meet. Raises `Misconfigured`.
    """
    found = ANALYZERS.get(name)
    if found is None:
        raise Misconfigured(
            f"there is no analyzer {name!r}; [index] analyzer is one of {', '.join(ANALYZERS)}"
        )
    if version not in (0, found.version):
        raise Misconfigured(
            f"the index was made with version {version} of the analyzer {name!r}, this indexer has version "
            f"{found.version}; rebuild the index with --from-phase index"
        )
    return found


def base_tokens(text: str) -> list[str]:
    """NFC, lower case, runs of letters and digits."""
    return _TOKEN.findall(unicodedata.normalize("NFC", text).lower())


def _stems(text: str) -> list[str]:
    return [_stem(token) for token in base_tokens(text)]


@lru_cache(maxsize=_STEMS_KEPT)
def _stem(token: str) -> str:
    language = "russian" if _CYRILLIC.search(token) else "english"
    return _stemmer(language)(token)


def _stemmer(language: str) -> Callable[[str], str]:
    """A stemmer of this thread: the C ones keep state while they work."""
    import snowballstemmer  # takes PyStemmer, the same in C, if present

    stem: Callable[[str], str] | None = getattr(_local, language, None)
    if stem is None:
        stem = snowballstemmer.stemmer(language).stemWord
        setattr(_local, language, stem)
    return stem


ANALYZERS = {
    "stem": Analyzer("stem", 1, _stems),
    "plain": Analyzer("plain", 1, base_tokens),
}
