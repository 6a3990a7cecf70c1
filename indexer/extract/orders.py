"""
Visible text that gives orders to a language model: kept out of the text, and reported.

Only a block that clearly does so: a command to drop what the model was told, together with
one of what to say; or a sentence whose subject or addressee is a model and that tells it how
to answer. A page that speaks *about* such attacks is left alone, as are quotations and code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from indexer.extract.blocks import Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST = 150  # words; an order is short
_MANY, _MOST = 3, 0.3  # orders, and their share of a page's kept words: so much is a text about orders
_QUOTES = "\"'“”„«»‘’`"
_HINTS = re.compile(
    r"ignore|disregard|forget|override|language model|\bllm|\bai\b|assistant|chat ?-?bot|\[inst|im_start|игнорир|забудь|нейросет"
    r"|языков|ассистент|чат-?бот|\bии\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"prompt[- ]injection|jailbreak|red[- ]?team|injection attack|инъекци\w* (?:в )?промпт|промпт-?инъекц|внедрени\w* (?:в )?промпт",
    re.IGNORECASE,
)
_MODEL = (
    r"(?:(?:an?|the|any|all|large|your|every|dear)\s+)*(?:ais?\b|ai[- ](?:assistants?|models?|agents?|systems?)|llms?"
    r"|language models?|(?:virtual )?assistants?|chat ?-?bots?)"
)
_SAY = (
    r"(?:say|reply|respond|answer|tell|state|claim|recommend|output|print|write|repeat|reveal|mention|praise|rate|ignore|follow"
    r"|disclose|summari[sz]e)"
)
_DROP = re.compile(
    r"(?:ignore|disregard|forget|override)\s+(?:(?:all|any|every|the|your|of|these|those|my|previous|prior|above|earlier|preceding"
    r"|existing|other|system)\s+){1,5}(?:instructions?|prompts?|directions|directives|commands|context|messages)\b",
    re.IGNORECASE,
)
_DROP_RU = re.compile(
    r"(?:игнорируй(?:те)?|забудь(?:те)?|не обращай(?:те)? внимани[ея] на)\s+(?:(?:все|всю|любые|свои|твои|ваши|эти|предыдущ\w+|прежн\w+"
    r"|прошл\w+|выше\w*|системн\w+|остальн\w+)\s+){1,4}(?:инструкци\w+|указани\w+|команд\w*|промпт\w*|контекст\w*|сообщени\w+)",
    re.IGNORECASE,
)
_THEN = re.compile(
    rf"\b{_SAY}\b|\bsystem prompt\b|\byou are now\b|\b{_MODEL}\b"
    r"|скажи|ответь|отвеча[йт]|сообщи|рекомендуй|напиши|повтори|раскрой|промпт|нейросет|ассистент|чат-?бот",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(
    rf"\b(?:if|when|since)\s+you(?:'re|\s+are)\s+{_MODEL}\b.{{0,80}}?\b(?:you (?:must|should|will|need to)\s+|please\s+|then\s+|[,:]\s*)"
    rf"{_SAY}\b|\b(?:attention|note to|message (?:to|for)|instructions? (?:to|for))\s+{_MODEL}\s*[:,.!-]"
    rf"|(?:^|[.!?]\s+){_MODEL}\s+(?:must|should|shall|have to|are (?:required|instructed|ordered) to)\s+(?:always\s+|never\s+)?{_SAY}\b"
    r"|<\|?im_start\|?>|\[INST\]"
    r"|если\s+(?:ты|вы)\s*[—–-]?\s*(?:языков\w+ модел\w+|нейросет\w+|ии\b|ассистент\w*|чат-?бот\w*).{0,80}?"
    r"(?:скажи|ответь|отвеча[йт]|сообщи|рекомендуй|напиши|игнорируй|должн|обязан)"
    r"|(?:^|[.!?]\s+)(?:языков\w+ модел\w+|нейросет\w+|ии|ии-ассистент\w*|ассистент\w*|чат-?бот\w*)\s+(?:должн\w+|обязан\w*)\s+"
    r"(?:всегда\s+|никогда\s+)?(?:\w+\s+)?(?:сказать|ответить|отвечать|сообщ\w+|рекомендовать|написать|советовать)",
    re.IGNORECASE,
)


def found(blocks: list[Block], keep: NDArray[np.bool_]) -> list[int]:
    """Numbers of the kept blocks that give orders to a model; none on a page that is about such orders."""
    numbers = [
        k
        for k, block in enumerate(blocks)
        if keep[k] and block.kind != "pre" and block.words <= _LONGEST and gives_orders(block.text)
    ]
    if not numbers or any(
        _ABOUT.search(block.text) for block, kept in zip(blocks, keep, strict=True) if kept
    ):
        return []
    words = sum(block.words for block, kept in zip(blocks, keep, strict=True) if kept)
    many = len(numbers) >= _MANY and sum(blocks[k].words for k in numbers) > _MOST * words
    return [] if many else numbers


def gives_orders(text: str) -> bool:
    """Whether *text* tells a language model what to do, in its own voice."""
    if not _HINTS.search(text):
        return False
    for pattern in (_DROP, _DROP_RU):
        dropped = pattern.search(text)
        if (
            dropped
            and not _is_quoted(text, dropped.start())
            and _THEN.search(text[: dropped.start()] + text[dropped.end() :])
        ):
            return True
    told = _ADDRESSED.search(text)
    return told is not None and not _is_quoted(text, told.start())


def _is_quoted(text: str, at: int) -> bool:
    """Whether a quotation opens right before."""
    return text[:at].rstrip().endswith(tuple(_QUOTES))
