"""A converted document as it is stored: the model that its reader has made. DocTags and the DoclingDocument JSON are
written from it when they are asked for. A document of docling is stored as docling has written it."""

import msgspec

from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.doctags.wellformed import clean_document, replace_surrogates
from inorder.documents.model import Document


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
        return self.doctags if self.document is None else write_doctags(self.document).encode()


_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(StoredDocument)


def pack_document(stored: StoredDocument) -> tuple[StoredDocument, bytes]:
    """Encode a document. Returns it as it is read back, too: without lone surrogates, which cannot be encoded."""
    try:
        return stored, _PACK.encode(stored)
    except UnicodeEncodeError:
        document = None if stored.document is None else clean_document(stored.document)
        name = replace_surrogates(stored.filename)
        clean = msgspec.structs.replace(stored, document=document, filename=name)
        return clean, _PACK.encode(clean)


def unpack_document(content: bytes) -> StoredDocument:
    """Decode what `pack_document` has encoded. Raises ValueError for content that is no document."""
    try:
        return _UNPACK.decode(content)
    except msgspec.DecodeError as error:
        raise ValueError(f"not a stored document: {error}") from error
