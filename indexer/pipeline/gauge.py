"""What pages come to further on: text, chunks, tokens to embed, calls of a chat model. Nothing is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from msgspec import Struct

from indexer.artifacts import ChunkedPage, EmbeddedPage, Page
from indexer.ids import url_key
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Chat

ANSWER_TOKENS = 25  # of a chat model for one section: a topic and the first words


class Measured(Struct, frozen=True, kw_only=True):
    """
    One page, or the sum of several. `tokens`: of all texts; `owed`: of those to be embedded.

    `chat_…_owed`: the part of the calls and of their tokens that is not answered yet.
    """

    pages: int = 0
    characters: int = 0
    chunks: int = 0
    tokens: int = 0
    owed: int = 0
    chat_calls: int = 0
    chat_tokens: int = 0
    chat_calls_owed: int = 0
    chat_tokens_owed: int = 0

    def __add__(self, other: Measured) -> Measured:
        return Measured(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


class Gauge:
    """Measures pages under the settings of `wiring`, which is to be a `dry` one."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._settings = wiring.settings.chunk
        self._cache = wiring.known_vectors

    @property
    def chat(self) -> Chat | None:
        """The chain that would be asked."""
        return self._wiring.chat

    @cached_property
    def _chat_count(self) -> Callable[[str], int]:
        return self._wiring.counter(self._wiring.settings.models.extract[0])

    def page(self, page: Page) -> Measured:
        """A page that was read just now."""
        from indexer.phases import chunk

        cut = chunk.chunk(page, settings=self._settings, chat=None)
        tokens, owed = self._weigh(cut)
        calls, asked = self._asking(page, len(cut.chunks))
        return Measured(
            pages=1,
            characters=len(page.text),
            chunks=len(cut.chunks),
            tokens=tokens,
            owed=owed,
            chat_calls=calls,
            chat_tokens=asked,
            chat_calls_owed=calls,
            chat_tokens_owed=asked,
        )

    def stored(self, artifacts: Artifacts, url: str) -> Measured | None:
        """A page as stored: only what is stale counts as owed. `None` if it is not there."""
        from indexer.phases import chunk, embed

        key = url_key(url)
        page = artifacts.load(Page, key)
        if page is None:
            return None
        model, models = self._wiring.embed, self._wiring.settings.models
        wanted = chunk.signature_of(
            page, settings=self._settings, chat_model=self.chat.model if self.chat else ""
        )
        chunked = artifacts.load(ChunkedPage, key)
        if chunked is None or chunked.signature != wanted:
            return self.page(page)
        tokens, owed = self._weigh(chunked)
        signature = embed.signature_of(
            chunked, model=model, adapter=models.adapter, dimension=models.dimension
        )
        if artifacts.signature(EmbeddedPage, key) == signature:
            owed = 0
        calls, asked = self._asking(page, len(chunked.chunks))
        return Measured(
            pages=1,
            characters=len(page.text),
            chunks=len(chunked.chunks),
            tokens=tokens,
            owed=owed,
            chat_calls=calls,
            chat_tokens=asked,
        )

    def _weigh(self, chunked: ChunkedPage) -> tuple[int, int]:
        from indexer.phases import embed

        return embed.weigh(
            [chunked],
            model=self._wiring.embed,
            cache=self._cache,
            adapter=self._wiring.settings.models.adapter,
        )

    def _asking(self, page: Page, chunks: int) -> tuple[int, int]:
        """Calls of the chat model for a page, and their tokens, answers included."""
        if self.chat is None:
            return 0, 0
        from indexer.phases import chunk

        asked = chunk.questions(page, settings=self._settings)
        tokens = sum(self._chat_count(system) + self._chat_count(question) for system, question in asked)
        return len(asked), tokens + ANSWER_TOKENS * chunks
