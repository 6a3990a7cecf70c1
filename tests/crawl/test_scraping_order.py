"""Neither timing nor kills nor the number of workers change what comes out."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from indexer.artifacts import Sources
from indexer.pipeline.pools import open_processes
from tests.support.scraping import Project, article
from tests.support.web import Reply, Site

PAGES = 40
SAME = "Одинаковый текст, который стоит на нескольких страницах сайта и должен остаться один раз."


def _site(*, seed=0, slowest=0.0):
    """A linked site with copies, redirects, dead links and noindex pages; answers come late at random."""
    chance = random.Random(seed)
    site = Site()

    def page(request):
        time.sleep(chance.random() * slowest)
        number = int(request.path.rpartition("/")[2] or 0)
        links = tuple(f"/p/{(number * 3 + step) % PAGES}" for step in (1, 2, 5))
        if number % 11 == 7:
            return Reply(status=301, headers={"Location": f"/p/{(number + 1) % PAGES}"})
        if number % 13 == 5:
            return Reply(status=404)
        head = '<meta name="robots" content="noindex">' if number % 9 == 4 else ""
        return Reply(
            article(
                "Копия" if number % 10 == 3 else f"Услуга {number}",
                links=links,
                head=head,
                text=SAME if number % 10 == 3 else "",
            )
        )

    site.fallback(page)
    site.page("/robots.txt", status=404)
    site.page("/sitemap.xml", status=404)
    return site


def _end(project):
    rows = project.rows()
    return project.files(), {
        path: (row.state, row.reason, row.depth, row.found_in) for path, row in rows.items()
    }


def _relative(end, site):
    """Ports differ between sites; nothing else does."""
    files, rows = end
    port = str(site.port)
    return (
        sorted(Counter(data.decode().replace(port, "PORT").split('"url"')[1] for data in files.values())),
        {
            path: (state, reason, depth, tuple(f.replace(port, "PORT") for f in found))
            for path, (state, reason, depth, found) in rows.items()
        },
    )


@pytest.mark.parametrize("limits", [{}, {"max_pages": 17, "max_depth": 4}])
def test_answers_that_come_in_any_order_give_the_same_project(tmp_path, limits):
    ends = []
    for number, (concurrency, slowest) in enumerate([(1, 0.0), (8, 0.02), (5, 0.03)]):
        with _site(seed=number, slowest=slowest) as site:
            project = Project(tmp_path / str(number), site)
            project.scrape(Sources(crawl=(site.url("/p/0"),)), concurrency=concurrency, **limits)
            ends.append(_relative(_end(project), site))
    assert ends[0] == ends[1] == ends[2]


SCRIPT = """
import sys
from pathlib import Path
from indexer.artifacts import Sources
from tests.support.scraping import Project
class Host:
    host, origin = sys.argv[2], "http://" + sys.argv[2]
Project(Path(sys.argv[1]), Host).scrape(Sources(crawl=(Host.origin + "/p/0",)), concurrency=4)
"""
KILLS = int(os.environ.get("INDEXER_TEST_KILLS", "3"))


def test_killed_at_any_moment_and_run_again_it_ends_as_if_undisturbed(tmp_path):
    with _site(slowest=0.04) as site:
        project = Project(tmp_path / "undisturbed", site)
        project.scrape(Sources(crawl=(site.url("/p/0"),)), concurrency=4)
        expected = _end(project)
        site.reset()
        chance = random.Random(7)
        project = Project(tmp_path / "killed", site)
        command = [sys.executable, "-c", SCRIPT, str(project.folder), site.host]
        for _ in range(KILLS):
            before = len(site.log)
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            while len(site.log) - before < 2 and process.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.random() * 0.4)
            process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(command, check=True)
        assert _end(project) == expected
        # in flight: what four workers fetch within the fifth of a second that outcomes are collected for
        repeated = sum(count - 1 for path, count in Counter(site.paths()).items() if path.startswith("/p/"))
        assert repeated <= KILLS * 4 * (0.2 / 0.02 + 2)


def test_worker_processes_give_the_same_pages(tmp_path):
    with _site() as site:
        inline, pooled = Project(tmp_path / "inline", site), Project(tmp_path / "pooled", site)
        sources = Sources(crawl=(site.url("/p/0"),))
        inline.scrape(sources)
        with open_processes(1) as pool:
            pooled.scrape(sources, pool=pool)
        assert _end(pooled) == _end(inline)


class _Fragile(Executor):
    """A pool whose worker dies of certain pages, and takes what is in flight with it once."""

    def __init__(self, poison):
        self.poison = poison
        self.calls = 0

    def submit(self, fn, /, *args, **kwargs):
        (responses,) = args
        self.calls += 1
        future = Future()
        if any(self.poison in response.body for response in responses) or self.calls == 1:
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_page_that_ends_its_worker_fails_alone(tmp_path):
    with Site() as site:
        paths = [f"/{number}" for number in range(5)]
        for path in paths:
            site.page(path, article("Отрава" if path == "/3" else f"Страница {path}"))
        project = Project(tmp_path, site)
        pool = _Fragile("Отрава".encode())
        project.scrape(Sources(urls=tuple(site.url(path) for path in paths)), pool=pool)
        assert project.standing() == {path: "extract-failed" if path == "/3" else "fetched" for path in paths}
