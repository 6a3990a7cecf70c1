"""Each distinct text is embedded once, a bad one fails its page alone, and nothing paid for is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from indexer.adapters.vector_cache import SqliteVectorCache
from indexer.artifacts import Chunk, ChunkedPage, EmbeddedPage, Outcome, Reason, State
from indexer.embed import vectors
from indexer.errors import AllProvidersExhausted, ModelChanged, Permanent
from indexer.phases.embed import embed, embed_queries, signature_of
from tests.support.model_api import ModelApi, vector
from tests.support.models import embedding_chain, local_model


def page(name: str, *texts: str, topic: str = "Topic") -> ChunkedPage:
    chunks = []
    start = 0
    for i, text in enumerate(texts):
        chunks.append(Chunk(ordinal=i, topic=topic, text=text, start=start, end=start + len(text)))
        start += len(text)
    return ChunkedPage(
        signature="s",
        url=f"https://x.test/{name}",
        title=name,
        language="en",
        mode="paragraph",
        chunks=tuple(chunks),
    )


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[SqliteVectorCache]:
    made = SqliteVectorCache(tmp_path / "vectors.db")
    yield made
    made.close()


@pytest.fixture
def api() -> Iterator[ModelApi]:
    with ModelApi() as server:
        yield server


def stored(result: EmbeddedPage | Outcome) -> list[np.ndarray]:
    assert isinstance(result, EmbeddedPage), result
    return [vectors.decode(chunk.vector) for chunk in result.chunks]


def test_the_local_model_embeds_pages_and_finds_the_answer(cache: SqliteVectorCache) -> None:
    pages = [
        page("tyres", "Replacing four tyres costs 2400 roubles.", topic="Tyre service"),
        page("hours", "Мы работаем ежедневно с 9 до 21.", topic="Часы работы"),
    ]
    results, sent, cached = embed(pages, model=local_model(), cache=cache)
    assert (sent, cached) == (2, 0)
    (tyres,), (hours,) = map(stored, results)
    assert tyres.size == 384
    assert np.linalg.norm(tyres) == pytest.approx(1, abs=1e-5)
    cost, when = embed_queries(
        ["how much are new tyres?", "когда вы открыты?"], model=local_model(), prefix="query: "
    )
    assert cost @ tyres > cost @ hours
    assert when @ hours > when @ tyres
    first = results[0]
    assert isinstance(first, EmbeddedPage)
    assert (first.model, first.dimension) == ("multilingual-e5-small", 384)
    assert first.signature == signature_of(pages[0], model=local_model())


def test_vectors_are_those_of_their_own_text_and_batches_fill_across_pages(
    api: ModelApi, cache: SqliteVectorCache
) -> None:
    pages = [page(str(i), *(f"text {i} {j}" for j in range(i % 4))) for i in range(12)]
    results, sent, _ = embed(pages, model=embedding_chain(api.base_url("emb", "shuffle")), cache=cache)
    assert len(api.calls()) == 1
    assert sent == sum(len(p.chunks) for p in pages)
    for given, result in zip(pages, results, strict=True):
        for chunk, found in zip(given.chunks, stored(result), strict=True):
            assert found == pytest.approx(vector(f"Topic: Topic\n\n{chunk.text}"), abs=1e-5)


def test_a_text_is_sent_once_in_a_slice_and_never_again(api: ModelApi, cache: SqliteVectorCache) -> None:
    model = embedding_chain(api.base_url("emb", "ok"))
    footer = "The same footer on every page."
    results, sent, cached = embed(
        [page("a", footer, "a"), page("b", footer, footer)], model=model, cache=cache
    )
    assert (sent, cached) == (2, 2)
    again, sent, cached = embed([page("a", footer, "a"), page("c", "new", footer)], model=model, cache=cache)
    assert (sent, cached) == (1, 3)
    assert again[0] == results[0]
    assert sorted(api.texts()) == sorted(f"Topic: Topic\n\n{text}" for text in (footer, "a", "new"))


def test_model_adapter_and_dimension_have_vectors_of_their_own(
    api: ModelApi, cache: SqliteVectorCache
) -> None:
    pages = [page("a", "text")]
    url = api.base_url("emb", "ok")
    runs = [
        (embedding_chain(url), "", 0),
        (embedding_chain(url), "e5", 0),
        (embedding_chain(url, models={"dimension": 16}), "", 16),
    ]
    for model, adapter, dimension in runs * 2:
        embed(pages, model=model, cache=cache, adapter=adapter, dimension=dimension)
    assert len(api.calls()) == 3
    signatures = {signature_of(pages[0], model=m, adapter=a, dimension=d) for m, a, d in runs}
    assert len(signatures) == 3


def test_the_signature_is_of_what_is_embedded_and_shown_and_not_of_the_chunker() -> None:
    one = page("a", "text", "more")
    model = local_model()
    replaced = msgspec.structs.replace
    assert signature_of(one, model=model) == signature_of(replaced(one, signature="other"), model=model)
    chunk = one.chunks[0]
    for changed in (
        replaced(one, title="new"),
        replaced(one, chunks=one.chunks[:1]),
        replaced(one, chunks=(replaced(chunk, topic="new"), one.chunks[1])),
        replaced(one, chunks=(replaced(chunk, context="new"), one.chunks[1])),
        replaced(one, chunks=(replaced(chunk, text="new"), one.chunks[1])),
    ):
        assert signature_of(changed, model=model) != signature_of(one, model=model)


@pytest.mark.parametrize(("mode", "bad", "says"), [("nan", 2, "not finite"), ("zero", 0, "zero")])
def test_a_vector_of_no_use_fails_its_page_and_no_other(
    api: ModelApi, cache: SqliteVectorCache, mode: str, bad: int, says: str
) -> None:
    pages = [page(str(i), f"text {i}") for i in range(3)]
    results, *_ = embed(pages, model=embedding_chain(api.base_url("emb", mode)), cache=cache)
    for i, result in enumerate(results):
        if i == bad:
            assert isinstance(result, Outcome)
            assert (result.state, result.reason) == (State.FAILED, Reason.EMBED_FAILED)
            assert says in result.detail
        else:
            assert stored(result)[0] == pytest.approx(vector(f"Topic: Topic\n\ntext {i}"), abs=1e-5)


def test_what_came_back_before_the_servers_failed_is_not_asked_for_again(cache: SqliteVectorCache) -> None:
    pages = [page(str(i), f"text {i}") for i in range(10)]
    with ModelApi(dies_after=2) as api:
        model = embedding_chain(api.base_url("emb", "ok"), models={"batch_items": 4})
        with pytest.raises(AllProvidersExhausted, match="HTTP 500"):
            embed(pages, model=model, cache=cache)
        before = api.texts()
        assert 0 < len(before) <= 8
    with ModelApi() as api:
        model = embedding_chain(api.base_url("emb", "ok"), models={"batch_items": 4})
        results, sent, cached = embed(pages, model=model, cache=cache)
        assert (sent, cached) == (10 - len(before), len(before))
        assert sorted(before + api.texts()) == [f"Topic: Topic\n\ntext {i}" for i in range(10)]
    assert all(isinstance(result, EmbeddedPage) for result in results)


def test_halves_of_a_batch_that_came_back_are_kept_too(cache: SqliteVectorCache) -> None:
    pages = [page(str(i), f"text {i}") for i in range(17)]
    with ModelApi(dies_after=2) as api:  # 17 are refused, 9 go through, 8 do not
        model = embedding_chain(api.base_url("emb", "batch10"))
        with pytest.raises(AllProvidersExhausted, match="HTTP 500"):
            embed(pages, model=model, cache=cache)
    with ModelApi() as api:
        _, sent, cached = embed(pages, model=embedding_chain(api.base_url("emb", "ok")), cache=cache)
        assert (sent, cached) == (8, 9)


def test_a_long_text_is_embedded_in_parts_and_averaged_by_their_tokens(
    api: ModelApi, cache: SqliteVectorCache
) -> None:
    model = embedding_chain(api.base_url("emb", "ok"), models={"max_tokens": 60})
    text = " ".join(f"We change oil number {i}. Балансировка колёс {i} стоит дорого." for i in range(9))
    (result,), sent, _ = embed([page("a", text)], model=model, cache=cache)
    assert isinstance(result, EmbeddedPage)
    parts = api.texts()
    assert result.chunks[0].parts == len(parts) == sent > 1
    assert all(part.startswith("Topic: Topic\n\n") and model.count(part) <= 60 for part in parts)
    expected = sum(model.count(part) * np.asarray(vector(part)) for part in parts)
    assert stored(result)[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)
    (again,), sent, cached = embed([page("a", text)], model=model, cache=cache)
    assert again == result
    assert (sent, cached) == (0, len(parts))


def test_a_text_that_only_the_server_finds_too_long_is_halved_until_it_fits(
    api: ModelApi, cache: SqliteVectorCache
) -> None:
    model = embedding_chain(api.base_url("emb", "small"))  # 512 tokens, though its name does not say so
    pages = [page("short", "text"), page("long", "Очень длинный текст о ценах. " * 100)]
    (short, long), *_ = embed(pages, model=model, cache=cache)
    assert isinstance(long, EmbeddedPage)
    assert long.chunks[0].parts > 1
    assert stored(short)[0] == pytest.approx(vector("Topic: Topic\n\ntext"), abs=1e-5)
    assert np.linalg.norm(stored(long)[0]) == pytest.approx(1, abs=1e-5)
    before = len(api.texts())
    again, *_ = embed(pages, model=model, cache=cache)
    assert again[1] == long
    assert len(api.texts()) == before


def test_the_local_model_splits_what_is_over_its_limit(cache: SqliteVectorCache) -> None:
    text = "Стоимость замены масла зависит от двигателя. " * 60
    (result,), *_ = embed([page("a", text)], model=local_model(), cache=cache)
    assert isinstance(result, EmbeddedPage)
    assert result.chunks[0].parts > 1


def test_a_page_without_chunks_is_embedded_at_once(api: ModelApi, cache: SqliteVectorCache) -> None:
    (result,), sent, cached = embed([page("a")], model=embedding_chain(api.base_url("emb")), cache=cache)
    assert isinstance(result, EmbeddedPage)
    assert (result.chunks, sent, cached, len(api.calls())) == ((), 0, 0, 0)


def test_a_model_that_changed_its_dimension_is_not_mixed_with_what_it_made_before(
    api: ModelApi, cache: SqliteVectorCache
) -> None:
    embed([page("a", "old")], model=embedding_chain(api.base_url("emb", "ok")), cache=cache)
    changed = embedding_chain(api.base_url("emb", "dim2"))
    with pytest.raises(ModelChanged, match="64 numbers, those made before have 32"):
        embed([page("a", "old"), page("b", "new")], model=changed, cache=cache)


def test_an_empty_question_is_refused_and_a_long_one_averaged() -> None:
    with pytest.raises(Permanent, match="empty"):
        embed_queries(["ok?", " \n"], model=local_model(), prefix="query: ")
    (found,) = embed_queries(["сколько стоит замена масла и " * 200], model=local_model(), prefix="query: ")
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
