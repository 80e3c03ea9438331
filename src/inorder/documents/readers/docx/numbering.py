"""Lists of a DOCX file: the format of their numbers, and the next number of each."""

import re
from collections.abc import Callable

from inorder.documents.readers.numerals import format_number
from inorder.documents.readers.office.package import SHORT_NAMES, Attributes, Handler, strip_namespaces

from .styles import parse_int

LEVELS = 9
_PLACEHOLDER = re.compile(r"%([1-9])")
_STYLES = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}


class _Level:
    """The format of the numbers at one depth of a list."""

    __slots__ = ("numerals", "start", "text")

    def __init__(self) -> None:
        self.start = 1
        self.numerals = "decimal"
        self.text = ""


class Numbering(Handler):
    """All lists of a file and their counters. The part is parsed when the first list item is read."""

    def __init__(self, parse: Callable[[Handler], object]) -> None:
        self._parse = parse
        self._is_parsed = False
        self._abstract_lists: dict[str, dict[int, _Level]] = {}
        """By id. Several lists may share what Word calls an abstract list, and its counters."""
        self._abstract_ids: dict[str, str] = {}
        self._start_overrides: dict[tuple[str, int], int] = {}
        """First numbers of lists that share an abstract list, but have counters of their own."""
        self._counters: dict[str, list[int | None]] = {}
        self._levels: dict[int, _Level] | None = None
        self._level: _Level | None = None
        self._number_id = ""
        self._override = 0

    def start(self, name: str, attributes: Attributes) -> None:
        attributes = strip_namespaces(attributes)
        value = attributes.get("val", "")
        match SHORT_NAMES[name]:
            case "w:abstractNum":
                self._levels = self._abstract_lists.setdefault(attributes.get("abstractNumId", ""), {})
            case "w:num":
                self._number_id, self._levels = attributes.get("numId", ""), None
            case "w:abstractNumId":
                self._abstract_ids[self._number_id] = value
            case "w:lvlOverride":
                self._override = parse_int(attributes.get("ilvl", ""))
            case "w:startOverride":
                self._start_overrides[self._number_id, self._override] = parse_int(value, 1)
            case "w:lvl" if self._levels is not None:
                self._level = self._levels[parse_int(attributes.get("ilvl", ""))] = _Level()
            case "w:start" if self._level is not None:
                self._level.start = parse_int(value, 1)
            case "w:numFmt" if self._level is not None:
                self._level.numerals = value
            case "w:lvlText" if self._level is not None:
                self._level.text = value

    def end(self, name: str) -> None:
        if SHORT_NAMES[name] == "w:lvl":
            self._level = None

    def next_marker(self, number_id: str, depth: int) -> tuple[bool, str]:
        """Advance the counter of a list. Returns whether its items are numbered, and the marker of the next item."""
        if not self._is_parsed:
            self._is_parsed = True
            self._parse(self)
        depth = min(max(depth, 0), LEVELS - 1)
        abstract_id = self._abstract_ids.get(number_id, "")
        levels = self._abstract_lists.get(abstract_id, {})
        level = levels.get(depth)
        if level is None or level.numerals in ("bullet", "none"):
            return False, "-"
        restarts = (number_id, depth) in self._start_overrides
        counters = self._counters.setdefault(f"restarted {number_id}" if restarts else abstract_id, [None] * LEVELS)
        last = counters[depth]
        counters[depth] = self._start_overrides.get((number_id, depth), level.start) if last is None else last + 1
        counters[depth + 1 :] = [None] * (LEVELS - depth - 1)
        return True, _PLACEHOLDER.sub(
            lambda placeholder: _format_counter(int(placeholder.group(1)) - 1, levels, counters), level.text
        )


def _format_counter(depth: int, levels: dict[int, _Level], counters: list[int | None]) -> str:
    level = levels.get(depth) or _Level()
    number = counters[depth]
    return format_number(level.start if number is None else number, _STYLES.get(level.numerals, "1"))
