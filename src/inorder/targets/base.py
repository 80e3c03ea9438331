"""The contract of a target: a database or vector store that holds a copy of an index.

A target lists the documents that it holds, each with a hash of its content. An export compares the list with
the index: see `difference`. Documents that are missing or have another hash are written, and documents that the index
no longer has are removed. After a run the target equals the index.

The rules:

* `write` replaces documents as a whole. A document that is written again with the same content leaves the same rows, so
  a write may be repeated after a crash.
* A target with transactions writes the rows, the document with its hash, the removals and the position in one
  transaction. A target without transactions first removes the document from its list, then replaces its rows, then
  lists it with its hash, and writes the position last. Either way a document that is listed has exactly the rows that
  belong to its hash, whenever the process or the server is killed.
* What was written is visible to readers when `write` returns, and survives the death of the process. `sync` makes it
  durable.
* `list_documents` is called on another thread than the other methods, while documents are written. It returns pages in
  the order of the ids, compared by code points. It may or may not see what this run has written.
* An error is one line that names the address and says what to do: `OperatorError` for a target that cannot be used as
  it is, `BusyError` if another export holds it, `InfrastructureError` if a repetition may help. No message contains a
  password or a key. Nothing is left half-written.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from inorder.sinks.base import Position


class ExportedChunk(msgspec.Struct, array_like=True, gc=False):
    """A chunk of a document, as it is exported.

    >>> ExportedChunk(0, "b6e5", "section", "", "", "Lamps", 0, 4, [1], "Lamp").text
    'Lamp'
    """

    number: int
    """Its place in the document, from 0."""
    chunk_id: str
    """A UUID that is derived from the content."""
    kind: str
    """`section` for a document; function, class, lines... for source code."""
    name: str
    """The qualified name of a definition in source code; otherwise empty."""
    context: str
    """The titles of the enclosing sections and the words of the path, which search compares, too."""
    headings: str
    """The titles of the enclosing sections, separated by ` > `."""
    start: int
    end: int
    """Lines of source code, or characters of a document."""
    pages: list[int]
    """The pages of a document that the chunk is on."""
    text: str
    vector: bytes = b""
    """The dense vector as 32-bit floats in little-endian order; empty if there is none."""


class ExportedDocument(msgspec.Struct):
    """A document or a source file with everything that is exported of it.

    >>> ExportedDocument("docs/lamp.md", "5f2a", "document", "", 0, []).doc_id
    'docs/lamp.md'
    """

    doc_id: str
    hash: str
    """Changes whenever anything else of the document does."""
    kind: str
    """`document` or `code`."""
    language: str
    """The programming language, or the ISO 639-1 code of the language of a document; empty if it is not known."""
    lines: int
    """Lines of a source file; 0 for a document."""
    chunks: list[ExportedChunk]


class ListedDocument(NamedTuple):
    """A document that a target holds.

    >>> ListedDocument("docs/lamp.md", "5f2a").hash
    '5f2a'
    """

    doc_id: str
    hash: str


class TargetChanges(NamedTuple):
    """What one write does. No document is in it twice.

    >>> TargetChanges([], [], ["docs/lamp.md"]).removed_ids
    ['docs/lamp.md']
    """

    written: Sequence[bytes]
    """The documents to add or replace, each encoded by the `encode` of the target."""
    written_ids: Sequence[str]
    """Their ids."""
    removed_ids: Sequence[str]
    """The documents to remove. One that the target does not hold is ignored."""


class TargetLayout(msgspec.Struct, frozen=True, kw_only=True):
    """What a target must know about the index before it creates or checks its tables.

    >>> TargetLayout(dimensions=256, provider="static").dimensions
    256
    """

    dimensions: int
    """The length of the dense vectors; 0: the index has none."""
    provider: str
    """The provider of the vectors, as `--dense` takes it."""


class TargetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to export. A target that cannot do what an option asks for raises OperatorError.

    >>> TargetOptions().collection
    'inorder'
    """

    collection: str = "inorder"
    """The schema, collection or table to write to."""
    hnsw: bool = False
    """Whether to build an HNSW index over the vectors."""
    recreate: bool = False
    """Whether to remove what the target holds first."""


class Target(Protocol):
    """A database or vector store that holds a copy of an index.

    A plug-in of the kind `targets` is an object with `open_target(address, options)`, which returns one. It
    may have `encode(document)`, which runs in workers, and `search(address, collection, question, options)`.

    >>> from inorder.plugins import ListedDocument, Position, Target, decode_document
    >>> class MemoryTarget:
    ...     name = "memory"
    ...     documents, position = {}, Position()
    ...     def open(self, layout):
    ...         pass
    ...     def read_position(self):
    ...         return self.position
    ...     def list_documents(self, after, count):
    ...         return [ListedDocument(*each) for each in sorted(self.documents.items()) if each[0] > after][:count]
    ...     def write(self, changes, position):
    ...         for doc_id in changes.removed_ids:
    ...             self.documents.pop(doc_id, None)
    ...         for document in map(decode_document, changes.written):
    ...             self.documents[document.doc_id] = document.hash
    ...         self.position = position
    ...     def clear(self):
    ...         self.documents, self.position = {}, Position()
    ...     sync = complete = close = lambda self: None
    >>> MemoryTarget().list_documents("", 10)
    []
    """

    @property
    def name(self) -> str:
        """Identifies the place: the address without secrets, and the collection. It is stored in the journal."""
        ...

    def open(self, layout: TargetLayout) -> None:
        """Connect, keep other exports out, and create or check the tables. To be called once, before anything else."""
        ...

    def read_position(self) -> Position:
        """The position of the last write; `Position()` if there is none."""
        ...

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """The first `count` documents whose ids follow `after`, in the order of their ids."""
        ...

    def write(self, changes: TargetChanges, position: Position) -> None:
        """Write and remove documents, and store the position, which may be a lower one than before."""
        ...

    def clear(self) -> None:
        """Remove all documents and the position."""
        ...

    def sync(self) -> None:
        """Make everything that was written durable."""
        ...

    def complete(self) -> None:
        """Called when the target equals the index: builds what is built over all rows. May be repeated."""
        ...

    def close(self) -> None:
        """Close all connections. Idempotent."""
        ...


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ExportedDocument)


def encode_document(document: ExportedDocument) -> bytes:
    """Encode a document for the transfer from a worker. A target may have an `encode` of its own, which runs in workers
    and does there what would otherwise delay the commits.

    >>> len(encode_document(ExportedDocument("docs/lamp.md", "5f2a", "document", "", 0, []))) > 0
    True
    """
    return _ENCODER.encode(document)


def decode_document(data: bytes) -> ExportedDocument:
    """Decode what `encode_document` has encoded.

    >>> decode_document(encode_document(ExportedDocument("a.md", "5f2a", "document", "", 0, []))).doc_id
    'a.md'
    """
    return _DECODER.decode(data)
