"""One URL's whole life on one screen: found, asked, read, cut, embedded, indexed, and why not."""

from __future__ import annotations

from typing import Any

from indexer import ids
from indexer.artifacts import ChunkedPage, EmbeddedPage, Page
from indexer.errors import Misconfigured, Permanent
from indexer.pipeline.account import label_facts, place_of
from indexer.pipeline.sites import FACT as SITE_FACT
from indexer.pipeline.sites import FRAGMENT as SITE_FRAGMENT
from indexer.pipeline.wiring import Wiring
from indexer.ports import Artifacts, Catalogue, Project, UrlRow

HOPS = 20


def explain(wiring: Wiring, project: Project, url: str) -> dict[str, Any]:
    """
    All that is known of a URL of a project, step by step.

    Raises `Misconfigured` for an address that was never discovered, naming similar ones.
    """
    artifacts = wiring.artifacts(project)
    with wiring.catalogue(project) as catalogue:
        if url.endswith(SITE_FRAGMENT) and (life := _site(catalogue, artifacts, url)):
            key = life["key"]
            life |= _read(artifacts, key) | _cut(artifacts, key)
            return life | _indexed(wiring, project, artifacts, key)
        row = _row(catalogue, url)
        life = _found(row) | {"robots": _robots(wiring, catalogue, row), "hops": _hops(catalogue, row)}
        life |= _answered(row)
        document = catalogue.get(row.final_url) if row.final_url and row.final_url != row.url else row
        life["same_text"] = [twin for twin in catalogue.sharing(row.content) if twin != row.url]
    key = (document or row).key
    life |= _read(artifacts, key) | _cut(artifacts, key)
    return life | _indexed(wiring, project, artifacts, key)


def _site(catalogue: Catalogue, artifacts: Artifacts, url: str) -> dict[str, Any]:
    """The life of a Site document, which no address was asked for; empty if there is none."""
    from indexer.crawl.urls import canonical, origin

    try:
        base = origin(canonical(url))
    except Permanent:
        return {}
    page = artifacts.load(Page, ids.url_key(base + SITE_FRAGMENT))
    if page is None:
        return {}
    told = sum(
        1
        for row in catalogue.rows()
        if row.facts.get(SITE_FACT)
        and row.url.startswith(("http://", "https://"))
        and origin(row.url) == base
    )
    nothing: dict[str, Any] = dict.fromkeys(
        ("lastmod", "reason", "robots", "etag", "last_modified", "checked_at", "fetched_at"), ""
    )
    return nothing | {
        "url": page.url,
        "key": ids.url_key(page.url),
        "found_in": [f"{told} pages of {base}"],
        "depth": 0,
        "state": "site document",
        "detail": "what stands on many pages of the site is kept here, once",
        "hops": [],
        "final_url": page.url,
        "status": 0,
        "tries": 0,
        "same_text": [],
    }


def _row(catalogue: Catalogue, url: str) -> UrlRow:
    from indexer.crawl.urls import canonical

    spelled = url
    if not url.startswith("file:"):
        try:
            spelled = canonical(url)
        except Permanent as error:
            raise Misconfigured(f"{error}; write the address as https://example.com/page") from None
    row = catalogue.get(spelled) or catalogue.get(url)
    if row is not None:
        return row
    ending = spelled.rstrip("/").rpartition("/")[2].lower()
    near = [other.url for other in catalogue.rows() if ending and ending in other.url.lower()][:5]
    hint = f"; similar: {', '.join(near)}" if near else ""
    raise Misconfigured(f"{spelled} was never found by this project{hint}; add it with `indexer add-urls`")


def _found(row: UrlRow) -> dict[str, Any]:
    return {
        "url": row.url,
        "key": row.key,
        "found_in": row.found_in,
        "depth": row.depth,
        "lastmod": row.lastmod,
        "state": row.state,
        "reason": row.reason,
        "detail": row.detail,
    }


def _robots(wiring: Wiring, catalogue: Catalogue, row: UrlRow) -> str:
    """What the robots.txt of the last run says of the URL."""
    from indexer.crawl.robots import product_token, read_robots, user_agent
    from indexer.crawl.urls import origin

    if row.url.startswith("file:"):
        return "a local file"
    if wiring.settings.crawl.ignore_robots:
        return "ignored, as configured"
    rules = catalogue.resource(f"{origin(row.url)}/robots.txt")
    if rules is None:
        return "not read yet"
    token = product_token(user_agent(wiring.settings.crawl))
    _, why = read_robots(rules.status, rules.body, token=token).verdict(row.url)
    return why or f"allowed for {token}"


def _hops(catalogue: Catalogue, row: UrlRow) -> list[str]:
    """Where redirects lead from the URL, one after the other."""
    hops: list[str] = []
    at: UrlRow | None = row
    while at is not None and at.facts.get("redirect") and len(hops) < HOPS:
        target = str(at.facts["redirect"])
        if target in hops:
            break
        hops.append(target)
        at = catalogue.get(target)
    return hops


def _answered(row: UrlRow) -> dict[str, Any]:
    return {
        "final_url": row.final_url,
        "status": row.status,
        "etag": row.etag,
        "last_modified": row.last_modified,
        "checked_at": row.checked_at,
        "fetched_at": row.fetched_at,
        "tries": row.tries,
    }


def _read(artifacts: Artifacts, key: str) -> dict[str, Any]:
    page = artifacts.load(Page, key)
    if page is None:
        return {"page": None}
    names = (
        "url",
        "title",
        "language",
        "content_type",
        "charset",
        "extractor",
        "canonical",
        "published",
        "notes",
        "hidden",
    )
    facts = {name: getattr(page, name) for name in names}
    return {
        "page": {**facts, "characters": len(page.text), "links": len(page.links)} | label_facts(page.label)
    }


def _cut(artifacts: Artifacts, key: str) -> dict[str, Any]:
    chunked = artifacts.load(ChunkedPage, key)
    if chunked is None:
        return {"chunks": None}
    parts = [
        {"topic": chunk.topic, "start": chunk.start, "end": chunk.end, "context": bool(chunk.context)}
        | place_of(chunk)
        for chunk in chunked.chunks
    ]
    return {"chunks": {"mode": chunked.mode, "notes": chunked.notes, "parts": parts}}


def _indexed(wiring: Wiring, project: Project, artifacts: Artifacts, key: str) -> dict[str, Any]:
    from indexer.index.points import point_ids

    embedded = artifacts.load(EmbeddedPage, key)
    if embedded is None:
        return {"embeds": None, "points": None}
    facts = {"model": embedded.model, "dimension": embedded.dimension, "vectors": len(embedded.chunks)}
    reader = wiring.store(project).reader()
    if reader is None:
        return {"embeds": facts, "points": None}
    try:
        names = point_ids(project.id, embedded)
        live = reader.payloads(names)
        return {
            "embeds": facts,
            "points": {"generation": reader.manifest.generation, "live": len(live), "of": len(names)},
        }
    finally:
        reader.close()
