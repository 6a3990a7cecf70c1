"""Which panel a tab opens: labels stand beside each other, and what they name far below."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from indexer.extract.blocks import Frame
from indexer.extract.text import squeeze, visible

_TAB = re.compile(r"(?:^|[\s_-])(?:tabs?|pills)(?:$|[\s_-])", re.IGNORECASE)
_TOGGLES = frozenset(("tab", "pill"))
_STEPS = 3  # elements from a link to the list of tabs
_LONGEST = 80  # characters of a label

Attributes = dict[str, str | None]


class Tabs:
    """The tabs read so far: what they say by the id of their panel, and by their own."""

    def __init__(self) -> None:
        self._by_panel: dict[str, str] = {}
        self._by_tab: dict[str, str] = {}

    def note(self, node: LexborNode, attributes: Attributes, around: Frame) -> None:
        """Remember an element that is a tab."""
        is_tab = (
            attributes.get("role") == "tab"
            or attributes.get("data-bs-toggle", attributes.get("data-toggle")) in _TOGGLES
        )
        if not is_tab and node.tag != "a":
            return
        target = self._target(attributes)
        if not is_tab and not (target and _in_tabs(around)):
            return
        label = squeeze(visible(node.text(separator=" ")))
        if not label or len(label) > _LONGEST:
            return
        if target:
            self._by_panel.setdefault(target, label)
        identity = attributes.get("id")
        if identity:
            self._by_tab.setdefault(identity, label)

    def label_of(self, attributes: Attributes) -> str:
        """What the tab of a panel says; empty if the element is none."""
        if not self._by_panel and not self._by_tab:
            return ""
        found = self._by_panel.pop(attributes.get("id") or "", "")
        if attributes.get("role") == "tabpanel":
            found = found or self._by_tab.pop(attributes.get("aria-labelledby") or "", "")
        return found

    @staticmethod
    def _target(attributes: Attributes) -> str:
        for name in ("aria-controls", "data-bs-target", "data-target", "href"):
            value = attributes.get(name) or ""
            if value and (name == "aria-controls" or value.startswith("#")):
                return value.lstrip("#")
        return ""


def _in_tabs(around: Frame) -> bool:
    """Whether a list of tabs is near."""
    frame: Frame | None = around
    for _ in range(_STEPS):
        if frame is None:
            return False
        if _TAB.search(frame.names):
            return True
        frame = frame.parent
    return False
