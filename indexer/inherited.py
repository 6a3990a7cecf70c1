"""
What a command has from its environment alone, told apart: what may be written down, and what is secret.

A run that a scheduler starts has none of it. Settings can stand in a unit or a crontab;
a secret cannot, only the path of a file that holds it (`NAME_FILE`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from msgspec import Struct, field

from indexer.private import passwords_in

PREFIX = "INDEXER_"
_WORDS = frozenset(("INDEXER_CONFIG", "INDEXER_PROJECTS_DIR"))  # given as options
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TELLING = 8  # characters; shorter ones stand in anything
_PASSWORD = "PGPASSWORD"  # noqa: S105 - the name of a variable


class Inherited(Struct, frozen=True, kw_only=True):
    """
    `plain`: NAME → value that may be written down.

    `secret`: names of variables that hold a secret which a file can hold as well; `awkward`: names
    of settings that must stand in the configuration file instead.
    """

    plain: dict[str, str] = field(default_factory=dict)
    secret: tuple[str, ...] = ()
    awkward: tuple[str, ...] = ()


def inherited(
    environ: Mapping[str, str], *, names: Collection[str], secrets: Collection[str], postgres: bool, url: str
) -> Inherited:
    """
    Sort `environ`.

    `names`: variables that may hold a secret; `secrets`: what is known to be one. `postgres`: the
    client library's own variables count; `url`: the variable that holds the registry's address, which is
    secret if a password is in it.
    """
    plain: dict[str, str] = {}
    secret, awkward = [], []
    for name in dict.fromkeys([*names, url, *([_PASSWORD] if postgres else [])]):
        text, path = environ.get(name, "").strip(), environ.get(f"{name}_FILE", "").strip()
        if text and (name != url or passwords_in(text) or "password" in text.lower()):
            secret.append(name)
        elif text:
            plain[name] = text
        elif path and name != _PASSWORD:
            plain[f"{name}_FILE"] = path
    for name, text in sorted(environ.items()):
        ours = name.startswith(PREFIX) and "__" in name and name not in _WORDS
        if not (ours or (postgres and name.startswith("PG") and name != _PASSWORD)):
            continue
        if _writable(name, text) and not _holds_secret(name, text, secrets):
            plain[name] = text
        else:
            awkward.append(name)
    return Inherited(plain=plain, secret=tuple(secret), awkward=tuple(awkward))


def _writable(name: str, text: str) -> bool:
    """Whether cron and systemd can be handed it as one line."""
    return bool(_NAME.fullmatch(name)) and text.isprintable()


def _holds_secret(name: str, text: str, secrets: Collection[str]) -> bool:
    parts = name.lower().split("__")
    headers = parts[0] == "indexer_providers" and "headers" in parts
    known = any(one == text or (len(one) >= _TELLING and one in text) for one in secrets)
    return headers or known or ("://" in text and bool(passwords_in(text)))
