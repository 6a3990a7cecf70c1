"""JSON Lines in and out, `-` for stdin and stdout; a bad line is named by its number."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from indexer.errors import Misconfigured, disk_error


def read_lines(name: str, *, needs: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Records of a JSON Lines file. Raises `Misconfigured` naming file, line and what is missing."""
    shown = "stdin" if name == "-" else name
    for number, line in enumerate(_raw_lines(name), 1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Misconfigured(f"{shown}, line {number} is no JSON: {error}") from None
        except RecursionError:
            raise Misconfigured(f"{shown}, line {number} is nested too deeply") from None
        missing = [key for key in needs if not isinstance(record, dict) or key not in record]
        if missing:
            raise Misconfigured(
                f"{shown}, line {number} lacks {', '.join(missing)}; needed: {{{', '.join(needs)}}}"
            )
        wrong = [key for key in needs if key != "id" and not isinstance(record[key], str)]
        if wrong:
            raise Misconfigured(f"{shown}, line {number}: {', '.join(wrong)} must be text")
        yield record


def _raw_lines(name: str) -> Iterator[bytes]:
    if name == "-":
        yield from sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield from file
    except OSError as error:
        raise Misconfigured(f"cannot read {name}: {error.strerror}") from None


@contextlib.contextmanager
def writing(name: str) -> Iterator[BinaryIO]:
    """A file to write lines to; `-` is stdout. A file appears whole or not at all."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        part.unlink(missing_ok=True)
