"""One document of a dataset, in all its forms."""

from collections.abc import Callable
from functools import cached_property

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.step import find_pieces
from inorder.documents.chunk.units import join_pieces
from inorder.documents.convert.stored import StoredDocument
from inorder.documents.doctags.markdown import write_markdown
from inorder.documents.doctags.provenance import page_sizes
from inorder.documents.doctags.record_reader import read_record
from inorder.documents.model import Document, PageReading

from .content_tables import ContentTable, list_content_tables
from .results import LoadedResult


class DatasetDocument:
    """A document. Each form is written when it is first asked for.

    >>> import inorder
    >>> def count_words(document: inorder.dataset.DatasetDocument) -> int:
    ...     return len(document.text.split())
    """

    def __init__(
        self,
        loaded: LoadedResult,
        find_chunks: Callable[[str], list[Chunk]],
        find_copies: Callable[[str], list[str]] = lambda doc_id: [],
    ) -> None:
        self.doc_id = loaded.doc_id
        """The name of the source and the path below it."""
        self.input_sha256 = loaded.input_sha256
        """The hash of the source file."""
        self._stored: StoredDocument = loaded.value
        self._find_chunks = find_chunks
        self._find_copies = find_copies

    def __repr__(self) -> str:
        return f"DatasetDocument({self.doc_id!r})"

    @cached_property
    def json(self) -> str:
        """The document as DoclingDocument JSON, without loss."""
        return self._record.decode()

    @cached_property
    def doctags(self) -> str:
        """The document as DocTags."""
        return self._stored.write_doctags().decode()

    @cached_property
    def markdown(self) -> str:
        """The document as Markdown, with the tables of GitHub. Page headers and footers are left out."""
        return write_markdown(self._document)

    @cached_property
    def text(self) -> str:
        """The document as text. `start` and `end` of its chunks are positions in it."""
        return join_pieces(find_pieces(self._stored))

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Its chunks, in reading order; none if it has not been split yet."""
        return self._find_chunks(self.doc_id)

    @cached_property
    def tables(self) -> list[ContentTable]:
        """Its tables, in reading order, as columns and rows of text."""
        return list(list_content_tables(self.doc_id, self._document))

    @cached_property
    def paths(self) -> list[str]:
        """Its id, and those of all files with the same content."""
        return [self.doc_id, *self._find_copies(self.doc_id)]

    @property
    def name(self) -> str:
        """The name of the file without its extension."""
        return self._document.name

    @property
    def mimetype(self) -> str:
        """The kind of the source file; empty if it is unknown."""
        return self._document.mimetype

    @property
    def metadata(self) -> dict[str, str]:
        """What a web page says about itself: `title`, `author`, `date`, `language`, `address`, `description`."""
        return self._document.metadata

    @property
    def page_count(self) -> int:
        """The number of pages; 0 if the format has none."""
        return len(page_sizes(self._document))

    @property
    def readings(self) -> dict[int, PageReading]:
        """How pages were read that are for a model, by their numbers: which model has read a page, or why none has."""
        found = ((page.number, page.reading) for page in self._document.pages)
        return {number: reading for number, reading in found if isinstance(reading, PageReading)}

    @cached_property
    def _record(self) -> bytes:
        return self._stored.write_record()

    @cached_property
    def _document(self) -> Document:
        return self._stored.document or read_record(self._record)

    def write_record(self) -> bytes:
        """The document as DoclingDocument JSON, in UTF-8."""
        return self._record

    def write_doctags(self) -> bytes:
        """The document as DocTags, in UTF-8."""
        return self._stored.write_doctags()
