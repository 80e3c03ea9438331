"""What a retriever says of a hit beside its text."""

from typing import Any

from inorder.dataset import Dataset
from inorder.index.hits import Hit


def describe_hit(data: Dataset, hit: Hit) -> dict[str, Any]:
    """Where a hit is and how to cite it. Pages and boxes are there for documents that have pages; a box is a rectangle
    in shares of its page, from the upper left corner."""
    described: dict[str, Any] = {
        "source": hit.locate(),
        "doc_id": hit.item_id,
        "title": hit.title,
        "section": hit.heading_path,
        "citation": hit.citation,
        "kind": hit.file_kind,
        "score": hit.score,
        "is_weak": hit.is_weak,
    }
    if hit.pages:
        described["pages"] = hit.pages
        described["boxes"] = [box._asdict() for box in data.find_boxes(hit)]
    return described
