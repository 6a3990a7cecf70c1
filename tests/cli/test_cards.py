"""What a page sells in cards reads, and is cut, under the name of its own card."""

from __future__ import annotations

import re

import pytest

from tests.support.shop import html

COUNT = 24
DESCRIPTION = "Завтрак включён, заезд с 14:00, выезд до 12:00, отмена бесплатна за сутки до заезда"
CARDS = {
    "price-before-heading": "<article><span>-{0}%</span><div class=price>от {0}100 ₽</div><h3>Номер {0}</h3><p>{1}.</p></article>",
    "price-before-title": "<div class=tour><div class=price>{0}100 ₽</div><div class=title>Номер {0}</div><p>{1}.</p></div>",
    "link": "<a class=card href=/b/{0}><img src=x.jpg><div class=card__title>Номер {0}</div><div>{0}100 ₽</div><div>{1}.</div></a>",
    "nameless": "<div class=x><div>{0}100 ₽</div><div>Номер {0}</div><div>{1}.</div></div>",
    "event": "<a class=card href=/e/{0}><time>{0} дек 19:00</time><div class=name>Номер {0}</div><div>{1}.</div><div>от {0}100 ₽</div></a>",
}


@pytest.mark.parametrize("kind", CARDS)
def test_a_card_is_read_and_cut_with_what_is_its_own(indexer, tmp_path, kind):
    page = tmp_path / "rooms.html"
    cards = "".join(CARDS[kind].format(number, DESCRIPTION) for number in range(1, COUNT + 1))
    page.write_text(html("Номера", f"<div class=list>{cards}</div>"), encoding="utf-8")

    text = indexer("extract", str(page), "--json").ok().json["text"]
    own = re.findall(r"\b(\d+)100 ₽|Номер (\d+)\b", text)
    assert len(own) == 2 * COUNT
    if kind != "nameless":
        names = re.findall(r"^#+ Номер (\d+)$", text, re.MULTILINE)
        assert names == [str(number) for number in range(1, COUNT + 1)]
        for part in re.split(r"^#+ Номер ", text, flags=re.MULTILINE)[1:]:
            number = part.split()[0]
            assert re.findall(r"\b(\d+)100 ₽", part) == [number]
            assert kind != "event" or f"{number} дек 19:00" in part

    chunks = indexer("chunk", str(page), "--json").ok().json["chunks"]
    assert len(chunks) > 1
    for chunk in chunks:
        prices, named = (re.findall(found, chunk["text"]) for found in (r"\b(\d+)100 ₽", r"Номер (\d+)\b"))
        assert prices == named
