"""Every run leaves a record, a digest that a person can read, and tells whoever wants to know."""

from __future__ import annotations

import json
import re

import pytest

from indexer.pipeline.digest import Digest, differences, markdown
from indexer.pipeline.metrics import openmetrics
from indexer.pipeline.report import Report
from tests.support.shop import PAGES, html, open_shop, publish_sitemap, sources
from tests.support.web import Reply, Site


@pytest.fixture
def site():
    with open_shop() as site:
        yield site


@pytest.fixture
def changed(indexer, site):
    """A project `p`, and a site where one price, one page of hours, one new and one gone page differ."""
    indexer("init-project", "--name", "p", *sources(site)).ok()
    golden = indexer.projects / "p" / "golden.jsonl"
    question = {"question": "сколько стоит замена масла?", "relevant": [site.url("/prices")]}
    golden.write_text(json.dumps(question) + "\n")
    title, body = PAGES["/prices"]
    site.page("/prices", html(title, body.replace("1500", "1700")))
    title, body = PAGES["/contacts"]
    site.page("/contacts", html(title, body.replace("с 9 до 21", "с 10 до 20")))
    site.page("/en", status=410)
    site.page("/new", html("Новый цех", "<p>Открыт цех покраски кузова.</p>"))
    publish_sitemap(site, [path for path in PAGES if path != "/en"] + ["/new"])
    return indexer


def test_the_digest_says_what_changed_line_by_line(changed, site):
    report = changed("reindex", "--project-name", "p", "--json").ok().json
    record = changed("runs", "show", "last", "--project-name", "p", "--json").ok().json
    assert (record["command"], record["exit"], record["report"]) == ("reindex", 0, report)
    digest = record["digest"]
    assert [page["url"] for page in digest["new"]] == [site.url("/new")]
    assert [(page["url"], "gone" in page["why"]) for page in digest["gone"]] == [(site.url("/en"), True)]
    pages = {page["url"]: page for page in digest["changed"]}
    assert set(pages) == {site.url("/prices"), site.url("/contacts")}
    assert [line[0] for line in pages[site.url("/prices")]["prices"]] == ["-", "+"]
    assert "1700" in pages[site.url("/prices")]["prices"][1]
    assert "с 10 до 20" in pages[site.url("/contacts")]["hours"][1]
    assert digest["golden"][0]["text_before"] != digest["golden"][0]["text_after"]
    text = changed("runs", "show", record["run"], "--project-name", "p").ok().out
    assert "+ | Замена масла | 1700 ₽ |" in text
    assert "Prices or hours changed on 2" in text
    assert "Golden questions with another best fragment (1)" in text
    changed("reindex", "--project-name", "p").ok()
    assert "nothing changed" in changed("runs", "show", "--project-name", "p").ok().out


def test_runs_are_listed_newest_first_with_how_they_ended(changed, site):
    site.fault("*", "status", status=503)
    changed("reindex", "--project-name", "p", "--retries", "0").fails(1, "run again")
    runs = changed("runs", "--json").ok().json
    assert [(run["command"], run["exit"]) for run in runs] == [("reindex", 1), ("seed", 0)]
    assert "run again" in runs[0]["error"]
    assert "exit 1" in changed("runs", "--project-name", "p").ok().out
    changed("runs", "show", "nosuch", "--project-name", "p").fails(2, "nosuch")
    changed("runs", "what").fails(2, "what")


def test_webhook_notifier_bot_and_collector_are_told_and_no_address_leaks(changed, site, tmp_path):
    with Site() as ear:
        ear.fallback(lambda _request: Reply(body="{}"))
        changed("set", "--project-name", "p", "bot-url", ear.origin).ok()
        told = changed(
            "reindex", "--project-name", "p", "-v",
            INDEXER_WEBHOOK=ear.url("/hook?token=hush-hush-1"),
            INDEXER_NOTIFY_URLS=f"json://{ear.host}/apprise",
            INDEXER_RUN__METRICS_DIR=str(tmp_path / "metrics"),
        ).ok()  # fmt: skip
        hook = json.loads(ear.hits("/hook?token=hush-hush-1")[0].body)
        assert hook["digest"]["report"]["changed"] == 2
        message = json.loads(ear.hits("/apprise")[0].body)
        assert message["title"] == "indexer: p: 1 new, 2 changed, 1 gone"
        bot = next(request for request in ear.log if request.path.startswith("/api/register-project/"))
        changes = json.loads(bot.body)["changes"]
        assert changes["new"] == [site.url("/new")]
        assert changes["gone"] == [site.url("/en")]
        assert "hush-hush-1" not in told.err + told.out
        metrics = (tmp_path / "metrics" / "indexer-p.prom").read_text()
        assert 'indexer_pages_moved{project="p",change="changed"} 2' in metrics
        ear.reset()
        changed("reindex", "--project-name", "p", INDEXER_WEBHOOK=ear.url("/hook")).ok()
        assert not ear.log, "nothing changed: nothing to tell"
        ear.fallback(lambda _request: Reply(body="no", status=500))
        deaf = changed(
            "reindex", "--project-name", "p",
            INDEXER_WEBHOOK=ear.url("/hook?token=hush-hush-1"), INDEXER_NOTIFY__WHEN="always",
        )  # fmt: skip
        assert (deaf.code, "the webhook answers 500" in deaf.err) == (3, True)
    secrets = "hush-hush-1"
    assert not [path for path in tmp_path.rglob("*.json") if secrets in path.read_text()]


def test_logs_as_json_are_one_object_a_line(indexer, site):
    done = indexer("init-project", "--name", "p", *sources(site), "--log-json").ok()
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert {"time", "level", "message"} == {name for line in lines for name in line}
    assert "Scraping completed: 5 pages" in [line["message"] for line in lines]
    done = indexer("search", "--project-name", "nosuch", "x", "--log-json")
    assert json.loads(done.err)["level"] == "error"


def test_differences_leave_out_what_is_around_them():
    assert list(differences("a\nb\n\nc", "a\n  b\nd")) == ["- c", "+ d"]


def test_metrics_escape_names_and_end_as_openmetrics_does():
    text = openmetrics(Report(project='a"b\\c', id="1", points=7), ended=5.0)
    assert 'indexer_points{project="a\\"b\\\\c"} 7' in text
    assert text.endswith("# EOF\n")
    assert all(re.match(r"(# (TYPE|HELP|EOF)|indexer_\w+\{.*\} [\d.]+$)", line) for line in text.splitlines())


def test_an_empty_digest_reads_well():
    assert markdown(Digest(report=Report(project="p", id="1"))).startswith("# p: nothing changed\n")
