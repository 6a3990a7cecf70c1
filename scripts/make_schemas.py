"""
Generate schemas/ from the artifact types and the registry.

    python scripts/make_schemas.py          write schemas/
    python scripts/make_schemas.py --check  fail if schemas/ is not what the code says
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from indexer import __version__
from indexer.adapters.bot import IDEMPOTENCY, SIGNATURE, TIMESTAMP
from indexer.adapters.postgres_registry import INDEXES, PROJECTS
from indexer.adapters.registry import SqliteRegistry
from indexer.artifacts import (
    Bm25Snapshot,
    ChunkedPage,
    EmbeddedPage,
    Manifest,
    Page,
    Payload,
    Registration,
)
from indexer.hits import Hit
from indexer.pipeline.report import Report
from indexer.search.context import Context

FOLDER = Path(__file__).resolve().parent.parent / "schemas"
TYPES = {
    "page": Page,
    "chunked-page": ChunkedPage,
    "embedded-page": EmbeddedPage,
    "bm25-snapshot": Bm25Snapshot,
    "manifest": Manifest,
    "point-payload": Payload,
    "hit": Hit,
    "context": Context,
    "run-report": Report,
}


def _header(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}


_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
_SIGNED = [
    _header(TIMESTAMP, "Unix time in seconds, if requests are signed; refuse what is minutes old."),
    _header(SIGNATURE, "v1= and the hexadecimal HMAC-SHA256, by the shared secret, of TIMESTAMP.BODY."),
]


def generate() -> dict[str, str]:
    """File name → content."""
    files = {f"{name}.schema.json": _json(_schema(kind)) for name, kind in TYPES.items()}
    files["registration.openapi.json"] = _json(_openapi())
    files["registry.sql"] = _registry()
    files["registry.postgresql.sql"] = PROJECTS + INDEXES
    return files


def _schema(kind: type) -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}


def _openapi() -> dict[str, Any]:
    (body,), components = msgspec.json.schema_components(
        [Registration], ref_template="#/components/schemas/{name}"
    )
    responses = {
        "200": "The bot serves this generation now. Sending it again changes nothing.",
        "401": "The token or the signature is missing or wrong.",
        "422": "The bot cannot use this project; the text says why.",
        "503": "The bot is busy; indexer tries again.",
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Registration of a project with a bot", "version": __version__},
        "paths": {
            "/api/register-project/{id}": {
                "post": {
                    "summary": "Register a published project, or its new generation",
                    "parameters": [_ID, _header(IDEMPOTENCY, "The same for the same body."), *_SIGNED],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": {code: {"description": text} for code, text in responses.items()},
                    "security": [{"bearer": []}],
                },
                "get": {
                    "summary": "What the bot serves of a project (asked by `indexer bot check`)",
                    "parameters": [_ID, *_SIGNED],
                    "responses": {
                        "200": {
                            "description": "The project is known.",
                            "content": {
                                "application/json": {
                                    "schema": {
                                        "type": "object",
                                        "properties": {"generation": {"type": "string"}},
                                    }
                                }
                            },
                        },
                        "401": {"description": responses["401"]},
                        "404": {"description": "The project is not known."},
                    },
                    "security": [{"bearer": []}],
                },
            }
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _registry() -> str:
    with tempfile.TemporaryDirectory() as folder:
        registry = SqliteRegistry(Path(folder))
        with closing(sqlite3.connect(registry.path)) as connection:
            rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        registry.close()
    return "".join(f"{sql};\n" for (sql,) in rows)


def _json(value: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def main() -> int:
    """Write or check; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    files = generate()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*") if path.is_file()}
    if check:
        wrong = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
        if wrong:
            print(f"schemas/ does not match the code: {', '.join(wrong)}; run scripts/make_schemas.py")
        return int(bool(wrong))
    FOLDER.mkdir(exist_ok=True)
    for name in present.keys() - files.keys():
        (FOLDER / name).unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
