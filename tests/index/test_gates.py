"""What counts as a loss, and which changed pages are better held back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.index.gates import halved, losses, one_text, template_of
from indexer.records import Edition


def _pages(
    count: int, *, folder: str = "blog", characters: int = 1000, chunks: int = 4
) -> dict[str, Edition]:
    return {
        f"{folder}{n}": Edition(
            key=f"{folder}{n}", url=f"https://a.example/{folder}/page-{n}", content=f"{folder}{n}",
            characters=characters, chunks=chunks,
        )
        for n in range(count)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("url", "template"),
    [
        ("https://a.example/", "a.example/*"), ("https://a.example/about", "a.example/*"),
        ("https://a.example/blog/2024/how-to?x=1", "a.example/blog/*/*"), ("https://a.example/ru/faq/", "a.example/ru/*"),
    ],
)  # fmt: skip
def test_a_template_leaves_open_what_varies(url, template):
    assert template_of(url) == template


def test_five_pages_may_go_and_a_tenth_may_go_but_not_more_than_both():
    before = _pages(100)
    assert not losses(before, dict(list(before.items())[10:]))
    found = losses(before, dict(list(before.items())[11:]))
    assert [(one.measure, one.before, one.after) for one in found] == [("pages", 100, 89)] * 2
    small = _pages(8)
    assert not losses(small, dict(list(small.items())[5:]))


def test_a_template_that_goes_is_named_though_the_whole_hardly_shrinks():
    before = {**_pages(200), **_pages(8, folder="shops")}
    after = {key: one for key, one in before.items() if not key.startswith("shops")}
    assert [one.template for one in losses(before, after)] == ["a.example/shops/*"]


def test_a_page_that_moved_is_no_loss():
    before = _pages(20)
    after = {
        f"new{key}": Edition(key=f"new{key}", url=one.url.replace("blog", "news"), content=one.content)
        for key, one in before.items()
    }
    assert not losses(before, after)


def test_text_and_chunks_count_only_where_the_text_changed():
    before = _pages(20)
    other_settings = {key: Edition(key=key, url=one.url, content=one.content, characters=1000, chunks=1) for key, one in before.items()}  # fmt: skip
    assert not losses(before, other_settings)
    shorter = {key: Edition(key=key, url=one.url, content="x" + key, characters=800, chunks=4) for key, one in before.items()}  # fmt: skip
    assert {one.measure for one in losses(before, shorter)} == {"text"}


def test_halved_templates_hold_back_the_pages_that_shrank():
    before = {**_pages(4), **_pages(40, folder="docs")}
    lengths = {key: one.characters for key, one in before.items()}
    assert not halved(before, lengths)
    lengths |= {"blog0": 100, "blog1": 100, "blog2": 100}
    assert set(halved(before, lengths)) == {"blog0", "blog1", "blog2"}
    assert "a.example/blog/*" in halved(before, lengths)["blog0"]
    assert not halved(before, lengths | {"blog1": 1000, "blog2": 1000}), "one page is one page"


def test_one_text_in_place_of_three_is_held_back_and_of_copies_is_not():
    before = _pages(6)
    assert set(one_text(before, {"blog0": "down", "blog1": "down", "blog2": "down", "blog3": "own"})) == {
        "blog0", "blog1", "blog2",
    }  # fmt: skip
    assert not one_text(before, {"blog0": "down", "blog1": "down"})
    copies = {key: Edition(key=key, url=one.url, content="same") for key, one in before.items()}
    assert not one_text(copies, dict.fromkeys(before, "changed alike"))


@given(st.integers(0, 60), st.integers(0, 60))
def test_what_gains_or_stays_is_never_a_loss(count, more):
    before = _pages(count)
    assert not losses(before, before | _pages(more, folder="new"))
