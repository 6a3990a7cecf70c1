"""
What a site says of itself on every page (address, phones, opening hours), kept once: its Site document.

Extraction leaves such lines out of the pages and names them beside; here they are counted
over all pages of a site, without a request. The document lives at `ORIGIN/#site`: not a URL that
was discovered, so no count of URLs holds it. It is chunked, embedded and published like
a page, and a changed footer changes nothing else.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable

from msgspec import Struct, field

from indexer.artifacts import Page
from indexer.crawl.urls import netloc, origin
from indexer.ids import digest, url_key
from indexer.ports import Artifacts, Project, UrlRow

FACT = "site"  # of a catalogue row: the page's lines
FRAGMENT = "/#site"
SHARE = 0.1  # of a site's pages that must show a line …
FEW = 4  # … unless it has no more than this many pages
MOST_LINES = 60
MOST_OF_PLACES = 600  # lines of single pages; of more none is kept
_CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)
_TITLES = {
    "ru": "{}: адрес, телефоны, часы работы, контакты",
    "uk": "{}: адреса, телефони, години роботи, контакти",
    "kk": "{}: мекенжай, телефондар, жұмыс уақыты, байланыс",
    "en": "{}: address, phones, opening hours, contacts",
}


class _Line(Struct):
    """`place`: of the first page that shows it (depth, address), and where on that page."""

    pages: int
    place: tuple[int, str, int]


class _Site(Struct):
    pages: int = 0
    lines: dict[str, _Line] = field(default_factory=dict)

    def add(self, row: UrlRow) -> None:
        self.pages += 1
        for number, text in enumerate(dict.fromkeys(row.facts.get(FACT, ()))):
            place = (row.depth, row.url, number)
            line = self.lines.setdefault(text, _Line(0, place))
            line.pages += 1
            line.place = min(line.place, place)


def site_documents(
    project: Project,
    artifacts: Artifacts,
    rows: Iterable[UrlRow],
    *,
    renew: bool,
) -> dict[str, str]:
    """
    Key → URL of the Site documents that stand beside the pages `rows`.

    `renew`: write what has changed and remove what is no more; else only say what there
    is. A project of ranked datasets has none: a footer belongs to no layer.
    """
    sites: dict[str, _Site] = {}
    for row in rows:
        if row.url.startswith(("http://", "https://")):
            sites.setdefault(origin(row.url), _Site()).add(row)
    found: dict[str, str] = {}
    for base, site in sites.items():
        url = base + FRAGMENT
        key = url_key(url)
        if renew:
            lines = [] if "datasets" in project.options else [*_common(site), *_of_places(site, artifacts)]
            if lines:
                _write(artifacts, key, _document(url, lines, project.language))
            else:
                artifacts.delete(Page, key)
        if artifacts.signature(Page, key):
            found[key] = url
    return found


def _common(site: _Site) -> list[str]:
    """The lines that belong to the site as a whole, in the order in which its pages show them."""
    least = _least(site)
    common = [text for text, line in site.lines.items() if line.pages >= least]
    common.sort(key=lambda text: (-site.lines[text].pages, site.lines[text].place))
    return sorted(common[:MOST_LINES], key=lambda text: site.lines[text].place)


def _least(site: _Site) -> int:
    """On how many pages a line of the site as a whole stands."""
    return 1 if site.pages <= FEW else max(2, round(SHARE * site.pages))


def _of_places(site: _Site, artifacts: Artifacts) -> list[str]:
    """Lines of few pages, each after its page's title: a branch's phone stands on its own page alone."""
    common = _least(site)
    rare = sorted((line.place, text) for text, line in site.lines.items() if line.pages < common)
    if len(rare) > MOST_OF_PLACES:  # a directory, or what only looks like contacts
        return []
    pages = ((artifacts.load(Page, url_key(url)), text) for (_, url, _), text in rare)
    return [f"{page.title}: {text}" for page, text in pages if page is not None]


def _document(url: str, lines: list[str], language: str) -> Page:
    said = "\n".join(lines)
    language = language or ("ru" if len(_CYRILLIC.findall(said)) * 4 > len(said) else "en")
    title = _TITLES.get(language, _TITLES["en"]).format(_name(netloc(url)))
    text = "\n".join([f"# {title}", "", *(f"- {line}" for line in lines)])
    content = digest(title, language, text)
    return Page(
        signature=digest("site", content),
        url=url,
        content=content,
        title=title,
        text=text,
        language=language,
        extractor="site",
    )


def _name(host: str) -> str:
    """A host as people write it."""
    name = host.partition(":")[0].removeprefix("www.")
    with contextlib.suppress(UnicodeError):
        return name.encode("ascii").decode("idna")
    return name


def _write(artifacts: Artifacts, key: str, page: Page) -> None:
    if artifacts.signature(Page, key) != page.signature:
        artifacts.save(key, page)
