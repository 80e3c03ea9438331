"""Finds text that cannot be right: characters that PDFium cannot decode, and characters that no language has.

A font says which letter each of its glyphs stands for. If it does not, or the table is broken, a page that looks well
has no text, or wrong text. Only the text is looked at, by counting: this takes a hundredth of the time of a page. Wrong
letters in a plausible order are not found.
"""

import re

from .unicode import NO_CHARACTER

UNDECODED = "has text that cannot be decoded: its fonts do not say which characters they show"
GARBLED = "has garbled text: its fonts name other characters than they show"
LOST_MIN = 10
"""Fewer lost characters are symbols and bullets."""
LOST_SHARE = 0.02
UNDECODED_SHARE = 0.3
"""With more, a reader understands nothing."""
SIGNS_MIN, SIGNS_SHARE, LETTERS_SHARE = 100, 0.2, 0.1
"""A page with so many signs and so few letters is no table of numbers."""
LETTERS_MIN, VOWELS_SHARE = 300, 0.15
"""English has 0.4, no language in Latin letters less than 0.3."""

_LOST = re.compile(
    f"{NO_CHARACTER}(?=[^\\s])|[\\ufffd\\ue000-\\uefff\\uf100-\\uf8ff\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]"
)
"""PDFium's mark at the end of a line is a hyphen. Fonts of symbols use U+F000 to U+F0FF."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\r\n") | {127})
_SIGNS = bytes(set(range(33, 127)) - set(range(48, 58)) - set(range(65, 91)) - set(range(97, 123)) - set(b"$%(),-.+_|"))
_VOWELS = b"aeiouyAEIOUY"
_LETTERS = bytes([*range(65, 91), *range(97, 123)])
_OTHERS = bytes(set(range(256)) - set(_LETTERS))


def find_unreadable(text: str) -> tuple[str, str]:
    """Return why the text of a page is of no use, and otherwise what it has lost; both empty: it is well."""
    ascii_ = text.encode("ascii", "ignore")
    others = len(text) - len(ascii_)
    count = len(ascii_.translate(None, b" \t\r\n")) + others
    lost = len(_LOST.findall(text)) if others or len(ascii_.translate(None, _CONTROLS)) < len(ascii_) else 0
    if lost >= LOST_MIN and lost >= UNDECODED_SHARE * count:
        return UNDECODED, ""
    letters = ascii_.translate(None, _OTHERS)
    if _is_garbled(ascii_, letters, others, count):
        return GARBLED, ""
    if lost >= LOST_MIN and lost >= LOST_SHARE * count:
        return "", f"has {lost:,} characters of {count:,} that cannot be decoded"
    return "", ""


def _is_garbled(ascii_: bytes, letters: bytes, others: int, count: int) -> bool:
    if count >= SIGNS_MIN and len(letters) + others < LETTERS_SHARE * count:
        return len(ascii_) - len(ascii_.translate(None, _SIGNS)) >= SIGNS_SHARE * count
    vowels = len(letters) - len(letters.translate(None, _VOWELS))
    return len(letters) >= LETTERS_MIN and vowels < VOWELS_SHARE * len(letters)
