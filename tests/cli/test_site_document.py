"""What stands in every footer is asked first: it is kept once, beside the pages."""

from __future__ import annotations

import pytest

from tests.support.shop import open_shop, publish_sitemap
from tests.support.web import Site

FOOTER = (
    "<footer><p>Наш адрес: г. Алматы, ул. Абая, дом 10, офис 5</p><p>Тел.: <a href='tel:+77271234567'>"
    "+7 727 123-45-67</a></p><p>Режим работы: пн–пт 09:00–{}</p></footer>"
)
SERVICES = ("Стрижка", "Окраска", "Укладка", "Маникюр", "Массаж", "Уход за бородой")


def _page(service: str, closes: str) -> str:
    prose = (
        f"{service} выполняется опытным мастером и занимает около часа. Перед процедурой мастер подробно "
        f"расскажет, что входит в услугу «{service.lower()}», и подберёт средства для ухода."
    )
    return (
        f'<!DOCTYPE html><html lang="ru"><head><meta charset="utf-8"><title>{service}</title></head><body>'
        f"<nav><a href='/'>Главная</a> <a href='/price'>Цены</a></nav><main><h1>{service}</h1><p>{prose}</p></main>"
        f"{FOOTER.format(closes)}</body></html>"
    )


def _publish(site: Site, closes: str) -> list[str]:
    paths = [f"/service-{number}" for number in range(len(SERVICES))]
    for path, service in zip(paths, SERVICES, strict=True):
        site.page(path, _page(service, closes))
    publish_sitemap(site, paths)
    return paths


@pytest.fixture
def salon():
    with open_shop({}) as site:
        _publish(site, "20:00")
        yield site


def test_facts_of_a_footer_are_found_once_and_a_changed_footer_changes_nothing_else(indexer, salon):
    words = ["--sitemap-url", salon.url("/sitemap.xml"), "--allow-private", salon.host, "--delay", "0"]
    first = indexer("init-project", "--name", "p", *words, "--no-register", "--json").ok().json
    assert (first["found"], first["indexed"]) == (6, 6)
    assert first["points"] == first["chunks"] == 7
    hits = indexer("search", "--project-name", "p", "какой у вас телефон?", "--json").ok().json
    telling = [hit for hit in hits if "123-45-67" in hit["text"]]
    assert [hit["url"] for hit in telling] == [salon.url("/#site")]
    assert "ул. Абая" in telling[0]["text"]
    assert "09:00–20:00" in telling[0]["text"]

    life = indexer("explain", salon.url("/#site"), "--project-name", "p", "--json").ok().json
    assert life["found_in"] == [f"6 pages of {salon.url('/').rstrip('/')}"]
    assert life["points"]["live"] == 1
    assert "site document" in indexer("explain", salon.url("/#site"), "--project-name", "p").ok().out

    salon.reset()
    _publish(salon, "22:00")
    again = indexer("seed", "--project-name", "p", *words, "--no-register", "--json").ok().json
    assert (again["fetched"], again["embedded"], again["points"]) == (6, 1, 7)
    hits = indexer("search", "--project-name", "p", "до скольки вы работаете?", "--json").ok().json
    assert "09:00–22:00" in next(hit["text"] for hit in hits if hit["url"].endswith("/#site"))
    assert len(indexer("export", "--project-name", "p").ok().lines) == 6


def test_the_phone_of_a_branch_is_found_with_the_name_of_its_page(indexer, salon):
    """A line that the footer of one page alone shows, of a site of many pages."""
    page = _page("Филиал в Томске", "20:00").replace(
        FOOTER.format("20:00"), "<footer>+7 (3822) 55-66-77</footer>"
    )
    salon.page("/tomsk", page)
    publish_sitemap(salon, [f"/service-{number}" for number in range(len(SERVICES))] + ["/tomsk"])
    words = ["--sitemap-url", salon.url("/sitemap.xml"), "--allow-private", salon.host, "--delay", "0"]
    indexer("init-project", "--name", "p", *words, "--no-register").ok()
    question = "телефон филиала в Томске"
    hits = indexer("search", "--project-name", "p", question, "--json").ok().json
    (told,) = [hit["text"] for hit in hits if "55-66-77" in hit["text"]]
    assert "- Филиал в Томске: +7 (3822) 55-66-77" in told
