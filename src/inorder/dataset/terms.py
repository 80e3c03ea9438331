"""Loads the lexical vectors of DATA: the terms of the chunks of the index, and their weights."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from inorder.documents.parquet import make_schema
from inorder.index.chunk_terms import IndexedTerms, IndexTerms
from inorder.library.opening import find_index

from .results import ListedResult, LoadedResult

TERM_BYTES = 2
"""About the size of a word of a chunk in a shard: words that repeat take nothing."""


class TermReader:
    """The terms of documents and source files, as results. They come in the order of ids, and loading them in this
    order is fast. All are of one state of the index."""

    def __init__(self, index: IndexTerms | None) -> None:
        self._index = index
        self._rest: Iterator[IndexedTerms] | None = None
        self._next: IndexedTerms | None = None
        self._last = ""

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        """The documents and source files in the order of their ids, those that follow `after`."""
        for each in () if self._index is None else self._index.list_files(after):
            yield ListedResult(each.item_id, each.length * TERM_BYTES, each.sha256)

    def read_version(self) -> object:
        """The generation of the index."""
        return None if self._index is None else self._index.generation

    def has(self, doc_id: str) -> bool:
        """Whether the index has a document."""
        return self._index is not None and self._index.has(doc_id)

    def read_all(self) -> Iterator[IndexedTerms]:
        """The terms of all documents and source files. Raises IndexChangedError if they were listed before, and another
        state of the index was published since then."""
        return iter(()) if self._index is None else self._index.read_files()

    def load(self, doc_id: str) -> LoadedResult | None:
        """Load the terms of a document; None: the index does not have it. Raises as `read_all` does."""
        if self._rest is None or doc_id <= self._last:
            self._rest = self.read_all()
            self._next = next(self._rest, None)
        self._last = doc_id
        while self._next is not None and self._next.item_id < doc_id:
            self._next = next(self._rest, None)
        found = self._next
        if found is None or found.item_id != doc_id:
            return None
        return LoadedResult(doc_id, found.sha256, "", "", found)


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
