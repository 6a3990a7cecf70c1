"""A run with a budget asks for new pages, then for those likeliest to have changed; the others rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.adapters.catalogue import SqliteCatalogue
from indexer.artifacts import Sources, State
from indexer.pipeline.revisits import risk
from indexer.records import UrlRow
from tests.support.scraping import Project, article, sitemap
from tests.support.web import Site

NOW = datetime(2030, 1, 31, tzinfo=UTC)
PATHS = tuple(f"/{letter}" for letter in "abcdef")


def _row(*, turned: int = 0, age: float = 1.0, known: float = 30.0, **fields: str) -> UrlRow:
    at = {
        name: (NOW - timedelta(days=days)).isoformat()
        for name, days in (("checked_at", age), ("since", known))
    }
    return UrlRow(url="http://a/", key="k", state=State.INDEXED, content="c", turned=turned, **at, **fields)


def test_what_changes_often_or_was_not_seen_for_long_is_riskier():
    assert risk(_row(turned=9), NOW) > risk(_row(turned=1), NOW) > risk(_row(), NOW)
    assert risk(_row(age=9), NOW) > risk(_row(age=1), NOW)
    assert risk(_row(known=300), NOW) < risk(_row(known=3), NOW)
    assert risk(_row(reason="http-5xx"), NOW) == risk(_row(stale="2030-01-01"), NOW) == 1.0


@given(st.integers(0, 1000), st.floats(0, 5000), st.floats(0, 5000))
def test_a_risk_is_a_probability(turned, age, known):
    assert 0.0 <= risk(_row(turned=turned, age=age, known=known), NOW) <= 1.0


@pytest.fixture
def site():
    with Site({path: article(f"Страница {path}") for path in PATHS}) as site:
        site.page("/sitemap.xml", sitemap(site, *PATHS), content_type="application/xml")
        yield site


def _age(project: Project, site: Site, **days: float) -> None:
    """Let pages have been asked for so many days ago."""
    catalogue = SqliteCatalogue(project.folder)
    for name, ago in days.items():
        when = (datetime.now(UTC) - timedelta(days=ago)).isoformat()
        catalogue._connection.execute(
            "UPDATE urls SET checked_at = ? WHERE url = ?", [when, site.url(f"/{name}")]
        )
    catalogue.close()


def _asked(site: Site) -> list[str]:
    return sorted(path for path in site.paths() if path in (*PATHS, "/new", "/old"))


def test_a_budget_is_kept_and_spent_on_the_oldest_risk(site, tmp_path):
    project, sources = Project(tmp_path / "p", site), Sources(sitemaps=(site.url("/sitemap.xml"),))
    project.scrape(sources)
    _age(project, site, c=5, e=9)
    before = project.files()
    site.reset()
    project.scrape(sources, budget=2)
    assert _asked(site) == ["/c", "/e"]
    assert project.files() == before
    assert set(project.standing().values()) == {"fetched"}
    site.reset()
    project.scrape(sources, budget=2)
    assert not {"/c", "/e"} & set(_asked(site)), "others are older now"
    site.reset()
    project.scrape(sources)
    assert _asked(site) == list(PATHS), "without a budget every page is asked for"


def test_new_pages_come_first_and_wait_when_the_budget_is_spent(site, tmp_path):
    project, sources = Project(tmp_path / "p", site), Sources(sitemaps=(site.url("/sitemap.xml"),))
    project.scrape(sources, budget=4)
    standing = project.standing()
    assert sorted(standing.values()) == ["fetched"] * 4 + ["limit"] * 2
    project.scrape(sources)
    assert set(project.standing().values()) == {"fetched"}


def test_resting_pages_lead_on_and_keep_redirects_true(site, tmp_path):
    project = Project(tmp_path / "p", site)
    site.page("/", article("Главная", links=("/a", "/old")))
    site.page("/old", status=301, headers={"Location": "/a"})
    sources = Sources(crawl=(site.url("/"),))
    project.scrape(sources)
    before = {path: (row.state, row.reason, row.final_url, row.stale) for path, row in project.rows().items()}
    _age(project, site, old=9)
    site.reset()
    project.scrape(sources, budget=1)
    assert _asked(site) == ["/old"]
    after = {path: (row.state, row.reason, row.final_url, row.stale) for path, row in project.rows().items()}
    assert after == before
