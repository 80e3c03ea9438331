"""The style of text on a page: its size, its font, whether it is bold or monospaced, and its rotation.

Sizes are those of the displayed page: the font size times the scale of the text. The weight in a PDF is unreliable; the
name of the font says more.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

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


class PdfStyle(msgspec.Struct, frozen=True, gc=False):
    """The style and the position of a piece of text."""

    size: float
    is_bold: bool
    is_mono: bool
    quarter: int
    """Rotation in quarter turns counter-clockwise."""
    is_askew: bool
    """Whether it is neither horizontal nor vertical."""
    x: float
    y: float
    """Where its baseline begins, in the coordinates of the PDF page."""
    face: str = ""
    """The name of the font, without the tag of a subset; empty if it has none, or if the text has several."""


Traits = tuple[bool, bool, str]
"""Whether a font is bold, whether it is monospaced, and its name."""


class StyleReader:
    """Reads the styles of characters of a page."""

    def __init__(self, page: PdfPage) -> None:
        self.page = page
        self._traits: dict[int | None, Traits] = {None: (False, False, "")}

    def read(self, characters: Sequence[int]) -> list[PdfStyle]:
        """The styles of these characters."""
        sizes = self.page.font_sizes(characters)
        return [
            PdfStyle(size * d, bold, mono, 0, False, x, y, face)
            if b == 0.0 == c and a > 0.0 < d and SIZE_POINTS_MIN < size * d < SIZE_POINTS_MAX
            else _make_rotated_style(size, (bold, mono, face), (a, b, c, d, x, y))
            for (bold, mono, face), size, (a, b, c, d, x, y) in zip(
                self.traits_of(characters), sizes, self.page.matrices(characters), strict=True
            )
        ]

    def traits_of(self, characters: Sequence[int]) -> list[Traits]:
        """The traits of the fonts of these characters."""
        fonts = self.page.fonts(characters)
        traits = self._traits
        for font in {*fonts} - traits.keys():
            if font is not None:
                traits[font] = font_traits(*font_properties(font))
        return list(map(traits.__getitem__, fonts))


def _make_rotated_style(size: float, traits: Traits, matrix: tuple[float, ...]) -> PdfStyle:
    bold, mono, face = traits
    a, b, c, d, x, y = matrix
    if not math.isfinite(a + b + c + d):
        return PdfStyle(1.0, bold, mono, 0, True, x, y, face)
    turns = math.atan2(b, a) / (math.pi / 2)
    quarter = round(turns)
    size *= math.sqrt(abs(a * d - b * c))
    return PdfStyle(_clamp_size(size), bold, mono, quarter % 4, abs(turns - quarter) > 0.08, x, y, face)


def _clamp_size(size: float) -> float:
    return min(SIZE_POINTS_MAX, max(SIZE_POINTS_MIN, abs(size)))


@lru_cache(FONT_CACHE_SIZE)
def font_traits(name: str, flags: int, weight: int) -> Traits:
    """Whether a font is bold, whether it is monospaced, and its name without the tag of a subset."""
    flags = max(0, flags)
    bold = bool(_BOLD_NAME.search(name)) or weight >= _BOLD_WEIGHT or bool(flags & _FORCE_BOLD)
    mono = bool(_MONO_NAME.search(name)) or bool(flags & _FIXED_PITCH)
    return bold, mono, _SUBSET_TAG.sub("", name)
