"""Ctrl-C: what is paid for is kept, what is said is one line, and a second one does not wait."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest

from tests.support.cli import Cli
from tests.support.model_api import ModelApi, inputs
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


@pytest.fixture
def two(world):
    """Two projects that are chunked; their vectors are owed."""
    cli, site, _ = world
    pages = {
        f"/{name}": (name, f"<p>The {name} costs {len(name)} roubles a day.</p>")
        for name in ("sledge", "kayak")
    }
    with open_shop(pages) as other:
        for name, one in (("a", site), ("b", other)):
            cli("init-project", "--name", name, *sources(one), "--no-register", "--until-phase", "chunk").ok()
        yield world


def _begin_both(world, mode):
    """Runs of both projects, with requests for vectors of each under way."""
    cli, _, api = world
    (cli.folder / "indexer.toml").write_text(CONFIGURATION.format(url=api.base_url("emb", mode)))
    run = cli.start("reindex", "--all", "--jobs", "2", "--no-register")
    for _ in range(600):
        asked = [text for call in api.calls("emb") for text in inputs(call.body)]
        if len({"roubles a day" in text for text in asked}) == 2:  # of both
            return run
        time.sleep(0.05)
    raise AssertionError(run.communicate(timeout=10))


def test_a_terminals_ctrl_c_is_one_for_projects_that_run_side_by_side(two):
    cli, _, api = two
    run = _begin_both(two, "slow")
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all of the group
    _, told = run.communicate(timeout=60)
    assert run.returncode == 130, told
    assert b"Traceback" not in told
    assert b"destroyed" not in told
    assert not list(cli.projects.rglob(".tmp-*"))
    cli("reindex", "--all", "--no-register").ok()
    assert set(Counter(api.texts()).values()) == {1}, "what was paid for was kept"


def test_a_second_one_reaches_projects_that_run_side_by_side(two):
    cli = two[0]
    run = _begin_both(two, "hang")
    run.send_signal(signal.SIGINT)
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=30)  # a request may take 60 s
    assert run.returncode == 130, told
    assert b"Traceback" not in told
    for name in ("a", "b"):
        for _ in range(200):
            done = cli("set", "--project-name", name, "language", "ru")
            if done.code != 5:
                break
            time.sleep(0.05)
        assert done.code != 5, "it is still held"
