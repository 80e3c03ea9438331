"""Lists of a DOCX file: which paragraphs are numbered, how, and which number is next."""

import re
from collections.abc import Callable

from inorder.documents.readers.numerals import numeral

from .package import NAMES, Attributes, Handler, local
from .styles import whole_number

LEVELS = 9
_PLACE = re.compile(r"%([1-9])")
_STYLES = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}


class _Level:
    """How items of one depth are marked."""

    __slots__ = ("numerals", "start", "text")

    def __init__(self) -> None:
        self.start = 1
        self.numerals = "decimal"
        self.text = ""


class Numbering(Handler):
    """All lists of a file, and the numbers reached in each. They are looked up when the first item comes."""

    def __init__(self, parse: Callable[[Handler], object]) -> None:
        self._parse = parse
        self._is_parsed = False
        self._lists: dict[str, dict[int, _Level]] = {}
        """By the id of what Word calls an abstract list: several lists may share one, and go on counting."""
        self._shared: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        """Where a list that shares another's form begins anew."""
        self._reached: dict[str, list[int | None]] = {}
        self._levels: dict[int, _Level] | None = None
        self._level: _Level | None = None
        self._number_id = ""
        self._override = 0

    def start(self, name: str, attributes: Attributes) -> None:
        attributes = local(attributes)
        value = attributes.get("val", "")
        match NAMES[name]:
            case "w:abstractNum":
                self._levels = self._lists.setdefault(attributes.get("abstractNumId", ""), {})
            case "w:num":
                self._number_id, self._levels = attributes.get("numId", ""), None
            case "w:abstractNumId":
                self._shared[self._number_id] = value
            case "w:lvlOverride":
                self._override = whole_number(attributes.get("ilvl", ""))
            case "w:startOverride":
                self._starts[self._number_id, self._override] = whole_number(value, 1)
            case "w:lvl" if self._levels is not None:
                self._level = self._levels[whole_number(attributes.get("ilvl", ""))] = _Level()
            case "w:start" if self._level is not None:
                self._level.start = whole_number(value, 1)
            case "w:numFmt" if self._level is not None:
                self._level.numerals = value
            case "w:lvlText" if self._level is not None:
                self._level.text = value

    def end(self, name: str) -> None:
        if NAMES[name] == "w:lvl":
            self._level = None

    def mark(self, number_id: str, depth: int) -> tuple[bool, str]:
        """Whether the next item of a list is numbered, and its marker."""
        if not self._is_parsed:
            self._is_parsed = True
            self._parse(self)
        depth = min(max(depth, 0), LEVELS - 1)
        shared = self._shared.get(number_id, "")
        levels = self._lists.get(shared, {})
        level = levels.get(depth)
        if level is None or level.numerals in ("bullet", "none"):
            return False, "-"
        restarts = (number_id, depth) in self._starts
        reached = self._reached.setdefault(f"restarted {number_id}" if restarts else shared, [None] * LEVELS)
        last = reached[depth]
        reached[depth] = self._starts.get((number_id, depth), level.start) if last is None else last + 1
        reached[depth + 1 :] = [None] * (LEVELS - depth - 1)
        return True, _PLACE.sub(lambda place: _written(int(place.group(1)) - 1, levels, reached), level.text)


def _written(depth: int, levels: dict[int, _Level], reached: list[int | None]) -> str:
    level = levels.get(depth) or _Level()
    number = reached[depth]
    return numeral(level.start if number is None else number, _STYLES.get(level.numerals, "1"))
