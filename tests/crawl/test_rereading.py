"""A killed run uses the answers that it got before, and verdicts are seen anew under new rules."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from indexer import extract
from indexer.adapters.catalogue import SqliteCatalogue
from indexer.adapters.raw import FileRaw
from indexer.artifacts import Extracted, Reason, Sources, State
from indexer.ids import url_key
from indexer.ports import Response
from tests.support.scraping import Project
from tests.support.shop import html
from tests.support.web import Site


@pytest.fixture
def site():
    with Site() as site:
        site.page("/robots.txt", "User-agent: *\nAllow: /\n", content_type="text/plain")
        for name in ("a", "b"):
            site.page(
                f"/{name}", html(f"Страница {name}", f"<p>Текст страницы {name}, которого нет на другой.</p>")
            )
        yield site


@pytest.fixture
def project(tmp_path, site):
    return Project(tmp_path, site)


def _had(project: Project, site: Site, path: str, *, close: bool = False) -> None:
    """As if a run had got this answer and been killed before the page was written."""
    catalogue = SqliteCatalogue(project.folder)
    try:
        visit = catalogue.open_visit(24)
        if close:
            catalogue.close_visit(visit)
    finally:
        catalogue.close()
    body = html("Страница", f"<p>Текст страницы {path}, как он был, как ни у какой другой.</p>").encode()
    url = site.url(path)
    headers = {"content-type": "text/html"}
    answer = Response(url=url, final_url=url, status=200, headers=headers, body=body)
    FileRaw(project.folder, limit=2**20).save(answer, visit)


def test_an_answer_that_a_killed_run_had_is_not_asked_for_again(project, site):
    """What the same run got before is read; that of an earlier run is no answer for this one."""
    sources = Sources(urls=(site.url("/a"), site.url("/b")))
    _had(project, site, "/a")
    project.scrape(sources)
    assert (len(site.hits("/a")), len(site.hits("/b"))) == (0, 1)
    assert "как он был" in project.pages()["/a"].text
    project.scrape(sources)
    assert [request.status for request in site.hits("/a")] == [200]
    assert "как он был" not in project.pages()["/a"].text
    _had(project, site, "/b", close=True)
    project.scrape(sources)
    assert [request.status for request in site.hits("/b")] == [200, 304, 304]
    assert not list((project.folder / "0_raw").glob(f"{url_key(site.url('/b'))}*"))


def test_a_verdict_is_seen_anew_under_new_rules(project, site, monkeypatch):
    """What had no text for the old rules becomes a page; what has none for the new ones loses it."""
    sources = Sources(urls=(site.url("/a"), site.url("/b")))
    read = extract.extract

    def without(word: str):
        def reading(markup: str, **how: object) -> Extracted:
            return replace(read(markup, **how), **({"text": ""} if word in markup else {}))

        return reading

    monkeypatch.setattr(extract, "extract", without("Страница a"))
    project.scrape(sources)
    assert (project.rows()["/a"].reason, project.rows()["/b"].state) == (Reason.EMPTY, State.FETCHED)
    monkeypatch.setattr(extract, "extract", without("Страница b"))
    monkeypatch.setattr(extract, "VERSION", 99, raising=False)
    site.reset()
    project.scrape(sources)
    assert [request.status for request in site.log if request.path in ("/a", "/b")] == [304, 304]
    assert (project.rows()["/a"].state, project.rows()["/b"].reason) == (State.FETCHED, Reason.EMPTY)
    assert list(project.pages()) == ["/a"]
    assert sorted(path.stem for path in (project.folder / "0_raw").iterdir()) == sorted(
        url_key(site.url(path)) for path in ("/a",)
    )


def test_a_damaged_answer_is_asked_for_by_the_next_run(project, site, monkeypatch):
    """The page stands meanwhile."""
    sources = Sources(urls=(site.url("/a"),))
    project.scrape(sources)
    (kept,) = (project.folder / "0_raw").iterdir()
    kept.write_bytes(kept.read_bytes()[:40])
    monkeypatch.setattr(extract, "VERSION", 99, raising=False)
    project.scrape(sources)
    before = project.pages()["/a"].signature
    project.scrape(sources)
    assert [request.status for request in site.hits("/a")] == [200, 304, 200]
    assert project.pages()["/a"].signature != before
