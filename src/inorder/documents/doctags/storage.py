"""How the stage names and encodes its results: documents, surveys of long PDFs, and their parts.

In the store, a document is the model that its reader has made; DocTags and the DoclingDocument JSON are written from it
when they are asked for. A document of docling is stored as docling has written it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from inorder.documents.layout import DOCUMENTS
from inorder.documents.model import Document
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import StoredInput

from .docling_json import write_json
from .outline import OutlineItem
from .tags import write_doctags
from .wellformed import clean_document, replace_surrogates

STAGE_NAME = "doctags"
STORED_PARTS = "parts"
"""The first part of the names of parts in the store."""
SURVEY_NAME = "survey"
Reads = Sequence[str | StoredInput]


class PageRange(NamedTuple):
    """Pages of a PDF that are read as one part, from 1, both included."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The name in item ids. Leading zeros make names sort in page order."""
        return f"{self.first:06}-{self.last:06}"

    @classmethod
    def parse(cls, name: str) -> "PageRange":
        """The range with this name."""
        first, _, last = name.partition("-")
        return cls(int(first), int(last))


class Survey(msgspec.Struct, frozen=True):
    """The number of pages of a PDF, and what every part must know of the whole."""

    pages: int
    """0: the PDF cannot be read. The item of the document reports why."""
    stats: msgspec.Raw = msgspec.field(name="facts", default=msgspec.Raw(b"null"))
    """`DocumentStats` as JSON; null: the PDF is too short to be read in parts."""


# Made here, not with the first part: two threads must not make the decoder of a class at the same time.
_SURVEYS = msgspec.json.Decoder(Survey)
_DOCUMENTS = msgspec.json.Decoder(Document)


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """A document in the store."""

    filename: str = ""
    binary_hash: int = 0
    document: Document | None = None
    """None: it was converted by docling."""
    record: bytes = b""
    doctags: bytes = b""

    def write_record(self) -> bytes:
        """The document as DoclingDocument JSON."""
        if self.document is None:
            return self.record
        return write_json(self.document, filename=self.filename, binary_hash=self.binary_hash)

    def write_doctags(self) -> bytes:
        """The document as DocTags."""
        return self.doctags if self.document is None else encode_doctags(self.document)


def encode_doctags(document: Document, outline: list[OutlineItem] | None = None) -> bytes:
    """A document as DocTags, in UTF-8."""
    return write_doctags(document, outline).encode("utf-8", "replace")


_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(StoredDocument)


def pack_document(stored: StoredDocument) -> bytes:
    """Encode a document for the store."""
    try:
        return _PACK.encode(stored)
    except UnicodeEncodeError:
        document = None if stored.document is None else clean_document(stored.document)
        name = replace_surrogates(stored.filename)
        return _PACK.encode(msgspec.structs.replace(stored, document=document, filename=name))


def unpack_document(content: bytes) -> StoredDocument:
    """The inverse of `pack_document`. Raises ValueError for content that is no document."""
    try:
        return _UNPACK.decode(content)
    except msgspec.DecodeError as error:
        raise ValueError(f"not a stored document: {error}") from error


def document_outputs(doc_id: str) -> dict[str, str]:
    """The outputs of a document, as its item declares them."""
    return {"document": f"{DOCUMENTS}/{doc_id}"}


def name_part(doc_id: str, name: str) -> str:
    """The name of a part of a document among the outputs in DATA."""
    return f"{STORED_PARTS}/{doc_id}#{name}"


def make_part_read(data: str, doc_id: str, name: str) -> StoredInput:
    """A part of a document as an entry of `WorkItem.reads`."""
    return StoredInput(data, STAGE_NAME, f"{doc_id}#{name}", name_part(doc_id, name))


def encode(value: Any) -> bytes:
    """A survey or a part as JSON."""
    return msgspec.json.encode(value)


def read_survey(data: str, doc_id: str, reads: Reads = ()) -> Survey | None:
    """The survey of a document; None if it is missing or damaged. It may be sent along in `reads`."""
    content = _read_part(data, doc_id, SURVEY_NAME, reads)
    try:
        return None if content is None else _SURVEYS.decode(content)
    except msgspec.DecodeError:
        return None


def read_part(data: str, doc_id: str, name: str, reads: Reads = ()) -> Document | None:
    """A part of a document; None if it is missing. It may be sent along in `reads`."""
    content = _read_part(data, doc_id, name, reads)
    return None if content is None else _DOCUMENTS.decode(content)


def _read_part(data: str, doc_id: str, name: str, reads: Reads) -> bytes | None:
    for each in reads:
        if isinstance(each, StoredInput) and each.item_id == f"{doc_id}#{name}" and each.content is not None:
            return each.content
    store = open_store(data, STAGE_NAME)
    found = None if store is None else store.read(f"{doc_id}#{name}")
    return None if found is None else found[1]
