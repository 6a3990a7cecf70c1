"""robots.txt: rules, and what odd answers mean."""

import pytest

from indexer.artifacts import Reason
from indexer.crawl.robots import product_token, read_robots, user_agent
from indexer.settings import Crawl


def _verdicts(text, *paths, token="indexer", status=200):
    body = text if isinstance(text, bytes) else text.encode()
    robots = read_robots(status, body, token=token)
    return [robots.verdict("http://h" + path)[0] for path in paths]


def test_the_longest_rule_wins_and_wildcards_work():
    rules = "User-agent: *\nDisallow: /*?sort=\nDisallow: /*.print$\nDisallow: /shop/\nAllow: /shop/public\nDisallow:\nDisallow: /tmp\n"
    got = _verdicts(
        rules,
        "/list?sort=price",
        "/list?page=2",
        "/a.print",
        "/a.print.html",
        "/shop/x",
        "/shop/public/1",
        "/tmp/x",
    )
    blocked, free = Reason.ROBOTS, Reason.NONE
    assert got == [blocked, free, blocked, free, blocked, free, blocked]


def test_our_own_group_replaces_the_general_one_whatever_its_case():
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: Other\nUser-agent: TESTBOT\nDisallow: /mine/\n"
    assert _verdicts(rules, "/open", "/mine/1", token="TestBot") == [Reason.NONE, Reason.ROBOTS]
    assert _verdicts(rules, "/open", token="Someone") == [Reason.ROBOTS]


def test_a_byte_order_mark_and_blank_lines_do_not_end_the_group():
    rules = b"\xef\xbb\xbfUSER-AGENT: *\r\n\r\nDISALLOW: /no/\r\ndisallow:/also/\r\n"
    assert _verdicts(rules, "/no/1", "/also/1", "/yes") == [Reason.ROBOTS, Reason.ROBOTS, Reason.NONE]


def test_raw_and_escaped_letters_are_the_same():
    rules = "User-agent: *\nDisallow: /корзина\nDisallow: /%d0%bb\n"
    assert (
        _verdicts(rules, "/%D0%BA%D0%BE%D1%80%D0%B7%D0%B8%D0%BD%D0%B0", "/%D0%BB%D0%B8")
        == [Reason.ROBOTS] * 2
    )


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_no_answer_or_an_error_of_the_server_means_stay_out(status):
    assert _verdicts("", "/", status=status) == [Reason.ROBOTS_UNAVAILABLE]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_an_error_of_ours_means_no_rules(status):
    assert _verdicts("User-agent: *\nDisallow: /", "/", status=status) == [Reason.NONE]


@pytest.mark.parametrize("page", ["<!DOCTYPE html><p>x", " \n<html><body>User-agent: *\nDisallow: /\n"])
def test_a_page_instead_of_rules_means_no_rules(page):
    assert _verdicts(page, "/") == [Reason.NONE]


def test_sitemap_lines_count_however_they_are_written():
    text = "User-agent: *\nSITEMAP :http://h/one.xml   # main\nSitemap: /two.xml\nsitemap:http://h/one.xml\n# Sitemap: /no.xml\n"
    assert read_robots(200, text.encode(), token="x").sitemaps == ("http://h/one.xml", "/two.xml")


def test_the_crawl_delay_is_that_of_our_group():
    text = b"User-agent: *\nCrawl-delay: 7\n\nUser-agent: testbot\nCrawl-delay: 1.5\n"
    assert read_robots(200, text, token="TestBot").crawl_delay == 1.5
    assert read_robots(200, text, token="other").crawl_delay == 7
    assert read_robots(200, b"", token="other").crawl_delay == 0


def test_we_name_ourselves_and_whom_to_write_to():
    assert user_agent(Crawl(contact="mailto:a@b.kz")).endswith("(+mailto:a@b.kz)")
    assert product_token(user_agent(Crawl())) == "indexer"
    assert product_token("TestBot/1.0 (+x)") == "TestBot"
