"""The library that defines DoclingDocument and DocTags, asked what it makes of what we wrote."""

import json
import warnings
from typing import Any

from docling_core.types.doc.document import DoclingDocument, DocTagsDocument

from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.model import AnyBlock, Document, Page


def document(*blocks: AnyBlock, pages: int = 0, name: str = "tale") -> Document:
    return Document(
        name=name,
        mimetype="text/plain",
        blocks=list(blocks),
        pages=[Page(number, 600.0, 800.0) for number in range(1, pages + 1)],
        reader="test/1",
    )


def load_json(written: Document) -> DoclingDocument:
    """The JSON as the library loads it, without so much as a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return DoclingDocument.model_validate_json(write_json(written))


def assert_docling_agrees(written: Document) -> DoclingDocument:
    """The library loads our JSON unchanged, and exports the DocTags that we write."""
    reference = load_json(written)
    assert _without_grids(reference.export_to_dict()) == json.loads(write_json(written))
    assert reference.export_to_doctags() == write_doctags(written)
    return reference


def _without_grids(exported: dict[str, Any]) -> dict[str, Any]:
    for table in exported["tables"]:
        del table["data"]["grid"]
    return exported


def load_doctags(written: Document) -> DoclingDocument:
    """The DocTags as the library reads them."""
    tags = DocTagsDocument.from_multipage_doctags_and_images(write_doctags(written), None)
    return DoclingDocument.load_from_doctags(tags)
