"""Secrets planted in every place that takes one are in no output, log, artifact, record, digest or backup."""

from __future__ import annotations

import base64
import gzip
import json
from urllib.parse import quote

import pytest
import zstandard

from tests.support.cli import Cli
from tests.support.model_api import ModelApi
from tests.support.shop import html
from tests.support.web import Reply, Site

TELEGRAM = "7000000001:AAtelegram-token-0123456789abcdefghij"
PLANTED = {
    "telegram": TELEGRAM,
    "bot token": "bot-token-5d1f0c",
    "bot secret": "bot-secret-77ab3e",
    "bot login": "bot-login-83e0d1",
    "chat key": "sk-chat-key-2b9e6d0a",
    "first embedding key": "embedding-key-one-41c7",
    "second embedding key": "embedding-key-two-98f2",
    "provider header": "header-of-provider-6c20",
    "site password": "site/password+3f8a",
    "site token": "site-token-0e9d77",
    "cookie": "cookie-value-b15a02",
    "webhook": "webhook-token-d4e8f1",
    "apprise": "apprise-password-9a7b",
    "proxy": "proxy-password-1f2e3d",
}
LOGIN = f"reader:{PLANTED['site password']}"
BASIC = base64.b64encode(LOGIN.encode()).decode()
BOT_BASIC = base64.b64encode(f"user:{PLANTED['bot login']}".encode()).decode()
SPELLINGS = [
    *PLANTED.values(),
    BASIC,
    BOT_BASIC,
    quote(PLANTED["site password"], safe=""),
    quote(TELEGRAM, safe=""),
]
_HOLE = bytes(65536)
IN_REGISTRY = ("telegram",)  # that is where a bot reads it


def _guarded(path, body):
    """A page for those who log in, which shows what they sent, as some error pages do."""

    def answer(request):
        if request.headers.get("authorization") != f"Basic {BASIC}":
            return Reply("<h1>Who are you?</h1>", status=401)
        shown = " ".join(f"{name}: {value}" for name, value in request.headers.items())
        return Reply(html(path, f"{body}<p>{shown}</p>"), status=500 if path == "/broken" else 200)

    return answer


def _echo(status):
    """An answer that repeats all that it was sent."""

    def answer(request):
        heads = " ".join(f"{name}: {value}" for name, value in request.headers.items())
        return Reply(f"{heads} {request.path} {request.body[:500]!r}", status=status)

    return answer


@pytest.fixture
def world(tmp_path):
    with Site() as site, Site() as ear, ModelApi() as api:
        for path in ("/", "/prices", "/broken"):
            site.route(path, _guarded(path, f"<p>Про {path} стоит 1500 рублей, всё для гостей.</p>"))
        names = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/", "/prices", "/broken"))
        site.page("/sitemap.xml", f"<urlset>{names}</urlset>", content_type="application/xml")
        ear.fallback(_echo(200))
        cookie = f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{PLANTED['cookie']}"
        (tmp_path / "cookies.txt").write_text(f"# Netscape HTTP Cookie File\n{cookie}\n")
        (tmp_path / "token").write_text(PLANTED["bot token"])
        (tmp_path / "indexer.toml").write_text(f"""
            [models]
            extract = ["chat/m"]
            embedding = ["vectors/m"]
            [providers.chat]
            base_url = "{api.base_url("llm")}"
            api_key_env = ["CHAT_KEY"]
            headers = {{ X-Organisation = "{PLANTED["provider header"]}" }}
            [providers.vectors]
            base_url = "{api.base_url("emb")}"
            api_key_env = ["VECTOR_KEYS"]
        """)
        cli = Cli(
            tmp_path,
            CHAT_KEY=PLANTED["chat key"],
            VECTOR_KEYS=f"{PLANTED['first embedding key']},{PLANTED['second embedding key']}",
            INDEXER_BOT_TOKEN_FILE=str(tmp_path / "token"),
            INDEXER_BOT_SECRET=PLANTED["bot secret"],
            INDEXER_WEBHOOK=ear.url(f"/hook?token={PLANTED['webhook']}"),
            INDEXER_NOTIFY_URLS=f"json://user:{PLANTED['apprise']}@{ear.host}/apprise",
            INDEXER_NOTIFY__WHEN="always",
            PORTAL_LOGIN=LOGIN,
            PORTAL_TOKEN=f"X-Access-Token: {PLANTED['site token']}",
            HTTPS_PROXY=f"http://proxy-user:{PLANTED['proxy']}@127.0.0.1:9",
        )
        yield cli, site, ear, api


def test_what_is_planted_is_found_nowhere(world, tmp_path):
    cli, site, ear, api = world
    said = []

    def run(*words, **environment):
        done = cli(*words, **environment)
        assert "Traceback" not in done.err
        said.extend([done.out, done.err])
        return done

    first = run(
        *("init-project", "--name", "p", "-vv", "--json", "--retries", "0", "--delay", "0"),
        *("--sitemap-url", site.url("/sitemap.xml"), "--allow-private", site.host, "--bot-url", ear.origin),
        *("--tg-api-key", TELEGRAM, "--auth-env", "PORTAL_LOGIN", "--header-env", "PORTAL_TOKEN"),
        *("--cookies-file", "cookies.txt"),
    )
    assert (first.code, first.json["indexed"], first.json["registered"]) == (3, 2, True)
    sent = b"".join(call.body for call in ear.log).decode() + json.dumps(
        [dict(one.headers) for one in ear.log]
    )
    assert TELEGRAM in sent, "the bot gets what it needs"
    assert PLANTED["bot token"] in sent
    ear.fallback(_echo(500))
    site.route("/prices", _guarded("/prices", "<p>Цены другие: 1700 рублей, не 1500.</p>"))
    changed = run("reindex", "--project-name", "p", "--log-json", "-vv", INDEXER_BOT__RETRIES="0")
    assert changed.code == 3
    bot = ear.origin.replace("//", f"//user:{PLANTED['bot login']}@")
    assert run("set", "--project-name", "p", "bot-url", bot).code == 2, "it would be stored"
    assert run("init-project", "--name", "q", "--bot-url", bot).code == 2
    run("set", "--project-name", "p", "bot-url", "").ok()
    assert run("register", "--project-name", "p", INDEXER_BOT__RETRIES="0", INDEXER_BOT__URL=bot).code == 3
    ear.fallback(_echo(403))
    for words in (
        ("bot", "check", "p"),
        ("status", "--project-name", "p", "--json"),
        ("explain", site.url("/broken"), "--project-name", "p"),
        ("export", "--project-name", "p"),
        ("search", "--project-name", "p", "цены"),
        ("runs", "show", "last", "--project-name", "p"),
        ("doctor", "--all", "--json"),
        ("backup", "p", "--to", "p.tar.zst", "-vv"),
    ):
        run(*words)
    refused = {"INDEXER_PROVIDERS__VECTORS__BASE_URL": api.base_url("emb", "auth")}
    assert run("reindex", "--project-name", "p", "--force", "--from-phase", "embed", "-vv", **refused).code
    run("doctor", "p", **refused)
    assert run("search", "--project-name", "p", "цены", INDEXER_BOT_TOKEN_FILE="/nowhere").code == 2
    for path in _written(tmp_path):
        with path.open("rb") as file:
            said.append(_text(file))
    said += [gzip.decompress(path.read_bytes()).decode() for path in tmp_path.rglob("*.gz")]
    with (tmp_path / "p.tar.zst").open("rb") as file:
        said.append(_text(zstandard.ZstdDecompressor().stream_reader(file)))
    found = [(text, place[:80]) for place in said for text in SPELLINGS if text in place]
    assert not found
    _only_what_belongs_there(cli)


def _text(file):
    """All of a file but the holes of the engine's."""
    pieces = iter(lambda: file.read(65536), b"")
    return b"".join(piece for piece in pieces if piece != _HOLE).decode("utf-8", "replace")


def _written(folder):
    """Every file of the run but those that hold secrets by design."""
    known = ("indexer.toml", "cookies.txt", "token", "p.tar.zst")
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in known and not path.name.startswith("registry.db"):
            yield path


def _only_what_belongs_there(cli):
    for path in cli.projects.glob("registry.db*"):
        assert path.stat().st_mode & 0o777 == 0o600, path
        text = path.read_bytes().decode("utf-8", "replace")
        assert not [name for name, value in PLANTED.items() if value in text and name not in IN_REGISTRY]
    assert (cli.folder / "p.tar.zst").stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o777 for path in (cli.projects / "p" / "0_raw").iterdir()} == {0o600}
