"""Private pages are read with a login, headers and cookies that go nowhere else and are written nowhere."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from tests.support.shop import html
from tests.support.web import Reply, Site

PASSWORD = "pw-9f3b7c1e5a"
TOKEN = "tok-0a8d6e4f2b1c"
COOKIE = "ck-5e7a9c3b1d0f"
LOGIN = f"reader:{PASSWORD}"
BASIC = base64.b64encode(LOGIN.encode()).decode()
PLANTED = (PASSWORD, TOKEN, COOKIE, BASIC, quote(PASSWORD))
ENVIRONMENT = {"PORTAL_LOGIN": LOGIN, "PORTAL_TOKEN": f"X-Access-Token: {TOKEN}"}
TEXT = "<p>Порядок отпусков: заявление подают за две недели.</p>"


@pytest.fixture
def portal():
    with Site() as site:
        yield site


@pytest.fixture
def other():
    with Site({"/": html("Other", "<p>Somebody else's page.</p>")}) as site:
        yield site


def _guarded(body, title="Портал", **reply):
    """A page for those who know all three; it shows them what they sent."""

    def answer(request):
        heads = request.headers
        known = (
            heads.get("authorization") == f"Basic {BASIC}"
            and heads.get("x-access-token") == TOKEN
            and f"session={COOKIE}" in heads.get("cookie", "")
        )
        if not known:
            return Reply("<h1>Who are you?</h1>", status=401, headers={"WWW-Authenticate": "Basic"})
        shown = f"<p>Ваш заголовок {heads['authorization']}, ключ {heads['x-access-token']}.</p>"
        return Reply(html(title, body + shown), **reply)

    return answer


def _cookies(folder, host="127.0.0.1", **more):
    lines = [f"{host}\tFALSE\t/\tFALSE\t0\tsession\t{COOKIE}"]
    lines += [f"127.0.0.1\tFALSE\t{path}\tTRUE\t0\t{name}\t{COOKIE}" for name, path in more.items()]
    (folder / "cookies.txt").write_text("# Netscape HTTP Cookie File\n" + "\n".join(lines) + "\n")


def _options(*sites):
    allowed = [word for site in sites for word in ("--allow-private", site.host)]
    return [
        *("--auth-env", "PORTAL_LOGIN", "--header-env", "PORTAL_TOKEN", "--cookies-file", "cookies.txt"),
        *allowed,
        *("--delay", "0", "--retries", "0"),
    ]


def _assert_nowhere(indexer, *results):
    for result in results:
        assert not [secret for secret in PLANTED if secret in result.out + result.err]
    written = [path for path in indexer.projects.rglob("*") if path.is_file()]
    assert written
    for path in written:
        data = path.read_bytes()
        assert not [secret for secret in PLANTED if secret.encode() in data], path


def _credentials(request):
    return [
        request.headers[name]
        for name in ("authorization", "x-access-token", "cookie")
        if name in request.headers
    ]


def test_a_private_site_is_indexed_and_no_secret_is_kept_or_told_to_another_host(
    indexer, portal, other, tmp_path
):
    away = f'<a href="{other.url("/linked")}">out</a><a href="/gone-away">moved</a><a href="/hello">in</a>'
    portal.route("/", _guarded(TEXT + away))
    portal.route(
        "/hello", _guarded("<p>Столовая открыта с 12 до 15 часов каждый будний день.</p>", "Столовая")
    )
    portal.page("/gone-away", status=302, headers={"Location": other.url("/landing")})
    portal.page(
        "/robots.txt",
        f"User-agent: *\nAllow: /\nSitemap: {other.url('/sitemap.xml')}\nSitemap: {portal.url('/moved.xml')}\n",
        content_type="text/plain",
    )
    portal.page("/moved.xml", status=301, headers={"Location": other.url("/sitemap.xml")})
    _cookies(tmp_path, only_tls="/")
    run = indexer(
        *("init-project", "--name", "p", "--crawl", portal.url("/"), *_options(portal, other), "-vv"),
        **ENVIRONMENT,
    )
    assert run.code == 0, run.err
    rows = indexer("export", "--project-name", "p", **ENVIRONMENT).ok()
    states = {row["url"]: (row["status"], row["reason"]) for row in rows.lines}
    assert states[portal.url("/")] == ("indexed", "")
    assert states[portal.url("/hello")] == ("indexed", "")
    assert all("only_tls" not in request.headers.get("cookie", "") for request in portal.log)
    assert other.log == [] or all(not _credentials(request) for request in other.log)
    again = indexer("seed", "--project-name", "p", "--json", **ENVIRONMENT).ok()
    assert again.json["not_modified"] + again.json["fetched"] >= 2
    shown = [
        indexer(command, "--project-name", "p", "-vv", **ENVIRONMENT) for command in ("status", "export")
    ]
    shown.append(indexer("explain", portal.url("/"), "--project-name", "p", **ENVIRONMENT).ok())
    _assert_nowhere(indexer, run, rows, again, *shown)


def test_a_redirect_between_two_sources_takes_no_credentials_to_the_origin_that_was_not_chosen(
    indexer, portal, other, tmp_path
):
    portal.route("/", _guarded(TEXT))
    portal.page("/away", status=302, headers={"Location": other.url("/")})
    _cookies(tmp_path)
    listed = f"{portal.url('/')},{portal.url('/away')},{other.url('/')}"
    run = indexer(
        *("init-project", "--name", "p", "--urls", listed, *_options(portal, other)),
        *("--private-origin", portal.origin, "--until-phase", "chunk"),
        **ENVIRONMENT,
    ).ok()
    assert {"/", "/robots.txt"} <= set(other.paths())
    assert all(not _credentials(request) for request in other.log)
    assert all(_credentials(request) for request in portal.log if request.path == "/")
    _assert_nowhere(indexer, run)


def test_credentials_for_several_origins_are_announced(indexer, portal, other, tmp_path):
    portal.route("/", _guarded(TEXT))
    _cookies(tmp_path)
    run = indexer(
        *("init-project", "--name", "p", "--urls", f"{portal.url('/')},{other.url('/')}"),
        *(*_options(portal, other), "--until-phase", "scrape"),
        **ENVIRONMENT,
    ).ok()
    assert portal.origin in run.err
    assert other.origin in run.err
    assert "private_origins" in run.err
    assert _credentials(other.hits("/")[0])


def test_without_credentials_the_same_page_is_a_login_wall_and_with_them_the_next_run_reads_it(
    indexer, portal, tmp_path
):
    portal.route("/", _guarded(TEXT))
    portal.page("/open", html("Открыто", "<p>Это видно всем посетителям сайта.</p>"))
    listed = f"{portal.url('/')},{portal.url('/open')}"
    start = ["--urls", listed, "--allow-private", portal.host, "--delay", "0", "--until-phase", "chunk"]
    indexer("init-project", "--name", "p", *start).ok()
    before = {row["url"]: row["reason"] for row in indexer("export", "--project-name", "p").lines}
    assert before[portal.url("/")] == "login"
    _cookies(tmp_path)
    for key, value in (
        ("auth_env", "PORTAL_LOGIN"),
        ("headers_env", "PORTAL_TOKEN"),
        ("cookies_file", str(tmp_path / "cookies.txt")),
    ):
        indexer("set", "--project-name", "p", f"crawl.{key}", value).ok()
    run = indexer("seed", "--project-name", "p", "--until-phase", "chunk", **ENVIRONMENT).ok()
    after = {row["url"]: row["status"] for row in indexer("export", "--project-name", "p").lines}
    assert after[portal.url("/")] == "indexed"
    told = indexer("status", "--project-name", "p", **ENVIRONMENT).ok()
    assert "PORTAL_LOGIN" in told.out
    _assert_nowhere(indexer, run, told)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({"PORTAL_LOGIN": ""}, "PORTAL_LOGIN"),
        ({"PORTAL_LOGIN": PASSWORD}, "PORTAL_LOGIN"),
        ({"PORTAL_TOKEN": TOKEN}, "PORTAL_TOKEN"),
        ({"PORTAL_TOKEN": f"X-A: {TOKEN}\r\nHost: evil"}, "PORTAL_TOKEN"),
        ({"PORTAL_TOKEN": f"Host: {TOKEN}"}, "PORTAL_TOKEN"),
        ({"PORTAL_TOKEN": f"Authorization: {TOKEN}"}, "authorization"),
    ],
)
def test_what_is_missing_or_malformed_is_named_without_its_value_and_leaves_nothing(
    indexer, portal, tmp_path, value, word
):
    _cookies(tmp_path)
    arguments = ["init-project", "--name", "p", "--crawl", portal.url("/"), *_options(portal), "-vv"]
    result = indexer(*arguments, **{**ENVIRONMENT, **value}).fails(2, word)
    assert indexer("list", "--json").ok().json == []
    assert portal.log == []
    _assert_nowhere(indexer, result)


def test_a_secret_in_place_of_a_name_is_refused_and_not_repeated(indexer, portal):
    start = ["init-project", "--name", "p", "--crawl", portal.url("/")]
    for option, value in (("--auth-env", LOGIN), ("--header-env", ENVIRONMENT["PORTAL_TOKEN"])):
        result = indexer(*start, option, value, "-vv").fails(2, "crawl.")
        _assert_nowhere(indexer, result) if indexer.projects.exists() else None
        assert PASSWORD not in result.err
        assert TOKEN not in result.err
    indexer("init-project", "--name", "p").ok()
    result = indexer("set", "--project-name", "p", "crawl.auth_env", LOGIN).fails(2, "crawl.auth_env")
    _assert_nowhere(indexer, result)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["holds no cookie"]),
        (f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession {COOKIE}\n", ["line 1", "7 columns"]),
        (f"# c\n127.0.0.1\tmaybe\t/\tFALSE\t0\tsession\t{COOKIE}\n", ["line 2"]),
        (None, ["cannot be read"]),
    ],
)
def test_a_bad_cookies_file_is_named_without_its_content(indexer, portal, tmp_path, text, words):
    if text is not None:
        (tmp_path / "cookies.txt").write_text(text)
    arguments = ["init-project", "--name", "p", "--crawl", portal.url("/"), *_options(portal)]
    result = indexer(*arguments, **ENVIRONMENT).fails(2, "cookies.txt", *words)
    assert COOKIE not in result.err + result.out


def test_an_origin_that_is_no_source_gets_no_credentials(indexer, portal, other, tmp_path):
    _cookies(tmp_path)
    arguments = ["init-project", "--name", "p", "--crawl", portal.url("/"), *_options(portal)]
    indexer(*arguments, "--private-origin", other.origin, **ENVIRONMENT).fails(
        2, other.origin, "private_origins"
    )


def test_one_url_to_extract_is_nobodys_source_and_gets_no_credentials(indexer, portal, tmp_path):
    portal.page("/", html("Открыто", "<p>Это видно всем посетителям сайта.</p>"))
    (tmp_path / "indexer.toml").write_text("[crawl]\nauth_env = 'PORTAL_LOGIN'\n")
    indexer("extract", portal.url("/"), "--allow-private", portal.host, **ENVIRONMENT).ok()
    assert [_credentials(request) for request in portal.log] == [[]]
