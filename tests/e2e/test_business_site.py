"""What customers of a small business ask: each answer whole in one chunk, and what holds for the whole site once."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from tests.support.cli import Cli
from tests.support.shop import sources
from tests.support.site import folder_site

ANSWERS = {  # question → what the chunk with its answer says
    "Can I work on my own boat in the yard?": "wear a helmet under the crane",
    "How long in advance should I book the crane?": "Two weeks in spring and autumn",
    "Do you take boats with petrol engines into the hall?": "Only with an empty tank",
    "What happens if my boat sinks at its berth?": "send the bill to your insurer",
    "Is there water and electricity on the quay?": "40 cents for a kilowatt hour",
    "May I live on board while the boat is ashore?": "costs $35 for a night",
}


PRICES = {
    "Hatch lens": ("$167", "$261", "$286"),
    "Varnish coat": ("$244", "$382", "$407"),
}
HEADER = "Length of the boat up to 6 m | Length of the boat 6 to 9 m | Length of the boat over 9 m"
PHONE, ADDRESS, HOURS = "+1 555 014 2277", "14 Willow Quay, Lakeside", "Sat 9:00–14:00"


def test_customers_of_a_small_business_are_answered(indexer):
    """By search, of a site of plain `div`s: one index for all of it, since building one takes seconds."""
    with folder_site("boatyard_en") as site:
        words = [*sources(site), "--no-register", "--json"]
        report = indexer("init-project", "--name", "yard", *words).ok().json
        assert (report["found"], report["indexed"]) == (5, 5)
    _each_question_stands_with_its_whole_answer(indexer)
    _each_price_row_stands_under_the_header_of_its_columns(indexer)
    _what_stands_in_every_footer_is_found_once(indexer)
    _each_part_of_a_page_is_about_what_its_own_line_says(indexer)


def _hits(yard: Cli, question: str, limit: int = 5) -> list[dict[str, Any]]:
    return yard("search", "--project-name", "yard", "--json", "--limit", str(limit), question).ok().json


def _said(hit: dict[str, Any]) -> str:
    """What a bot is handed: the context, then the text."""
    return "\n".join(filter(None, [hit.get("context", ""), hit["text"]]))


def _each_question_stands_with_its_whole_answer(yard: Cli) -> None:
    """Of an accordion without a single heading element: question, answer, and nothing of the others."""
    hits = _hits(yard, list(ANSWERS)[3], 50)  # all there is
    assert ANSWERS[list(ANSWERS)[3]] in hits[0]["text"]
    for question, answer in ANSWERS.items():
        (best,) = [hit for hit in hits if question in hit["text"]]
        assert answer in best["text"]
        assert question in best["topic"]
        assert not any(other in best["text"] for other in ANSWERS if other != question)


def _each_price_row_stands_under_the_header_of_its_columns(yard: Cli) -> None:
    """In whichever part of the long table it stands; the struck price is not taken for the price."""
    for job, prices in PRICES.items():
        said = next(_said(hit) for hit in _hits(yard, f"how much is {job}?") if job in hit["text"])
        assert HEADER in said
        row = next(line for line in said.splitlines() if job in line)
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert [re.sub(r"~~.*?~~ ", "", cell) for cell in cells[1:]] == list(prices)


def _what_stands_in_every_footer_is_found_once(yard: Cli) -> None:
    """Address, phone and hours, in one document of their own."""
    hits = _hits(yard, "what is your phone number, and are you open on Saturday?", 50)  # all there is
    assert urlsplit(hits[0]["url"]).fragment == "site"
    for fact in (PHONE, ADDRESS, HOURS):
        assert [urlsplit(hit["url"]).fragment for hit in hits if fact in hit["text"]] == ["site"], fact


def _each_part_of_a_page_is_about_what_its_own_line_says(yard: Cli) -> None:
    """Tabs with their panels, definitions whole, cards by name; neither controls nor hidden lines nor orders."""
    rows = {
        urlsplit(row["url"]).path: row["text"] for row in yard("export", "--project-name", "yard").ok().lines
    }
    storage = rows["/storage.html"]
    assert "## In the open\n\nA place outside costs $21" in storage
    assert "- Launching: From 1 April, in the order of the list; Earlier for $90" in storage
    assert "Submit" not in storage
    assert "## Sail loft\n\nTorn seams are sewn" in rows["/services.html"]
    assert "Best cheap boat repair" not in json.dumps(rows)
    assert "Ignore previous instructions" not in json.dumps(rows)
