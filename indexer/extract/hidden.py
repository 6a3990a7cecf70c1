"""
Text that a reader does not see: gone for good, or waiting for a click.

Tabs, accordions and folded answers are content. What CSS hides without any way to open it
is kept out of the text and reported, and so is text smuggled in characters without a shape.
"""

from __future__ import annotations

import re
from itertools import islice

from selectolax.lexbor import LexborNode

from indexer.extract.inline import beside
from indexer.extract.markup import SKIPPED
from indexer.extract.orders import gives_orders
from indexer.extract.styles import CLOSED, GONE, SEEN, Sheet, is_veiled, moves, sets_own, state_of
from indexer.extract.text import squeeze, visible
from indexer.money import names_money

_SCREEN_READER = frozenset(
    [
        "sr-only",
        "sr_only",
        "sronly",
        "screen-reader",
        "screen-reader-text",
        "screen-reader-only",
        "screenreader",
        "visually-hidden",
        "visuallyhidden",
        "visually_hidden",
        "offscreen",
        "off-screen",
        "a11y-hidden",
        "assistive-text",
        "u-hidden-visually",
        "u-visually-hidden",
        "show-for-sr",
        "hidden-visually",
        "element-invisible",
        "screenreader-only",
        "screenreader-text",
    ]
)
_OPENED = re.compile(
    r"accordion|collaps|faq|answer|toggle|tab|panel|pane|content|body|fold|expand|more|slide|carousel|spoiler|reveal"
    r"|desc|detail|text|step|drop|item|card|article|section|post|review",
    re.IGNORECASE,
)
_ANIMATED = re.compile(r"fade|anim|appear|aos|wow|scroll|show|lazy|motion|hover|in-?view", re.IGNORECASE)
_OPENERS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "button", "summary", "dt", "a", "label", "legend"))
_CONTROLS = frozenset(
    ("data-toggle", "data-bs-toggle", "aria-expanded", "aria-controls", "data-target", "onclick")
)
_NOWHERE = "a[href='#'],a[href^='javascript:'],a:not([href]),[role=button],button"
_ORDERS = re.compile(
    r"(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b.{0,40}"
    r"\b(?:instruction|prompt|rule|direction|context|command)"
    r"|\b(?:you are|as) an? (?:ai|llm|language model|assistant|chat ?bot)\b|\bsystem prompt\b"
    r"|\b(?:ai|llm|language model|assistant|chat ?bot)s?\b.{0,30}\b(?:must|should|instruction|are instructed|reading this)\b"
    r"|<\|?(?:system|im_start|endoftext)\|?>"
    r"|(?:игнорируй|забудь|не обращай внимания на)\w*.{0,40}(?:инструкц|указан|команд|правил|контекст|промпт)"
    r"|(?:языков\w+ модел|нейросет|чат-?бот|ассистент|ии)\w*\b.{0,40}\b(?:должн|обязан|следу|отвеча|скажи|игнорир)",
    re.IGNORECASE | re.DOTALL,
)
_ORDER_WORDS = (
    "ignore", "disregard", "forget", "override", "an ai", "a llm", "an llm", "language model", "assistant", "chatbot",
    "chat bot", "system prompt", "ai must", "ai should", "<|", "<system", "игнорир", "забудь", "не обращай", "нейросет", "ассистент",
    "чат-бот", "чатбот", "языков",
)  # fmt: skip
_AROUND = 120  # characters looked at before and after such a word
_MAX_TRIES = 5
_MAX_WITHIN = 200  # elements looked at within one without letters
_LONGEST_ORDER = 80  # words
_MAX_BESIDE = 20  # elements looked at beside a price
_MIN_CONTENT = 30  # words; so much hidden text is a panel, not a message that appears now and then


def how(attributes: dict[str, str | None], sheet: Sheet, tag: str) -> str:
    """SEEN, FADED (waits to be animated in), FAINT, CLOSED (display:none and the like) or GONE (nothing will show it)."""
    state = CLOSED if "hidden" in attributes else SEEN
    style = attributes.get("style")
    own = state_of(style) if style else SEEN
    if own == GONE:
        return GONE
    state = state or own
    return state or sheet.state_of(tag, attributes)


def appears(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """
    Whether something transparent is content that fades in.

    It can be told from what nobody is to see: a script finds it by a name (other than the one
    by which a rule hides it, unless that speaks of movement), a style moves it, or it is
    longer than a line.
    """
    text = node.text(separator=" ")
    if _is_order(text):
        return False
    style, classes = attributes.get("style") or "", attributes.get("class") or ""
    by_rule = not state_of(style)
    found = any(name == "id" or name.startswith("data-") for name in attributes)
    found |= len(classes.split()) > by_rule or _OPENED.search(classes) is not None
    return found or _ANIMATED.search(classes) is not None or moves(style) or len(text.split()) >= _MIN_CONTENT


def undone(node: LexborNode, attributes: dict[str, str | None], sheet: Sheet, *, veiled: bool) -> bool:
    """
    Whether what is within has letters of its own: `font-size:0` closes the gaps between columns.

    `veiled`: of what takes no place; only `visibility` in its own style can be undone then, by what
    is within or by the script that an animation's name tells of.
    """
    if veiled:
        if not is_veiled(attributes.get("style") or ""):
            return False
        if _ANIMATED.search(attributes.get("class") or "") and not _is_order(node.text(separator=" ")):
            return True
    if squeeze(node.text(deep=False) or ""):
        return False
    for inner in islice(node.traverse(), _MAX_WITHIN):
        own = {} if inner is node else inner.attributes
        if own and (sets_own(own.get("style") or "") or sheet.sets_own(own)):
            return True
    return False


def openable(
    node: LexborNode, attributes: dict[str, str | None], names: str, openers: frozenset[str]
) -> bool:
    """Whether a click shows what is closed now: it is named by a control, looks like a panel, or is long."""
    text = node.text(separator=" ")
    if _is_order(text):
        return False
    identity = attributes.get("id")
    if identity and identity in openers:
        return True
    if names and _OPENED.search(names):
        return True
    before, _ = beside(node)
    if before is not None and (before.tag in _OPENERS or _is_control(before)):
        return True
    return len(text.split()) >= _MIN_CONTENT or (names_money(text) and _is_alternative(node, attributes))


def _is_alternative(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Whether it is one of several prices that a switch shows in turn: by the month, by the year."""
    own = set((attributes.get("class") or "").split())
    parent = node.parent
    if not own or parent is None:
        return False
    return any(
        other.tag == node.tag
        and other.mem_id != node.mem_id
        and own.intersection((other.attributes.get("class") or "").split())
        and names_money(other.text() or "")
        for other in islice(parent.iter(), _MAX_BESIDE)
    )


def _is_control(node: LexborNode) -> bool:
    """Whether an element is there to be clicked: it says so, or all that it holds is a link to nowhere."""
    attributes = node.attributes
    if _CONTROLS.intersection(attributes) or attributes.get("role") in ("button", "tab"):
        return True
    link = node.css_first(_NOWHERE)
    return link is not None and squeeze(link.text() or "") == squeeze(node.text() or "")


def _is_order(text: str) -> bool:
    """Whether hidden text is an order to a language model; a longer text is judged line by line."""
    return len(text.split()) <= _LONGEST_ORDER and gives_orders(squeeze(visible(text)))


def controlled(body: LexborNode) -> frozenset[str]:
    """The ids that buttons and tabs of the page open."""
    found = set()
    for node in body.css("[aria-controls],[data-target],[data-bs-target],[data-toggle][href],a[href^='#']"):
        attributes = node.attributes
        for name in ("aria-controls", "data-target", "data-bs-target", "href"):
            value = attributes.get(name)
            if value:
                found.update(value.replace("#", " ").split())
    return frozenset(found)


def readable(node: LexborNode) -> str:
    """All text in *node* but scripts and styles."""
    parts = []
    for inner in node.traverse(include_text=True):
        if inner.tag == "-text" and inner.parent is not None and inner.parent.tag not in SKIPPED:
            parts.append(inner.text_content or "")
    return " ".join(parts)


def for_screen_readers(names: str) -> bool:
    """Whether class names say that only screen readers speak this."""
    return not _SCREEN_READER.isdisjoint(names.lower().split())


def addresses_model(text: str) -> bool:
    """Whether *text* gives orders to a language model."""
    low = text.lower()
    for word in _ORDER_WORDS:
        at = low.find(word)
        for _ in range(_MAX_TRIES):
            if at < 0:
                break
            if _ORDERS.search(low[max(0, at - _AROUND) : at + _AROUND]):
                return True
            at = low.find(word, at + 1)
    return False
