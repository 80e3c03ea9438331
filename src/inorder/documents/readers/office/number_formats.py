"""Number formats of a workbook: which numbers are dates, times, durations or percentages, and their text."""

import re
from datetime import datetime, timedelta
from typing import Literal

from .package import SHORT_NAMES, Attributes, EnoughError, Handler

FormatKind = Literal["number", "date", "duration", "percent"]

_BUILTIN_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_BUILTIN_DURATION = 46
_BUILTIN_PERCENTS = frozenset((9, 10))
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]', re.I)
_DATE_LETTER = re.compile(r"[ymdhs]", re.I)
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.I)
_STYLES_MAX = 100_000
_DAYS_MAX = 2_958_466.0
"""The year 9999."""


class NumberFormats(Handler):
    """The style sheet of a workbook, as far as numbers depend on it."""

    def __init__(self) -> None:
        self._custom: dict[int, FormatKind] = {}
        self._styles: list[FormatKind] = []
        self._is_in_cell_styles = False

    def kind_of(self, style: str) -> FormatKind:
        """The kind of the format of a cell style, which is given as its number."""
        number = _parse_number(style)
        return self._styles[number] if 0 <= number < len(self._styles) else "number"

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "x:numFmt":
                if len(self._custom) < _STYLES_MAX:
                    self._custom[_parse_number(attributes.get("numFmtId", ""))] = classify_format(
                        attributes.get("formatCode", "")
                    )
            case "x:cellXfs":
                self._is_in_cell_styles = True
            case "x:xf":
                if self._is_in_cell_styles:
                    if len(self._styles) >= _STYLES_MAX:
                        raise EnoughError
                    self._styles.append(self._find_kind(_parse_number(attributes.get("numFmtId", ""))))

    def end(self, name: str) -> None:
        if SHORT_NAMES[name] == "x:cellXfs":
            raise EnoughError  # what follows does not change the text of a cell

    def _find_kind(self, number: int) -> FormatKind:
        if number in self._custom:
            return self._custom[number]
        if number == _BUILTIN_DURATION:
            return "duration"
        return "date" if number in _BUILTIN_DATES else "percent" if number in _BUILTIN_PERCENTS else "number"


def _parse_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def classify_format(code: str) -> FormatKind:
    """The kind of a number format."""
    code = _LITERAL.sub("", code.partition(";")[0])
    if "%" in code:
        return "percent"
    if _ELAPSED.search(code):
        return "duration"
    return "date" if _DATE_LETTER.search(code) and "General" not in code else "number"


def format_number(raw: str, kind: FormatKind, *, is_1904: bool = False) -> str:
    """The text of a number as a reader expects it: without the noise of binary fractions."""
    try:
        value = float(raw)
    except ValueError:
        return raw.strip()
    if kind == "date" and 0 <= value < _DAYS_MAX:
        return _format_date(value, is_1904=is_1904)
    if kind == "duration" and abs(value) < _DAYS_MAX:
        return _format_duration(value)
    if kind == "percent":
        return f"{value * 100:.10g}%"
    return f"{value:.15g}"


def _format_duration(days: float) -> str:
    """Hours and minutes, and seconds if there are any: more than 24 hours are not a date."""
    minutes, seconds = divmod(round(abs(days) * 86_400), 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return f"-{text}" if days < 0 else text


def _format_date(days: float, *, is_1904: bool) -> str:
    """A date, a time, or both, in ISO 8601. Day 1 is 1 January 1900, and Excel believes that 1900 was a leap year."""
    first = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30 if days >= 60 else 31)
    try:
        moment = first + timedelta(seconds=round(days * 86_400))
    except OverflowError:
        return f"{days:.15g}"
    time = moment.strftime("%H:%M:%S").removesuffix(":00")
    if days < 1:
        return time
    return moment.date().isoformat() if time == "00:00" else f"{moment.date().isoformat()} {time}"
