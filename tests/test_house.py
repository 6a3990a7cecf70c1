"""The house keeps its own rules: start-up, sizes, documentation, schemas."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "indexer").rglob("*.py"))
HEAVY = {
    "numpy",
    "httpx",
    "openai",
    "trafilatura",
    "lxml",
    "onnxruntime",
    "qdrant_client",
    "qdrant_edge",
    "sqlite_utils",
    "psycopg",
    "pydantic",
    "tiktoken",
    "selectolax",
}


def test_help_imports_nothing_heavy():
    script = f"import sys\nfrom indexer.cli import app\nprint(sorted({HEAVY!r} & set(sys.modules)))\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_under_400_lines_and_functions_under_60(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, node.name


def _commands() -> list[str]:
    from typer.main import get_command

    from indexer.cli.app import app

    return sorted(get_command(app).commands)


@pytest.mark.parametrize("name", _commands())
def test_every_command_has_help_and_stands_in_the_readme(name):
    from typer.main import get_command

    from indexer.cli.app import app

    assert get_command(app).commands[name].help
    assert re.search(rf"`{name}\b", (ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_setting_stands_in_the_readme():
    from indexer.settings import Provider, Settings

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    settings = Settings()
    for section in settings.__struct_fields__:
        value = getattr(settings, section)
        for name in getattr(value, "__struct_fields__", ()):
            assert f"`{name}`" in readme, f"[{section}] {name}"
    for name in Provider.__struct_fields__:
        assert f"`{name}`" in readme, name


def test_every_reason_code_stands_in_the_readme():
    from indexer.artifacts import Reason

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for reason in Reason:
        assert not reason or f"`{reason.value}`" in readme, reason


def test_schemas_match_the_code():
    generate = runpy.run_path(str(ROOT / "scripts" / "make_schemas.py"))["generate"]
    present = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "schemas").iterdir()}
    assert generate() == present
