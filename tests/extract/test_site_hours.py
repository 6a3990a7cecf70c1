"""Opening hours of a footer are kept for the site, and so are the days on which nobody is there."""

from __future__ import annotations

import pytest

from indexer.extract.site import says_contact


@pytest.mark.parametrize(
    "line",
    [
        "Вс: выходной",
        "Сб, Вс — выходные",
        "Воскресенье не работаем",
        "Sun | closed",
        "Saturday–Sunday: closed",
        "Sundays we are closed",
        "Жексенбі: демалыс",
        "жм: жабық",
    ],
)
def test_a_closed_day_counts_as_hours(line):
    assert says_contact(line)


@pytest.mark.parametrize("line", ["The road is closed", "Выходной день — тариф", "Do not go", "Sunday menu"])
def test_other_lines_do_not(line):
    assert not says_contact(line)
