"""
Sites as folders of HTML (`tests/sites`), served by the scriptable loopback site.

    with folder_site("shop_en") as site:
        ... index site.url("/sitemap.xml") ...
        assert statuses(site) == {200: 9}
        site.reset()
        ... index again ...
        assert set(statuses(site)) == {304}

Paths, types, sitemap and robots are those of scripts/serve_site.py. As on any other
`Site`, a page can be changed (`site.page(path, html)`), taken away
(`site.page(path, status=404)`) or made to fail (`site.fault`).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import unquote

from scripts.serve_site import Folder
from tests.support.web import Reply, Request, Site

SITES = Path(__file__).resolve().parent.parent / "sites"
EXAMPLE = Path(__file__).resolve().parents[2] / "projects" / "example" / "site"


def folder_site(folder: str | Path) -> Site:
    """A site of a folder under tests/sites, or of any other folder; enter it to serve."""
    files = Folder(SITES / folder)  # an absolute path stays what it is
    site = Site()

    def answer(request: Request) -> Reply:
        resource = files.get(request.path, site.origin)
        headers = {"Location": resource.location} if resource.location else {}
        return Reply(resource.body, resource.status, headers, resource.content_type)

    site.fallback(answer)
    return site


def page_paths(folder: str | Path) -> list[str]:
    """The quoted paths of all pages of the folder, in order."""
    return Folder(SITES / folder).paths()


def statuses(site: Site) -> Counter[int]:
    """Answers so far by status."""
    return Counter(request.status for request in list(site.log))


def asked(site: Site) -> Counter[str]:
    """Requests so far by unquoted path, without query."""
    return Counter(unquote(request.path.partition("?")[0]) for request in list(site.log))
