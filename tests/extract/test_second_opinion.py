"""What the second judge leaves out of an article."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.extract import second
from indexer.extract.blocks import Block, Frame

ANSWER = "Да, наставник отвечает на вопросы учащихся в течение суток, также по выходным и в праздники, а на срочные письма обычно уже в первый час после того, как они пришли."
TEASER = "Другие статьи о курсах и о том, как к ним готовиться"


@pytest.fixture
def blocks():
    body = Frame("body", None, "", 0, 0)
    kinds = [("h", "Отвечает ли наставник на вопросы?"), ("p", ANSWER), ("p", TEASER), ("h", "Читайте ещё")]
    return [Block(kind, text, body) for kind, text in kinds]


def test_an_answer_keeps_its_question(blocks, monkeypatch):
    """trafilatura drops headings that end with a mark; their answers, which it takes, would stand alone."""
    monkeypatch.setattr(second, "_extract", lambda _: second._Text(ANSWER))
    kept = second.confirm(blocks, np.array([0.7, 0.8, 0.6, 0.6]), np.ones(4, dtype=np.bool_), 0.55, "")
    assert kept.tolist() == [True, True, False, False]
