"""
`kill -9` at random moments of a run, each followed by the same command.

The end is that of an undisturbed run, nothing is fetched, asked or embedded twice beyond
what was in flight, and the live index answers in between.
`INDEXER_TEST_KILLS` sets how many moments are tried (default 1).
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter

import pytest

from tests.support.cli import Cli, kill
from tests.support.model_api import ModelApi
from tests.support.shop import html, open_shop, sources

KILLS = int(os.environ.get("INDEXER_TEST_KILLS", "1"))
PAGES = 24
CONCURRENCY = 2
BATCH = 4
CHATS = 8
IN_FLIGHT = 16  # asked for, being read, being written, or in the last batch of marks


def _pages(version: int) -> dict[str, tuple[str, str]]:
    return {
        f"/page-{number}": (
            f"Услуга {number}",
            "".join(
                f"<h2>Раздел {part}</h2><p>Услуга {number}, часть {part}, выпуск {version}: "
                f"стоит {number * 100 + part} рублей и длится {part + 1} часа.</p>"
                for part in range(3)
            ),
        )
        for number in range(PAGES)
    }


def _publish(site, version):
    for path, (title, body) in _pages(version).items():
        site.page(path, html(title, body))


def _configuration(api: ModelApi) -> str:
    return f"""
[models]
extract = ["chat/model"]
embedding = ["vectors/model"]
batch_items = {BATCH}
[providers.chat]
base_url = "{api.base_url("llm")}"
api_key_env = ["TEST_KEY"]
[providers.vectors]
base_url = "{api.base_url("emb")}"
api_key_env = ["TEST_KEY"]
"""


def _artifacts(cli: Cli) -> dict[str, bytes]:
    folder = cli.projects / "p"
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.glob("[123]_*/*.json"))}


def _fetched(site) -> Counter[str]:
    return Counter(
        request.path for request in list(site.log) if request.status == 200 and "/page" in request.path
    )


def _extra(counts: Counter[str]) -> int:
    return sum(count - 1 for count in counts.values())


@pytest.fixture
def world(tmp_path):
    with open_shop(_pages(0)) as site, ModelApi() as api:
        yield tmp_path, site, api


def _cli(folder, api, name):
    (folder / name).mkdir()
    cli = Cli(folder / name, TEST_KEY="k", INDEXER_RUN__WORKERS="1")
    (cli.folder / "indexer.toml").write_text(_configuration(api))
    return cli


@pytest.mark.timeout(1200)
def test_a_killed_run_ends_as_an_undisturbed_one(world):
    folder, site, api = world
    start = [
        "init-project",
        "--name",
        "p",
        *sources(site),
        "--concurrency",
        str(CONCURRENCY),
        "--no-register",
    ]
    calm = _cli(folder, api, "calm")
    calm(*start, "--json").ok()
    site.reset()
    began = time.monotonic()
    _cli(folder, api, "timed")(*start, "--json").ok()
    length = time.monotonic() - began
    moments = random.Random(1)
    for trial in range(KILLS):
        cli = _cli(folder, api, f"trial-{trial}")
        site.reset()
        texts, chats = len(api.texts()), len(api.calls("llm"))
        run = cli.start(*start)
        time.sleep(moments.uniform(0.3, length))
        kill(run)
        if cli("list", "--json").ok().json:
            report = cli("seed", "--project-name", "p", *sources(site), "--no-register", "--json").ok().json
        else:
            report = cli(*start, "--json").ok().json
        assert report["indexed"] == PAGES
        assert _artifacts(cli) == _artifacts(calm)
        assert _extra(_fetched(site)) <= IN_FLIGHT
        assert _extra(Counter(api.texts()[texts:])) <= BATCH
        calls = [call.body for call in api.calls("llm")[chats:] if call.body]  # a kill may cut one short
        asked = Counter(body["messages"][-1]["content"] for body in calls)
        assert _extra(asked) <= CHATS


@pytest.mark.timeout(1200)
def test_the_live_index_answers_whole_whatever_is_killed(world):
    folder, site, api = world
    cli = _cli(folder, api, "live")
    began = time.monotonic()
    cli("init-project", "--name", "p", *sources(site), "--no-register", "--json").ok()
    length = time.monotonic() - began
    moments = random.Random(2)
    for trial in range(1, KILLS + 1):
        _publish(site, trial)
        run = cli.start("seed", "--project-name", "p", "--no-register")
        time.sleep(moments.uniform(0.3, length))
        kill(run)
        hits = (
            cli(
                "search", "--project-name", "p", "--limit", "200", "--mode", "bm25", "--json", "услуга выпуск"
            )
            .ok()
            .json
        )
        editions = {
            word for hit in hits for word in (str(trial - 1), str(trial)) if f"выпуск {word}" in hit["text"]
        }
        assert len(editions) == 1, "old and new fragments in one index"
        assert len({hit["url"] for hit in hits}) == PAGES
        cli("seed", "--project-name", "p", "--no-register", "--json").ok()
        hits = (
            cli(
                "search", "--project-name", "p", "--limit", "200", "--mode", "bm25", "--json", "услуга выпуск"
            )
            .ok()
            .json
        )
        assert all(f"выпуск {trial}" in hit["text"] for hit in hits)
        assert len({hit["url"] for hit in hits}) == PAGES
