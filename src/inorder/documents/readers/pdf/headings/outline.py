"""The outline of a PDF (its bookmarks): which lines of a page are headings, and their levels."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

from .numbering import parse_number

KEY_CHARACTERS_MIN = 2
LINES_MAX = 4

_NO_LETTER = re.compile(r"[\W_]+")

OutlineEntry = tuple[int, int, str]
"""Page (from 1), level (from 1; the title has 0), and the letters of the text."""


def make_key(text: str) -> str:
    """The letters and digits of a text, so that texts that look alike are equal."""
    return _NO_LETTER.sub("", text).casefold()


def make_outline(entries: Iterable[tuple[int, int, str]]) -> tuple[OutlineEntry, ...]:
    """The outline from bookmarks (page, depth from 1, title), sorted by page. A single root is the title."""
    found = [(page, depth, make_key(text)) for page, depth, text in entries]
    found = [entry for entry in found if entry[0] > 0 and len(entry[2]) >= KEY_CHARACTERS_MIN]
    tops = sum(depth == 1 for _, depth, _ in found)
    if tops == 1 and len(found) > 2 and found[0][1] == 1:
        found = [(page, depth - 1, key) for page, depth, key in found]
    return tuple(sorted(found, key=itemgetter(0)))


def outline_of_page(
    outline: Sequence[OutlineEntry], page: int, tagged: Iterable[tuple[int, str]] = ()
) -> "PageOutline":
    """The part of an outline that is about one page, and headings with levels and texts that are known otherwise."""
    first, end = bisect_left(outline, page, key=itemgetter(0)), bisect_right(outline, page, key=itemgetter(0))
    entries = [(level, key) for _, level, key in outline[first:end]]
    more = [(level, make_key(text)) for level, text in tagged]
    return PageOutline(entries + [entry for entry in more if len(entry[1]) >= KEY_CHARACTERS_MIN])


class PageOutline:
    """The headings that the outline names on one page."""

    def __init__(self, entries: Iterable[tuple[int, str]] = ()) -> None:
        self._levels: dict[str, int] = {}
        for level, key in entries:
            self._levels.setdefault(key, level)

    def __bool__(self) -> bool:
        return bool(self._levels)

    def match(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many of these lines are a heading together, and its level; 0 lines if they are none."""
        begun = ""
        for count, text in enumerate(texts[:LINES_MAX], 1):
            begun = f"{begun} {text}" if begun else text
            key = self._find(begun)
            if key:
                return count, self._levels[key]
            if not self._may_continue(begun):
                break
        return 0, 0

    def _find(self, text: str) -> str:
        for key in _keys_of(text):
            if key in self._levels:
                return key
        return ""

    def _may_continue(self, text: str) -> bool:
        return any(full.startswith(key) for key in _keys_of(text) for full in self._levels)


NO_OUTLINE = PageOutline()


def _keys_of(text: str) -> list[str]:
    """The keys under which the outline may have a heading: with its number, and without."""
    keys = [make_key(text), make_key(text.replace("- ", ""))]
    number = parse_number(text)
    if number is not None:
        keys += [make_key(text[number.length :]), make_key(text[number.length :].replace("- ", ""))]
    return [key for key in dict.fromkeys(keys) if len(key) >= KEY_CHARACTERS_MIN]
