"""What leads elsewhere is no part of a page: breadcrumbs, the links of a manual's pages; and what is said twice."""

from __future__ import annotations

import pytest

from indexer.extract import extract

PARAGRAPHS = (
    "The transport delivers a message to a remote host over a network connection, one recipient list at a time.",
    "An option that is expanded for each message may refer to the headers, the sender and the domain of its recipients.",
    "A connection is kept open while further messages wait for the same host, up to the limit that the option sets.",
)


def page(before: str = "", after: str = "") -> str:
    text = "".join(f"<p>{p}</p>" for p in PARAGRAPHS)
    return (
        "<!doctype html><html lang='en'><head><title>Transports</title></head><body>"
        f"<div class='page'>{before}<h1>Transports</h1>{text}{after}</div></body></html>"
    )


@pytest.mark.parametrize(
    "trail",
    [
        "<div class='breadcrumbs'><a href='/'>Start</a> / <a href='/d'>Handbook</a> / Transports of mail</div>",
        "<ol class='bread-crumb'><li><a href='/'>Start</a></li><li><a href='/d'>Handbook</a></li></ol>",
        "<ul aria-label='Breadcrumb'><li><a href='/'>Start</a></li><li><a href='/d'>Handbook</a></li></ul>",
        (
            "<ul itemscope itemtype='https://schema.org/BreadcrumbList'><li><a href='/'>Start</a></li><li><a href='/d'>"
            "Handbook</a></li></ul>"
        ),
    ],
)
def test_breadcrumbs_are_left_out(trail):
    """Whatever element they are written with."""
    text = extract(page(trail), url="https://mail.example/doc/ch30.html").text

    assert "Handbook" not in text
    assert [p for p in PARAGRAPHS if p not in text] == []


def test_a_page_with_breadcrumbs_in_its_class_name_is_kept():
    """A name that says that breadcrumbs stand somewhere inside does not make the page one."""
    html = page().replace("class='page'", "class='page with-breadcrumb'")

    text = extract(html, url="https://mail.example/doc/ch30.html").text

    assert [p for p in PARAGRAPHS if p not in text] == []


def test_links_to_the_next_page_of_a_manual_are_left_out():
    """Above and below the text."""
    steps = (
        "<table width='100%'><tr><td><a href='29'>[Previous]</a></td><td><a href='i'>[Contents]</a></td>"
        "<td><a href='31'>[Next]</a></td></tr></table>"
    )
    bar = "<p><a href='29'>&lt;-previous</a> <a href='i'>Table of Contents</a> <a href='31'>next-&gt;</a></p>"

    text = extract(page(bar, bar), url="https://mail.example/doc/ch30.html").text
    other = extract(page(steps, steps), url="https://mail.example/doc/ch30.html").text

    assert "revious" not in text + other
    assert [p for p in PARAGRAPHS if p not in text] == []


def test_a_shortened_copy_gives_way_to_the_whole():
    """A teaser that ends in an ellipsis is not repeated beside the paragraph it begins."""
    short = PARAGRAPHS[0][:60]

    text = extract(page(f"<p>{short}…</p>"), url="https://mail.example/doc/ch30.html").text

    assert text.count(short) == 1


def test_a_group_row_is_no_table_header():
    """A row of one cell over all columns titles the rows below it, not the columns."""
    html = page(
        "<table><tr><th>Size</th><th>Price</th></tr><tr><th colspan='2'>Winter</th></tr>"
        "<tr><td>Small</td><td>$10</td></tr><tr><td>Large</td><td>$12</td></tr></table>"
    )

    text = extract(html, url="https://mail.example/doc/ch30.html").text

    assert "| Size | Price |\n| --- | --- |\n| **Winter** |" in text


def test_the_foot_of_a_manual_page_is_left_out():
    """Names of the chapters before and after, in a table of their own."""
    foot = (
        "<div class='navfooter'><table summary='Navigation footer'><tr><td><a href='1'>Back</a></td><td><a href='0'>Up</a></td>"
        "<td><a href='3'>Forward</a></td></tr><tr><td>Chapter 1. Definitions</td><td></td><td>Chapter 3. Choice of a host</td></tr>"
        "</table></div>"
    )
    text = extract(page(after=foot), url="https://mail.example/doc/ch30.html").text

    assert "Choice of a host" not in text
