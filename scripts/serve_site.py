"""
Serve a folder of HTML on loopback, as a web server would: for trying `indexer` out.

    python scripts/serve_site.py FOLDER [--port 8000]

Every page has an ETag and a Last-Modified and answers 304; a folder is answered by its
index.html, an unknown path by the folder's 404.html. Where the folder has no sitemap.xml
or robots.txt, they are generated. Where it has a sitemap.xml, that names the origin the
files were written for; it is replaced by this server's, so that canonical links, hreflang
and the sitemap point here.
"""

from __future__ import annotations

import argparse
import hashlib
import mimetypes
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from functools import cached_property, lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from time import gmtime, strftime
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from xml.sax.saxutils import escape

LOOPBACK = "127.0.0.1"
PAGES = (".html", ".htm", ".xhtml")
TEXTS = (*PAGES, ".xml", ".txt")
NOT_FOUND = "404.html"
_LOC = re.compile(rb"<loc>\s*(https?://[^/<\s]+)")
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_NAMESPACE = '"http://www.sitemaps.org/schemas/sitemap/0.9"'


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One answer: decoded body, media type, seconds since the epoch of the last change."""

    body: bytes
    content_type: str
    modified: float
    status: int = 200
    location: str = ""

    @cached_property
    def etag(self) -> str:
        """A strong validator: a digest of the bytes as they are sent."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:20]}"'

    @property
    def last_modified(self) -> str:
        """`modified` as an HTTP date."""
        return formatdate(int(self.modified), usegmt=True)


class Folder:
    """What stands under which path. Files are read again when they change."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise NotADirectoryError(f"{root} is not a folder; name one that holds HTML files")
        sitemap = self.root / "sitemap.xml"
        found = _LOC.search(sitemap.read_bytes()) if sitemap.is_file() else None
        self.written_for = found[1] if found else b""
        self._read = lru_cache(maxsize=4096)(self._read_file)

    def paths(self) -> list[str]:
        """
        The quoted paths of all pages, in order; `index.html` is its folder's path.

        A symbolic link is another name of a page: served, not listed.
        """
        found = (file for file in self.root.rglob("*") if file.suffix.lower() in PAGES)
        files = (file for file in found if file.is_file() and not file.is_symlink())
        names = (file.relative_to(self.root).as_posix() for file in files)
        return sorted(_path(name) for name in names if PurePosixPath(name).name != NOT_FOUND)

    def get(self, target: str, origin: str) -> Resource:
        """What `target` (path and query) answers; links written for another origin lead to `origin`."""
        path = unquote(urlsplit(target).path)
        file = self._file(path)
        if file is None:
            return self._generated(path, origin) or self._missing(origin)
        if file.is_dir():
            if not path.endswith("/"):
                return _moved(quote(path) + "/")
            file = file / "index.html"
            if not file.is_file():
                return self._missing(origin)
        if file.name == NOT_FOUND:
            return self._missing(origin)
        return self._resource(file, origin)

    def sitemap(self, origin: str) -> bytes:
        """A sitemap of all pages, with the day each file changed last."""
        urls = "".join(
            f"<url><loc>{escape(origin + path)}</loc><lastmod>{self._day(path)}</lastmod></url>\n"
            for path in self.paths()
        )
        return f"{_DECLARATION}\n<urlset xmlns={_NAMESPACE}>\n{urls}</urlset>\n".encode()

    def _file(self, path: str) -> Path | None:
        """The file or folder behind a path; never one outside the root."""
        try:
            file = (self.root / path.lstrip("/")).resolve()
        except ValueError:  # a NUL byte
            return None
        return file if file.is_relative_to(self.root) and file.exists() else None

    def _resource(self, file: Path, origin: str, status: int = 200) -> Resource:
        stat = file.stat()
        return self._read(file, stat.st_mtime_ns, stat.st_size, origin, status)

    def _read_file(self, file: Path, changed: int, _size: int, origin: str, status: int) -> Resource:
        body = file.read_bytes()
        content_type = _content_type(file, body)
        if self.written_for and file.suffix.lower() in TEXTS:
            body = body.replace(self.written_for, origin.encode())
        return Resource(body=body, content_type=content_type, modified=changed / 1e9, status=status)

    def _generated(self, path: str, origin: str) -> Resource | None:
        if path == "/robots.txt":
            text = f"User-agent: *\nDisallow:\n\nSitemap: {origin}/sitemap.xml\n"
            return Resource(body=text.encode(), content_type="text/plain; charset=utf-8", modified=0)
        if path == "/sitemap.xml":
            return Resource(body=self.sitemap(origin), content_type="application/xml", modified=0)
        return None

    def _missing(self, origin: str) -> Resource:
        page = self.root / NOT_FOUND
        if page.is_file():
            return self._resource(page, origin, status=404)
        body = b"<!DOCTYPE html><title>Not found</title><h1>Not found</h1>"
        return Resource(body=body, content_type="text/html; charset=utf-8", modified=0, status=404)

    def _day(self, path: str) -> str:
        name = unquote(path).lstrip("/")
        file = self.root / (name + "index.html" if name == "" or name.endswith("/") else name)
        return strftime("%Y-%m-%d", gmtime(file.stat().st_mtime))


def _path(name: str) -> str:
    return quote(
        "/" + (name.removesuffix("index.html") if PurePosixPath(name).name == "index.html" else name)
    )


def _content_type(file: Path, body: bytes) -> str:
    """UTF-8 is declared; a file in another encoding must declare its own."""
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if not kind.startswith("text/"):
        return kind
    try:
        body.decode()
    except UnicodeDecodeError:
        return kind
    return f"{kind}; charset=utf-8"


def _moved(location: str) -> Resource:
    return Resource(body=b"", content_type="text/plain", modified=0, status=301, location=location)


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "serve_site"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together
    timeout = 60  # an idle connection does not hold its thread for ever
    server: Server

    def do_GET(self) -> None:
        resource = self.server.folder.get(self.path, self.server.origin)
        fresh = resource.status == 200 and self._unchanged(resource)  # noqa: PLR2004 - OK
        status = 304 if fresh else resource.status
        self.server.count(status)
        self.send_response(status)
        if resource.status == 200:  # noqa: PLR2004 - OK
            self.send_header("ETag", resource.etag)
            if resource.modified:
                self.send_header("Last-Modified", resource.last_modified)
        if resource.location:
            self.send_header("Location", resource.location)
        if not fresh:
            self.send_header("Content-Type", resource.content_type)
            self.send_header("Content-Length", str(len(resource.body)))
        self.end_headers()
        if self.command != "HEAD" and not fresh:
            self.wfile.write(resource.body)

    do_HEAD = do_GET  # noqa: N815 - the name that the base class asks for

    def _unchanged(self, resource: Resource) -> bool:
        """RFC 9110, 13.2.2: If-None-Match decides; If-Modified-Since only without it."""
        tags = self.headers.get("If-None-Match")
        if tags is not None:
            known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
            return "*" in known or resource.etag in known
        since = self.headers.get("If-Modified-Since")
        if since is None or not resource.modified:
            return False
        try:
            return int(resource.modified) <= parsedate_to_datetime(since).timestamp()
        except (TypeError, ValueError):
            return False

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class names it
        """Say nothing: what was asked is the client's to report."""


class Server(ThreadingHTTPServer):
    """Serves one folder; `origin` is where, such as `http://127.0.0.1:8000`, `answers` counts by status."""

    allow_reuse_port = False  # a second server on a taken port must fail
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, folder: Folder, port: int) -> None:
        super().__init__((LOOPBACK, port), _Exchange)
        self.folder = folder
        self.origin = f"http://{LOOPBACK}:{self.server_address[1]}"
        self.answers: Counter[int] = Counter()
        self._lock = threading.Lock()

    def count(self, status: int) -> None:
        """Count one answer; exchanges run in threads of their own."""
        with self._lock:
            self.answers[status] += 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news; anything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def make_server(folder: Path, port: int = 0) -> Server:
    """A bound server, to be run by `serve_forever`. Raises `OSError` when the port is taken."""
    return Server(Folder(folder), port)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Let a bound server answer, in a thread, for the length of a `with`."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serve(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve a folder for the length of a `with`; gives the origin, such as `http://127.0.0.1:8000`."""
    with running(make_server(folder, port)) as server:
        yield server.origin


def main() -> int:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve a folder of HTML on loopback.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0, help="0: any free port (default)")
    options = parser.parse_args()
    try:
        server = make_server(options.folder, options.port)
    except OSError as error:
        print(f"cannot serve {options.folder} on port {options.port}: {error}", file=sys.stderr)
        return 1
    origin = server.origin
    pages = len(server.folder.paths())
    print(f"{pages} pages at {origin}/, sitemap at {origin}/sitemap.xml; Ctrl-C ends", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
