"""
Models for tests: the real local one, loaded once a process, and chains to `ModelApi`.

    model = local_model()                                    # quick: 0.3 s, then 4 ms a short text
    settings = api_settings(api.base_url("emb", "ok"))       # models.embedding = srv/test-embedding
    chat = chat_chain(api.base_url("llm", "ok"))
"""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path
from typing import Any

from indexer.adapters.attempts import Patience
from indexer.adapters.local_model import LocalModel
from indexer.adapters.openai_embeddings import EmbeddingChain
from indexer.adapters.openai_models import ChatChain, open_chat, open_embed
from indexer.settings import Models, Provider, Settings

ENVIRON = {"TEST_MODEL_KEY": "good"}


def model_cache() -> Path:
    """One folder for all test runs of this user: the graph is built once a machine."""
    return Path(tempfile.gettempdir()) / f"indexer-test-models-{os.getuid()}"


@functools.cache
def local_model(precision: str = "int8") -> LocalModel:
    return LocalModel(folder=model_cache(), precision=precision, threads=1)


class Clock:
    """A sleep that does not: it notes how long it was asked to, and it is later then."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def patience(self) -> Patience:
        return Patience(sleep=self.sleep, now=lambda: sum(self.slept), jitter=lambda: 0.5)


def api_settings(
    *urls: str, timeout: float = 5.0, models: dict[str, Any] | None = None, **tables: Any
) -> Settings:
    """A chain of the same model on these servers, for both tiers."""
    names = [f"srv{i}" if i else "srv" for i in range(len(urls))]
    return Settings(
        providers={
            name: Provider(base_url=url, api_key_env=("TEST_MODEL_KEY",), timeout=timeout)
            for name, url in zip(names, urls, strict=True)
        },
        models=Models(
            embedding=tuple(f"{name}/test-embedding" for name in names),
            extract=tuple(f"{name}/org/test-chat" for name in names),
            **(models or {}),
        ),
        **tables,
    )


def embedding_chain(*urls: str, clock: Clock | None = None, **options: Any) -> EmbeddingChain:
    chain = open_embed(
        api_settings(*urls, **options),
        cache_dir=model_cache(),
        environ=ENVIRON,
        patience=(clock or Clock()).patience(),
    )
    assert isinstance(chain, EmbeddingChain)
    return chain


def chat_chain(*urls: str, clock: Clock | None = None, **options: Any) -> ChatChain:
    chain = open_chat(api_settings(*urls, **options), environ=ENVIRON, patience=(clock or Clock()).patience())
    assert isinstance(chain, ChatChain)
    return chain
