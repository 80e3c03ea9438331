"""Reads the documents of one generation of the index for an export."""

from collections.abc import Sequence
from hashlib import blake2b

from inorder.index.rows import DOCUMENT, ChunkRow
from inorder.library.rows import StoredVectors
from inorder.library.snapshots import GenerationReader, IndexedFile

from .base import ExportedChunk, ExportedDocument, ListedDocument, TargetLayout

VERSION = "1"
"""Changes whenever the same index is exported in another way: then all documents are written again."""
_SEPARATOR = " > "
_FLOAT_BYTES = 4


class IndexReader:
    """The index of DATA, as it is visible when the reader is opened, for any number of threads. What is published
    later is not seen. What a later generation has replaced can be read until it is removed; `count` shows that.

    `layout` is that of the generation with the number `epoch`, for a reader that goes on with what another one began.
    Raises OperatorError if there is no library."""

    def __init__(self, data: str, epoch: int | None = None, layout: TargetLayout | None = None) -> None:
        self._generation = generation = GenerationReader(data, epoch)
        self.epoch = generation.epoch
        self.layout = layout or TargetLayout(dimensions=generation.width, provider=generation.provider)
        """What a target must know about the index."""

    def count(self) -> int:
        """How many documents and source files there are. It falls when a later generation has replaced some."""
        return self._generation.count_indexed()

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """The first documents whose ids follow `after`, with their hashes."""
        found = self._generation.list_indexed(after, count)
        return [ListedDocument(each.item_id, self._hash(each)) for each in found]

    def read(self, doc_id: str) -> ExportedDocument | None:
        """A document with its chunks and vectors; None: the index does not have it, or a later generation has replaced
        it."""
        found = self._generation.read_indexed(doc_id)
        if found is None:
            return None
        file, rows = found.file, found.rows
        vectors = self._split(found.vectors, len(rows.chunks))
        return ExportedDocument(
            doc_id,
            self._hash(file),
            file.kind,
            rows.language,
            rows.lines,
            [
                _make_chunk(file.kind, number, chunk, vector)
                for number, (chunk, vector) in enumerate(zip(rows.chunks, vectors, strict=True))
            ],
        )

    def _split(self, stored: StoredVectors | None, count: int) -> list[bytes]:
        """The vector of each chunk, if the vectors were made by the provider of the index."""
        if stored is None or stored.spec != self.layout.provider:
            return [b""] * count
        size = stored.width * _FLOAT_BYTES
        return [stored.vectors[start : start + size] for start in range(0, count * size, size)]

    def _hash(self, file: IndexedFile) -> str:
        """What the target stores as the hash of a document."""
        provider = self.layout.provider if file.kind == DOCUMENT else ""
        return blake2b(f"{VERSION}\0{file.digest}{file.vectors}\0{provider}".encode(), digest_size=16).hexdigest()

    def close(self) -> None:
        """Close the library. Idempotent."""
        self._generation.close()


def _make_chunk(file_kind: str, number: int, row: ChunkRow, vector: bytes) -> ExportedChunk:
    return ExportedChunk(
        number,
        row.chunk_id,
        row.kind,
        row.name,
        row.context,
        row.context.rpartition(_SEPARATOR)[0] if file_kind == DOCUMENT else "",
        row.start,
        row.end,
        [int(page) for page in row.pages.split() if page.isdecimal()],
        row.text,
        vector,
    )
