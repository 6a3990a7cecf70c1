"""PDF and DOCX by hand: added, shown, searched."""

import json

from tests.support.documents import docx, paragraph, pdf

PRICE = "50 780 20 Прейскурант\n50 740 12 Установка посудомоечной машины стоит три тысячи рублей."


def test_local_documents_are_indexed_and_found(indexer, tmp_path):
    (tmp_path / "price.pdf").write_bytes(pdf(PRICE))
    (tmp_path / "rules.docx").write_bytes(
        docx(paragraph("Правила", style="1") + paragraph("Гарантия действует год."))
    )
    (tmp_path / "scan.pdf").write_bytes(pdf(b""))
    indexer("init-project", "--name", "docs").ok()
    report = indexer("add-files", "--project-name", "docs", str(tmp_path), "--json").ok().json
    assert (report["indexed"], report["skipped"], report["failed"]) == (2, 1, 0)
    rows = {
        row["url"].rpartition("/")[2]: row for row in indexer("export", "--project-name", "docs").ok().lines
    }
    assert rows["scan.pdf"]["reason"] == "no-text"
    assert rows["price.pdf"]["title"] == "Прейскурант"
    hits = indexer("search", "--project-name", "docs", "установка посудомоечной машины", "--json").ok().out
    assert "три тысячи" in hits


def test_extract_shows_a_document(indexer, tmp_path):
    (tmp_path / "price.bin").write_bytes(pdf(PRICE))
    shown = indexer("extract", str(tmp_path / "price.bin"), "--json").ok().out
    record = json.loads(shown)
    assert (record["title"], record["content_type"], record["extractor"]) == (
        "Прейскурант",
        "application/pdf",
        "pdf",
    )
    assert "# Прейскурант\n\nУстановка" in record["text"]
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\n" + b"x" * 99)
    told = indexer("extract", str(tmp_path / "broken.pdf"))
    assert (told.code, "damaged: the PDF cannot be opened" in told.err) == (1, True)
