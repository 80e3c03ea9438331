"""Styles of a DOCX file: which paragraphs are headings, titles, code or captions.

A style is judged by its name, which is English for the built-in ones in whatever language Word runs, by its outline
level, which is what makes a heading of a style with any name, and by the style it is based on.
"""

import re
from typing import Literal, NamedTuple
from xml.sax.saxutils import unescape

Role = Literal["", "title", "heading", "code", "caption"]
OUTLINE_LEVELS = 9
_BASED_ON_MAX = 20
_HEADING = re.compile(r"heading ?([1-9])", re.I)
_CODE = re.compile(r"\bcode\b|source ?code|preformatted|^verbatim|^listing$|plain text|macro text", re.I)


def _valued(tag: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"<(?:\w+:)?" + tag + rb"""\s[^<>]*?\bval\s*=\s*["']([^"'<>]*)["']""")


_BEGINNING = re.compile(rb"<(?:\w+:)?style\s")
_STYLE_ID = re.compile(rb"""\bstyleId\s*=\s*["']([^"'<>]*)["']""")
_NAME = _valued(b"name")
_BASED_ON = _valued(b"basedOn")
_OUTLINE = _valued(b"outlineLvl")
_NUMBER_ID = _valued(b"numId")
_LIST_LEVEL = _valued(b"ilvl")


class Style(NamedTuple):
    """What a style says about its paragraphs."""

    role: Role = ""
    level: int = 0
    """Of a heading, from 1."""
    number_id: str = ""
    """Of the list that paragraphs of this style belong to."""
    list_level: int = 0


class _Stated:
    """A style as it is written down."""

    __slots__ = ("based_on", "list_level", "name", "number_id", "outline")

    def __init__(self, style_id: str, written: bytes) -> None:
        self.name = _value(_NAME, written) or style_id
        self.based_on = _value(_BASED_ON, written)
        outline = _value(_OUTLINE, written)
        self.outline = outline_level(outline) if outline else None
        self.number_id = _value(_NUMBER_ID, written)
        self.list_level = whole_number(_value(_LIST_LEVEL, written))


class Styles:
    """All styles of a file.

    There are hundreds and a document uses a few. They are looked up in the XML as it is written, not parsed: parsing
    them all would take longer than the document.
    """

    def __init__(self, written: bytes) -> None:
        self._written: dict[str, bytes] = {}
        for piece in _BEGINNING.split(_as_utf8(written))[1:]:
            if match := _STYLE_ID.search(piece, 0, piece.find(b">")):
                self._written[unescape(match.group(1).decode("utf-8", "replace"))] = piece
        self._resolved: dict[str, Style] = {}

    def style(self, style_id: str) -> Style:
        """What is known of a style, with what it inherits."""
        found = self._resolved.get(style_id)
        if found is None:
            found = self._resolved[style_id] = self._resolve(style_id)
        return found

    def _resolve(self, style_id: str) -> Style:
        role: Role = ""
        level, number_id, list_level = 0, "", 0
        for _ in range(_BASED_ON_MAX):
            written = self._written.get(style_id)
            stated = _Stated(style_id, written.partition(b"style>")[0]) if written is not None else None
            if not role:
                role, level = _role(stated, style_id)
            if stated is None:
                break
            if not number_id:
                number_id, list_level = stated.number_id, stated.list_level
            style_id = stated.based_on
        return Style(role, level, number_id, list_level)


def _value(pattern: re.Pattern[bytes], written: bytes) -> str:
    match = pattern.search(written)
    return unescape(match.group(1).decode("utf-8", "replace")) if match else ""


def _as_utf8(written: bytes) -> bytes:
    if written.startswith((b"\xff\xfe", b"\xfe\xff")):
        return written.decode("utf-16", "replace").encode("utf-8", "replace")
    return written


def _role(stated: _Stated | None, style_id: str) -> tuple[Role, int]:
    name = stated.name if stated is not None else style_id
    if match := _HEADING.fullmatch(name):
        return "heading", int(match.group(1))
    if stated is not None and stated.outline is not None:
        return ("heading", stated.outline + 1) if stated.outline < OUTLINE_LEVELS else ("", 0)
    lowered = name.lower()
    if lowered in ("title", "caption"):
        return ("title" if lowered == "title" else "caption"), 0
    return ("code", 0) if _CODE.search(name) else ("", 0)


def outline_level(value: str) -> int:
    """0 to 8 are levels of headings; all else is body text."""
    level = whole_number(value, OUTLINE_LEVELS)
    return level if 0 <= level < OUTLINE_LEVELS else OUTLINE_LEVELS


def whole_number(value: str, otherwise: int = 0) -> int:
    """A number as attributes have it; nonsense is `otherwise`."""
    digits = value.strip()
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if is_number else otherwise
