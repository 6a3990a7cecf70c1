"""What HTML elements mean for reading: which break a line, which hold no text, which sectioning they declare."""

from __future__ import annotations

from enum import IntFlag

# Never read: their text is program, drawing, or what a browser shows in place of what it cannot.
SKIPPED = frozenset(
    [
        "script",
        "style",
        "template",
        "head",
        "svg",
        "canvas",
        "object",
        "embed",
        "iframe",
        "frame",
        "frameset",
        "noframes",
        "applet",
        "audio",
        "video",
        "map",
        "datalist",
        "textarea",
        "input",
        "img",
        "picture",
        "source",
        "track",
        "param",
        "meta",
        "link",
        "base",
        "title",
        "area",
        "annotation",
        "annotation-xml",
        "rp",
        "col",
        "colgroup",
        "progress",
        "meter",
        "dialog-polyfill",
    ]
)

# Part of a line; every other element, also an unknown one, breaks it.
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "output",
        "q",
        "rb",
        "rt",
        "rtc",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "math",
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "mrow",
        "msub",
        "msup",
        "msubsup",
        "mfrac",
        "msqrt",
        "mroot",
        "mover",
        "munder",
        "munderover",
        "mspace",
        "mstyle",
        "mpadded",
        "mtable",
        "mtr",
        "mtd",
        "semantics",
        "blink",
        "marquee-inline",
        "basefont",
        "bgsound",
        "amp-timeago",
        "relative-time",
        "time-ago",
    ]
)

HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}

# One line each, whatever block elements stand inside.
LEAVES = frozenset((*HEADINGS, "summary", "caption", "legend", "dt", "button", "option"))

VERBATIM = frozenset(("pre", "listing", "xmp", "plaintext"))
LISTS = frozenset(("ul", "ol", "menu", "dir"))


class Inside(IntFlag):
    """What a block stands in. A frame inherits its parent's."""

    MAIN = 1
    ARTICLE = 2
    NAV = 4
    HEADER = 8
    FOOTER = 16
    ASIDE = 32
    FORM = 64
    DIALOG = 128
    BUTTON = 256
    LIST = 512
    TABLE = 1024
    DL = 2048
    DETAILS = 4096
    HIDDEN = 8192
    QUOTE = 16384
    FIGURE = 32768
    NOSCRIPT = 65536
    LINK = 131072
    SELECT = 262144
    ARIA_HIDDEN = 524288
    SECTION = 1048576
    ADDRESS = 2097152
    ITEM = 4194304


# Plain integers: the walk combines them for every element.
BY_TAG: dict[str, int] = {
    "main": Inside.MAIN.value,
    "article": Inside.ARTICLE.value,
    "nav": Inside.NAV.value,
    "header": Inside.HEADER.value,
    "footer": Inside.FOOTER.value,
    "aside": Inside.ASIDE.value,
    "form": Inside.FORM.value,
    "dialog": Inside.DIALOG.value,
    "button": Inside.BUTTON.value,
    "ul": Inside.LIST.value,
    "ol": Inside.LIST.value,
    "table": Inside.TABLE.value,
    "dl": Inside.DL.value,
    "details": Inside.DETAILS.value,
    "blockquote": Inside.QUOTE.value,
    "figure": Inside.FIGURE.value,
    "noscript": Inside.NOSCRIPT.value,
    "select": Inside.SELECT.value,
    "section": Inside.SECTION.value,
    "address": Inside.ADDRESS.value,
    "li": Inside.ITEM.value,
}

BY_ROLE: dict[str, int] = {
    "main": Inside.MAIN.value,
    "article": Inside.ARTICLE.value,
    "navigation": Inside.NAV.value,
    "menu": Inside.NAV.value,
    "menubar": Inside.NAV.value,
    "banner": Inside.HEADER.value,
    "contentinfo": Inside.FOOTER.value,
    "complementary": Inside.ASIDE.value,
    "search": Inside.FORM.value,
    "dialog": Inside.DIALOG.value,
    "alertdialog": Inside.DIALOG.value,
    "button": Inside.BUTTON.value,
}
