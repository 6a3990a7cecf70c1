"""Key pools: where keys come from, whose turn it is, and how they stay out of every text."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from indexer.errors import Misconfigured
from indexer.settings import Provider, secret

HIDDEN = "***"
SHORTEST_ECHO = 4  # servers echo parts of a key; shorter runs say nothing

_RUN = re.compile(rf"[A-Za-z0-9_\-]{{{SHORTEST_ECHO},}}")
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_BEARER = re.compile(r"(?i)\b(bearer\s+)\S+")


class KeyPool:
    """
    The keys of one provider, handed out in turn. Thread-safe. Its repr shows none.

    A provider without any needs none: a single empty key is handed out. `secrets` are
    redacted like keys (values of configured headers).
    """

    def __init__(self, keys: Iterable[str], *, secrets: Iterable[str] = ()) -> None:
        self._keys = list(dict.fromkeys(keys)) or [""]
        self._secrets = [value for value in secrets if value]
        self._turn = itertools.cycle(list(self._keys))
        self._refused: set[str] = set()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"KeyPool({len(self._keys)} keys)"

    def __len__(self) -> int:
        return len(self._keys)

    def next(self) -> str:
        """The key whose turn it is; refused ones are passed over while there are others."""
        with self._lock:
            for _ in self._keys:
                key = next(self._turn)
                if key not in self._refused:
                    return key
            return next(self._turn)

    def refuse(self, key: str) -> bool:
        """The server does not accept this key. True if another one is left to try."""
        with self._lock:
            self._refused.add(key)
            return len(self._refused) < len(self._keys)

    def redact(self, text: str) -> str:
        """`text` without these keys, parts of them that servers echo, and passwords in URLs."""
        keys = [key for key in self._keys if key]
        for value in sorted([*keys, *self._secrets], key=len, reverse=True):
            text = text.replace(value, HIDDEN)

        def hide(run: re.Match[str]) -> str:
            return HIDDEN if any(run[0] in key for key in keys) else run[0]

        return _USERINFO.sub(f"{HIDDEN}@", _BEARER.sub(rf"\1{HIDDEN}", _RUN.sub(hide, text)))


def open_pool(name: str, provider: Provider, environ: Mapping[str, str] | None = None) -> KeyPool:
    """
    The keys of a provider, from its variables and its file.

    Raises `Misconfigured` naming them if they are given and hold no key.
    """
    keys = [
        key.strip()
        for variable in provider.api_key_env
        for key in secret(variable, environ).split(",")
        if key.strip()
    ]
    if provider.api_key_file:
        keys += _from_file(name, Path(provider.api_key_file))
    sources = [*(f"${variable}" for variable in provider.api_key_env), provider.api_key_file]
    sources = [source for source in sources if source]
    if sources and not keys:
        raise Misconfigured(
            f"no key for provider {name!r}: {' and '.join(sources)} {'are' if len(sources) > 1 else 'is'} "
            "empty; set it to one key, or several separated by commas"
        )
    return KeyPool(keys, secrets=provider.headers.values())


def _from_file(name: str, path: Path) -> list[str]:
    try:
        lines = path.expanduser().read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Misconfigured(f"the key file {path} of provider {name!r} cannot be read: {why}") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
