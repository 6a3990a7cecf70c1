"""
What style sheets within a page and `style` attributes hide.

Not a browser: only rules that name one class, id or element with them are applied, and only
where nothing in the page shows again what they hide. In doubt, text is seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

SEEN, FADED, FAINT, CLOSED, GONE = "", "faded", "faint", "closed", "gone"

_ZERO = re.compile(r"[+-]?0*(?:\.0+)?(?:px|em|rem|pt|%|vh|vw)?")
_FAR = re.compile(r"-\d{4,}(?:\.\d+)?(?:px|em|rem|pt|%)?|-\d{3,}(?:em|rem|vw|vh|%)")
_CLIPPED = re.compile(r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?")
_CLIP_PATH = re.compile(r"inset\(\s*(?:[5-9]\d|100)(?:\.\d+)?%\s*\)|(?:circle|ellipse)\(\s*0")
_SHRUNK = re.compile(r"scale[xy]?\(\s*0(?:\.0+)?\s*[,)]|translate[xy]?\(\s*-\d{4,}px")
_FAINT = re.compile(r"0?\.0[0-5]\d*|[0-5](?:\.\d+)?%")
_DOT = re.compile(r"(?:1(?:\.0+)?|0?\.\d+)px|0?\.0\d*(?:em|rem|pt)")  # no letter can be told
_NO_COLOR = re.compile(
    r"(?:rgb|hsl)a?\((?:(?:[^(),]*,){3}|[^()/]*/)\s*0*(?:\.0+|0)%?\s*\)|#[0-9a-f]{3}0|#[0-9a-f]{6}00"
)
_FILTERED = re.compile(r"opacity\(\s*0*(?:\.0+|0)%?\s*\)")
_TINY = re.compile(r"[01](?:px)?")
_PLACES = frozenset(("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"))
_TELLING = _PLACES | {
    "display",
    "visibility",
    "opacity",
    "height",
    "max-height",
    "width",
    "max-width",
    "overflow",
    "font-size",
    "color",
    "clip",
    "clip-path",
    "transform",
    "background",
    "background-color",
    "content-visibility",
    "filter",
    "background-clip",
    "-webkit-background-clip",
}
_INHERITED = ("font-size", "visibility", "color")  # what is within can have its own  # fmt: skip
_MAX_STYLE = 1000  # characters; what is longer carries an image
_MAX_SHEET = 400_000  # characters of all sheets together; what is longer is not a page's own
_HIDES = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*[:(]\s*[0.]|font-size\s*:\s*[01.]|height\s*:\s*0|clip|:\s*-\d{3}"
    r"|transparent|scale|(?:^|[^-])color\s*:",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_SIMPLE = re.compile(r"([a-z][a-z0-9]*)?([.#][\w-]+)", re.IGNORECASE)
_NAME, _WORD = re.compile(r"[.#][\w-]+"), re.compile(r"[\w-]+")
_ALWAYS = re.compile(r"@(?:layer|supports|media\s+(?:only\s+)?(?:screen|all))[^(]*", re.IGNORECASE)
_MOVES = re.compile(r"transition|animation|transform|will-change", re.IGNORECASE)


def state_of(style: str) -> str:
    """
    What declarations make of an element: SEEN, FADED (transparent), FAINT (letters without size or colour,
    which what is within can undo), CLOSED (takes no place) or GONE.
    """
    said = _said(style)
    state = FAINT if _is_faint(said) else SEEN
    for name, value in said.items():
        if (
            (name == "display" and value == "none")
            or (name == "visibility" and value in ("hidden", "collapse"))
            or (name == "content-visibility" and value == "hidden")
            or (name in ("height", "max-height") and _ZERO.fullmatch(value))
        ):
            state = CLOSED
        elif name == "opacity" and (_ZERO.fullmatch(value) or _FAINT.fullmatch(value)):
            state = state or FADED
        elif _is_gone(name, value):
            return GONE
    sizes = (said.get("width", ""), said.get("height", ""))
    if all(map(_TINY.fullmatch, sizes)) and said.get("overflow") == "hidden":
        return CLOSED
    return state


def _said(style: str) -> dict[str, str]:
    said: dict[str, str] = {}
    for declaration in style[:_MAX_STYLE].lower().split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip()
        if name in _TELLING:
            said[name] = value.replace("!important", "").strip()
    return said


def _is_faint(said: dict[str, str]) -> bool:
    size, color = said.get("font-size"), said.get("color")
    if size is not None and (_ZERO.fullmatch(size) or _DOT.fullmatch(size)):
        return True
    if color is None or "text" in (said.get("background-clip"), said.get("-webkit-background-clip")):
        return False  # the background shows through the letters
    ground = said.get("background-color", said.get("background"))
    return color in ("transparent", ground) or _NO_COLOR.fullmatch(color) is not None


def _is_gone(name: str, value: str) -> bool:
    if name == "filter":
        return _FILTERED.search(value) is not None
    if name == "clip":
        return _CLIPPED.match(value) is not None
    if name == "clip-path":
        return _CLIP_PATH.match(value) is not None
    if name == "transform":
        return _SHRUNK.search(value) is not None
    return name in _PLACES and _FAR.fullmatch(value) is not None


def sets_own(style: str) -> bool:
    """Whether declarations give an element letters of its own that are seen: a size, a colour, visibility."""
    said = _said(style)
    return any(name in said for name in _INHERITED) and state_of(style) == SEEN


def is_veiled(style: str) -> bool:
    """Whether declarations hide by `visibility` alone, which what is within can undo."""
    said = _said(style)
    return said.pop("visibility", "") == "hidden" and state_of(";".join(map(":".join, said.items()))) == SEEN


def moves(style: str) -> bool:
    """Whether declarations prepare an element to be moved or faded in."""
    return _MOVES.search(style) is not None


class Sheet:
    """The rules of a page's `<style>` elements that hide what has one class or id."""

    def __init__(self, root: LexborNode) -> None:
        self._root = root
        self._hiding: dict[str, set[tuple[str, str]]] = {}  # ".x" or "#x" → (element or "", state)
        self._rules: list[tuple[str, str]] = []
        self._shown: set[str] | None = None  # names in rules that show something
        self._own: set[str] | None = None  # names in rules that give letters of their own
        self._scripted: set[str] = set()  # words in scripts
        self._known: dict[tuple[str, str | None, str | None], str] = {}
        sheets = [node.text() or "" for node in root.css("style")]
        if sum(map(len, sheets)) > _MAX_SHEET or not any(_HIDES.search(sheet) for sheet in sheets):
            return
        for sheet in sheets:
            for selectors, declarations, always in _rules(sheet):
                self._rules.append((selectors, declarations))
                state = state_of(declarations) if always and _HIDES.search(declarations) else SEEN
                if state and not (state == FADED and moves(declarations)):
                    self._add(selectors, state)

    def _add(self, selectors: str, state: str) -> None:
        for selector in selectors.split(","):
            simple = _SIMPLE.fullmatch(selector.strip())
            if simple is not None:
                self._hiding.setdefault(simple[2], set()).add(((simple[1] or "").lower(), state))

    def state_of(self, tag: str, attributes: dict[str, str | None]) -> str:
        """What the rules make of an element: SEEN unless one hides it and nothing in the page shows it again."""
        if not self._hiding:
            return SEEN
        key = (tag, attributes.get("class"), attributes.get("id"))
        state = self._known.get(key)
        if state is None:  # most elements of a page have few names
            state = self._known[key] = self._judge(tag, attributes)
        return state

    def _judge(self, tag: str, attributes: dict[str, str | None]) -> str:
        names = ["." + name for name in (attributes.get("class") or "").split()]
        identity = attributes.get("id")
        if identity:
            names.append("#" + identity)
        hiding = [name for name in names if name in self._hiding]
        if not hiding or any(self._is_shown(name) for name in names):
            return SEEN
        states = {state for name in hiding for element, state in self._hiding[name] if element in ("", tag)}
        return next((state for state in (GONE, CLOSED, FAINT, FADED) if state in states), SEEN)

    def sets_own(self, attributes: dict[str, str | None]) -> bool:
        """Whether a rule for one of the element's names gives it letters of its own (see `sets_own`)."""
        if self._own is None:
            rules = [selectors for selectors, declarations in self._rules if sets_own(declarations)]
            self._own = {name for selectors in rules for name in _NAME.findall(selectors)}
        return any("." + name in self._own for name in (attributes.get("class") or "").split())

    def _is_shown(self, name: str) -> bool:
        """Whether another rule undoes what one for *name* hides, or a script in the page speaks of it."""
        if self._shown is None:
            rules = [selectors for selectors, declarations in self._rules if _undoes(declarations)]
            self._shown = {name for selectors in rules for name in _NAME.findall(selectors)}
            scripts = [node.text() or "" for node in self._root.css("script")]
            scripts += [node.attributes.get("onclick") or "" for node in self._root.css("[onclick]")]
            self._scripted = set(_WORD.findall("\n".join(scripts)[:_MAX_SHEET]))
        return name in self._shown or name[1:] in self._scripted


def _undoes(declarations: str) -> bool:
    """Whether declarations set to something else what hides: a place, a size, transparency."""
    for declaration in declarations.lower().split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() in ("display", "visibility", "opacity", "height", "max-height", "clip", "clip-path", "transform", "left",
                            "font-size", "text-indent", "filter") and not state_of(declaration):  # fmt: skip
            return bool(value.strip())
    return False


def _rules(sheet: str) -> Iterator[tuple[str, str, bool]]:
    """(selectors, declarations, whether they hold on every screen) of each rule, in order."""
    sheet = _COMMENT.sub("", sheet)
    opened: list[str] = []
    at = 0
    for brace in _BRACE.finditer(sheet):
        said = sheet[at : brace.start()]
        at = brace.end()
        if brace.group() == "{":
            opened.append(said.rpartition(";")[2].strip())
        elif opened:
            selectors = opened.pop()
            if selectors and selectors[0] != "@":
                yield selectors, said, all(_ALWAYS.fullmatch(around) for around in opened if around)
