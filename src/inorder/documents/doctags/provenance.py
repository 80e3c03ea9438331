"""Positions of blocks on pages, for both writers: clamped to the page, ordered, rounded to hundredths of a point.

docling-core clamps a box that leaves its page when it reads the JSON. Doing it here means that reading changes nothing.
A block with a page but without a box gets the whole page as its box.
"""

import math
from itertools import repeat

from inorder.documents.model import Block, Document

Dimensions = tuple[float, float]
Place = tuple[int, float, float, float, float]
"""Page, left, top, right, bottom."""

DIGITS = 2
GRID = 500
"""DocTags give positions as steps of a grid over the page."""
_TAGS = [f"<loc_{min(step, GRID - 1)}>" for step in range(GRID + 1)]


def page_sizes(document: Document) -> dict[int, Dimensions]:
    """The sizes of all pages whose width and height are finite and positive."""
    return {
        page.number: (round(float(page.width), DIGITS), round(float(page.height), DIGITS))
        for page in document.pages
        if _is_length(page.width) and _is_length(page.height)
    }


def place_of(block: Block, sizes: dict[int, Dimensions]) -> Place | None:
    """The position of a block; None if its page is unknown."""
    if block.page is None or (size := sizes.get(block.page)) is None:
        return None
    width, height = size
    if block.box is None:
        return block.page, 0.0, 0.0, width, height
    left, top, right, bottom = map(round, map(float, block.box), repeat(DIGITS))
    if 0.0 <= left <= right <= width and 0.0 <= top <= bottom <= height:
        return block.page, left, top, right, bottom
    if not all(map(math.isfinite, block.box)):
        return block.page, 0.0, 0.0, width, height
    left, right = sorted((_clamp(left, width), _clamp(right, width)))
    top, bottom = sorted((_clamp(top, height), _clamp(bottom, height)))
    return block.page, left, top, right, bottom


def location_tags(place: Place | None, sizes: dict[int, Dimensions]) -> str:
    """The position as `<loc_N>` tags; empty if there is none."""
    if place is None:
        return ""
    page, left, top, right, bottom = place
    width, height = sizes[page]
    return (
        f"{_TAGS[round(GRID * (left / width))]}{_TAGS[round(GRID * (top / height))]}"
        f"{_TAGS[round(GRID * (right / width))]}{_TAGS[round(GRID * (bottom / height))]}"
    )


def _is_length(value: float) -> bool:
    return math.isfinite(value) and round(value, DIGITS) > 0


def _clamp(value: float, limit: float) -> float:
    return min(max(value, 0.0), limit)
