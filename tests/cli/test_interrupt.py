"""Ctrl-C: what is paid for is kept, what is said is one line, and a second one does not wait."""

from __future__ import annotations

import signal
import time
from collections import Counter

import pytest

from tests.support.cli import Cli
from tests.support.model_api import ModelApi
from tests.support.shop import open_shop, sources

CONFIGURATION = """
[models]
embedding = ["fake/m"]
batch_items = 1
[providers.fake]
base_url = "{url}"
"""


@pytest.fixture
def world(tmp_path):
    with open_shop() as site, ModelApi() as api:
        yield Cli(tmp_path), site, api


def _begin(world, mode):
    """A run with requests for vectors under way."""
    cli, site, api = world
    (cli.folder / "indexer.toml").write_text(CONFIGURATION.format(url=api.base_url("emb", mode)))
    run = cli.start("init-project", "--name", "p", *sources(site), "--no-register")
    for _ in range(600):
        if api.calls("emb"):
            return run
        time.sleep(0.05)
    raise AssertionError(run.communicate(timeout=10))


def test_what_is_under_way_is_kept_and_the_next_run_goes_on(world):
    cli, site, api = world
    run = _begin(world, "slow")
    run.send_signal(signal.SIGTERM)
    _, told = run.communicate(timeout=60)
    assert run.returncode == 130, told
    (line,) = [line for line in told.decode().splitlines() if "interrupted" in line]
    assert "indexer seed --project-name p" in line
    assert b"Traceback" not in told
    report = cli("seed", "--project-name", "p", *sources(site), "--no-register", "--json").ok().json
    assert (report["indexed"], report["fetched"]) == (report["found"], 0)
    assert set(Counter(api.texts()).values()) == {1}
    assert not list(cli.projects.rglob(".tmp-*"))


def test_a_second_one_ends_at_once(world):
    run = _begin(world, "hang")
    run.send_signal(signal.SIGINT)
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=30)  # a request may take 60 s
    assert run.returncode == 130, told
    assert b"interrupted" in told
    assert b"Traceback" not in told
