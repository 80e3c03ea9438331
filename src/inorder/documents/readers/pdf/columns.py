"""Measures of a column of lines (edges, leading, markers), with which unusual lines are found."""

import re
from collections.abc import Sequence

from inorder.documents.model import Box

from .segments import MONO_WIDTH, Segment

BULLETS = (
    "\u2022\u2023\u2043\u2219\u25a0\u25a1\u25aa\u25ab\u25b6\u25b8\u25ba\u25cb\u25cf\u25e6\u2713\u2714\u2756\u27a2\u00b7"
)
"""Characters that only list items begin with."""

_MARKER = re.compile(
    rf"([{BULLETS}*\u2013\u2014-]|o)\s+(?=\S)"
    r"|(\d{1,3}[.)]|\(?[a-zA-Z]\)|\(\d{1,3}\)|\(?[ivx]{1,5}\)|[ivx]{1,5}\.|[a-z]\.)\s+(?=\S)"
)
_SPACES_MAX = 80
FOREIGN_SHARE_MAX = 0.3
"""Letters beyond ASCII in a line of code: in its comments and strings."""


class Column:
    """The edges and the leading of lines that are read from top to bottom."""

    def __init__(self, lines: Sequence[Segment]) -> None:
        self.left = min([line.x0 for line in lines])
        self.right = max([line.x1 for line in lines])
        self.leading = find_usual_leading(lines)

    def is_full(self, line: Segment, after: Segment) -> bool:
        """Whether the first word of the next line would not have fitted at the end of this one."""
        length = len(after.text)
        word = after.text.find(" ")
        width = (after.x1 - after.x0) * (word if word > 0 else length) / length
        return line.x1 + width > self.right - 0.55 * line.size

    def has_room(self, line: Segment) -> bool:
        """Whether another character would have fitted at the end of a line."""
        return line.x1 + line.size <= self.right - 0.55 * line.size

    def is_centred(self, line: Segment) -> bool:
        """Whether a line is centred, away from both edges."""
        left, right = line.x0 - self.left, self.right - line.x1
        return left > line.size < right and abs(left - right) < line.size

    def is_short(self, line: Segment) -> bool:
        """Whether a line ends far from the right edge."""
        return line.x1 - self.left < 0.6 * (self.right - self.left)


def find_usual_leading(lines: Sequence[Segment]) -> float:
    """The most frequent distance of two lines; 0 if there is none."""
    counts: dict[int, int] = {}
    bottom_before = size_before = float("inf")
    for line in lines:
        size, bottom = line.size, line.bottom
        step = bottom - bottom_before
        if 0.5 * size < step < 3.0 * size and -1.0 < size - size_before < 1.0:
            half_points = int(2.0 * step + 0.5)
            counts[half_points] = counts.get(half_points, 0) + 1
        bottom_before, size_before = bottom, size
    return min([(-count, step) for step, count in counts.items()])[1] / 2 if counts else 0.0


def find_marker(text: str) -> tuple[str, bool]:
    """The marker of a list item, and whether it is a number; empty if the line is not a list item."""
    match = _MARKER.match(text)
    if match is None:
        return "", False
    bullet: str | None = match.group(1)
    return (bullet, False) if bullet else (match.group(2), True)


def bounding_box(lines: Sequence[Segment]) -> Box:
    """The box around these lines."""
    left, top = min([line.x0 for line in lines]), min([line.top for line in lines])
    return left, top, max([line.x1 for line in lines]), max([line.bottom for line in lines])


def has_few_letters(text: str) -> bool:
    """Whether few characters are letters that programs are not written in: fonts of Chinese and Japanese text are often
    of fixed width."""
    letters = sum(not letter.isascii() and letter.isalpha() for letter in text)
    return letters <= FOREIGN_SHARE_MAX * len(text)


def format_code(lines: Sequence[Segment]) -> str:
    """The text of lines of code, with indents and empty lines restored from their positions."""
    width = MONO_WIDTH * lines[0].size
    left = min([line.x0 for line in lines])
    leading = find_usual_leading(lines) or 1.2 * lines[0].size
    text = ""
    for index, line in enumerate(lines):
        if index:
            steps = round((line.bottom - lines[index - 1].bottom) / leading)
            text += "\n" * max(1, min(3, steps))
        text += " " * min(_SPACES_MAX, round((line.x0 - left) / width)) + line.text
    return text
