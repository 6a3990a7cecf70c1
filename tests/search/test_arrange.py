"""A page once, in the asker's language; the chunks of a page together."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.artifacts import Payload
from indexer.index.translations import groups
from indexer.search.arrange import Place, by_page, in_one_language
from indexer.search.language import language_of
from indexer.search.vocabulary import load


def payload(page: str, language: str, group: str = "") -> Payload:
    return Payload(
        url=page,
        doc_id=page,
        title="",
        topic="",
        text="",
        context="",
        language=language,
        ordinal=0,
        translation_group=group,
    )


def arranged(spec: str, wanted: str) -> str:
    """`spec`: chunks as they rank, each group, language and number, for example `Ar1`; one alone is `-r1`."""
    names = spec.split()
    payloads = {
        name: payload(f"{name[0]}{name[1]}", name[1], "" if name[0] == "-" else name[0]) for name in names
    }
    ranking = [Place(name, -float(rank)) for rank, name in enumerate(names)]
    found = in_one_language(
        ranking, payloads, language_of=lambda languages: wanted if wanted in languages else ""
    )
    scores = [place.score for place in found]
    assert scores == sorted(scores, reverse=True)
    return " ".join(place.id + ("!" if place.instead_of else "") for place in found)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("Ar1 Ae1 -r1", "Ae1! -r1"),
        ("Ae1 Ar1 -r1", "Ae1 -r1"),
        ("Ar1 -r1 -r2 Ae1", "Ae1! -r1 -r2"),
        ("Ar1 Ar2 -r1 Ae1 Ae2", "Ae1! Ae2! -r1"),
        ("Ae1 Ar1 Ae2", "Ae1 Ae2"),
        ("Ar1 Ae1 Ar2 Ae2", "Ae1! Ae2!"),
        ("Ar1 Ar2 Ar3 Ae1", "Ae1!"),
        ("Ar1 Br1 Be1 -e1", "Ar1 Be1! -e1"),
        ("-r1 -e1", "-r1 -e1"),
        ("", ""),
    ],
)
def test_the_askers_language_stands_where_its_translation_was_found(spec: str, found: str) -> None:
    """The page comes once; one that has no version in that language stays as it is."""
    assert arranged(spec, "e") == found


def test_without_a_version_for_the_asker_the_first_one_stays() -> None:
    assert arranged("Ar1 Ae1 Ar2", "k") == "Ar1 Ar2"


@given(
    st.lists(
        st.sampled_from([f"{group}{code}{n}" for group in "AB-" for code in "re" for n in "123"]), unique=True
    )
)
def test_nothing_is_shown_twice_and_nothing_else_is_lost(names: list[str]) -> None:
    """Of each group one language stays, with all its chunks that were found; the rest stays in order."""
    found = [name.rstrip("!") for name in arranged(" ".join(names), "e").split()]

    assert max(Counter(found).values(), default=1) == 1
    assert [name for name in found if name[0] == "-"] == [name for name in names if name[0] == "-"]
    for group in "AB":
        there = {name[1] for name in names if name[0] == group}
        stays = "e" if "e" in there else "r"
        assert sorted(name for name in found if name[0] == group) == sorted(
            name for name in names if name[:2] == group + stays
        )


def test_chunks_of_a_page_stand_under_its_best() -> None:
    """Pages in the order of their best chunks, each with at most so many."""
    names = ["a1", "b1", "a2", "a3", "b2", "c1"]
    payloads = {name: payload(name[0], "ru") for name in names}
    found = by_page([Place(name, 0.0) for name in names], payloads, size=2)

    assert [(best.id, [one.id for one in others]) for best, others in found] == [
        ("a1", ["a2"]),
        ("b1", ["b2"]),
        ("c1", []),
    ]


def test_only_links_that_both_sides_confirm_make_a_group() -> None:
    """Pages that all name one front page as their translation are not one page."""
    named = {"ru1": ("en",), "ru2": ("en",), "en": ("ru2", "kk"), "kk": ("en", "gone"), "self": ("self",)}

    assert groups(named) == {"ru2": "en", "en": "en", "kk": "en"}
    assert groups({}) == {}


@pytest.mark.parametrize(
    ("question", "languages", "found"),
    [
        ("сколько стоит доставка?", ("en", "ru"), "ru"),
        ("how much is delivery?", ("en", "ru"), "en"),
        ("1500", ("en", "ru"), "ru"),
        ("Wie viel kostet die Lieferung nach Hause?", ("en", "de"), "de"),
        ("how much is the delivery to my house?", ("en", "de"), "en"),
        ("сколько стоит?", ("en", "de"), ""),
    ],
)
def test_the_askers_language_is_one_of_those_there_are(
    question: str, languages: tuple[str, ...], found: str
) -> None:
    """In doubt it is the project's; of languages without a vocabulary, the likeliest."""
    told = language_of(question, languages, vocabulary=load(), default="ru")
    assert told == found or (not found and told in languages)
