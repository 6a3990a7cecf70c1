"""What makes a page go, what does not, and what is left of it."""

from __future__ import annotations

import pytest

from indexer.artifacts import Sources
from indexer.errors import IndexerError
from tests.support.scraping import Project, article, sitemap
from tests.support.web import Reply, Site

PATHS = tuple(f"/{letter}" for letter in "abcdefgh")
NOT_FOUND = "<title>Страница не найдена</title>Такой страницы не существует"


@pytest.fixture
def site():
    with Site({path: article(f"Страница {path}") for path in PATHS}) as site:
        site.page("/sitemap.xml", sitemap(site, *PATHS), content_type="application/xml")
        yield site


@pytest.fixture
def project(site, tmp_path):
    project = Project(tmp_path / "p", site)
    project.scrape(_sources(site))
    return project


def _sources(site: Site) -> Sources:
    return Sources(sitemaps=(site.url("/sitemap.xml"),))


def _once(status: int = 404, body: str = ""):
    """An answer that speaks against the page at the first request of a run only."""
    asked: list[int] = []

    def answer(_request):
        asked.append(1)
        return Reply(body, status=status) if len(asked) == 1 else Reply(article("Страница /a"))

    return answer


@pytest.mark.parametrize(("status", "body", "reason"), [(404, "", "not-found"), (200, NOT_FOUND, "soft-404")])
def test_a_page_goes_when_a_second_request_says_so_too_and_leaves_a_tombstone(
    project, site, status, body, reason
):
    site.page("/a", body, status=status)
    site.reset()
    project.scrape(_sources(site))
    row = project.rows()["/a"]
    assert (row.state, row.reason, len(site.hits("/a"))) == ("skipped", reason, 2)
    assert row.facts["tombstone"]["since"]
    project.scrape(_sources(site))
    assert project.rows()["/a"].facts["tombstone"] == row.facts["tombstone"]
    site.page("/a", article("Страница /a"))
    project.scrape(_sources(site))
    back = project.rows()["/a"]
    assert (back.state, "tombstone" in back.facts) == ("fetched", False)


@pytest.mark.parametrize("body", ["", NOT_FOUND])
def test_one_answer_that_nothing_confirms_takes_nothing_away(project, site, body):
    before = project.files()
    site.route("/a", _once(200 if body else 404, body))
    project.scrape(_sources(site))
    assert project.rows()["/a"].state == "fetched"
    assert project.files().keys() == before.keys()


def test_not_found_is_no_evidence_where_the_rest_of_the_site_does_not_answer(project, site):
    before = project.files()
    site.page("/sitemap.xml", sitemap(site, *PATHS), content_type="application/xml")
    for path in PATHS[:7]:
        site.page(path, status=404)
    project.scrape(_sources(site))
    assert project.files() == before
    assert {row.state for path, row in project.rows().items() if path in PATHS} == {"fetched"}
    assert "to be confirmed" in project.rows()["/a"].detail


def test_with_strikes_a_page_must_not_be_found_on_several_days(project, site, monkeypatch):
    site.page("/a", status=404)
    for day, state in (("2030-01-01", "fetched"), ("2030-01-01", "fetched"), ("2030-01-02", "skipped")):
        monkeypatch.setattr("indexer.pipeline.evidence._today", lambda day=day: day)
        project.scrape(_sources(site), strikes=2)
        assert project.rows()["/a"].state == state


def test_strikes_are_forgotten_when_the_page_answers_again(project, site, monkeypatch):
    for day, status in (("2030-01-01", 404), ("2030-01-02", 200), ("2030-01-03", 404)):
        site.page("/a", article("Страница /a"), status=status)
        monkeypatch.setattr("indexer.pipeline.evidence._today", lambda day=day: day)
        project.scrape(_sources(site), strikes=2)
    assert project.rows()["/a"].state == "fetched"


def test_a_page_that_nothing_names_any_more_is_stale_until_something_does(project, site):
    site.page("/sitemap.xml", sitemap(site, *PATHS[1:]), content_type="application/xml")
    project.scrape(_sources(site))
    row = project.rows()["/a"]
    assert (row.state, bool(row.stale)) == ("fetched", True)
    assert not project.rows()["/b"].stale
    site.reset()
    project.scrape(_sources(site))
    assert project.rows()["/a"].stale == row.stale
    assert site.hits("/a"), "a stale page is looked at again"
    site.page("/sitemap.xml", sitemap(site, *PATHS), content_type="application/xml")
    project.scrape(_sources(site))
    assert not project.rows()["/a"].stale


@pytest.mark.parametrize("broken", ["empty", "down", "robots", "half"])
def test_a_sitemap_that_cannot_be_trusted_makes_nothing_stale(project, site, broken):
    if broken == "half":  # one of two sitemaps is down
        names = "".join(f"<sitemap><loc>{site.url(f'/{n}.xml')}</loc></sitemap>" for n in (1, 2))
        site.page("/sitemap.xml", f"<sitemapindex>{names}</sitemapindex>", content_type="application/xml")
        site.page("/1.xml", sitemap(site, *PATHS[1:]), content_type="application/xml")
        site.page("/2.xml", status=503)
        project.scrape(_sources(site))
    else:
        if broken == "robots":
            site.page("/robots.txt", status=503)
        site.page("/sitemap.xml", sitemap(site), status=503 if broken == "down" else 200)
        with pytest.raises(IndexerError):
            project.scrape(_sources(site))
    assert not any(row.stale for row in project.rows().values())


def test_a_page_that_moved_names_its_new_address(project, site):
    site.page("/a", status=404)
    site.page("/new", article("Страница /a"))
    site.page("/sitemap.xml", sitemap(site, *PATHS[1:], "/new"), content_type="application/xml")
    project.scrape(_sources(site))
    row = project.rows()["/a"]
    assert row.final_url == site.url("/new")
    assert row.facts["tombstone"]["moved_to"] == site.url("/new")
