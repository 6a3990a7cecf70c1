"""What every registry keeps, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import math
import struct
import threading

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.artifacts import Bm25Snapshot
from indexer.errors import Misconfigured
from indexer.ports import Project, Registered

CAFE = Project(
    id="6f1c2f0a-0000-4000-8000-000000000001",
    name="кафе",
    language="ru",
    tg_api_key="123456789:secret",
    tg_lead_group="-100",
    prompts={"prompt1": "Вы — «бот»\n'\"\\ %s $1 😀"},
    bot_url="https://bot.test",
    options={
        "sources": {"sitemaps": ["https://a.test/sitemap.xml"]},
        "crawl": {"delay": 0.1, "max_pages": 5},
    },
)
BAR = msgspec.structs.replace(CAFE, id="6f1c2f0a-0000-4000-8000-000000000002", name="bar", prompts={})
SNAPSHOT = Bm25Snapshot(
    analyzer="stem",
    analyzer_version=3,
    k1=1.2000000000000002,
    b=0.75,
    avg_dl=104.33333333333333,
    num_docs=3,
    vocab={"масл": 0, "oil": 1, "ё": 4_294_967_294},
    idf={"масл": math.log(1.6), "oil": 0.1 + 0.2, "ё": 5e-324},
)


def _publish(registry, project, generation, snapshot):
    registry.publish(project.id, snapshot, generation=generation, collection=f"{project.name}__g{generation}")


def _published(registry, project=CAFE, generation="G1", snapshot=SNAPSHOT):
    registry.add(project)
    _publish(registry, project, generation, snapshot)
    return msgspec.structs.replace(project, generation=generation)


def test_a_project_is_found_again_as_it_was_added(open_registry):
    open_registry().add(CAFE)
    registry = open_registry()
    assert registry.find(name="кафе") == registry.find(id=CAFE.id) == CAFE
    assert registry.find(name="Кафе") is registry.find(id="no uuid") is None
    assert registry.bm25(CAFE.id) is None


def test_all_projects_come_by_name(open_registry):
    registry = open_registry()
    names = ["б", "a", "B", "_", "аб", "a-b"]
    for number, name in enumerate(names):
        registry.add(
            msgspec.structs.replace(CAFE, id=f"6f1c2f0a-0000-4000-8000-00000000001{number}", name=name)
        )
    assert [project.name for project in registry.all()] == sorted(names)


def test_a_taken_name_is_refused_and_changes_nothing(open_registry):
    registry = open_registry()
    registry.add(CAFE)
    with pytest.raises(Misconfigured, match="exists already"):
        registry.add(msgspec.structs.replace(BAR, name="кафе"))
    assert registry.all() == [CAFE]


def test_a_name_that_a_second_process_takes_meanwhile_is_refused_once(open_registry):
    registries, errors = [open_registry() for _ in range(4)], []
    start = threading.Barrier(4)

    def add(number):
        project = msgspec.structs.replace(CAFE, id=f"6f1c2f0a-0000-4000-8000-00000000002{number}")
        start.wait()
        try:
            registries[number].add(project)
        except Misconfigured as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 3
    assert len(open_registry().all()) == 1


def test_the_live_generation_and_its_snapshot_are_written_together_and_read_exactly(open_registry):
    registry = open_registry()
    published = _published(registry)
    assert registry.find(name="кафе") == published
    assert open_registry().bm25(CAFE.id) == SNAPSHOT
    second = msgspec.structs.replace(
        SNAPSHOT, avg_dl=1.0, idf={"oil": 1.0, "x": 1e22}, vocab={"oil": 0, "x": 1}
    )
    _publish(registry, CAFE, "G2", second)
    assert open_registry().bm25(CAFE.id) == second
    assert registry.find(name="кафе").generation == "G2"


def test_a_failed_write_of_the_snapshot_leaves_the_old_generation_with_its_own(open_registry):
    registry = open_registry()
    published = _published(registry)
    broken = msgspec.structs.replace(SNAPSHOT, avg_dl=7.0, num_docs=2**70)
    with pytest.raises(Exception, match=r"."):
        _publish(registry, CAFE, "G2", broken)
    assert (registry.find(name="кафе"), registry.bm25(CAFE.id)) == (published, SNAPSHOT)


def test_who_reads_both_at_once_never_gets_the_snapshot_of_another_generation(open_registry):
    registry, reader = open_registry(), open_registry()
    _published(registry, generation="0", snapshot=msgspec.structs.replace(SNAPSHOT, avg_dl=0.0))
    end, seen = threading.Event(), set()

    def read():
        while not end.is_set():
            (entry,) = reader.entries()
            seen.add((entry.project.generation, entry.snapshot.avg_dl))

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(1, 30):
        _publish(registry, CAFE, str(number), msgspec.structs.replace(SNAPSHOT, avg_dl=float(number)))
    end.set()
    thread.join()
    assert seen
    assert all(float(generation) == avg_dl for generation, avg_dl in seen)


def test_an_update_leaves_the_live_generation_and_what_the_bot_was_told_alone(open_registry):
    """A command that read the row before a run ended must not take back what the run wrote."""
    registry = open_registry()
    _published(registry)
    registry.mark_registered(CAFE.id, "https://bot.test G1")
    stale = msgspec.structs.replace(CAFE, prompts={"prompt1": "new"}, language="")
    registry.update(stale)
    assert registry.find(name="кафе") == msgspec.structs.replace(
        stale, generation="G1", registered="https://bot.test G1"
    )
    assert registry.bm25(CAFE.id) == SNAPSHOT


def test_what_is_withdrawn_has_neither_generation_nor_snapshot(open_registry):
    registry = open_registry()
    _published(registry)
    registry.mark_registered(CAFE.id, "https://bot.test G1")
    registry.withdraw(CAFE.id)
    assert (registry.find(id=CAFE.id), registry.bm25(CAFE.id)) == (CAFE, None)


def test_a_removed_project_leaves_nothing_and_others_alone(open_registry):
    registry = open_registry()
    _published(registry)
    published = _published(registry, BAR, "B1")
    registry.remove(CAFE.id)
    registry.remove("unknown")
    assert registry.entries() == [
        Registered(project=published, snapshot=SNAPSHOT, updated_at=registry.entries()[0].updated_at)
    ]


def test_a_registry_is_adopted_whole_and_again_changes_nothing(open_registry):
    registry = open_registry()
    entries = [
        Registered(
            project=msgspec.structs.replace(CAFE, generation="G1", registered="https://bot.test G1"),
            snapshot=SNAPSHOT,
            updated_at="2026-01-02T03:04:05+00:00",
        ),
        Registered(project=BAR),
    ]
    assert registry.adopt(entries).moved == ("кафе", "bar")
    assert open_registry().entries() == [entries[1], entries[0]]
    again = registry.adopt(entries)
    assert (again.moved, again.replaced, again.unchanged) == ((), (), ("кафе", "bar"))


def test_other_values_are_not_overwritten_unasked_and_nothing_is_moved_then(open_registry):
    registry = open_registry()
    published = _published(registry, generation="G2")
    entries = [Registered(project=BAR), Registered(project=CAFE)]
    with pytest.raises(Misconfigured, match=r"other values of 'кафе'.*nothing was moved.*--force"):
        registry.adopt(entries)
    assert registry.all() == [published]
    assert registry.adopt(entries, force=True).replaced == ("кафе",)
    assert [one.project for one in registry.entries()] == [BAR, CAFE]
    assert registry.bm25(CAFE.id) is None
    with pytest.raises(Misconfigured, match="another project named 'bar'"):
        registry.adopt([Registered(project=msgspec.structs.replace(CAFE, name="bar"))], force=True)


def test_one_that_works_says_so_and_what_it_is(open_registry):
    registry = open_registry()
    registry.probe()
    facts = registry.facts()
    assert facts["where"] == registry.where
    assert facts["version"] >= 1


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    avg_dl=finite.filter(bool),
    idf=st.dictionaries(
        st.text(st.characters(categories=["L", "N"]), min_size=1), finite.filter(bool), max_size=20
    ),
)
def test_numbers_come_back_bit_by_bit(kept_registry, avg_dl, idf):
    snapshot = msgspec.structs.replace(
        SNAPSHOT, avg_dl=avg_dl, idf=idf, vocab={term: number for number, term in enumerate(idf)}
    )
    _publish(kept_registry, CAFE, "G", snapshot)
    found = kept_registry.bm25(CAFE.id)
    assert found == snapshot
    assert struct.pack("d", found.avg_dl) == struct.pack("d", avg_dl)
    assert {term: value.hex() for term, value in found.idf.items()} == {t: v.hex() for t, v in idf.items()}


@pytest.fixture
def kept_registry(open_registry):
    registry = open_registry()
    registry.add(CAFE)
    return registry
