"""`provider/model` names → where to ask, with which keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from indexer.adapters.attempts import Fault, Refusal
from indexer.adapters.keys import KeyPool, open_pool
from indexer.errors import AllProvidersExhausted, Misconfigured
from indexer.settings import Provider, Settings

LOCAL = "local"
CHAT_SETTING = "models.extract"
ROUTE_SETTING = "models.route"
EMBED_SETTING = "models.embedding"

WELL_KNOWN = {
    "openai": Provider(base_url="https://api.openai.com/v1", api_key_env=("OPENAI_API_KEY",)),
    "openrouter": Provider(base_url="https://openrouter.ai/api/v1", api_key_env=("OPENROUTER_API_KEY",)),
    "deepseek": Provider(base_url="https://api.deepseek.com/v1", api_key_env=("DEEPSEEK_API_KEY",)),
    "mistral": Provider(base_url="https://api.mistral.ai/v1", api_key_env=("MISTRAL_API_KEY",)),
    "groq": Provider(base_url="https://api.groq.com/openai/v1", api_key_env=("GROQ_API_KEY",)),
    "together": Provider(base_url="https://api.together.xyz/v1", api_key_env=("TOGETHER_API_KEY",)),
    "ollama": Provider(base_url="http://localhost:11434/v1"),
}


@dataclass(frozen=True)
class Endpoint:
    """One model at one provider. Its repr shows no key."""

    name: str
    model: str
    base_url: str
    timeout: float
    keys: KeyPool
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    requests_per_minute: int = 0
    tokens_per_minute: int = 0


def split_name(name: str, setting: str) -> tuple[str, str]:
    """`provider/model` at the first slash. Raises `Misconfigured` if one of them is missing."""
    provider, _, model = name.partition("/")
    if not provider or not model:
        raise Misconfigured(f"{setting} holds {name!r}; a model is named `provider/model`")
    return provider, model


def endpoints(
    chain: Sequence[str], *, setting: str, settings: Settings, environ: Mapping[str, str] | None = None
) -> list[Endpoint]:
    """
    The endpoints of a chain, in order. `setting` names it in errors (`models.extract`).

    Raises `Misconfigured` for an unknown provider or one without a key.
    """
    found = []
    for name in chain:
        provider, model = split_name(name, setting)
        known = settings.providers.get(provider) or WELL_KNOWN.get(provider)
        if known is None:
            raise Misconfigured(
                f"{setting} names {name!r}, but there is no provider {provider!r}; add a table "
                f'[providers.{provider}] with base_url = "https://…/v1" and api_key_env to indexer.toml'
            )
        if not known.base_url.startswith(("http://", "https://")):
            raise Misconfigured(f"[providers.{provider}] base_url is no http(s) URL; it ends in /v1 mostly")
        found.append(
            Endpoint(
                name=name,
                model=model,
                base_url=known.base_url,
                timeout=known.timeout,
                keys=open_pool(provider, known, environ),
                headers=known.headers,
                requests_per_minute=known.requests_per_minute,
                tokens_per_minute=known.tokens_per_minute,
            )
        )
    return found


def exhausted(setting: str, failures: Sequence[tuple[Endpoint, Fault]]) -> AllProvidersExhausted:
    """The end of a chain. Not passing if every endpoint refused this very input."""
    named = "; ".join(f"{endpoint.name}: {fault}" for endpoint, fault in failures)
    return AllProvidersExhausted(
        f"no provider of {setting} answered ({named}); check the keys and servers, then run again: "
        "what is done stays done",
        passing=not all(isinstance(fault, Refusal) for _, fault in failures),
    )
