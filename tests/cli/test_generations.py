"""What is live can be undone, and stays undone until a person says otherwise."""

from __future__ import annotations

import pytest

from tests.support.shop import html, open_shop, sources


@pytest.fixture
def site():
    with open_shop() as site:
        yield site


def _live(indexer):
    return indexer("status", "--project-name", "p", "--json").ok().json["generation"]


def _names(indexer):
    return [one["generation"] for one in indexer("generations", "--project-name", "p", "--json").ok().json]


def test_a_rollback_restores_what_is_asked_and_holds_against_the_next_run(indexer, site):
    first = indexer("init-project", "--name", "p", *sources(site), "--json").ok().json["generation"]
    site.page("/warranty", html("Гарантия", "<p>Гарантии больше нет: обманный текст.</p>"))
    second = indexer("reindex", "--project-name", "p", "--json").ok().json["generation"]
    assert _names(indexer) == [second, first]
    indexer("rollback", "--project-name", "p", "--reason", "неверные цены").ok()
    assert _live(indexer) == first
    hits = (
        indexer("search", "--project-name", "p", "--mode", "bm25", "--json", "гарантию 12 месяцев").ok().json
    )
    assert "12 месяцев" in hits[0]["text"]
    for _ in range(2):
        indexer("reindex", "--project-name", "p").fails(4, "rolled back", "неверные цены", second)
        assert _live(indexer) == first
    site.page("/warranty", html("Гарантия", "<p>Гарантия снова есть: шесть месяцев на всё.</p>"))
    third = indexer("reindex", "--project-name", "p", "--json").ok().json["generation"]
    assert third not in (first, second)
    indexer("rollback", "--project-name", "p", "--to", first).ok()
    indexer("publish", "--project-name", "p").fails(4, "rolled back")
    indexer("publish", "--project-name", "p", "--force").fails(2, "--reason")
    indexer("publish", "--project-name", "p", "--force", "--reason", "проверено").ok()
    assert _live(indexer) not in (first, second)
    assert indexer("reindex", "--project-name", "p").code == 0


def test_what_is_held_back_is_believed_with_a_reason_and_no_request(indexer, site):
    indexer("init-project", "--name", "p", *sources(site)).ok()
    for path in ("/", "/prices", "/contacts", "/warranty"):
        site.page(path, html("Скоро открытие", "<p>Сайт временно закрыт, приходите позже.</p>"))
    held = indexer("reindex", "--project-name", "p", "--json")
    assert (held.code, held.json["quarantined"]) == (4, 4)
    site.reset()
    report = (
        indexer("publish", "--project-name", "p", "--force", "--reason", "так и есть", "--json").ok().json
    )
    assert not site.log
    assert report["quarantined"] == 0
    hits = indexer("search", "--project-name", "p", "--mode", "bm25", "--json", "временно закрыт").ok().json
    assert "временно закрыт" in hits[0]["text"]
    assert indexer("reindex", "--project-name", "p", "--json").json["quarantined"] == 0


def test_gc_keeps_what_it_is_told_and_always_the_live_one(indexer, site):
    indexer("init-project", "--name", "p", *sources(site)).ok()
    for number in range(2):
        site.page("/warranty", html("Гарантия", f"<p>На работы даём гарантию {number + 3} месяцев.</p>"))
        indexer("reindex", "--project-name", "p").ok()
    names = _names(indexer)
    assert len(names) == 2, "the last two are kept"
    indexer("rollback", "--project-name", "p").ok()
    indexer("rollback", "--project-name", "p").fails(2, "no earlier generation")
    indexer("rollback", "--project-name", "p", "--to", "nosuch").fails(2, "nosuch")
    assert indexer("gc", "--project-name", "p", "--keep", "1", "--json").ok().json["removed"] == [names[0]]
    assert _names(indexer) == [names[1]]
    assert indexer("search", "--project-name", "p", "--mode", "bm25", "гарантию").ok()
