"""`search` and `eval` as a person tunes them: explained, fused in another way."""

from __future__ import annotations

import json

import pytest

from tests.support.shop import open_shop, sources


@pytest.fixture
def shop():
    with open_shop() as site:
        yield site


def test_a_search_explains_itself_and_fuses_as_it_is_told(indexer, shop, tmp_path):
    indexer("init-project", "--name", "p", *sources(shop)).ok()
    ask = ("search", "--project-name", "p", "--limit", "2")
    question = "цена замены масла"

    first = indexer(*ask, "--explain", "--json", question).ok().json[0]
    assert first["score"] == pytest.approx(
        sum(first[leg]["normalised"] * first[leg]["weight"] for leg in ("dense", "bm25"))
    )
    told = {match["term"]: match for match in first["bm25"]["matches"]}
    assert told["масл"]["asked"] == ["масла"]
    assert sum(match["score"] for match in told.values()) == pytest.approx(first["bm25"]["score"], abs=1e-4)
    text = indexer(*ask, "--explain", question).ok().out
    for word in ("normalised", "weight", "dense", "bm25", "in the question", "масл", "замены", "Замена"):
        assert word in text

    rrf = indexer(*ask, "--fusion", "rrf", "--json", question).ok().json[0]
    assert rrf["score"] == pytest.approx(2 / 61)
    indexer("set", "--project-name", "p", "search.fusion", "weighted").ok()
    indexer("set", "--project-name", "p", "search.dense_weight", "0.25").ok()
    weighted = indexer(*ask, "--json", question).ok().json[0]
    assert (weighted["dense"]["weight"], weighted["bm25"]["weight"]) == (0.25, 0.75)
    indexer("set", "--project-name", "p", "search.fusion", "sum").fails(2, "fusion", "sum")

    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"question": question, "relevant": [shop.url("/prices")]}), "utf-8")
    report = tmp_path / "r.json"
    evaluate = ("eval", "--project-name", "p", "--questions", str(questions))
    found = indexer(*evaluate, "--report", str(report), "--json").ok().json
    assert [one.get("fusion") for one in found] == ["weighted", None, None]
    compared = indexer(*evaluate, "--fusion", "rrf", "--compare", str(report), "--json").ok().json
    assert compared["scores"][0]["fusion"] == "rrf"
    assert "hybrid, rrf" in indexer(*evaluate, "--fusion", "rrf").ok().out
