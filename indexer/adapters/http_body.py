"""
Content-Encoding, decoded by us: within a size limit, and only if it is whole.

What servers send under these names is taken as it is found: raw deflate, several gzip
members, plain text that claims to be compressed, several encodings in a row.
"""

from __future__ import annotations

import zlib

from indexer.artifacts import Reason
from indexer.errors import Permanent, Retryable

ACCEPTED = "gzip, deflate, br, zstd"
_STEP = 256 * 1024
_MAX_ENCODINGS = 4
_PLAIN = frozenset(("", "identity", "none", "utf-8", "8bit", "binary", "text"))


def decode_body(raw: bytes, content_encoding: str, *, limit: int) -> bytes:
    """
    The body without its Content-Encoding(s).

    Raises `Retryable` `bad-response` for a cut body, `Permanent` `too-large` as soon as
    more than `limit` bytes come out, `Permanent` `bad-response` for what cannot be decoded.
    """
    names = [name for part in content_encoding.split(",") if (name := part.strip().lower()) not in _PLAIN]
    if len(names) > _MAX_ENCODINGS:
        raise Permanent(f"{len(names)} content encodings in a row", reason=Reason.BAD_RESPONSE)
    body = raw
    for name in reversed(names):
        body = _decode(body, name, limit)
    if len(body) > limit:
        raise too_large(limit)
    return body


def too_large(limit: int) -> Permanent:
    """The body is over the limit."""
    return Permanent(
        f"the body is larger than {limit / 2**20:.3g} MB (--max-body-mb)", reason=Reason.TOO_LARGE
    )


def _decode(body: bytes, name: str, limit: int) -> bytes:
    if not body:
        return body
    if name in ("gzip", "x-gzip"):
        return _gunzip(body, limit) if body.startswith(b"\x1f\x8b") else _plain(body, name)
    if name == "deflate":
        return _inflate(body, limit)
    if name == "br":
        return _unbrotli(body, limit)
    if name == "zstd":
        return _unzstd(body, limit) if body.startswith(b"\x28\xb5\x2f\xfd") else _plain(body, name)
    return _plain(body, name)


def _gunzip(body: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while body.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            while not unpacker.eof:
                part = unpacker.decompress(body, _STEP)
                body = unpacker.unconsumed_tail
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise too_large(limit)
                if not part and not body and not unpacker.eof:
                    raise _cut("gzip")
        except zlib.error as error:
            raise _broken("gzip", error) from None
        body = unpacker.unused_data
    return b"".join(parts)


def _inflate(body: bytes, limit: int) -> bytes:
    """Zlib as the standard says, else raw as many servers do, else not compressed at all."""
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        unpacker = zlib.decompressobj(wbits=wbits)
        try:
            text = unpacker.decompress(body, limit + 1)
        except zlib.error:
            continue
        if len(text) > limit:
            raise too_large(limit)
        if not unpacker.eof:
            raise _cut("deflate")
        return text
    return _plain(body, "deflate")


def _unbrotli(body: bytes, limit: int) -> bytes:
    import brotli

    unpacker = brotli.Decompressor()
    parts: list[bytes] = []
    size, data = 0, body
    try:
        while not unpacker.is_finished():
            part = unpacker.process(data, output_buffer_limit=_STEP)
            data = b""
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(limit)
            if not part and not unpacker.is_finished():
                raise _cut("br")
    except brotli.error as error:
        if size == 0:
            return _plain(body, "br")
        raise _broken("br", error) from None
    return b"".join(parts)


def _unzstd(body: bytes, limit: int) -> bytes:
    import zstandard

    try:
        with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(
            body, read_across_frames=True
        ) as reader:
            text = reader.read(limit + 1)
            if len(text) > limit:
                raise too_large(limit)
    except zstandard.ZstdError as error:
        raise _broken("zstd", error) from None
    while body:  # within the limit by now: only to see whether each frame ends
        unpacker = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()
        unpacker.decompress(body)
        if not unpacker.eof:
            raise _cut("zstd")
        body = unpacker.unused_data
    return text


def _plain(body: bytes, name: str) -> bytes:
    """A body that only claims to be encoded, if it is text; bytes are never taken for text."""
    head = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    control = sum(1 for byte in head if byte < 0x20 and byte not in b"\t\n\r\f")  # noqa: PLR2004 - control characters
    if head.startswith((b"<", b"{", b"#")) or (head and not control and _is_utf8(body[:4096])):
        return body
    raise Permanent(f"the body is not what its Content-Encoding says ({name})", reason=Reason.BAD_RESPONSE)


def _is_utf8(head: bytes) -> bool:
    return "\ufffd" not in head[:-4].decode("utf-8", "replace")


def _cut(name: str) -> Retryable:
    return Retryable(f"the body was cut short ({name})", reason=Reason.BAD_RESPONSE)


def _broken(name: str, error: Exception) -> Retryable:
    return Retryable(f"the body is damaged ({name}: {error})", reason=Reason.BAD_RESPONSE)
