"""Every way a server answers `/embeddings` ends in the right vector or in a clear error."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from indexer.errors import AllProvidersExhausted, IndexerError, Permanent
from indexer.ports import TOO_LONG, Row
from tests.support.model_api import ModelApi, vector
from tests.support.models import Clock, embedding_chain

TEXTS = [f"text number {i} about oil and tyres" for i in range(23)]


@pytest.fixture(scope="module")
def api() -> Iterator[ModelApi]:
    with ModelApi() as server:
        yield server


def right(row: Row, text: str) -> bool:
    assert not isinstance(row, IndexerError), row
    assert row.dtype == np.float32
    return bool(np.allclose(row, vector(text), atol=1e-6))


@pytest.mark.parametrize(
    "mode", ["ok", "auth", "floatonly", "forceb64", "noindex", "shuffle", "nob64", "batch10", "batch1"]
)
def test_every_text_gets_its_own_vector(api: ModelApi, mode: str) -> None:
    rows = embedding_chain(api.base_url("emb", mode)).embed(TEXTS)
    assert all(right(row, text) for row, text in zip(rows, TEXTS, strict=True))


@pytest.mark.parametrize("mode", ["rate", "flaky"])
def test_passing_failures_are_waited_out(mode: str) -> None:
    clock = Clock()
    with ModelApi() as api:
        rows = embedding_chain(api.base_url("emb", mode), clock=clock).embed(TEXTS)
    assert all(right(row, text) for row, text in zip(rows, TEXTS, strict=True))
    assert clock.slept == ([1.0, 1.0] if mode == "rate" else [2.0 * 1.05])


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("short", "22 vectors for 23 texts"),
        ("dupindex", "indices"),
        ("dimflip", "different dimension"),
        ("badjson", "not the JSON"),
        ("html", "HTTP 502: an HTML page"),
        ("down", "HTTP 500"),
        ("soft", "HTTP 502"),
    ],
)
def test_an_answer_that_leaves_open_whose_vectors_they_are_is_asked_for_again_and_then_refused(
    mode: str, says: str
) -> None:
    clock = Clock()
    with ModelApi() as api:
        with pytest.raises(AllProvidersExhausted, match=says) as failure:
            embedding_chain(api.base_url("emb", mode), clock=clock).embed(TEXTS)
        assert len(api.calls()) == 3
    assert failure.value.passing
    assert clock.slept == pytest.approx([2.1, 4.2])


def test_a_hanging_server_is_given_up_after_its_timeout() -> None:
    with ModelApi() as api, pytest.raises(AllProvidersExhausted, match=r"no answer within 0\.2 s"):
        embedding_chain(api.base_url("emb", "hang"), timeout=0.2).embed(["a"])


def test_a_server_that_is_not_there_is_named() -> None:
    with ModelApi() as gone:
        url = gone.base_url("emb")
    with pytest.raises(AllProvidersExhausted, match="srv/test-embedding: cannot be reached"):
        embedding_chain(url).embed(["a"])


@pytest.mark.parametrize(("mode", "bad"), [("nan", 22), ("zero", 0), ("nullvec", 0)])
def test_a_vector_of_no_use_stays_with_its_own_text(api: ModelApi, mode: str, bad: int) -> None:
    rows = embedding_chain(api.base_url("emb", mode)).embed(TEXTS)
    for i, (row, text) in enumerate(zip(rows, TEXTS, strict=True)):
        if i == bad:
            assert isinstance(row, np.ndarray)
            assert not np.isfinite(row).all() or not row.any()
        else:
            assert right(row, text)


def test_another_dimension_than_configured_is_an_error(api: ModelApi) -> None:
    chain = embedding_chain(api.base_url("emb", "dim2"), models={"dimension": 32})
    with pytest.raises(AllProvidersExhausted, match="vectors of 64 numbers, but 32 are expected"):
        chain.embed(["a"])


def test_a_second_server_of_another_dimension_is_not_mixed_in() -> None:
    with ModelApi() as api:
        chain = embedding_chain(api.base_url("emb", "ok"), api.base_url("emb", "dim2"))
        chain.embed(["a"])
        assert chain.dimension == 32
        chain._servers.pop(0)
        with pytest.raises(AllProvidersExhausted, match="64 numbers"):
            chain.embed(["b"])


def test_a_model_without_a_dimension_setting_says_so(api: ModelApi) -> None:
    chain = embedding_chain(api.base_url("emb", "nodims"), models={"dimension": 16})
    with pytest.raises(AllProvidersExhausted, match="does not support specifying dimensions"):
        chain.embed(["a"])


def test_a_configured_dimension_is_asked_for(api: ModelApi) -> None:
    (row,) = embedding_chain(api.base_url("emb", "ok"), models={"dimension": 16}).embed(["a"])
    assert isinstance(row, np.ndarray)
    assert row.size == 16


def test_a_batch_that_is_too_large_is_halved_and_its_size_remembered() -> None:
    with ModelApi() as api:
        chain = embedding_chain(api.base_url("emb", "batch10"))
        chain.embed(TEXTS)
        refused = [call for call in api.calls() if call.status == 400]
        assert len(refused) == 2  # 23, 12
        assert sorted(api.texts()) == sorted(TEXTS)
        assert chain.limits.batch_items == 6
        before = len(api.calls())
        chain.embed(TEXTS)
        assert all(call.status == 200 for call in api.calls()[before:])


def test_a_text_that_is_refused_alone_does_not_cost_the_others() -> None:
    long = "много слов " * 3000
    texts = [*TEXTS[:3], long, *TEXTS[3:]]
    with ModelApi() as api:
        chain = embedding_chain(api.base_url("emb", "ok"))
        rows = chain.embed(texts)
        assert sorted(api.texts()) == sorted(TEXTS)
    bad = rows.pop(3)
    assert isinstance(bad, Permanent)
    assert bad.reason == TOO_LONG
    assert all(right(row, text) for row, text in zip(rows, TEXTS, strict=True))
    assert chain.limits.batch_items == 128


def test_a_text_that_is_refused_first_does_not_hide_that_the_server_works() -> None:
    with ModelApi() as api:
        rows = embedding_chain(api.base_url("emb", "small")).embed(["слово " * 1000, "short", "brief"])
    assert isinstance(rows[0], Permanent)
    assert rows[0].reason == TOO_LONG
    assert right(rows[1], "short")
    assert right(rows[2], "brief")


def test_empty_texts_are_never_sent(api: ModelApi) -> None:
    rows = embedding_chain(api.base_url("emb", "ok")).embed(["", "a", " \x00\n"])
    assert isinstance(rows[0], Permanent)
    assert right(rows[1], "a")
    assert isinstance(rows[2], Permanent)


def test_nul_and_lone_surrogates_do_not_reach_the_wire(api: ModelApi) -> None:
    (row,) = embedding_chain(api.base_url("emb", "ok")).embed(["a\x00b \ud83d c"])
    assert right(row, "ab \ufffd c")


def test_the_next_server_of_the_chain_takes_over() -> None:
    with ModelApi() as api:
        chain = embedding_chain(api.base_url("emb", "html"), api.base_url("emb", "ok"))
        rows = chain.embed(TEXTS)
        assert len(api.calls("emb", "html")) == 3
        assert len(api.calls("emb", "ok")) == 1
    assert all(right(row, text) for row, text in zip(rows, TEXTS, strict=True))


def test_rows_that_came_before_a_server_failed_are_kept() -> None:
    with ModelApi(dies_after=7) as api:
        rows = embedding_chain(api.base_url("emb", "batch1")).embed(TEXTS)
    good = [right(row, text) for row, text in zip(rows, TEXTS, strict=True) if isinstance(row, np.ndarray)]
    lost = [row for row in rows if isinstance(row, AllProvidersExhausted)]
    assert good == [True, True]  # after 23, 12, 6, 3 and 2 were refused
    assert len(lost) == 21


def test_a_refused_key_is_not_in_the_error(api: ModelApi) -> None:
    from indexer.adapters.openai_models import open_embed
    from tests.support.models import api_settings, model_cache

    settings = api_settings(api.base_url("emb", "auth"))
    chain = open_embed(
        settings,
        cache_dir=model_cache(),
        environ={"TEST_MODEL_KEY": "sk-veryprivate-0123456789"},
        patience=Clock().patience(),
    )
    with pytest.raises(AllProvidersExhausted, match="HTTP 401: the key is not accepted") as failure:
        chain.embed(["a"])
    shown = f"{failure.value!r} {failure.value.__cause__!r} {failure.value.__context__!r} {chain.__dict__!r}"
    assert "sk-v" not in shown
    assert "6789" not in shown


def test_openai_variables_of_other_accounts_are_not_sent(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-elsewhere")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-elsewhere")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-elsewhere")
    embedding_chain(api.base_url("emb", "ok")).embed(["only mine"])
    sent = api.calls("emb", "ok")[-1]
    assert sent.key == "good"
    assert "elsewhere" not in str(sent.headers)
