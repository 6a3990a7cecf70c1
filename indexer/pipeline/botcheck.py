"""Whether a project's bot answers, and whether it serves what is live."""

from __future__ import annotations

from msgspec import Struct

from indexer.errors import Exit, Misconfigured
from indexer.pipeline.wiring import Wiring
from indexer.ports import Project


class BotState(Struct, frozen=True, kw_only=True):
    """
    What the bot says. `serves` empty: it does not say, or serves nothing.

    `exit`: 0 if it serves what is live, or does not tell, else 3.
    """

    project: str
    id: str
    bot: str
    known: bool
    serves: str
    live: str
    exit: int

    @property
    def code(self) -> Exit:
        """As an exit code."""
        return Exit(self.exit)


def check(wiring: Wiring, project: Project) -> BotState:
    """
    Ask. Raises `Misconfigured` if no bot is configured, `Retryable` if it does not answer,
    `Permanent` if it refuses to tell.
    """
    bot = wiring.bot(project)
    if bot is None:
        raise Misconfigured(
            f"no bot is configured for {project.name!r}; name it with "
            f"`indexer set --project-name {project.name} bot-url https://…` or [bot] url in indexer.toml"
        )
    served = bot.check(project.id)
    current = wiring.store(project).current()
    live = current.generation if current else ""
    agrees = served.known and served.generation in (live, "")
    return BotState(
        project=project.name,
        id=project.id,
        bot=served.url,
        known=served.known,
        serves=served.generation,
        live=live,
        exit=int(Exit.DONE if agrees else Exit.PARTIAL),
    )
