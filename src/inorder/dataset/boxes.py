"""Where parts of a document are on its pages."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in shares of the page, from its upper left corner."""


class PageBox(NamedTuple):
    """A rectangle on a page, in shares of its width and height, from the upper left corner.

    >>> import inorder
    >>> def measure(box: inorder.dataset.PageBox) -> float:
    ...     return (box.right - box.left) * (box.bottom - box.top)
    """

    page: int
    left: float
    top: float
    right: float
    bottom: float


def find_boxes(record: str, refs: Collection[str]) -> Iterator[PageBox]:
    """Yield the places of the items with these references. `record` is the document as DoclingDocument JSON."""
    found: Any = msgspec.json.decode(record)
    sizes = {int(number): page["size"] for number, page in (found.get("pages") or {}).items()}
    for ref in refs:
        _, kind, number = ref.split("/")
        for place in found[kind][int(number)].get("prov") or ():
            box = find_share(place, sizes.get(place["page_no"]))
            if box is not None:
                yield PageBox(place["page_no"], *box)


def find_share(place: Any, size: Any) -> Box | None:
    """The share of a page that a place takes; None if the place or the size of the page is not known."""
    box = place.get("bbox")
    if not box or not size or not size["width"] or not size["height"]:
        return None
    top, bottom = box["t"], box["b"]
    if box.get("coord_origin") == "BOTTOMLEFT":
        top, bottom = size["height"] - top, size["height"] - bottom
    shares = (box["l"] / size["width"], top / size["height"], box["r"] / size["width"], bottom / size["height"])
    left, top, right, bottom = (round(min(1.0, max(0.0, share)), 5) for share in shares)
    return left, min(top, bottom), right, max(top, bottom)
