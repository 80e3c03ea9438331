"""Loads the lexical vectors of DATA: the terms of the chunks of the index, and their weights."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from inorder.documents.parquet import make_schema
from inorder.index.chunk_terms import IndexedTerms, IndexTerms
from inorder.library.opening import find_index

from .results import ListedResult

TERM_BYTES = 2
"""About the size of a word of a chunk in a shard: words that repeat take nothing."""


class LoadedTerms(NamedTuple):
    """The terms of a document, as a result that is loaded."""

    doc_id: str
    sha256: str
    terms: IndexedTerms
    cfg_hash: str = ""


class TermReader:
    """The terms of documents and source files, as results. They come in the order of ids, and are loaded in this order
    from one state of the index."""

    def __init__(self, index: IndexTerms | None) -> None:
        self._index = index
        self._rest: Iterator[IndexedTerms] | None = None
        self._next: IndexedTerms | None = None
        self._last = ""

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        """The documents and source files in the order of their ids, those that follow `after`."""
        for each in () if self._index is None else self._index.list_files(after):
            yield ListedResult(each.item_id, each.length * TERM_BYTES, each.sha256)

    list_results = iterate

    def read_version(self) -> str:
        """Another one after every change of the index."""
        return "" if self._index is None else self._index.read_version()

    def has(self, doc_id: str) -> bool:
        """Whether the index has a document."""
        return self._index is not None and self._index.has(doc_id)

    def read_all(self) -> Iterator[IndexedTerms]:
        """The terms of all documents and source files, of one state of the index."""
        return iter(()) if self._index is None else self._index.read_files()

    def load(self, doc_id: str) -> LoadedTerms | None:
        """Load the terms of a document; None: the index does not have it. A document that does not follow the one
        before is loaded from the index as it is now."""
        if self._rest is None or doc_id <= self._last:
            self._rest = self.read_all()
            self._next = next(self._rest, None)
        self._last = doc_id
        while self._next is not None and self._next.item_id < doc_id:
            self._next = next(self._rest, None)
        found = self._next
        return LoadedTerms(doc_id, found.sha256, found) if found is not None and found.item_id == doc_id else None


def make_statistics(data: str) -> Any:
    """The terms of the index as a `pyarrow.Table`. Raises OperatorError if there is no index."""
    import pyarrow as pa

    with closing(IndexTerms(find_index(data))) as index:
        found = index.count()
    schema = make_schema(
        [("term", pa.string()), ("chunks", pa.int64()), ("count", pa.int64())],
        {"schema": "inorder.statistics", "schema_version": "2", "chunks": str(len(found.sizes))},
    )
    return pa.table([pa.array(found.terms, pa.string()), found.chunks, found.counts], schema=schema)
