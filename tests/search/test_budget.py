"""A context within a size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from indexer.search.budget import renumbered, within
from indexer.search.context import Conflict, Fragment, block_of

PLAIN = Fragment(
    number=1, id="", dataset="d", layer="norm", language="en", edition="", status="", effective_date="",
    deprecated=False, source="https://example.org/a", title="", topic="", article="1", point="", points=(),
    parent="", refers_to=(), auxiliary=False, aspect=None, role="hit", body="",
)  # fmt: skip
ROLES = st.sampled_from(["lookup", "hit", "reference", "structure"])
FRAGMENTS = st.lists(st.tuples(ROLES, st.integers(0, 400), st.sampled_from([None, 1, 2])), max_size=12).map(
    lambda rows: [
        replace(PLAIN, number=number, id=str(number), role=role, body="x" * size, aspect=aspect)
        for number, (role, size, aspect) in enumerate(rows, 1)
    ]
)


@given(FRAGMENTS, st.integers(1, 2000))
def test_whole_fragments_fit_and_the_rest_is_named(fragments, most):
    """Nothing is lost or cut, the order stays, and no size leaves out what would still fit."""
    kept, left = within(fragments, most)
    size = len("\n\n".join(map(block_of, kept)))
    assert size <= most
    assert [one.number for one in kept] == list(range(1, len(kept) + 1))
    known = {one.id: one for one in fragments}
    assert all(known[one.id].body == one.body for one in kept)
    ids = [one.id for one in kept]
    assert ids == sorted(ids, key=int)
    assert sorted([*ids, *(one.id for one in left)], key=int) == [one.id for one in fragments]
    for one in left:
        assert size + len(block_of(known[one.id])) + 2 > most
    assert within(fragments, 0) == (fragments, [])


def test_what_was_asked_for_comes_before_what_stands_beside_it_in_each_aspect():
    """A part of the question is not crowded out by another one's neighbours."""
    rows = [("structure", 1), ("hit", 1), ("hit", 1), ("hit", 2)]
    fragments = [
        replace(PLAIN, number=number, id=str(number), role=role, aspect=aspect, body="x" * 100)
        for number, (role, aspect) in enumerate(rows, 1)
    ]
    room = 2 * len(block_of(fragments[0])) + 2
    kept, left = within(fragments, room)
    assert [one.id for one in kept] == ["2", "4"]
    assert [one.id for one in left] == ["1", "3"]


def test_a_conflict_stays_known_where_one_wording_does_not_fit():
    """Its sources are all named, and its numbers are those of the fragments that are there."""
    before = [replace(PLAIN, number=n, id=str(n), source=f"https://example.org/{n}") for n in (1, 2, 3)]
    kept = [replace(before[1], number=1)]
    sources = (before[1].source, before[2].source)
    conflict = Conflict(
        dataset="d", layer="norm", language="en", article="1", point="", sources=sources, fragments=(2, 3)
    )
    assert renumbered([conflict], before, kept) == [replace(conflict, fragments=(1,))]
    assert renumbered([conflict], before, []) == []
