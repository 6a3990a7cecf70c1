"""
Chat and embedding chains over OpenAI-compatible servers; `open_embed` also knows the local model.

A chain asks its endpoints in order: a passing failure three times, anything else once.
When none is left, `AllProvidersExhausted` names each failure.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.adapters.attempts import Fault, NoAnswer, Patience, Refusal
from indexer.adapters.providers import (
    CHAT_SETTING,
    EMBED_SETTING,
    LOCAL,
    ROUTE_SETTING,
    Endpoint,
    endpoints,
    exhausted,
    split_name,
)
from indexer.errors import Misconfigured, Permanent

if TYPE_CHECKING:
    from indexer.ports import Chat, Embed
    from indexer.settings import Settings

MODELS = "models"  # folder of the local model's graph
TOKENS = "tokens"  # folder of vocabularies


def open_chat(
    settings: Settings,
    *,
    setting: str = CHAT_SETTING,
    environ: Mapping[str, str] | None = None,
    patience: Patience | None = None,
) -> Chat:
    """
    The chain of a `setting`: `models.extract` or `models.route`.

    Raises `Misconfigured` naming the table or variable that is missing.
    """
    names = settings.models.route if setting == ROUTE_SETTING else settings.models.extract
    chain = endpoints(names, setting=setting, settings=settings, environ=environ)
    if not chain:
        raise Misconfigured(f"{setting} names no model; set it to a list of `provider/model`")
    return ChatChain(chain, setting=setting, patience=patience or Patience())


def open_embed(
    settings: Settings,
    *,
    cache_dir: Path,
    environ: Mapping[str, str] | None = None,
    patience: Patience | None = None,
) -> Embed:
    """
    The chain `models.embedding`: the local model, or one model on several servers.

    `cache_dir` keeps what can be rebuilt (the model's graph, vocabularies). Raises
    `Misconfigured` for a chain of different models, or for what `endpoints` refuses.
    """
    names = settings.models.embedding
    if not names:
        raise Misconfigured(f"{EMBED_SETTING} names no model; remove it for the local one")
    split = [split_name(name, EMBED_SETTING) for name in names]
    if len({(provider == LOCAL, _plain(model)) for provider, model in split}) > 1:
        raise Misconfigured(
            f"{EMBED_SETTING} holds different models ({', '.join(names)}), whose vectors cannot be "
            "compared; name one model, on as many servers as you like"
        )
    if split[0][0] == LOCAL:
        return _open_local(split[0][1], settings, cache_dir)
    from indexer.adapters.openai_embeddings import EmbeddingChain
    from indexer.adapters.tokens import counter_for

    chain = endpoints(names, setting=EMBED_SETTING, settings=settings, environ=environ)
    return EmbeddingChain(
        chain,
        name=split[0][1].rsplit("/", 1)[-1],
        models=settings.models,
        counter=lambda: counter_for(split[0][1], folder=cache_dir / TOKENS),
        patience=patience or Patience(),
    )


def _open_local(model: str, settings: Settings, cache_dir: Path) -> Embed:
    from indexer.adapters.local_model import NAME, open_local

    if model != NAME:
        raise Misconfigured(f"{EMBED_SETTING} names {LOCAL}/{model}; the local model is {LOCAL}/{NAME}")
    return open_local(settings.models, folder=cache_dir / MODELS)


def _plain(model: str) -> str:
    return model.rsplit("/", 1)[-1].lower()


class ChatChain:
    """The `Chat` port. Thread-safe; how many calls run at a time is the caller's business."""

    def __init__(self, chain: Sequence[Endpoint], *, patience: Patience, setting: str = CHAT_SETTING) -> None:
        from indexer.adapters.openai_wire import Wire

        self.model = " > ".join(endpoint.name for endpoint in chain)
        self._wires = [Wire(endpoint, patience=patience) for endpoint in chain]
        self._patience = patience
        self._setting = setting
        self.calls = 0
        self._lock = threading.Lock()
        self._no_temperature: set[str] = set()

    def __call__(self, system: str, user: str, *, temperature: float = 0.1) -> str:
        """
        The answer's text.

        Raises `Permanent` if a model answered with something that is no answer and no other
        one did better, `AllProvidersExhausted` if none answered.
        """
        from indexer.adapters.clean import clean

        with self._lock:
            self.calls += 1
        messages = [
            {"role": "system", "content": clean(system)},
            {"role": "user", "content": clean(user)},
        ]
        failures: list[tuple[Endpoint, Fault]] = []
        for wire in self._wires:
            try:
                return self._patience(partial(self._ask, wire, messages, temperature))
            except Fault as fault:
                failures.append((wire.endpoint, fault))
        silent = [fault for _, fault in failures if isinstance(fault, NoAnswer)]
        if silent:
            named = "; ".join(f"{endpoint.name}: {fault}" for endpoint, fault in failures)
            raise Permanent(named, reason=silent[0].reason)
        raise exhausted(self._setting, failures)

    def _ask(self, wire: Any, messages: list[dict[str, str]], temperature: float) -> str:
        """One request; without a temperature from then on if the model knows none."""
        from indexer.adapters.openai_wire import read_completion

        arguments: dict[str, Any] = {"model": wire.endpoint.model, "messages": messages}
        if wire.endpoint.name not in self._no_temperature:
            try:
                return read_completion(wire, wire.chat(**arguments, temperature=temperature))
            except Refusal as refusal:
                if "temperature" not in str(refusal):
                    raise
                self._no_temperature.add(wire.endpoint.name)
        return read_completion(wire, wire.chat(**arguments))
