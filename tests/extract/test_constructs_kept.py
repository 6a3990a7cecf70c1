"""Six ordinary paragraphs and one construct: whatever the construct, its strings survive."""

from __future__ import annotations

import pytest

from indexer.extract import extract

PARAGRAPHS = (
    "Our workshop has repaired bicycles in the old town since 1998, and most of our customers come back every spring.",
    "We check brakes, gears and wheels before every ride, because a small fault on a hill becomes a large one quickly.",
    "Parts are ordered from three suppliers, so that a broken hub rarely keeps a bicycle in the shop for a whole week.",
    "Children's bicycles are repaired the same day if they are brought before noon, also on the Saturdays of May.",
    "The tea in the waiting corner is free, and so is the advice on how to ride through the winter without rust.",
    "Whoever wants to learn how to mend a tyre may watch, ask questions, and take the tools in their own hands.",
)
CONSTRUCTS = {
    "price table": (
        ("<table><thead><tr><th>Service</th><th>Price</th></tr></thead><tbody><tr><td>Tune-up</td><td>$49</td></tr>"
        "<tr><td>Wheel truing</td><td>$25</td></tr></tbody></table>"),
        ("| Tune-up | $49 |", "| Wheel truing | $25 |"),
    ),
    "price table with paragraphs and bold in cells": (
        ("<table><tr><td><p><b>Tune-up</b></p></td><td><p><b>$49</b></p></td></tr>"
        "<tr><td><p><b>Wheel truing</b></p></td><td><p><b>$25</b></p></td></tr></table>"),
        ("Tune-up | $49", "Wheel truing | $25"),
    ),
    "list in a table cell": (
        ("<table><tr><th>Plan</th><th>Includes</th></tr><tr><td>Basic</td><td><ul><li>Chain oiling</li><li>Brake check"
        "</li><li>Tyre pressure</li></ul></td></tr><tr><td>Full</td><td>Everything</td></tr></table>"),
        ("Chain oiling", "Brake check", "Tyre pressure"),
    ),
    "price table with order links": (
        ("<table><tr><th>Service</th><th>Price</th><th></th></tr><tr><td>Tune-up</td><td>$49</td><td><a href='/o?1'>Order"
        "</a></td></tr><tr><td>Wheel truing</td><td>$25</td><td><a href='/o?2'>Order</a></td></tr></table>"),
        ("Tune-up | $49", "Wheel truing | $25"),
    ),
    "price cards of div": (
        ("<div class='plans'><div class='plan'><div class='name'>Starter</div><div class='cost'>$9 a month</div></div>"
        "<div class='plan'><div class='name'>Family</div><div class='cost'>$19 a month</div></div></div>"),
        ("Starter", "$9 a month", "Family", "$19 a month"),
    ),
    "price cards of div and p": (
        ("<div class='plans'><div class='plan'><p>Starter</p><p>$9 a month</p></div>"
        "<div class='plan'><p>Family</p><p>$19 a month</p></div></div>"),
        ("Starter", "$9 a month", "Family", "$19 a month"),
    ),
    "table with rows of links among others": (
        ("<table><tr><td>Ibis</td><td>Kona</td><td>Trek</td></tr><tr><td><a href='/1'>Brompton</a></td>"
        "<td><a href='/2'>Dahon</a></td><td><a href='/3'>Tern</a></td></tr><tr><td>Giant</td><td>Cube</td><td></td></tr></table>"),
        ("Ibis | Kona | Trek", "Brompton | Dahon | Tern", "Giant | Cube"),
    ),
    "definition list": (
        "<dl><dt>Weight</dt><dd>11.4 kg</dd><dt>Frame</dt><dd>Chromoly steel</dd></dl>",
        ("- Weight: 11.4 kg", "- Frame: Chromoly steel"),
    ),
    "details": (
        "<details><summary>Do you repair e-bikes?</summary><p>Yes, all motors but one.</p></details>",
        ("Do you repair e-bikes?", "Yes, all motors but one."),
    ),
    "question button in a heading": (
        ("<h3><button aria-expanded='false'>Do you repair e-bikes?</button></h3>"
        "<div class='panel'><p>Yes, all motors but one.</p></div>"),
        ("Do you repair e-bikes?", "Yes, all motors but one."),
    ),
    "accordion of div": (
        "<div class='faq'><div class='q'>Do you repair e-bikes?</div><div class='a'>Yes, all motors but one.</div></div>",
        ("Do you repair e-bikes?", "Yes, all motors but one."),
    ),
    "address": (
        ("<address>Rose Lane 4, Old Town<br><a href='tel:+15550102030'>+1 555 010 2030</a><br>"
        "<a href='mailto:hi@bikes.example'>hi@bikes.example</a></address>"),
        ("Rose Lane 4, Old Town", "+1 555 010 2030", "hi@bikes.example"),
    ),
    "contacts as a list of links": (
        ("<ul><li><a href='tel:+15550102030'>+1 555 010 2030</a></li><li><a href='mailto:hi@bikes.example'>"
        "hi@bikes.example</a></li><li><a href='/map'>Rose Lane 4</a></li></ul>"),
        ("+1 555 010 2030", "hi@bikes.example", "Rose Lane 4"),
    ),
    "aside with hours": (
        "<aside><h3>Opening hours</h3><p>Mon-Fri 9:00-18:00</p></aside>",
        ("Opening hours", "Mon-Fri 9:00-18:00"),
    ),
    "hours in time elements": (
        "<p>Monday <time>9:00</time> to <time>18:00</time></p>",
        ("Monday 9:00 to 18:00",),
    ),
    "figure caption": (
        "<figure><img src='x.jpg'><figcaption>The workshop after the great flood</figcaption></figure>",
        ("The workshop after the great flood",),
    ),
    "product cards in links": (
        ("<div class='grid'><a href='/a'><h3>City bike Lena</h3><span>$499</span></a>"
        "<a href='/b'><h3>Cargo bike Otto</h3><span>$1,899</span></a></div>"),
        ("City bike Lena", "$499", "Cargo bike Otto", "$1,899"),
    ),
    "a class named related": (
        "<div class='related'><p>Every repair comes with a guarantee.</p><p>It covers parts for two years.</p></div>",
        ("Every repair comes with a guarantee.", "It covers parts for two years."),
    ),
    "a class named comment": (
        "<div class='comment'><p>Every repair comes with a guarantee.</p><p>It covers parts for two years.</p></div>",
        ("Every repair comes with a guarantee.", "It covers parts for two years."),
    ),
    "tabs": (
        ("<div role='tablist'><a href='#t1'>Repair</a><a href='#t2'>Rental</a></div><div id='t1'><p>Repairs take two days."
        "</p></div><div id='t2' style='display:none'><p>Rental costs $15 a day.</p></div>"),
        ("Repairs take two days.", "Rental costs $15 a day."),
    ),
    "definitions in ul, li and span": (
        ("<ul><li><span>Cadence</span>: <span>turns of the pedals a minute</span></li><li><span>Trail</span>: "
        "<span>distance behind the steering axis</span></li></ul>"),
        ("- Cadence: turns of the pedals a minute", "- Trail: distance behind the steering axis"),
    ),
    "choice": (
        "<label>Frame size <select name='size'><option>Small 48 cm</option><option>Large 58 cm</option></select></label>",
        ("Small 48 cm", "Large 58 cm"),
    ),
}  # fmt: skip


def page(construct: str, *, form: bool = False) -> str:
    text = (
        "".join(f"<p>{p}</p>" for p in PARAGRAPHS[:3])
        + construct
        + "".join(f"<p>{p}</p>" for p in PARAGRAPHS[3:])
    )
    main = f"<main><h1>Bicycle repair</h1>{text}</main>"
    return (
        "<!doctype html><html lang='en'><head><title>Bicycle repair</title></head><body><header><nav><ul>"
        "<li><a href='/'>Home</a></li><li><a href='/prices'>Prices</a></li><li><a href='/about'>About</a></li></ul></nav>"
        f"</header>{f'<form>{main}</form>' if form else main}"
        "<footer><p>© 2024 Bikes. All rights reserved. <a href='/privacy'>Privacy policy</a></p></footer></body></html>"
    )


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct_survives_among_paragraphs(name):
    """Each string of the construct, and each paragraph, is in the text."""
    html, strings = CONSTRUCTS[name]

    text = extract(page(html), url="https://bikes.example/repair").text

    assert [s for s in strings if s not in text] == []
    assert [p for p in PARAGRAPHS if p not in text] == []


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct_survives_in_a_page_wide_form(name):
    """A page that is one form, as ASP.NET writes it, loses nothing either."""
    html, strings = CONSTRUCTS[name]

    text = extract(page(html, form=True), url="https://bikes.example/repair").text

    assert [s for s in strings if s not in text] == []


def test_furniture_around_the_text_stays_out():
    """Menu and footer are no part of the text."""
    text = extract(page(""), url="https://bikes.example/repair").text

    assert "Prices" not in text
    assert "rights reserved" not in text


def test_contacts_in_the_footer_go_to_the_site_field():
    """Address, phone and hours of the footer are facts of the site."""
    html = page("").replace(
        "<footer>",
        "<footer><p>Rose Lane 4, Old Town</p><p>Mon-Fri 9:00-18:00</p><a href='tel:+15550102030'>Call</a>",
    )

    found = extract(html, url="https://bikes.example/repair")

    assert "Mon-Fri 9:00-18:00" in found.site
    assert "+15550102030" in found.site


def test_code_that_says_what_furniture_says_is_kept_on_a_short_page():
    """A listing prints, shares and subscribes; it offers none of that to the reader."""
    html = (
        '<!DOCTYPE html><html lang="en"><head><title>Markup</title></head><body><nav><span>Home</span> '
        "<span>Prices</span></nav><main><h1>Markup</h1><p>You need only a document with a photo. Payment is by "
        'card, transfer or invoice.</p><pre>```python\nprint("```")\n# TAMARISK-5813\n```</pre><p>OWL-2532</p></main>'
        "<footer><p>All rights reserved</p></footer></body></html>"
    )
    for url in ("https://e.org/listing", "https://e.org/a", "https://e.org/print"):
        assert "TAMARISK-5813" in extract(html, url=url).text


@pytest.mark.parametrize(
    "head", ["<thead><tr><th>Service<th>About<th>Price</thead>", "<tr><th>Service<th>About<th>Price"]
)
def test_a_table_with_a_header_stays_one_whatever_the_length_of_a_cell(head):
    """A long description is a datum under its heading; without headings it is a column of a page."""
    about = "We take the wheel off and true it. " * 40
    rows = "".join(f"<tr><td>Work {k}<td>{about if k == 2 else 'Short.'}<td>${k}9" for k in range(5))
    text = extract(page(f"<table>{head}{rows}</table>"), url="https://bikes.example/").text
    assert "| Service | About | Price |" in text
    assert f"| Work 2 | {about.strip()} | $29 |" in text
    assert "| Work 2 |" not in extract(page(f"<table>{rows}</table>"), url="https://bikes.example/").text
