"""The server that shows a folder as a site."""

from pathlib import Path

import httpx
import pytest

from scripts.serve_site import make_server, running, serve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "index.html").write_text("<h1>Дом</h1>", encoding="utf-8")
    (tmp_path / "docs" / "index.html").write_text("<h1>Docs</h1>")
    (tmp_path / "docs" / "a b.html").write_text("<h1>A & B</h1>")
    (tmp_path / "404.html").write_text("<h1>No such page</h1>")
    return tmp_path


def test_pages_folders_and_unknown_paths_answer_as_a_web_server_would(folder):
    with serve(folder) as origin, httpx.Client(base_url=origin) as client:
        home = client.get("/")
        assert (home.status_code, home.text) == (200, "<h1>Дом</h1>")
        assert home.headers["content-type"] == "text/html; charset=utf-8"
        assert client.get("/docs").headers["location"] == "/docs/"
        assert client.get("/docs/").text == "<h1>Docs</h1>"
        assert client.head("/docs/").content == b""
        missing = client.get("/nope")
        assert (missing.status_code, missing.text) == (404, "<h1>No such page</h1>")
        assert client.get("/404.html").status_code == 404


def test_an_unchanged_page_answers_304_to_its_etag_or_its_date_and_a_changed_one_does_not(folder):
    with serve(folder) as origin, httpx.Client(base_url=origin) as client:
        first = client.get("/")
        tag, date = first.headers["etag"], first.headers["last-modified"]
        assert client.get("/", headers={"If-None-Match": f'"x", W/{tag}'}).status_code == 304
        assert client.get("/", headers={"If-Modified-Since": date}).status_code == 304
        assert client.get("/", headers={"If-Modified-Since": "yesterday"}).status_code == 200

        (folder / "index.html").write_text("<h1>Новый дом</h1>", encoding="utf-8")

        assert client.get("/", headers={"If-None-Match": tag, "If-Modified-Since": date}).status_code == 200


def test_sitemap_and_robots_are_generated_with_the_right_origin(folder):
    with serve(folder) as origin, httpx.Client(base_url=origin) as client:
        sitemap, robots = client.get("/sitemap.xml").text, client.get("/robots.txt").text

    assert [part.partition("</loc>")[0] for part in sitemap.split("<loc>")[1:]] == [
        f"{origin}/",
        f"{origin}/docs/",
        f"{origin}/docs/a%20b.html",
    ]
    assert f"Sitemap: {origin}/sitemap.xml" in robots


def test_a_symbolic_link_is_served_but_not_listed(folder):
    (folder / "old-name.html").symlink_to(folder / "docs" / "a b.html")
    with serve(folder) as origin, httpx.Client(base_url=origin) as client:
        assert client.get("/old-name.html").text == "<h1>A & B</h1>"
        assert "old-name" not in client.get("/sitemap.xml").text


def test_the_origin_that_the_files_were_written_for_is_replaced(folder):
    (folder / "sitemap.xml").write_text("<urlset><url><loc>https://shop.example/</loc></url></urlset>")
    (folder / "index.html").write_text('<link rel="canonical" href="https://shop.example/">')
    with serve(folder) as origin, httpx.Client(base_url=origin) as client:
        assert client.get("/").text == f'<link rel="canonical" href="{origin}/">'
        assert client.get("/sitemap.xml").text == f"<urlset><url><loc>{origin}/</loc></url></urlset>"


@pytest.mark.parametrize("path", ["/../secret.txt", "/%2e%2e/secret.txt", "/docs/../../secret.txt", "/a%00b"])
def test_nothing_outside_the_folder_is_served(folder, path):
    secret = folder.parent / "secret.txt"
    secret.write_text("secret")
    with running(make_server(folder)) as server:
        import http.client  # httpx would normalise the path

        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, b"secret" in answer.read()) == (404, False)
        connection.close()
        assert server.answers == {404: 1}


def test_a_taken_port_and_a_missing_folder_are_refused(folder):
    with running(make_server(folder)) as server, pytest.raises(OSError, match="in use"):
        make_server(folder, server.server_address[1])
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        make_server(folder / "nope")
