"""Whether model servers answer: `GET {base_url}/models` with each key, which costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.adapters.providers import CHAT_SETTING, EMBED_SETTING, LOCAL, ROUTE_SETTING, Endpoint, endpoints
from indexer.records import Answered
from indexer.settings import Settings

TIMEOUT = 10.0  # seconds
_REFUSED = {401, 403}
_FAILING = {500, 502, 503, 504}


def probe_models(settings: Settings) -> list[Answered]:
    """
    Each endpoint of all chains and each of its keys, asked once.

    Any answer but a refused key or a failing server will do: not every server has that call. Raises
    `Misconfigured` as the chains do.
    """
    embedding = [name for name in settings.models.embedding if not name.startswith(f"{LOCAL}/")]
    found: dict[tuple[str, str], Endpoint] = {}
    chat = ((settings.models.extract, CHAT_SETTING), (settings.models.route, ROUTE_SETTING))
    for chain, setting in (*chat, (embedding, EMBED_SETTING)):
        for endpoint in endpoints(chain, setting=setting, settings=settings):
            found.setdefault((endpoint.base_url, endpoint.name.partition("/")[0]), endpoint)
    return [answer for endpoint in found.values() for answer in _ask(endpoint)]


def _ask(endpoint: Endpoint) -> Sequence[Answered]:
    import httpx

    answers = []
    provider, pool = endpoint.name.partition("/")[0], endpoint.keys
    for number in range(1, len(pool) + 1):
        key = pool.next()
        headers = {**endpoint.headers, **({"Authorization": f"Bearer {key}"} if key else {})}
        named = f"{provider} at {pool.redact(endpoint.base_url)}" + (
            f", key {number}" if len(pool) > 1 else ""
        )
        try:
            answer = httpx.get(
                f"{endpoint.base_url.rstrip('/')}/models",
                headers=headers,
                timeout=min(TIMEOUT, endpoint.timeout),
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            answers.append(Answered(server=named, problem=f"does not answer ({type(error).__name__})"))
            break  # with another key neither
        status = answer.status_code
        problem = f"answers {status}" if status in _FAILING else ""
        if status in _REFUSED:
            problem = "refuses the key"
        answers.append(Answered(server=named, problem=problem))
    return answers
