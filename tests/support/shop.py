"""A small site with a sitemap for end-to-end tests: five pages with distinct facts."""

from __future__ import annotations

from tests.support.web import Reply, Request, Site

PAGES = {
    "/": (
        "Автосервис «Клевер»",
        "<p>Ремонтируем автомобили в Озёрске с 2009 года. Работаем без выходных.</p>",
    ),
    "/prices": (
        "Цены",
        (
            "<table><tr><th>Услуга</th><th>Цена</th></tr><tr><td>Замена масла</td><td>1500 ₽</td></tr>"
            "<tr><td>Развал-схождение</td><td>2400 ₽</td></tr></table>"
        ),
    ),
    "/contacts": (
        "Контакты",
        "<p>Адрес: Озёрск, улица Садовая, дом 5.</p><p>Телефон: +7 900 123-45-67, каждый день с 9 до 21.</p>",
    ),
    "/warranty": ("Гарантия", "<p>На работы даём гарантию 12 месяцев, на запчасти — 24 месяца.</p>"),
    "/en": (
        "Clover garage",
        "<p>We speak English. Tyre storage costs 3000 roubles for one winter season.</p>",
    ),
}


def html(title: str, body: str, language: str = "ru") -> str:
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )


def open_shop(pages: dict[str, tuple[str, str]] | None = None) -> Site:
    """A site with these pages (default: `PAGES`), /sitemap.xml and /robots.txt."""
    site = Site()
    for path, (title, body) in (PAGES if pages is None else pages).items():
        site.page(path, html(title, body, "en" if path.startswith("/en") else "ru"))
    site.page("/robots.txt", "User-agent: *\nAllow: /\n", content_type="text/plain")
    publish_sitemap(site, list(PAGES if pages is None else pages))
    return site


def publish_sitemap(site: Site, paths: list[str]) -> None:
    urls = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)
    site.page(
        "/sitemap.xml",
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>',
        content_type="application/xml",
    )


def sources(site: Site) -> list[str]:
    """SOURCES for the site, as a person types them."""
    return ["--sitemap-url", site.url("/sitemap.xml"), "--allow-private", site.host, "--delay", "0"]


def unconditional(requests: list[Request]) -> list[str]:
    """Paths that were asked for without a validator."""
    return [
        request.path
        for request in requests
        if "if-none-match" not in request.headers and "if-modified-since" not in request.headers
    ]


__all__ = ["PAGES", "Reply", "html", "open_shop", "publish_sitemap", "sources", "unconditional"]
