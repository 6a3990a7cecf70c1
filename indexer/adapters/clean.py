"""What crawled text must lose before a model, a JSON body or C code sees it."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """
    `text` without NUL, lone surrogates replaced by U+FFFD.

    C strings end at NUL; a lone surrogate cannot be encoded as UTF-8.
    """
    return _UNSAFE.sub(lambda found: "" if found[0] == "\x00" else "\ufffd", text)
