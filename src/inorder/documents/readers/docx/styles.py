"""Styles of a DOCX file: which paragraphs are headings, titles, code or captions.

The role of a style follows from its name (built-in styles have English names in every language of Word), from its
outline level, which makes any style a heading, and from the style that it is based on.
"""

import re
from typing import Literal, NamedTuple
from xml.sax.saxutils import unescape

from inorder.documents.model import SpanKind

Role = Literal["", "title", "heading", "code", "caption"]
OUTLINE_LEVELS = 9
_BASED_ON_MAX = 20
_HEADING = re.compile(r"heading ?([1-9])", re.I)
_CODE = re.compile(r"\bcode\b|source ?code|preformatted|^verbatim|^listing$|plain text|macro text", re.I)


def _compile_attribute_pattern(tag: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"<(?:\w+:)?" + tag + rb"""\s[^<>]*?\bval\s*=\s*["']([^"'<>]*)["']""")


_BEGINNING = re.compile(rb"<(?:\w+:)?style\s")
_STYLE_ID = re.compile(rb"""\bstyleId\s*=\s*["']([^"'<>]*)["']""")
_NAME = _compile_attribute_pattern(b"name")
_BASED_ON = _compile_attribute_pattern(b"basedOn")
_OUTLINE = _compile_attribute_pattern(b"outlineLvl")
_NUMBER_ID = _compile_attribute_pattern(b"numId")
_LIST_LEVEL = _compile_attribute_pattern(b"ilvl")
_EMPHASIS: dict[SpanKind, re.Pattern[bytes]] = {
    "bold": re.compile(rb"""<(?:\w+:)?b(?:\s[^<>]*?\bval\s*=\s*["']([^"'<>]*)["'])?\s*/?>"""),
    "italic": re.compile(rb"""<(?:\w+:)?i(?:\s[^<>]*?\bval\s*=\s*["']([^"'<>]*)["'])?\s*/?>"""),
}


class DocxStyle(NamedTuple):
    """The properties of a style that matter here."""

    role: Role = ""
    level: int = 0
    """The level of a heading, from 1."""
    number_id: str = ""
    """The list that paragraphs of this style belong to."""
    list_level: int = 0
    emphasis: tuple[SpanKind, ...] = ()
    """What the style makes of the text of a run."""


class _StyleElement:
    """The properties in the XML of one style."""

    __slots__ = ("based_on", "emphasis", "list_level", "name", "number_id", "outline")

    def __init__(self, style_id: str, xml: bytes) -> None:
        self.name = _find_value(_NAME, xml) or style_id
        self.based_on = _find_value(_BASED_ON, xml)
        outline = _find_value(_OUTLINE, xml)
        self.outline = parse_outline_level(outline) if outline else None
        self.number_id = _find_value(_NUMBER_ID, xml)
        self.list_level = parse_int(_find_value(_LIST_LEVEL, xml))
        self.emphasis = [kind for kind, pattern in _EMPHASIS.items() if _is_on(pattern, xml)]


class DocxStyleSheet:
    """All styles of a file.

    There are hundreds, and a document uses a few. They are searched for in the XML text: parsing all of them would take
    longer than parsing the document.
    """

    def __init__(self, xml: bytes) -> None:
        self._elements: dict[str, bytes] = {}
        for piece in _BEGINNING.split(_to_utf8(xml))[1:]:
            if match := _STYLE_ID.search(piece, 0, piece.find(b">")):
                self._elements[unescape(match.group(1).decode("utf-8", "replace"))] = piece
        self._resolved: dict[str, DocxStyle] = {}

    def style(self, style_id: str) -> DocxStyle:
        """A style with the properties that it inherits."""
        found = self._resolved.get(style_id)
        if found is None:
            found = self._resolved[style_id] = self._resolve(style_id)
        return found

    def _resolve(self, style_id: str) -> DocxStyle:
        role: Role = ""
        level, number_id, list_level = 0, "", 0
        emphasis: dict[SpanKind, None] = {}
        for _ in range(_BASED_ON_MAX):
            xml = self._elements.get(style_id)
            element = _StyleElement(style_id, xml.partition(b"style>")[0]) if xml is not None else None
            if not role:
                role, level = _find_role(element, style_id)
            if element is None:
                break
            emphasis |= dict.fromkeys(element.emphasis)
            if not number_id:
                number_id, list_level = element.number_id, element.list_level
            style_id = element.based_on
        if role == "code":
            emphasis["code"] = None
        return DocxStyle(role, level, number_id, list_level, tuple(emphasis))


def _find_value(pattern: re.Pattern[bytes], xml: bytes) -> str:
    match = pattern.search(xml)
    return unescape(match.group(1).decode("utf-8", "replace")) if match else ""


def _is_on(pattern: re.Pattern[bytes], xml: bytes) -> bool:
    match = pattern.search(xml)
    return match is not None and (match.group(1) or b"1").decode("ascii", "replace") not in OFF


def _to_utf8(xml: bytes) -> bytes:
    if xml.startswith((b"\xff\xfe", b"\xfe\xff")):
        return xml.decode("utf-16", "replace").encode("utf-8", "replace")
    return xml


def _find_role(element: _StyleElement | None, style_id: str) -> tuple[Role, int]:
    name = element.name if element is not None else style_id
    if match := _HEADING.fullmatch(name):
        return "heading", int(match.group(1))
    if element is not None and element.outline is not None:
        return ("heading", element.outline + 1) if element.outline < OUTLINE_LEVELS else ("", 0)
    lowered = name.lower()
    if lowered in ("title", "caption"):
        return ("title" if lowered == "title" else "caption"), 0
    return ("code", 0) if _CODE.search(name) else ("", 0)


def parse_outline_level(value: str) -> int:
    """Parse an outline level. 0 to 8 are headings; everything else is body text."""
    level = parse_int(value, OUTLINE_LEVELS)
    return level if 0 <= level < OUTLINE_LEVELS else OUTLINE_LEVELS


OFF = frozenset(("0", "false", "off"))
"""Values of an attribute that turn something off."""


def parse_int(value: str, otherwise: int = 0) -> int:
    """Parse the number in an attribute; `otherwise` if it is invalid."""
    digits = value.strip()
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if is_number else otherwise
