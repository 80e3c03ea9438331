"""Where blocks stand on pages, in the form both writers need: inside the page, in order, in hundredths of a point.

A reader of the JSON clamps a box that leaves its page; it is done here first, so that reading changes nothing. A block
that has a page and no box stands somewhere on that page: its box is the whole page.
"""

import math

from inorder.documents.model import Block, Document

Dimensions = tuple[float, float]
Place = tuple[int, float, float, float, float]
"""Page, left, top, right, bottom."""

DIGITS = 2
GRID = 500
"""DocTags name positions as steps of a grid over the page."""


def page_sizes(document: Document) -> dict[int, Dimensions]:
    """The pages that have a size one can divide by."""
    return {
        page.number: (round(float(page.width), DIGITS), round(float(page.height), DIGITS))
        for page in document.pages
        if _is_length(page.width) and _is_length(page.height)
    }


def place_of(block: Block, sizes: dict[int, Dimensions]) -> Place | None:
    """Where a block stands, or None where that is not known."""
    if block.page is None or (size := sizes.get(block.page)) is None:
        return None
    width, height = size
    if block.box is None or not all(map(math.isfinite, block.box)):
        return block.page, 0.0, 0.0, width, height
    left, right = sorted(_clamp(x, width) for x in (block.box[0], block.box[2]))
    top, bottom = sorted(_clamp(y, height) for y in (block.box[1], block.box[3]))
    return block.page, left, top, right, bottom


def location_tags(place: Place | None, sizes: dict[int, Dimensions]) -> str:
    """The place as DocTags say it; nothing where there is none."""
    if place is None:
        return ""
    page, left, top, right, bottom = place
    width, height = sizes[page]
    steps = (left / width, top / height, right / width, bottom / height)
    return "".join(f"<loc_{min(max(round(GRID * step), 0), GRID - 1)}>" for step in steps)


def _is_length(value: float) -> bool:
    return math.isfinite(value) and round(value, DIGITS) > 0


def _clamp(value: float, limit: float) -> float:
    return min(max(round(float(value), DIGITS), 0.0), limit)
