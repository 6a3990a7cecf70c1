"""
Visible text that gives orders to a language model: kept out of the text, and reported.

Only what clearly does so: a command to drop what the model was told, together with
one of what to say; or a sentence whose subject or addressee is a model and that tells it how
to answer. Facts beside it in the same block stay. A page that speaks *about* such attacks is left alone, as are quotations and code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from indexer.extract.blocks import Block
from indexer.extract.text import count_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST = 150  # words; an order is short
_MOST = 0.3  # of a page's words: what orders so much of it is a text about orders
_PARAGRAPHS, _FENCE = re.compile(r"\n[^\S\n]*\n"), re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_SENTENCES = re.compile(r"((?<=[.!?…])\s+|\s+[|—–·•-]\s+)")
_QUOTES = "\"'“”„«»‘’`"
_HINTS = re.compile(
    r"ignore|disregard|forget|override|system|\bdan\b|developer|jailb|елеме|ұмыт|систем|summari[sz]|language model|\bllm|\bai\b|assistant|chat ?-?bot|\[inst|im_start|игнорир|забудь|нейросет"
    r"|языков|ассистент|чат-?бот|\bии\b",
    re.IGNORECASE,
)
_WORDS = (  # as _HINTS; to look for each takes a tenth of the time of looking for the pattern
    "ignore", "disregard", "forget", "override", "system", "developer", "jailb", "елеме", "ұмыт", "систем", "summari",
    "language model", "llm", "assistant", "chatbot", "chat bot", "chat-bot", "chat -bot", "[inst", "im_start",
    "игнорир", "забудь", "нейросет", "языков", "ассистент", "чатбот", "чат-бот",
)  # fmt: skip
_SHORT_WORDS = re.compile(r"\b(?:ai|dan|ии)\b")
_ABOUT = re.compile(
    r"prompt[- ]?(?:injection|hacking|leak)|jailbreak|red[- ]?team|injection attack|adversarial (?:prompt|input|example)"
    r"|инъекци\w* (?:в )?(?:промпт|подсказ|запрос)|промпт-?(?:инъекц|инжект|хакинг)|внедрени\w* (?:в )?(?:промпт|подсказ|инструкц)|джейлбрейк",
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
# Said to begin with, and of nothing in particular, dropping what was told is an order in itself.
_BEGINS = r"(?:^|[.!?…\n]\s*|\b(?:please|now|important|attention|system|admin|assistant|ai|внимание|важно|система|теперь)\b\s*[,:!—–-]?\s*)[*_\s]*"
_PARTICULAR = r"(?!\W{0,2}\s*(?:if|when|unless|until|on|in|for|from|about|regarding|given|that|which|with|as|at|and use|если|когда|при|по|на|в|для|из|о|об|от|к)\b)"
_DROP_ALONE = re.compile(
    rf"{_BEGINS}(?:ignore|disregard|forget|override)\s+(?:(?:all|any|of|the|your|my|these|everything)\s+){{0,3}}(?:previous|prior|above|earlier"
    rf"|preceding|existing|system)\s+(?:\w+\s+)?(?:instructions?|prompts?|directions|directives|commands|guidelines)\b{_PARTICULAR}"
    rf"|{_BEGINS}(?:игнорируй|забудь|не обращай внимани[ея] на)(?:те)?\s+(?:(?:все|любые|свои|твои|ваши|эти)\s+){{0,2}}(?:предыдущ|прежн|прошл"
    rf"|предшеств|систем|вышестоящ)\w+\s+(?:\w+\s+)?(?:инструкци|указани|команд|промпт|правил)\w*\b{_PARTICULAR}"
    # Kazakh puts the verb last: "Алдыңғы нұсқауларды елеме"
    r"|(?:алдыңғы|бұрынғы|жоғарыдағы)\s+(?:барлық\s+)?нұсқау\w*\s+(?:\w+\s+)?(?:елеме|ескерме|ұмыт)(?:ңіз|ыңыз|ңдер)?\b",
    re.IGNORECASE,
)
_PLAYS = re.compile(  # who speaks, or who the model is to be from now on
    rf"(?:^|\n)\W{{0,4}}(?:system|developer|admin(?:istrator)?|система|системное сообщение)\s*(?:prompt|message|override|note|instructions?)?\W{{0,3}}"
    rf"[:>\]]\W{{0,3}}\s*(?:you (?:are|must|will|should)\b|your (?:new|only|role|task|rules)\b|new instructions|ignore|disregard|forget|from now on|{_SAY}\b|ты\b|вы\b|твоя|теперь|отныне|игнорируй|забудь)"
    r"|\byou(?: are|'re) (?:now )?(?:\bDAN\b|in (?:developer|debug|god|admin|jailbreak|unrestricted) mode|(?:an? )?(?:unrestricted|unfiltered|jailbroken|uncensored)\b)"
    r"|\byou are now (?:an? )?(?:\w+ ){0,2}(?:ai|bot|chat ?bot|llm|language model|assistant)\b"
    r"|\bты (?:теперь|отныне)\W{0,4}(?:DAN\b|бот|ассистент|нейросет|ии\b|без ограничений|в режиме)"
    r"|(?:^|[.!?:]\s*)(?:reveal|print|output|repeat|show|leak|disclose|display)\s+(?:me\s+)?(?:your|the)\s+(?:full\s+|hidden\s+|initial\s+|entire\s+)*"
    r"(?:system\s+(?:prompt|message|instructions)|(?:hidden|initial)\s+instructions|prompt)\b"
    r"|(?:^|[.!?:]\s*)(?:покажи|выведи|раскрой|повтори|напиши)(?:те)?\s+(?:свой|свои|твой|весь)?\s*(?:системн\w+\s+(?:промпт|инструкци|сообщени)\w*)"
    r"|\bwhen (?:summari[sz]ing|describing|quoting|answering (?:questions )?about|responding (?:to (?:questions|queries) )?(?:about|on)) "
    rf"(?:this|the) (?:page|site|website|document|content|text|article)\b.{{0,40}}\b(?:always |never |only )?{_SAY}\b",
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
    r"|\bas an? (?:ai )?(?:language model|llm|chat ?-?bot)\W{1,3}you (?:must|should|will|have to)\b|^\W{0,3}(?:<\|?im_start\|?>|\[INST\])"
    r"|если\s+(?:ты|вы)\s*[—–-]?\s*(?:языков\w+ модел\w+|нейросет\w+|ии\b|ассистент\w*|чат-?бот\w*).{0,80}?"
    r"(?:скажи|ответь|отвеча[йт]|сообщи|рекомендуй|напиши|игнорируй|должн|обязан)"
    r"|(?:^|[.!?]\s+)(?:языков\w+ модел\w+|нейросет\w+|ии|ии-ассистент\w*|ассистент\w*|чат-?бот\w*)\s+(?:должн\w+|обязан\w*)\s+"
    r"(?:всегда\s+|никогда\s+)?(?:\w+\s+)?(?:сказать|ответить|отвечать|сообщ\w+|рекомендовать|написать|советовать)",
    re.IGNORECASE,
)

_CALLED = re.compile(  # called by name, then told about its rules or answers
    r"(?:^|[.!?:\n]\s*|\b(?:dear|hey|hello|hi|attention|уважаем\w+|внимание|эй|привет)\b[\s,:!—–-]*)[*_\s]*"
    r"(?:ai(?:[- ](?:assistant|model|agent|system|bot))?|llm|language model|(?:virtual |ai )?assistant|chat ?-?bot"
    r"|(?:ии|ai)[- ]?(?:ассистент|помощник|бот)|ии|нейросеть|языковая модель|ассистент|чат-?бот)\s*[,:!—–-]\s*"
    r"(?:please\b,?\s*|пожалуйста,?\s*)?"
    r"(?:(?:ignore|disregard|forget|override)\s+(?:all|any|everything|the (?:above|previous|prior|rest|other|system)|your|previous|prior|above)\b"
    rf"|(?:from now on|henceforth)\b.{{0,20}}?\b(?:you (?:must|should|will|are)|(?:always|only|never)\s+{_SAY}|{_SAY})\b"
    rf"|you (?:must|should|shall|have to|are to)\s+(?:now\s+)?(?:always\s+|never\s+|only\s+)?{_SAY}\b"
    rf"|(?:always|only|never)\s+{_SAY}\b"
    r"|(?:игнорируй|забудь|отбрось|не обращай внимани[ея] на)(?:те)?\s+(?:обо?\s+)?(?:вс[её]\w*|любые|сво[иё]\w*|предыдущ\w+|прежн\w+|прошл\w+|системн\w+|инструкци\w+|правила)\b"
    r"|(?:(?:отныне|теперь|с этого момента)\W{1,3})(?:(?:ты|вы)\s+(?:долж[ен]\w+|обязан\w*|всегда|только)|(?:всегда\s+|только\s+)?(?:отвеча|называ|говор|сообща|рекоменду|совету)\w*[йи](?:те)?\b)"
    r"|(?:ты|вы)\s+(?:должен|должна|должны|обязан\w?)\s+(?:всегда\s+|только\s+|теперь\s+)?(?:отвечать|называть|говорить|сообщать|рекомендовать|советовать|сказать|ответить|назвать)\b"
    r"|(?:всегда|только)\s+(?:отвечай|называй|говори|сообщай|рекомендуй|советуй)(?:те)?\b)",
    re.IGNORECASE,
)


class Order(Struct, frozen=True):
    """`said`: what a block tells a model; `cells`: what else it says, one text, or of a row one a column."""

    said: str
    cells: list[str]


def found(blocks: list[Block], keep: NDArray[np.bool_]) -> dict[int, Order]:
    """Number of a kept block that gives orders to a model → they; none on a page that is about such orders."""
    orders = {
        k: _order_in(block)
        for k, block in enumerate(blocks)
        if keep[k] and block.kind != "pre" and block.words <= _LONGEST and gives_orders(block.text)
    }
    if not orders or any(_ABOUT.search(block.text) for block, kept in zip(blocks, keep, strict=True) if kept):
        return {}
    words = sum(block.words for block, kept in zip(blocks, keep, strict=True) if kept)
    return {} if sum(count_words(order.said) for order in orders.values()) > _MOST * words else orders


def _order_in(block: Block) -> Order:
    parts = [spared(cell) for cell in block.cells or [block.text]]
    rest = [kept for kept, _ in parts]
    if gives_orders(" ".join(rest)) or not any(rest):  # of a row, only together its cells do
        return Order(block.text, [])
    return Order(" ".join(said for _, said in parts if said), rest)


def without(text: str) -> tuple[str, tuple[str, ...]]:
    """*text* (markdown) without what gives orders to a model in its paragraphs, and those orders."""
    if not _HINTS.search(text) or is_about(text):
        return text, ()
    kept: list[str] = []
    ordered: list[str] = []
    fenced = False
    for paragraph in _PARAGRAPHS.split(text):
        told = not fenced and len(paragraph.split()) <= _LONGEST
        rest, order = spared(paragraph) if told else (paragraph, "")
        if rest or not order:
            kept.append(rest)
        if order:
            ordered.append(order)
        fenced ^= len(_FENCE.findall(paragraph)) % 2 == 1
    words = sum(len(paragraph.split()) for paragraph in ordered)
    if words > _MOST * len(text.split()):
        return text, ()
    return "\n\n".join(kept), tuple(ordered)


def without_sentences(line: str) -> tuple[str, str]:
    """(*line*, a title or summary, without the sentences that give orders to a model; those sentences)."""
    if not gives_orders(line):
        return line, ""
    pieces = ["", *_SENTENCES.split(line)]  # separator and sentence in turn
    parts = list(zip(pieces[::2], pieces[1::2], strict=True))
    told = [gives_orders(sentence) for _, sentence in parts]
    if not any(told):  # only together they do
        return "", line
    kept = "".join(a + b for (a, b), one in zip(parts, told, strict=True) if not one)
    start = _SENTENCES.match(kept)
    ordered = " ".join(b for (_, b), one in zip(parts, told, strict=True) if one)
    return kept[start.end() if start else 0 :].strip(), ordered


def spared(text: str) -> tuple[str, str]:
    """
    (what *text* says besides an order to a model, the order).

    Facts before the order stay, and those after it but what it has a model say; a text that
    begins with an order is taken for one as a whole.
    """
    if not gives_orders(text):
        return text, ""
    pieces = ["", *_SENTENCES.split(text)]  # separator and sentence in turn
    parts = list(zip(pieces[::2], pieces[1::2], strict=True))
    first = next((k for k, (_, sentence) in enumerate(parts) if gives_orders(sentence)), 0)
    kept = [separator + sentence for separator, sentence in parts[:first]]
    told = [parts[first][1]]
    for separator, sentence in parts[first + 1 :]:
        if gives_orders(sentence) or _THEN.search(sentence):
            told.append(sentence)
        else:
            kept.append(separator + sentence)
    rest = "".join(kept).strip()
    if all(line.startswith("#") for line in rest.splitlines() if line) or gives_orders(rest):
        return "", text  # a heading alone says nothing
    return (rest, " ".join(told)) if first else ("", text)


def is_about(text: str) -> bool:
    """Whether *text* speaks of such orders."""
    return _ABOUT.search(text) is not None


def gives_orders(text: str) -> bool:
    """Whether *text* tells a language model what to do, in its own voice."""
    low = text.casefold()
    if not any(word in low for word in _WORDS) and not _SHORT_WORDS.search(low):
        return False
    for pattern in (_DROP, _DROP_RU):
        dropped = pattern.search(text)
        if (
            dropped
            and not _is_quoted(text, dropped.start())
            and _THEN.search(text[: dropped.start()] + text[dropped.end() :])
        ):
            return True
    for pattern in (_DROP_ALONE, _PLAYS, _ADDRESSED, _CALLED):
        told = pattern.search(text)
        if told is not None and not _is_quoted(text, told.start()):
            return True
    return False


def _is_quoted(text: str, at: int) -> bool:
    """Whether a quotation opens right before."""
    return text[:at].rstrip().endswith(tuple(_QUOTES))
