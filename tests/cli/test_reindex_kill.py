"""Whatever is killed while a project is kept true: the live index is whole, and the next run ends it."""

from __future__ import annotations

import os
import random
import time

import pytest

from tests.support.cli import kill
from tests.support.shop import html, open_shop, sources

PAGES = {
    f"/u/{number}": (f"Услуга {number}", f"<p>Услуга номер {number} стоит {number * 100 + 100} рублей.</p>")
    for number in range(8)
}


def _texts(indexer) -> list[str]:
    words = ("search", "--project-name", "p", "--mode", "bm25", "--limit", "50", "--json", "услуга рублей")
    return [hit["text"] for hit in indexer(*words).ok().json]


KILLS = int(os.environ.get("INDEXER_TEST_KILLS", "1"))  # of each command


@pytest.mark.timeout(60 * KILLS)
@pytest.mark.parametrize(
    ("command", "cloned"),
    [("reindex", False), ("reindex", True), ("publish", True), ("rollback", False), ("gc", False)],
)
def test_a_kill_leaves_the_index_whole_and_the_next_run_ends_it(indexer, tmp_path, command, cloned):
    moments = random.Random(command)
    if cloned:
        (tmp_path / "indexer.toml").write_text("[index]\nclone_from = 1\n", encoding="utf-8")
    with open_shop(PAGES) as site:
        indexer("init-project", "--name", "p", *sources(site)).ok()
        for trial in range(1, KILLS + 1):
            site.page("/u/3", html("Услуга 3", f"<p>Услуга номер 3 подорожала: {trial}777 рублей.</p>"))
            if command == "publish":
                indexer("reindex", "--project-name", "p", "--until-phase", "scrape").ok()
            elif command in ("rollback", "gc"):
                indexer("reindex", "--project-name", "p").ok()
            run = indexer.start(command, "--project-name", "p")
            time.sleep(moments.uniform(0.3, 1.2))
            kill(run)
            assert len(_texts(indexer)) == len(PAGES)
            done = indexer("reindex", "--project-name", "p")
            if done.code == 4:
                done = indexer(
                    "publish", "--project-name", "p", "--force", "--reason", "the rollback was a test"
                )
            done.ok()
            assert f"{trial}777 рублей" in " ".join(_texts(indexer))
            again = indexer("reindex", "--project-name", "p", "--json").ok().json
            assert (again["embedded"], again["fetched"], again["changed"]) == (0, 0, 0)
            live = [
                one for one in indexer("generations", "--project-name", "p", "--json").json if one["live"]
            ]
            assert len(live) == 1
