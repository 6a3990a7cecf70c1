"""
Names that do not change: URL key, content digest, signature, point id.

All are functions of their arguments alone, so a killed run that is run again
names everything as before.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import uuid
from collections.abc import Mapping

KEY_DIGITS = 32


def url_key(url: str) -> str:
    """The artifact name of a canonical URL: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(url.encode("utf-8")).hexdigest()[:KEY_DIGITS]


def digest(*parts: str | bytes) -> str:
    """SHA-256 over the parts, each preceded by its length, so that no two lists collide."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()


def signature(phase: str, version: int, settings: Mapping[str, object], *content: str | bytes) -> str:
    """
    What an artifact stands for: phase, its version, the settings that matter, the input.

    An artifact is fresh iff its stored signature equals this one.
    """
    facts = json.dumps(settings, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return digest(phase, str(version), facts, *content)


def point_id(project: str, url: str, text_hash: str, ordinal: int) -> str:
    """UUIDv5 of (project id, canonical URL, text hash, ordinal among equal texts of the page)."""
    return str(uuid.uuid5(uuid.UUID(project), f"{url}\0{text_hash}\0{ordinal}"))


def collection_alias(project: str) -> str:
    """
    The name of a project's index on a server, valid there whatever letters the project has.

    A plain ASCII name stays as it is; another one is transliterated and gets eight digits
    of its hash, so that no two projects meet.
    """
    if _PLAIN.fullmatch(project) and "__g" not in project:
        return project
    latin = unicodedata.normalize("NFKD", project.lower().translate(_LATIN))
    slug = _NOT_PLAIN.sub("-", latin.encode("ascii", "ignore").decode()).strip("-_")[:80]
    return f"{slug or 'project'}-{hashlib.sha256(project.encode('utf-8')).hexdigest()[:8]}"


def collection_name(project: str, generation: str) -> str:
    """The collection of one generation, which stands behind the alias when it is published."""
    return f"{collection_alias(project)}__g{generation}"


_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NOT_PLAIN = re.compile(r"[^a-z0-9_-]+")
_LATIN = str.maketrans("абвгдеёзийклмнопрстуфыэ", "abvgdeeziiklmnoprstufye") | str.maketrans(
    {
        "ж": "zh",
        "х": "kh",
        "ц": "ts",
        "ч": "ch",
        "ш": "sh",
        "щ": "shch",
        "ъ": "",
        "ь": "",
        "ю": "yu",
        "я": "ya",
    }
)
