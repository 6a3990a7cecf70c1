"""The frontier: breadth first, once, in an order that does not depend on timing."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.artifacts import Reason, Source
from indexer.crawl.frontier import Frontier, Lead
from indexer.crawl.scope import scope_of
from indexer.settings import Crawl

ROOT = "http://h/"


def _frontier(*, max_pages=1000, blocked=lambda url: (Reason.NONE, ""), **crawl):
    return Frontier(scope=scope_of([ROOT], Crawl(**crawl)), max_pages=max_pages, blocked=blocked)


def _source(url, depth=0):
    return Source(url=url, found_in="test", depth=depth)


def _crawl(graph, *, max_pages, seed, max_depth=12):
    """Pages admitted in order, when fetches come back in random order."""
    chance = random.Random(seed)
    frontier = _frontier(max_pages=max_pages, max_depth=max_depth)
    frontier.add(_source(ROOT), named=True)
    admitted, refused, flying = [], [], []
    while True:
        fresh = list(frontier.take())
        admitted += [source.url for source in fresh]
        flying += fresh
        if not flying:
            return admitted, refused
        source = flying.pop(chance.randrange(len(flying)))
        leads = [
            Lead(ROOT + str(n), "link", source.depth + 1)
            for n in graph.get(source.url.removeprefix(ROOT), ())
        ]
        refused += [(one.source.url, one.reason) for one in frontier.done(source.url, leads)]


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(0, 30).map(str), st.lists(st.integers(0, 30), max_size=6), max_size=30),
    st.integers(1, 20),
    st.integers(1, 4),
    st.integers(0, 9999),
)
def test_the_order_of_answers_does_not_matter(graph, max_pages, max_depth, seed):
    graph = {**graph, "": [1, 2, 3]}
    one = _crawl(graph, max_pages=max_pages, max_depth=max_depth, seed=0)
    other = _crawl(graph, max_pages=max_pages, max_depth=max_depth, seed=seed)
    assert one == other
    assert len(one[0]) == len(set(one[0])) <= max_pages


def test_a_url_is_queued_once_and_breadth_comes_first():
    frontier = _frontier()
    frontier.add(_source(ROOT))
    assert frontier.add(_source(ROOT)) is None
    list(frontier.done(ROOT, [Lead(ROOT + "a", "l", 1), Lead(ROOT + "b", "l", 1)]))
    list(frontier.done(ROOT + "b", [Lead(ROOT + "b/1", "l", 2)]))
    assert [s.url for s in frontier.take()] == [ROOT, ROOT + "a", ROOT + "b"]
    list(frontier.done(ROOT + "a", [Lead(ROOT + "a/1", "l", 2)]))
    assert [s.url for s in frontier.take()] == [ROOT + "a/1", ROOT + "b/1"]


def test_what_pages_lead_to_waits_for_the_sources():
    frontier = _frontier(max_pages=2)
    frontier.hold()
    frontier.add(_source(ROOT))
    assert list(frontier.done(ROOT, [Lead(ROOT + "a", "l", 1)])) == []
    assert frontier.add(_source(ROOT + "listed")) is None
    assert [refused.source.url for refused in frontier.release()] == [ROOT + "a"]
    assert [source.url for source in frontier.take()] == [ROOT, ROOT + "listed"]


def test_a_url_that_was_too_deep_is_admitted_by_a_shorter_way():
    frontier = _frontier(max_depth=1)
    first = frontier.add(_source(ROOT + "a", depth=2))
    assert first is not None
    assert first.reason is Reason.LIMIT
    assert frontier.add(_source(ROOT + "a", depth=3)) is None
    assert (frontier.cut_off, list(frontier.take())) == (1, [])
    assert frontier.add(_source(ROOT + "a", depth=1)) is None
    assert [source.depth for source in frontier.take()] == [1]
    assert (frontier.cut_off, frontier.admitted) == (0, 1)


def test_a_limit_counts_pages_but_not_what_redirects_lead_to():
    frontier = _frontier(max_pages=2)
    assert frontier.add(_source(ROOT)) is None
    assert frontier.add(_source(ROOT + "a")) is None
    refused = frontier.add(_source(ROOT + "b"))
    assert refused is not None
    assert refused.reason is Reason.LIMIT
    assert frontier.add(_source(ROOT + "c"), free=True) is None
    assert frontier.cut_off == 1


def test_what_robots_or_the_scope_refuse_costs_nothing():
    frontier = _frontier(
        max_pages=1, blocked=lambda url: (Reason.ROBOTS, "no") if url.endswith("x") else (Reason.NONE, "")
    )
    assert frontier.add(_source(ROOT + "x")).reason is Reason.ROBOTS
    assert frontier.add(_source("http://other/")).reason is Reason.OUT_OF_SCOPE
    assert frontier.add(_source(ROOT + "a.jpg")).reason is Reason.NOT_A_PAGE
    assert frontier.add(_source(ROOT + "a")) is None
