"""Joins accents with the letters that they are drawn over.

TeX sets a letter with an accent as two glyphs, and so do some other programs. PDFium returns the accent before or after
the letter, with a space between them, or at the end of the line. Where the boxes of both show that they are one, the
letter becomes the letter with its accent. Positions in the text stay as they are: nothing moves, and what is left over
becomes a character without width.
"""

import re
import unicodedata
from collections.abc import Iterable

from .pdfium import CharacterBox, PdfPage

ACCENTS_MAX = 2_000
"""Of a page. Only a hostile one has more."""
LINE_CHARACTERS_MAX = 300
"""How far away in the text a letter may be."""
EDGE_SHARE = 0.1
"""How far from the edges of a letter the middle of its accent is, as a share of its width."""
RAISED_SHARE = 0.5
"""How far an accent may be raised, as a share of the height of the letter."""
TOUCHING_SHARE = 0.12
"""Letters nearer than this share of their height have no space between them."""

NOTHING = "\u2060"
_COMBINING = {
    "`": "\u0300",
    "\u00a8": "\u0308",
    "\u00af": "\u0304",
    "\u00b4": "\u0301",
    "\u00b8": "\u0327",
    "\u02c6": "\u0302",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u02da": "\u030a",
    "\u02db": "\u0328",
    "\u02dc": "\u0303",
    "\u02dd": "\u030b",
}
_ACCENT = re.compile(f"[{''.join(_COMBINING)}\u0300-\u0304\u0306-\u0308\u030a-\u030c\u0327\u0328]")
_BARE = {"\u0131": "i", "\u0237": "j"}
"""Letters without their dots."""


def join_accents(page: PdfPage, text: str) -> str:
    """The text of a page with letters in place of letters and accents. Its length does not change."""
    if text.isascii() and "`" not in text:
        return text
    places = [found.start() for found in _ACCENT.finditer(text)][:ACCENTS_MAX]
    if not places:
        return text
    joiner = _AccentJoiner(page, text)
    for place in places:
        joiner.join(place)
    return "".join(joiner.characters)


class _AccentJoiner:
    """The characters of a page while accents are joined with them."""

    def __init__(self, page: PdfPage, text: str) -> None:
        self.characters = list(text)
        self._page = page
        self._text = text

    def join(self, place: int) -> None:
        """Join the accent at a place with its letter, if there is one."""
        accent = self._boxes([place])[0]
        near = [place + step for step in (1, -1, 2, -2)]
        base = self._find_base(near, place, accent)
        if base is None:
            base = self._find_base(self._list_line(place), place, accent)
        if base is None:
            return
        self.characters[base] = self._compose(base, place)
        self.characters[place] = NOTHING
        self._close_gap(place)

    def _list_line(self, place: int) -> range:
        """The places of the line that an accent ends."""
        start = 1 + max(self._text.rfind("\n", 0, place), self._text.rfind("\r", 0, place))
        return range(max(start, place - LINE_CHARACTERS_MAX), place)

    def _find_base(self, places: Iterable[int], accent_place: int, accent: CharacterBox) -> int | None:
        letters = [place for place in places if 0 <= place < len(self._text) and self._compose(place, accent_place)]
        x0, _, x1, floor = accent
        middle = (x0 + x1) / 2
        for place, (left, top, right, bottom) in zip(letters, self._boxes(letters), strict=True):
            inset, height = EDGE_SHARE * (right - left), top - bottom
            if left + inset < middle < right - inset and abs(floor - bottom) < RAISED_SHARE * height:
                return place
        return None

    def _compose(self, place: int, accent_place: int) -> str:
        """The letter at a place with an accent; empty if there is no such letter."""
        letter, accent = self.characters[place], self._text[accent_place]
        if not letter.isalpha():
            return ""
        whole = unicodedata.normalize("NFC", _BARE.get(letter, letter) + _COMBINING.get(accent, accent))
        return whole if len(whole) == 1 else ""

    def _close_gap(self, place: int) -> None:
        """Drop the spaces around an accent that is gone, if they are not between words."""
        text = self._text
        start, end = place, place + 1
        while start and text[start - 1] == " ":
            start -= 1
        while end < len(text) and text[end] == " ":
            end += 1
        if start == 0 or end == len(text) or text[start - 1] in "\r\n" or text[end] in "\r\n":
            self.characters[place] = " "
        elif end - start > 1:
            before, after = self._boxes([start - 1, end])
            if abs(after[0] - before[2]) < TOUCHING_SHARE * (before[1] - before[3]):
                self.characters[start:end] = NOTHING * (end - start)

    def _boxes(self, places: list[int]) -> list[CharacterBox]:
        return self._page.boxes(self._page.character_indices(places), self._page.rotation)
