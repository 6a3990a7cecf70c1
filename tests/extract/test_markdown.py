"""HTML constructs and the exact markdown of their blocks, before any is left out."""

from __future__ import annotations

import numpy as np
import pytest
from selectolax.lexbor import LexborHTMLParser

from indexer.extract import markdown
from indexer.extract.finish import finish
from indexer.extract.walk import Walk


def read(html: str) -> str:
    walk = Walk()
    walk.run(LexborHTMLParser(html).body)
    return markdown.render(finish(walk.blocks, np.ones(len(walk.blocks), dtype=np.bool_), walk.labels).blocks)


CONSTRUCTS = [
    # headings, paragraphs, lines
    ("<h1>One</h1><p>text</p><h3>Three</h3>", "# One\n\ntext\n\n### Three"),
    ("<h2><a href='/x'>Linked <b>title</b></a></h2>", "## Linked title"),
    ("<h2><div>Opening</div><div>hours</div></h2>", "## Opening hours"),
    ("<p>one<br>two<br><br>three</p>", "one\ntwo\nthree"),
    ("<div>left</div><div>right</div>", "left\n\nright"),
    ("loose text<p>and a paragraph", "loose text\n\nand a paragraph"),
    # words are neither joined nor split
    ("<p><b>Не</b>обходимо пере<i>вернуть</i></p>", "Необходимо перевернуть"),
    ("<p>само&shy;обслу\u200bживание</p>", "самообслуживание"),
    ("<p>10&nbsp;000&#8239;тенге</p>", "10 000 тенге"),
    ("<p>a &lt;tag&gt; &amp; more</p>", "a <tag> & more"),
    ("<p>see <a href='/a'>one</a><a href='/b'>two</a></p>", "see one two"),
    ("<div><span class=n>Filling</span><span class=v>18 500 KZT</span></div>", "Filling 18 500 KZT"),
    ("<p>H<sub>2</sub>O and x<sup>2</sup></p>", "H2O and x2"),
    # link text without targets, no images
    ("<p>to the <a href='https://x.example/y'>price list</a></p>", "to the price list"),
    ("<p>before <img src='data:image/png;base64,AAAA' alt='scheme'> after</p>", "before after"),
    # lists
    ("<ul><li>one<li>two</ul>", "- one\n- two"),
    ("<ol><li>one<li>two</ol>", "1. one\n2. two"),
    ("<ol start=4><li>four<li>five</ol>", "4. four\n5. five"),
    ("<ul><li>a<ul><li>b<ul><li>c</ul></ul><li>d</ul>", "- a\n  - b\n    - c\n- d"),
    ("<ul><li><p>first</p><p>second</p></li><li>next</ul>", "- first\n  second\n- next"),
    ("<ul><li><span>inside</span></li></ul>", "- inside"),
    ("<ul><li><h3>Card</h3><p>Text of it</p></li><li><h3>Other</h3><p>More</p></li></ul>",
     "### Card\n\nText of it\n\n### Other\n\nMore"),
    ("<p>before</p><ul><li>one</ul><p>after</p>", "before\n\n- one\n\nafter"),
    ("<ul><li>bullet</ul><ol><li>number</ol>", "- bullet\n\n1. number"),
    # definitions
    ("<dl><dt>Phone</dt><dd>+7 701</dd><dt>City</dt><dd>Almaty</dd></dl>", "- Phone: +7 701\n- City: Almaty"),
    ("<dl><dt>Phone:<dd>+7 701</dl>", "- Phone: +7 701"),
    ("<dl><dt>Call</dt><dd>Opens a line.<br>Closes it.</dd></dl>", "Call\n: Opens a line.\n  Closes it."),
    ("<dl><dt>Hours</dt><dd>Mon-Fri 9-18</dd><dd>Sat 10-15</dd><dt>Phone</dt><dd>+1 555</dd></dl>",
     "- Hours: Mon-Fri 9-18; Sat 10-15\n- Phone: +1 555"),
    ("<dl><dt>Colour</dt><dt>Color</dt><dd>Red</dd></dl>", "- Colour / Color: Red"),
    ("<dl><dt>Call</dt><dd>Opens a line.<br>Closes it.</dd><dd>Or not.</dd></dl>",
     "Call\n: Opens a line.\n  Closes it.\n: Or not."),
    ("<dl><div><dt>A</dt><dd>1</dd></div><div><dt>B</dt><dd>2</dd></div></dl>", "- A: 1\n- B: 2"),
    # what touches without a space: cells are apart, parts of a word are not
    ("<div><span>Phone</span><span>+1 555 123</span></div>", "Phone +1 555 123"),
    ("<div><b>Price:</b><span>100 $</span></div>", "Price: 100 $"),
    ("<div><span>Free delivery</span><span>Opening hours</span></div>", "Free delivery Opening hours"),
    ("<div><b>П</b><i>ривет</i> <span>You</span><span>Tube</span></div>", "Привет YouTube"),
    # names of cards, accordions and tabs
    (("<h2>Plans</h2><div><div><div>Small boat</div><div>Carries two people on any quiet lake</div></div>"
     "<div><div>Big boat</div><div>Carries nine people on any quiet lake</div></div><div><div>Raft</div>"
     "<div>Carries all that floats on any river</div></div></div>"),
     ("## Plans\n\n### Small boat\n\nCarries two people on any quiet lake\n\n### Big boat\n\nCarries nine people on any quiet lake"
     "\n\n### Raft\n\nCarries all that floats on any river")),
    ("<div class=acc><div class=accordion-header>Delivery</div><div class=accordion-body>We bring it to you on the next day</div></div>",
     "## Delivery\n\nWe bring it to you on the next day"),
    ("<div class=faq-question>Do you paint</div><div class=faq-answer>Yes, in all colours that you can name</div>",
     "## Do you paint\n\nYes, in all colours that you can name"),
    ("<details><summary>Why?</summary>Because.</details><p>And so on.</p>", "## Why?\n\nBecause.\n\n---\n\nAnd so on."),
    ("<details><summary>Why?</summary>Because.</details><h3>Then</h3><p>And so on.</p>",
     "## Why?\n\nBecause.\n\n### Then\n\nAnd so on."),
    (("<div><div class=plan><div>Basic</div><div>$100</div><ul><li>One boat<li>Two oars</ul></div><div class=plan><div>Pro</div>"
     "<div>$200</div><ul><li>Two boats<li>Four oars</ul></div></div>"),
     "## Basic\n\n$100\n\n- One boat\n- Two oars\n\n## Pro\n\n$200\n\n- Two boats\n- Four oars"),
    ("<div role=heading>Storage</div><p>Warm.</p>", "## Storage\n\nWarm."),
    ("<div class=card><div class=title>5 May 2024</div></div><p>text</p>", "5 May 2024\n\ntext"),
    (("<h2>Work</h2><ul class=nav-tabs><li><a href='#a'>Hull</a><li><a href='#b'>Motor</a></ul><div><div id=a><p>Hull text</p></div>"
     "<div id=b><h3>Own</h3><p>Motor text</p></div></div>"),
     "## Work\n\n### Hull\n\nHull text\n\n### Motor\n\n#### Own\n\nMotor text"),
    (("<button role=tab id=t>Hull</button><button role=tab id=u>Motor</button><div role=tabpanel aria-labelledby=t>Hull text</div>"
     "<div role=tabpanel aria-labelledby=u hidden>Motor text</div>"), "## Hull\n\nHull text\n\n## Motor\n\nMotor text"),
    # controls
    ("<p>text</p><button>Submit</button><select><option>Select…<option>Small boat<option>Big boat</select>",
     "text\n\nSmall boat / Big boat"),
    ("<button>Opening hours</button><div>From nine to six</div>", "Opening hours\n\nFrom nine to six"),
    ("<noscript>Call +1 555 777 8899</noscript>", "Call +1 555 777 8899"),
    # folded content
    ("<details><summary>Why?</summary><p>Because.</p></details>", "## Why?\n\nBecause."),
    ("<h2>FAQ</h2><button aria-expanded=false>Why?</button><div hidden><p>Because.</p></div>",
     "## FAQ\n\n### Why?\n\nBecause."),
    ("<select name=size><option>S<option>M</select>", "S / M"),
    # code
    ("<pre>a\n  b\n\nc</pre>", "```\na\n  b\n\nc\n```"),
    ("<pre><span class=k>SELECT</span> name<br><span class=k>FROM</span> t</pre>", "```\nSELECT name\nFROM t\n```"),
    ("<pre>has ``` inside</pre>", "````\nhas ``` inside\n````"),
    ("<pre><code><span class='lineno'>1</span>x = 1\n</code></pre>", "```\nx = 1\n```"),
    # rows of name and value
    ("<div><div><div>Filling</div><div>18 500 KZT</div></div><div><div>Check</div><div>3 000 KZT</div></div></div>",
     "Filling — 18 500 KZT\n\nCheck — 3 000 KZT"),
    ("<div><p>A name</p><p>and a text</p></div>", "A name\n\nand a text"),
    # what looks like markup is text
    ("<p># not a heading</p>", "\\# not a heading"),
    ("<p>#hashtag stays</p>", "#hashtag stays"),
    ("<p>```</p>", "\\```"),
    # repeated blocks are a second rendering for another screen
    ("<p>x</p><p>one two three four</p><p>x</p><p>one two three four</p>", "x\n\none two three four\n\nx"),
    # never read
    (("<style>a{}</style><script>leak()</script><template><p>leak</p></template><!-- leak --><svg><text>leak</text></svg>"
     "<p>text</p><noscript>enable JavaScript</noscript><textarea>leak</textarea>"), "text"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "expected"), CONSTRUCTS)
def test_construct_becomes_markdown(html, expected):
    """One construct, its exact markdown."""
    assert read(html) == expected


TABLES = [
    ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><td>A<td>B<tr><td>1<td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><th>Hall<td>Small<td>Large<tr><th>Price<td>6 000<td>15 000</table>",
     "| Hall | Small | Large |\n| --- | --- | --- |\n| Price | 6 000 | 15 000 |"),
    # spans: down is repeated, across only in a heading
    ("<table><tr><th>Bike<th>Term<th>Price<tr><td rowspan=2>City<td>hour<td>5<tr><td>day<td>20</table>",
     "| Bike | Term | Price |\n| --- | --- | --- |\n| City | hour | 5 |\n| City | day | 20 |"),
    ("<table><tr><th colspan=2>Name<th>Age<tr><td>Ann<td>Lee<td>30</table>",
     "| Name | Name | Age |\n| --- | --- | --- |\n| Ann | Lee | 30 |"),
    ("<table><tr><th>Bike<th colspan=2>Price<tr><th><th>hour<th>day<tr><td>City<td>5<td>20</table>",
     "| Bike | Price hour | Price day |\n| --- | --- | --- |\n| City | 5 | 20 |"),
    ("<table><tr><th colspan=2>Fees<tr><td>Ann<td>30<tr><td>Lee<td>20</table>",
     "| Fees |  |\n| --- | --- |\n| Ann | 30 |\n| Lee | 20 |"),
    ("<table><tr><td rowspan=65534>x<td>1<tr><td>2</table>", "| x | 1 |\n| --- | --- |\n| x | 2 |"),
    # two header rows become one
    ("<table><thead><tr><th>Price<th>Price<tr><th>new<th>old</thead><tr><td>1<td>2</table>",
     "| Price new | Price old |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tfoot><tr><td>sum<td>3</tfoot><tr><th>A<th>B<tr><td>1<td>2</table>",
     "| A | B |\n| --- | --- |\n| 1 | 2 |\n| sum | 3 |"),
    # cells
    ("<table><tr><th>A<th>B<tr><td>a|b<td>c</table>", "| A | B |\n| --- | --- |\n| a\\|b | c |"),
    ("<table><tr><th>A<th>B<tr><td><ul><li>x<li>y</ul><td>c</table>", "| A | B |\n| --- | --- |\n| x / y | c |"),
    ("<table><tr><th>A<th></th><th>B<tr><td>1<td></td><td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><th>A<th>B<tr><td><del>5 $</del>4 $<td>10<sup>6</sup> m<sup>2</sup></table>",
     "| A | B |\n| --- | --- |\n| ~~5 $~~ 4 $ | 10^6 m2 |"),
    ("<table><tr><th>A<th>B<tr><td><table><tr><td>x<td>1<tr><td>y<td>2</table><td>c</table>",
     "| A | B |\n| --- | --- |\n| x 1 / y 2 | c |"),
    ("<table><tr><td>x<td>y<tr><td><table><tr><td>A<td>1<tr><td>B<td>2</table><td>z</table>",
     "x\n\ny\n\n| A | 1 |\n| --- | --- |\n| B | 2 |\n\nz"),
    ("<table><caption>Fees</caption><tr><th>A<th>B<tr><td>1<td>2</table>", "Fees\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"),
    # layout tables are read in order
    ("<table><tr><td><p>menu</p></td><td><h2>Title</h2><p>text</p></td></tr></table>", "menu\n\n## Title\n\ntext"),
    ("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd"),
    ("<table><tr><td><table><tr><th>A<th>B<tr><td>1<td>2</table></td></tr></table>", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "expected"), TABLES)
def test_table_becomes_markdown(html, expected):
    """A data table is a table with a row a line; a table that only places things is not."""
    assert read(html) == expected


def test_lists_nested_without_end_are_written_in_bounded_text():
    """Indentation stops at some depth, so the text grows with the page and not with its square."""
    depth = 1500
    text = read("<ul><li>a" * depth + "last")
    assert len(text) < 30 * depth
    assert text.count("- a") == depth
    assert "\n    - a\n" in text


def test_a_value_over_several_headings_is_that_of_each():
    """A row that names a group of rows is not, nor is the name of a row."""
    table = (
        "<table><tr><th>Lens</th><th>Weekday</th><th>Weekend</th></tr><tr><td colspan=3>Soft</td></tr>"
        "<tr><td>Acu</td><td colspan=2>7 900</td></tr><tr><td colspan=2>Total</td><td>9</td></tr></table>"
    )
    lines = read(table).splitlines()
    assert lines[2:] == ["| **Soft** |  |  |", "| Acu | 7 900 | 7 900 |", "| Total |  | 9 |"]


def test_a_cell_that_holds_a_picture_alone_says_what_it_shows():
    table = "<table><tr><th>Plan</th><th>Help</th></tr><tr><td>Mini</td><td><img alt=yes></td></tr></table>"
    assert "| Mini | yes |" in read(table)
