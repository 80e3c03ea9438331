"""How the stage names its results: documents, surveys of long PDFs, and their parts.

With `--layout files`, in DATA:

    doctags/<doc id>.doctags, <doc id>.docling.json     a document, in the two forms in which it is written
    pages/<doc id>/survey.json                          what is known of a long PDF before it is read in parts
    pages/<doc id>/000001-000100.json                   the parts
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from inorder.documents.convert.parts import Survey, decode_part, decode_survey
from inorder.documents.convert.settings import NAME
from inorder.documents.layout import DOCTAGS_SUFFIX, DOCUMENTS, RECORD_SUFFIX, Layout
from inorder.documents.model import Document
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import StoredInput

PARTS_FOLDER = "pages"
STORED_PARTS = "parts"
"""The first part of the names of parts in the store."""
SURVEY_NAME = "survey"
Reads = Sequence[str | StoredInput]


def document_outputs(doc_id: str, layout: Layout) -> dict[str, str]:
    """The paths of a document in DATA, by the names of the outputs."""
    if layout == "store":
        return {"document": f"{DOCUMENTS}/{doc_id}"}
    return {
        "doctags": f"{NAME}/{doc_id}{DOCTAGS_SUFFIX}",
        "record": f"{NAME}/{doc_id}{RECORD_SUFFIX}",
    }


def part_path(doc_id: str, name: str, layout: Layout) -> str:
    """The path in DATA of a part of a document."""
    return f"{STORED_PARTS}/{doc_id}#{name}" if layout == "store" else f"{PARTS_FOLDER}/{doc_id}/{name}.json"


def make_part_read(data: str, doc_id: str, name: str, layout: Layout) -> str | StoredInput:
    """A part of a document as an entry of `WorkItem.reads`."""
    path = part_path(doc_id, name, layout)
    return StoredInput(data, NAME, f"{doc_id}#{name}", path) if layout == "store" else path


def read_survey(data: str, doc_id: str, layout: Layout, reads: Reads = ()) -> Survey | None:
    """The survey of a document; None if it is missing or damaged. It may be sent along in `reads`."""
    content = _read_part(data, doc_id, SURVEY_NAME, layout, reads)
    try:
        return None if content is None else decode_survey(content)
    except msgspec.DecodeError:
        return None


def read_part(data: str, doc_id: str, name: str, layout: Layout, reads: Reads = ()) -> Document | None:
    """A part of a document; None if it is missing. It may be sent along in `reads`."""
    content = _read_part(data, doc_id, name, layout, reads)
    return None if content is None else decode_part(content)


def _read_part(data: str, doc_id: str, name: str, layout: Layout, reads: Reads) -> bytes | None:
    if layout == "store":
        for each in reads:
            if isinstance(each, StoredInput) and each.item_id == f"{doc_id}#{name}" and each.content is not None:
                return each.content
        store = open_store(data, NAME)
        found = None if store is None else store.read(f"{doc_id}#{name}")
        return None if found is None else found[1]
    try:
        return Path(f"{data}/{part_path(doc_id, name, layout)}").read_bytes()
    except OSError:
        return None
