"""Styles of an OpenDocument file, as far as the kind of a paragraph or list depends on them."""

from typing import Literal

from .package import SHORT_NAMES, Attributes, Handler, strip_namespaces

ParagraphRole = Literal["title", "subtitle", "code", "caption", "text"]

STYLES_MAX = 100_000
_PARENTS_MAX = 20
_ROLES: dict[str, ParagraphRole] = {
    "Title": "title",
    "Subtitle": "subtitle",
    "Preformatted_20_Text": "code",
    "Preformatted Text": "code",
    "Caption": "caption",
    "Table": "caption",
    "Figure": "caption",
    "Illustration": "caption",
}


class OdfStyles(Handler):
    """Parents of paragraph styles, and the levels of list styles that have numbers."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._numbered: set[tuple[str, int]] = set()
        self._list_style = ""

    def role_of(self, style: str) -> ParagraphRole:
        """What a paragraph of this style is, by the nearest parent with a known name."""
        for _ in range(_PARENTS_MAX):
            if style in _ROLES:
                return _ROLES[style]
            if style not in self._parents:
                break
            style = self._parents[style]
        return "text"

    def is_ordered(self, style: str, depth: int) -> bool:
        """Whether the items of a list have numbers. Depth is counted from 0."""
        return (style, depth + 1) in self._numbered

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "style:style":
                attributes = strip_namespaces(attributes)
                parent = attributes.get("parent-style-name", "")
                if parent and len(self._parents) < STYLES_MAX:
                    self._parents[attributes.get("name", "")] = parent
            case "text:list-style":
                self._list_style = strip_namespaces(attributes).get("name", "")
            case "text:list-level-style-number":
                attributes = strip_namespaces(attributes)
                level = attributes.get("level", "")
                if attributes.get("num-format") and level.isascii() and level.isdigit() and len(level) < 3:
                    self._numbered.add((self._list_style, int(level)))
