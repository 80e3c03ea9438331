"""The style of text on a page: its size, its font, whether it is bold or monospaced, and its rotation.

Sizes are those of the displayed page: the font size times the scale of the text. The weight in a PDF is unreliable; the
name of the font says more.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from .pdfium import PdfPage, font_properties

FONT_CACHE_SIZE = 1024
SIZE_POINTS_MIN = 0.1
SIZE_POINTS_MAX = 10_000.0

_BOLD_NAME = re.compile(r"bold|black|heavy|demi|medi\b|-bd|(?:cm|sf|cmss)bx|bx\d|,b", re.IGNORECASE)
_MONO_NAME = re.compile(r"courier|mono(?!type)|consol|typewriter|cmtt|sftt|menlo|lettergothic|andale", re.IGNORECASE)
_SUBSET_TAG = re.compile(r"^[A-Z]{6}\+")
_FIXED_PITCH = 1
_FORCE_BOLD = 1 << 18
_BOLD_WEIGHT = 700

Traits = tuple[bool, bool, str]
"""Whether a font is bold, whether it is monospaced, and its name."""
Rotation = tuple[float, int, bool]
"""The size of text, its quarter turns counter-clockwise, and whether it is between two of them."""


class FontReader:
    """Reads the traits of the fonts of a page."""

    def __init__(self, page: PdfPage) -> None:
        self._page = page
        self._traits: dict[int | None, Traits] = {None: (False, False, "")}

    def traits_of(self, characters: Sequence[int]) -> list[Traits]:
        """The traits of the fonts of these characters."""
        fonts = self._page.fonts(characters)
        traits = self._traits
        for font in {*fonts}:
            if font is not None and font not in traits:
                traits[font] = font_traits(*font_properties(font))
        return [traits[font] for font in fonts]


def measure_rotation(size: float, a: float, b: float, c: float, d: float) -> Rotation:
    """The rotation of text of this size with this matrix."""
    if not math.isfinite(a + b + c + d):
        return 1.0, 0, True
    turns = math.atan2(b, a) / (math.pi / 2)
    quarter = round(turns)
    size = abs(size * math.sqrt(abs(a * d - b * c)))
    return min(SIZE_POINTS_MAX, max(SIZE_POINTS_MIN, size)), quarter % 4, abs(turns - quarter) > 0.08


@lru_cache(FONT_CACHE_SIZE)
def font_traits(name: str, flags: int, weight: int) -> Traits:
    """Whether a font is bold, whether it is monospaced, and its name without the tag of a subset."""
    flags = max(0, flags)
    bold = bool(_BOLD_NAME.search(name)) or weight >= _BOLD_WEIGHT or bool(flags & _FORCE_BOLD)
    mono = bool(_MONO_NAME.search(name)) or bool(flags & _FIXED_PITCH)
    return bold, mono, _SUBSET_TAG.sub("", name)
