"""Settings → models: the part of `indexer.pipeline.wiring` that opens them, each when it is first needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.ports import Chat, Embed, Rerank
from indexer.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE = ".cache"


class Models:
    """The models that one command works with."""

    settings: Settings
    projects_dir: Path

    @cached_property
    def chat(self) -> Chat | None:
        """The chat chain of the `extract` tier, or `None` if there is none or it is turned off."""
        if not self.settings.models.extract or not self.settings.chunk.llm:
            return None
        from indexer.adapters.openai_models import open_chat

        return open_chat(self.settings)

    @cached_property
    def answers(self) -> Chat | None:
        """The same chain for answers, which are remembered, also where it is turned off for chunking."""
        from indexer.adapters.providers import CHAT_SETTING

        return self._remembering(CHAT_SETTING) if self.settings.models.extract else None

    @cached_property
    def routing(self) -> Chat | None:
        """The chat chain that has a second look at a question's route, or `None`; it is remembered too."""
        from indexer.adapters.providers import ROUTE_SETTING

        return self._remembering(ROUTE_SETTING) if self.settings.models.route else None

    def _remembering(self, setting: str) -> Chat:
        from indexer.adapters.answer_cache import Remembering
        from indexer.adapters.openai_models import open_chat

        return Remembering(
            open_chat(self.settings, setting=setting), self.projects_dir / CACHE / "answers.db"
        )

    @cached_property
    def embed(self) -> Embed:
        """The embedding model."""
        from indexer.adapters.openai_models import open_embed

        folder = self.settings.models.cache_dir
        return open_embed(self.settings, cache_dir=Path(folder) if folder else self.projects_dir / CACHE)

    @cached_property
    def rerank(self) -> Rerank | None:
        """The reranker of hits, or `None` if none is configured."""
        if not self.settings.search.rerank:
            return None
        from indexer.adapters.rerank import open_rerank

        return open_rerank(self.settings)

    def counter(self, model: str) -> Callable[[str], int]:
        """Counts the tokens of a chat model's texts, roughly where its tokenizer is not at hand."""
        from indexer.adapters.tokens import counter_for

        return counter_for(model, folder=Path(self.settings.models.cache_dir))
