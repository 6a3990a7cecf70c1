"""Turns before one host, by a clock that the test moves."""

import pytest

from indexer.crawl.politeness import DOWN_AFTER, PATIENCE, Slot, retry_after


def test_starts_are_at_least_the_delay_apart():
    slot = Slot(concurrency=4, delay=0.5, now=0.0)
    assert [slot.reserve(10.0) for _ in range(3)] == [10.0, 10.5, 11.0]
    assert slot.reserve(20.0) == 20.0


def test_the_crawl_delay_rules_if_it_is_larger_and_leaves_one_at_a_time():
    slot = Slot(concurrency=4, delay=0.5, now=0.0)
    slot.crawl_delay = 2.0
    assert [slot.reserve(0.0), slot.reserve(0.0)] == [0.0, 2.0]
    assert slot.room <= 0


def test_a_delay_that_is_learned_between_two_requests_counts_from_the_first():
    slot = Slot(concurrency=4, delay=0.0, now=0.0)
    assert slot.reserve(10.0) == 10.0
    assert slot.begin(10.0) == 0
    slot.release()
    slot.crawl_delay = 5.0
    assert slot.reserve(10.5) == 15.0


def test_turns_that_come_late_do_not_come_at_once():
    slot = Slot(concurrency=4, delay=0.5, now=0.0)
    assert [slot.reserve(10.0) for _ in range(3)] == [10.0, 10.5, 11.0]
    assert slot.begin(12.0) == 0
    assert slot.begin(12.0) == slot.begin(12.0) == 0.5
    assert slot.begin(12.5) == 0
    assert slot.begin(12.5) == 0.5
    assert slot.reserve(12.5) >= 13.0


def test_a_request_that_has_its_turn_still_heeds_what_the_host_said_meanwhile():
    slot = Slot(concurrency=4, delay=0.0, now=0.0)
    assert slot.reserve(10.0) == 10.0
    slot.overloaded(10.0, 3.0, started=9.0)
    assert slot.begin(10.0) == 3.0
    assert slot.begin(13.0) == 0


def test_only_so_many_are_active_at_once():
    slot = Slot(concurrency=2, delay=0, now=0.0)
    slot.reserve(0)
    slot.reserve(0)
    assert slot.room == 0
    slot.release()
    assert slot.room == 1


def test_an_overloaded_host_is_left_alone_and_then_asked_more_slowly():
    slot = Slot(concurrency=8, delay=0, now=0.0)
    slot.overloaded(100.0, 5.0, started=99.0)
    assert slot.reserve(101.0) == 105.0
    assert slot.room == 4 - 1
    assert slot.reserve(101.0) > 105.0


def test_one_page_that_is_always_unavailable_does_not_slow_a_host_that_answers_well():
    slot = Slot(concurrency=8, delay=0, now=0.0)
    for _ in range(8):
        slot.succeeded(1.0)
    slot.overloaded(2.0, 1.0, started=1.5, asked=False)
    assert (slot.room, slot.paused(2.0)) == (8, 0.0)
    slot.overloaded(3.0, 1.0, started=2.5, asked=False)
    assert (slot.room, slot.paused(3.0)) == (4, 1.0)


def test_asking_a_broken_page_again_says_nothing_of_a_host_that_answers_meanwhile():
    slot = Slot(concurrency=8, delay=0, now=0.0)
    slot.succeeded(1.0)
    slot.overloaded(2.0, 1.0, started=1.5, asked=False, again=True)
    assert (slot.room, slot.paused(2.0)) == (8, 0.0)
    slot.overloaded(2.0, 1.0, started=1.5, asked=False)
    assert slot.paused(2.0) == 1.0
    slot.overloaded(4.0, 1.0, started=3.5, asked=False, again=True)
    assert slot.paused(4.0) == 1.0


def test_a_host_that_names_a_time_gets_it_whatever_came_before():
    slot = Slot(concurrency=8, delay=0, now=0.0)
    for _ in range(40):
        slot.succeeded(1.0)
    slot.overloaded(2.0, 5.0, started=1.5, asked=True)
    assert slot.paused(2.0) == 5.0


def test_answers_to_requests_under_way_slow_a_host_once():
    slot, once = Slot(concurrency=8, delay=0, now=0.0), Slot(concurrency=8, delay=0, now=0.0)
    for started in (99.0, 99.5, 99.9):
        slot.overloaded(100.0, 5.0, started=started)
    once.overloaded(100.0, 5.0, started=99.0)
    assert slot.room == once.room


def test_good_answers_win_speed_back():
    slot = Slot(concurrency=8, delay=0, now=0.0)
    slot.overloaded(0.0, 1.0, started=0.0)
    for _ in range(40):
        slot.succeeded(1.0)
    assert slot.room == 8
    assert [slot.reserve(50.0), slot.reserve(50.0)] == [50.0, 50.0]


def test_a_host_that_answers_nothing_for_long_is_down():
    slot = Slot(concurrency=8, delay=0, now=0.0)
    for _ in range(DOWN_AFTER - 1):
        slot.failed(PATIENCE)
    assert not slot.down(PATIENCE)
    slot.failed(PATIENCE)
    assert slot.down(PATIENCE)
    slot.succeeded(PATIENCE)
    assert not slot.down(PATIENCE * 3)


def test_an_outage_costs_pauses_before_it_costs_pages():
    slot = Slot(concurrency=4, delay=0, now=0.0)
    for _ in range(3):
        slot.failed(10.0)
    assert slot.paused(10.0) == 0
    pauses = []
    for _ in range(30):
        slot.failed(10.0)
        pauses.append(slot.paused(10.0))
    assert pauses == sorted(pauses)
    assert pauses[0] == 2.0
    assert pauses[-1] == 60.0
    assert not slot.down(200.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", 2.0),
        ("2.5", 2.5),
        ("-1", 0.0),
        ("86400", 86400.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("Thu, 01 Jan 1970 00:00:30 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_in_both_forms(value, expected):
    assert retry_after(value, now=10.0) == expected
