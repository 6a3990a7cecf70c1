"""Answers of chat models by what was asked, in one SQLite file: the same question is paid for once."""

from __future__ import annotations

from pathlib import Path

from indexer import ids
from indexer.adapters.blobs import SqliteBlobs
from indexer.ports import Chat

TABLE = "answers"


class Remembering:
    """
    The `Chat` port over another one, for questions that are asked at temperature 0.

    What the model says at another temperature is not kept: it is asked for its variety.
    """

    def __init__(self, chat: Chat, path: Path) -> None:
        self._chat = chat
        self._blobs = SqliteBlobs(path, TABLE)
        self.model = chat.model

    @property
    def calls(self) -> int:
        """Requests that were sent."""
        return self._chat.calls

    def __call__(self, system: str, user: str, *, temperature: float = 0.1) -> str:
        """The answer's text, remembered or asked for; raises what the model's chain raises."""
        if temperature:
            return self._chat(system, user, temperature=temperature)
        key = ids.digest(self.model, system, user)
        known = self._blobs.get([key]).get(key)
        if known is not None:
            return known.decode("utf-8", "surrogatepass")
        answer = self._chat(system, user, temperature=temperature)
        self._blobs.put({key: answer.encode("utf-8", "surrogatepass")})
        return answer

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._blobs.close()
