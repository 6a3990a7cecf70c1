"""`bot check`: whether a bot answers, and whether it serves what is live."""

from __future__ import annotations

from tests.support.shop import open_shop, sources
from tests.support.web import Reply, Site


def test_bot_check_says_whether_the_bot_serves_what_is_live(indexer):
    with open_shop({"/": ("A", "<p>Some text about us.</p>")}) as shop:
        live = indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json["generation"]
    indexer("bot", "check", "p").fails(2, "no bot is configured")
    indexer("bot", "look", "p").fails(2)
    with Site() as ear:
        served = {"generation": live}
        ear.fallback(lambda _request: Reply(f'{{"generation": "{served["generation"]}"}}'))
        indexer("set", "--project-name", "p", "bot-url", ear.origin).ok()
        asked = indexer("bot", "check", "p", "--json", INDEXER_BOT_SECRET="signing-secret").ok()
        assert (asked.json["serves"], asked.json["live"], asked.json["known"]) == (live, live, True)
        headers = {name.lower() for name in ear.log[-1].headers}
        assert {"x-indexer-signature", "x-indexer-timestamp"} <= headers
        served["generation"] = "01OLD"
        other = indexer("bot", "check", "--project-name", "p")
        assert (other.code, "it serves 01OLD" in other.out, "indexer register" in other.out) == (
            3,
            True,
            True,
        )
        ear.fallback(lambda _request: Reply(status=404))
        assert indexer("bot", "check", "p").code == 3
    indexer("bot", "check", "p", INDEXER_BOT__RETRIES="0").fails(1, "does not answer")
