"""A law by hand: its articles and points come back with every hit."""

from indexer.artifacts import ChunkedPage
from tests.support.shop import html

ARTICLES = "".join(
    f'<section id="st-{number}"><h2>Статья {number}</h2>{body}</section>'
    for number, body in (
        (22, "<p>Станция выдаёт лодки напрокат всем, кто умеет плавать.</p>"),
        (
            23,
            (
                "<p>1. Лодка выдаётся по договору, форма которого определяется настоящим законом.</p>"
                "<p>2. Станция обязана:</p><p>1) проверить уключины;</p><p>2) выдать спасательные жилеты.</p>"
            ),
        ),
        (24, "<p>Наниматель отвечает за утонувшие вёсла.</p>"),
    )
)


def test_the_articles_and_points_of_a_law_are_fields_of_hits(indexer, tmp_path):
    (tmp_path / "law.html").write_text(html("Раздел II. Прокат", ARTICLES), encoding="utf-8")
    indexer("init-project", "--name", "law").ok()
    indexer("add-files", "--project-name", "law", str(tmp_path / "law.html")).ok()

    (row,) = indexer("export", "--project-name", "law").ok().lines
    shown = [(part.get("article"), part.get("point")) for part in row["chunks"]]
    assert shown == [("22", None), ("23", "1"), ("23", "2"), ("24", None)]
    assert row["chunks"][2]["points"] == ["2", "2/1)", "2/2)"]
    assert row["chunks"][2]["parent"] == "Раздел II. Прокат"
    assert "Статья 23" in row["chunks"][2]["topic"]

    hits = (
        indexer("search", "--project-name", "law", "спасательные жилеты", "--json", "--limit", "1").ok().json
    )
    assert (hits[0]["article"], hits[0]["point"], hits[0]["points"]) == ("23", "2", ["2", "2/1)", "2/2)"])


def test_raised_articles_and_lists_in_lists_are_what_a_reader_sees(indexer, tmp_path):
    """Article 23¹ is another one than 23; what stands in a list within a point is its sub-points."""
    items = (
        "<ol><li>Станция обязана:<ol type=a><li>выдать жилет;</li><li>выдать вёсла.</li></ol></li>"
        "<li>Станция вправе:<ol><li>отказать;</li><li>взять залог.</li></ol></li><li value=7>Настоящая статья действует.</li></ol>"
    )
    body = "".join(
        f"<p>Статья {name}. Прокат {name[:2]}</p>{items}" for name in ("23", "23<sup>1</sup>", "24")
    )
    page = tmp_path / "law.html"
    page.write_text(html("Кодекс", body), encoding="utf-8")
    chunks = indexer("chunk", str(page), "--json").ok().json["chunks"]
    assert list(dict.fromkeys(chunk["article"] for chunk in chunks)) == ["23", "23-1", "24"]
    own = [(chunk["point"], chunk["points"]) for chunk in chunks if chunk["article"] == "23-1"]
    assert own == [("1", ["1", "1/a)", "1/b)"]), ("2", ["2", "2/1)", "2/2)"]), ("7", ["7"])]


def test_one_phase_alone_shows_them_too(indexer, tmp_path):
    text = "Статья 1.\n1. Лодка есть.\n2. Пункт 1 верен.\nСтатья 2.\nВесло есть."
    (tmp_path / "law.txt").write_text(text, encoding="utf-8")
    told = indexer("chunk", str(tmp_path / "law.txt")).ok().out
    assert "article 1, point 2" in told
    forbidden = indexer("chunk", str(tmp_path / "law.txt"), INDEXER_CHUNK__LEGAL="never").ok().out
    assert "article 1" not in forbidden


def test_pages_that_are_no_laws_are_embedded_as_before_these_fields():
    """Empty places count for nothing in what an embedded page stands for."""
    import msgspec

    from indexer.artifacts import Chunk
    from indexer.phases.embed import _NO_PLACE

    plain = Chunk(ordinal=0, topic="Т", text='"article":"",', start=0, end=13, context="К")
    page = ChunkedPage(signature="", url="u", title="t", language="ru", mode="paragraph", chunks=(plain,))
    signed = msgspec.json.encode(page)
    assert _NO_PLACE in signed
    assert msgspec.json.decode(signed.replace(_NO_PLACE, b""), type=ChunkedPage) == page
