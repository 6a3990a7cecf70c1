"""Folders of HTML as sites: what end-to-end tests rely on."""

from urllib.parse import quote

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.support.site import EXAMPLE, SITES, asked, folder_site, page_paths, statuses

FOLDERS = sorted(path.name for path in SITES.iterdir() if path.is_dir() and path.name.isidentifier())


@pytest.mark.parametrize("folder", [*FOLDERS, str(EXAMPLE)], ids=[*FOLDERS, "example"])
def test_every_address_of_the_sitemap_answers_and_every_link_leads_somewhere(folder):
    with folder_site(folder) as site, httpx.Client() as client:
        sitemap = client.get(site.url("/sitemap.xml")).text
        for path in page_paths(folder):
            page = client.get(site.url(path))
            assert page.status_code == 200
            text = page.content.decode("windows-1251" if b"windows-1251" in page.content else "utf-8")
            for link in LexborHTMLParser(text).css("a[href]"):
                href = link.attributes["href"] or ""
                if not href.startswith(("mailto:", "tel:", "#")):
                    assert client.get(page.url.join(href)).status_code == 200, (path, href)
        locations = [part.partition("</loc>")[0] for part in sitemap.split("<loc>")[1:]]
        assert locations
        assert {client.get(url).status_code for url in locations} == {200}
        assert all(url.startswith(site.origin) for url in locations)


def test_a_second_reader_with_validators_gets_only_304(tmp_path):
    with folder_site("dental_ru") as site, httpx.Client() as client:
        paths = page_paths("dental_ru")
        tags = {path: client.get(site.url(path)).headers["etag"] for path in paths}
        assert statuses(site) == {200: 6}
        site.reset()

        for path, tag in tags.items():
            client.get(site.url(path), headers={"If-None-Match": tag})

        assert statuses(site) == {304: 6}
        assert asked(site)["/услуги/имплантация.html"] == 1


def test_a_page_can_be_changed_and_taken_away_while_the_site_runs():
    with folder_site("manual_en") as site, httpx.Client() as client:
        tag = client.get(site.url("/gates.html")).headers["etag"]
        site.page("/gates.html", "<h1>New gates</h1>")
        changed = client.get(site.url("/gates.html"), headers={"If-None-Match": tag})
        site.page("/gates.html", status=404)
        gone = client.get(site.url("/gates.html"))

    assert (changed.status_code, changed.text) == (200, "<h1>New gates</h1>")
    assert gone.status_code == 404


def test_a_page_in_an_old_encoding_declares_it_itself():
    with folder_site("dental_ru") as site, httpx.Client() as client:
        old = client.get(site.url(quote("/услуги/детям.html")))
        new = client.get(site.url(quote("/цены.html")))

    assert old.headers["content-type"] == "text/html"
    assert "windows-1251" in old.text
    assert "Лечение во сне" in old.content.decode("windows-1251")
    assert new.headers["content-type"] == "text/html; charset=utf-8"
