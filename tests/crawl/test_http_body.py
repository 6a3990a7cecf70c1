"""Content-Encoding as servers send it."""

import contextlib
import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from indexer.adapters.http_body import decode_body
from indexer.artifacts import Reason
from indexer.errors import Permanent, Retryable

TEXT = b"<html>" + b"".join(b"line %d of a page\n" % number for number in range(2000))
LIMIT = 1 << 20


def _raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoding_we_accept_is_decoded(name):
    assert decode_body(ENCODERS[name](TEXT), name, limit=LIMIT) == TEXT


def test_encodings_in_a_row_raw_deflate_and_several_members():
    assert decode_body(brotli.compress(gzip.compress(TEXT)), "gzip, BR", limit=LIMIT) == TEXT
    assert decode_body(_raw_deflate(TEXT), "deflate", limit=LIMIT) == TEXT
    assert decode_body(gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:]), "gzip", limit=LIMIT) == TEXT
    assert (
        decode_body(zstandard.compress(TEXT[:99]) + zstandard.compress(TEXT[99:]), "zstd", limit=LIMIT)
        == TEXT
    )
    assert decode_body(gzip.compress(TEXT) + b"padding", "gzip", limit=LIMIT) == TEXT
    assert decode_body(TEXT, "identity", limit=LIMIT) == TEXT


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("missing", [1, 300])
def test_a_cut_body_is_never_taken_for_whole(name, missing):
    with pytest.raises(Retryable) as error:
        decode_body(ENCODERS[name](TEXT)[:-missing], name, limit=LIMIT)
    assert error.value.reason == Reason.BAD_RESPONSE


@pytest.mark.parametrize("name", ENCODERS)
def test_a_bomb_is_refused_before_it_is_unpacked(name):
    with pytest.raises(Permanent) as error:
        decode_body(ENCODERS[name](b"\0" * (8 << 20)), name, limit=LIMIT)
    assert error.value.reason == Reason.TOO_LARGE


@pytest.mark.parametrize("name", [*ENCODERS, "unknown"])
def test_text_that_only_claims_to_be_encoded_is_text(name):
    assert decode_body(TEXT, name, limit=LIMIT) == TEXT


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate", "unknown"])
def test_bytes_are_never_taken_for_text(name):
    with pytest.raises((Permanent, Retryable)) as error:
        decode_body(b"\x89\x00\x01\xff" * 50, name, limit=LIMIT)
    assert error.value.reason == Reason.BAD_RESPONSE


@given(st.binary(max_size=300), st.sampled_from([*ENCODERS, "gzip, br", "a, b, c, d, e, f"]))
def test_any_bytes_are_decoded_or_refused_by_one_of_our_errors(data, name):
    with contextlib.suppress(Permanent, Retryable):
        assert isinstance(decode_body(data, name, limit=LIMIT), bytes)


@given(st.binary(min_size=1, max_size=2000), st.sampled_from(sorted(ENCODERS)))
def test_what_was_encoded_comes_back(data, name):
    assert decode_body(ENCODERS[name](data), name, limit=LIMIT) == data
