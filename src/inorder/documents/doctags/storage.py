"""How the stage names its results: documents, surveys of long PDFs, and their parts."""

from collections.abc import Sequence

import msgspec

from inorder.documents.convert.parts import Survey, decode_part, decode_survey
from inorder.documents.convert.settings import NAME
from inorder.documents.layout import DOCUMENTS
from inorder.documents.model import Document
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import StoredInput

STORED_PARTS = "parts"
"""The first part of the names of parts in the store."""
SURVEY_NAME = "survey"
Reads = Sequence[str | StoredInput]


def document_outputs(doc_id: str) -> dict[str, str]:
    """The outputs of a document, as its item declares them."""
    return {"document": f"{DOCUMENTS}/{doc_id}"}


def name_part(doc_id: str, name: str) -> str:
    """The output of a part of a document, as its item declares it."""
    return f"{STORED_PARTS}/{doc_id}#{name}"


def make_part_read(data: str, doc_id: str, name: str) -> StoredInput:
    """A part of a document as an entry of `WorkItem.reads`."""
    return StoredInput(data, NAME, f"{doc_id}#{name}", name_part(doc_id, name))


def read_survey(data: str, doc_id: str, reads: Reads = ()) -> Survey | None:
    """The survey of a document; None if it is missing or damaged. It may be sent along in `reads`."""
    content = _read_part(data, doc_id, SURVEY_NAME, reads)
    try:
        return None if content is None else decode_survey(content)
    except msgspec.DecodeError:
        return None


def read_part(data: str, doc_id: str, name: str, reads: Reads = ()) -> Document | None:
    """A part of a document; None if it is missing. It may be sent along in `reads`."""
    content = _read_part(data, doc_id, name, reads)
    return None if content is None else decode_part(content)


def _read_part(data: str, doc_id: str, name: str, reads: Reads) -> bytes | None:
    for each in reads:
        if isinstance(each, StoredInput) and each.item_id == f"{doc_id}#{name}" and each.content is not None:
            return each.content
    store = open_store(data, NAME)
    found = None if store is None else store.read(f"{doc_id}#{name}")
    return None if found is None else found[1]
