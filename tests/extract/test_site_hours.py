"""Opening hours of a footer are kept for the site, and so are the days on which nobody is there."""

from __future__ import annotations

import pytest

from indexer.contacts import says_contact
from indexer.extract import extract


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


def test_a_protected_address_is_read():
    """In the text, and unharmed by codes that are none."""
    code = bytes([7, *(byte ^ 7 for byte in b"hi@boats.example")]).hex()
    body = "".join(
        f"<p>Write to <a class=__cf_email__ data-cfemail='{c}'>[email&#160;protected]</a>.</p>"
        for c in (code, "zz", "")
    )
    found = extract(f"<main><h1>Boats</h1>{body}</main>", url="https://boats.example/")
    assert "Write to hi@boats.example." in found.text
    assert "[email protected]" in found.text


def test_pictures_and_controls_set_words_apart():
    body = "<p><label>Мини</label><input type=radio><label>Макси</label></p><p>Цена<img src=x>500 рублей</p>"
    found = extract(f"<main><h1>Окна</h1>{body}</main>", url="https://a.example/")
    assert "Мини / Макси" in found.text
    assert "Цена 500" in found.text
