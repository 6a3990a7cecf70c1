"""
Text that a reader does not see: gone for good, or waiting for a click.

Tabs, accordions and folded answers are content. What CSS hides without any way to open it
is kept out of the text and reported, and so is text smuggled in characters without a shape.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from indexer.extract.markup import SKIPPED

SEEN, CLOSED, GONE = "", "closed", "gone"

_STYLE = re.compile(
    r"(?P<closed>display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|$)"
    r"|(?:^|;)\s*(?:max-)?height\s*:\s*0(?:px)?\s*(?:;|!|$))"
    r"|(?P<gone>font-size\s*:\s*0(?:\.0+)?(?:px|em|rem|pt|%)?\s*(?:;|!|$)"
    r"|(?:^|;)\s*color\s*:\s*transparent"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{4,}(?:px|em)?"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]+[01](?:px)?)",
    re.IGNORECASE,
)
_COLOUR = re.compile(
    r"(?:^|;)\s*(color|background(?:-color)?)\s*:\s*(#[0-9a-f]{3,8}|[a-z]+|rgb\([^)]*\))", re.IGNORECASE
)
_SCREEN_READER = re.compile(
    r"(?:^|[\s_-])(?:sr-only|sr_only|sronly|screen-?reader(?:-only|-text)?|visually-?hidden|visuallyhidden|offscreen"
    r"|a11y-hidden|assistive-text|u-hidden-visually)(?:$|[\s_-])",
    re.IGNORECASE,
)
_OPENED = re.compile(
    r"accordion|collaps|faq|answer|toggle|tab|panel|pane|content|body|fold|expand|more|slide|carousel|spoiler|reveal"
    r"|desc|detail|text|step|drop|item|card|article|section|post|review",
    re.IGNORECASE,
)
_OPENERS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "button", "summary", "dt", "a", "label", "legend"))
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
_MIN_CONTENT = 30  # words; so much hidden text is a panel, not a message that appears now and then


def how(attributes: dict[str, str | None]) -> str:
    """SEEN, CLOSED (display:none and the like) or GONE (no script is written to show this)."""
    style = attributes.get("style")
    if style:
        found = _STYLE.search(style)
        if found:
            return GONE if found["gone"] else CLOSED
        if "color" in style:
            colours = {name.lower()[:5]: value.lower() for name, value in _COLOUR.findall(style)}
            if len(colours) > 1 and colours.get("color") == colours.get("backg"):
                return GONE
    return CLOSED if "hidden" in attributes else SEEN


def openable(
    node: LexborNode, attributes: dict[str, str | None], names: str, openers: frozenset[str]
) -> bool:
    """Whether a click shows what is closed now: it is named by a control, looks like a panel, or is long."""
    text = node.text(separator=" ")
    if addresses_model(text):
        return False
    identity = attributes.get("id")
    if identity and identity in openers:
        return True
    if names and _OPENED.search(names):
        return True
    before = node.prev
    while before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    if before is not None and before.tag in _OPENERS:
        return True
    return len(text.split()) >= _MIN_CONTENT


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
    return _SCREEN_READER.search(names) is not None


def addresses_model(text: str) -> bool:
    """Whether *text* gives orders to a language model."""
    return _ORDERS.search(text) is not None
