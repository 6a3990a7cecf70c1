"""What holds for any text and any answer of a model: slices, order, cover, limit."""

from __future__ import annotations

import pickle

import pytest
import regex
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from indexer.artifacts import Page
from indexer.chunk.spans import is_blank
from indexer.errors import Permanent
from indexer.phases import chunk as phase
from indexer.phases.chunk import Cut, chunk_text
from indexer.settings import Chunking

FRAGMENTS = (
    "слово ", "Да. ", "Как так? ", "ул. Абая, д. 5. ", "word", " ", "\t", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\u2028",
    "当店は平日の午前十時から。", "「はい」、", "ร้านเปิดทุกวัน", "ร้าน ", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇰🇿", "e\u0301", "\u0301", "\u200b", "\u200d", "\ufeff",
    "\u00a0", "5\u00a0000 тенге ", "# Заголовок\n", "## H2\n\n", "###### six\n", "#tag ", "Глава\n===\n", "Статья 5.\n", "23-бап\n", "§ 7\n",
    "**Жирный**\n\n", "Сколько стоит?\n\n", "Цены:\n\n", "- пункт\n", "  - вложенный\n", "1. шаг\n", "а) подпункт\n", "```\n", "```python\n", "~~~\n",
    "print('x')\n", "| Код | Цена |\n|---|---|\n", "| 1 | 200 |\n", "a | b\n", "---\n", "> цитата\n", "<|endoftext|>", "x" * 120, "\0", "\ud800",
    "TOPIC: x | STARTS: слово\n", ",", "、", "|", "…", ".", "!?",
)  # fmt: skip
LIMITS = st.sampled_from((200, 333, 1500))


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Texts made of what breaks chunkers, some of it repeated many times, and of anything at all."""
    piece = st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from((1, 1, 1, 2, 7, 60)))
    made = st.lists(piece.map(lambda drawn: drawn[0] * drawn[1]), max_size=60).map("".join)
    return draw(made | st.text(max_size=400) | st.lists(made | st.text(max_size=40), max_size=4).map("".join))


def assert_valid(text: str, cut: Cut, limit: int) -> None:
    at = 0
    for number, chunk in enumerate(cut.chunks):
        assert chunk.ordinal == number
        assert at <= chunk.start < chunk.end
        assert text[chunk.start : chunk.end] == chunk.text
        assert is_blank(text, at, chunk.start), "text lies between chunks"
        assert not is_blank(text, chunk.start, chunk.end)
        assert len(chunk.text) <= limit
        assert chunk.text == chunk.text.strip()
        assert len(chunk.context) <= limit
        assert 0 < len(chunk.topic) <= 120
        assert chunk.topic == chunk.topic.strip()
        assert chunk.topic.isprintable() or "\u200d" in chunk.topic
        at = chunk.end
    assert is_blank(text, at, len(text)), "text lies behind the last chunk"


@given(documents(), LIMITS, st.sampled_from(("", "Цены — ООО «Ромашка»", "\0\n")))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_paragraph_chunks_are_exact_slices_in_order_that_cover_the_text(text, limit, title):
    """Whatever the text, chunks are slices within the limit and lose nothing that can be seen."""
    cut = chunk_text(text, title=title, settings=Chunking(max_chars=limit))
    assert cut.mode in ("paragraph", "legal")
    assert_valid(text, cut, limit)
    assert cut == chunk_text(text, title=title, settings=Chunking(max_chars=limit))


@given(documents(), LIMITS)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_user_perceived_character_is_torn(text, limit):
    """Cuts fall between grapheme clusters, unless one of them alone is over the limit."""
    clusters = [match.span() for match in regex.finditer(r"\X", text)]
    assume(all(end - start <= limit for start, end in clusters))
    inside = {
        place for start, end in clusters if not text[start].isspace() for place in range(start + 1, end)
    }
    for chunk in chunk_text(text, settings=Chunking(max_chars=limit)).chunks:
        assert chunk.start not in inside
        assert chunk.end not in inside or text[chunk.end].isspace()


class ScriptedChat:
    """A chat model that says what a test wants, and keeps what it was asked."""

    model = "test/scripted"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.calls = 0

    def __call__(self, system, user, *, temperature=0.1):
        self.calls += 1
        self.asked.append(user)
        answer = self.answers[(self.calls - 1) % len(self.answers)]
        if isinstance(answer, Exception):
            raise answer
        return answer


@st.composite
def answered(draw: st.DrawFn) -> tuple[str, list[object]]:
    """A text and what a model says to it: places of the text, in any order, among nonsense."""
    text = draw(documents())
    answers: list[object] = []
    for _ in range(draw(st.integers(1, 3))):
        lines = []
        for _ in range(draw(st.integers(0, 12))):
            start = draw(st.integers(0, max(len(text) - 1, 0)))
            words = text[start : start + draw(st.integers(1, 60))]
            shape = draw(
                st.sampled_from(
                    ("TOPIC: Тема | STARTS: {}", "- **TOPIC:** a | **STARTS:** «{}…»", "{}", "STARTS: {}")
                )
            )
            lines.append(shape.format(words.replace("{", "")))
        said = "\n".join(lines)
        answers.append(
            draw(
                st.sampled_from(
                    (said, said.upper(), f"```\n{said}", f"<think>{said}", "", "no", Permanent("refused"))
                )
            )
        )
    return text, answers


@given(answered(), LIMITS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_model_answers_the_chunks_are_valid(drawn, limit):
    """Boundaries from a model move cuts, and break no invariant."""
    text, answers = drawn
    setting = Chunking(max_chars=limit, window=1000)
    cut = chunk_text(text, title="Т", settings=setting, chat=ScriptedChat(*answers))
    assert_valid(text, cut, limit)
    assert cut == chunk_text(text, title="Т", settings=setting, chat=ScriptedChat(*answers))


HUGE = 100_000
WORST = {
    "one paragraph": "Это предложение о цене. " * (HUGE // 24),
    "no full stop": "слово " * (HUGE // 6),
    "no space": "абвгдежз" * (HUGE // 8),
    "CJK": "当店は平日の午前十時から営業しております。" * (HUGE // 21),
    "CJK without stops": "営業" * (HUGE // 2),
    "Thai": "ร้านเปิดทุกวันจันทร์" * (HUGE // 20),
    "joined emoji": "👨‍👩‍👧‍👦" * (HUGE // 7),
    "one endless character": "e" + "\u0301" * HUGE,
    "one endless emoji": "👩\u200d" * (HUGE // 2),
    "no-break spaces": "цена\u00a0" * (HUGE // 5),
    "zero width": "a" + "\u200b" * HUGE + "b",
    "white space": "a" + " " * HUGE + "\n" * HUGE + "b",
    "dots": "." * HUGE,
    "dots and spaces": ". " * (HUGE // 2),
    "quotes": '"' * HUGE,
    "tiny paragraphs": "x\n\n" * (HUGE // 3),
    "carriage returns": "Строка.\r\r" * (HUGE // 9),
    "tiny items": "- a\n" * (HUGE // 4),
    "headings only": "# a\n" * (HUGE // 4),
    "falling headings": "".join("#" * (i % 6 + 1) + " h\n" for i in range(HUGE // 8)),
    "fences": "```\n" * (HUGE // 4),
    "open fences": "```py\n" * (HUGE // 6),
    "falling fences": "".join("`" * length + "\nx\n" for length in range(800, 3, -1)),
    "one fence": "```\n" + "x = 1\n" * (HUGE // 6) + "```",
    "bars": "|" * HUGE,
    "rows": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (HUGE // 10),
    "one row": "| a | b |\n|---|---|\n| " + "слово | " * (HUGE // 8),
    "wide header": "| " + "слово | " * (HUGE // 8) + "\n|---|---|\n| a | b |",
    "brackets": "# " + "[" * HUGE,
    "questions": "Почему?\n\n" * (HUGE // 9),
    "articles": "Статья 5\nТекст.\n" * (HUGE // 16),
    "rules": "---\n\n" * (HUGE // 5),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", WORST)
def test_large_hostile_texts_take_linear_time(name):
    """Texts of 100,000 characters that make careless scanners quadratic end within the time limit."""
    assert_valid(WORST[name], chunk_text(WORST[name], settings=Chunking()), 1500)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\ufeff", "\0"])
def test_a_text_without_anything_to_see_has_no_chunks(text):
    """Blank text gives no chunk, and no question to a model."""
    chat = ScriptedChat("TOPIC: a | STARTS: b")
    assert chunk_text(text, settings=Chunking(), chat=chat).chunks == ()
    assert chat.calls == 0


def test_the_phase_crosses_process_borders():
    """Without a model, function, input and result can be pickled, and the result stays the same."""
    page = Page(
        signature="s", url="https://a.example/", content="c", title="Т", text="# Т\n\nДа.\n\n## П\n\nНет."
    )
    function = pickle.loads(pickle.dumps(phase.chunk))
    result = function(pickle.loads(pickle.dumps(page)), settings=Chunking(), chat=None)
    assert pickle.loads(pickle.dumps(result)) == phase.chunk(page, settings=Chunking(), chat=None)
