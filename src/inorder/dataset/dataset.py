"""`inorder.open`: DATA in Python."""

import asyncio
import difflib
import os
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from types import TracebackType
from typing import Any, Literal, TypedDict, overload

from inorder.documents.chunk.chunks import Chunk
from inorder.errors import OperatorError, require
from inorder.host.spelling import read_spelling, spell
from inorder.host.system import require_posix
from inorder.index.hits import Hit
from inorder.index.locations import identify_file
from inorder.index.rows import DOCUMENT
from inorder.index.search import SearchAnswer, SearchOptions, search
from inorder.library.opening import find_index, read_source_roots
from inorder.library.reader import LibraryReader
from inorder.stage.data_layout import require_current_data, require_directory

from .boxes import PageBox, find_boxes
from .content_tables import ContentTable
from .document import DatasetDocument
from .export.export import export_data
from .export.options import SHARD_BYTES, ExportOptions, ExportOutcome, choose_format
from .extracted import ExtractedFields, ExtractTable
from .reader import open_data
from .results import CHUNK_FORMAT, DOCUMENT_FORMAT, LoadedResult
from .rows import Rows
from .tables import (
    FAMILIES,
    VECTOR_TABLES,
    ChunkTable,
    DenseVector,
    DocumentTable,
    LexicalTerms,
    SparseTerms,
    TableOfTables,
)
from .terms import make_statistics

Family = Literal["dense", "sparse", "lexical"]
_SUGGESTIONS = 3
_COMPARED_MAX = 20_000
"""Ids that are compared with a misspelled one."""


class SearchWhere(TypedDict, total=False):
    """Conditions that a chunk must meet to be found.

    >>> import inorder
    >>> inorder.dataset.SearchWhere(path="docs/*", only="document")
    {'path': 'docs/*', 'only': 'document'}
    """

    path: str | Sequence[str]
    """A glob over paths or doc ids. Of several values one must be met, and none of those that begin with `!`; so it is
    with the other conditions that take a list."""
    language: str | Sequence[str]
    kind: str | Sequence[str]
    """Kind of the chunk: function, class, section..."""
    only: str
    """`code` or `document`."""
    type: str | Sequence[str]
    """The end of file names, such as `pdf`."""
    source: str | Sequence[str]
    """The name of a source, with which doc ids begin."""


def open(data: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> "Dataset":
    """Open DATA for reading. Nothing is locked: a run may write at the same time, and what it commits is seen by the
    next iteration.

    Arguments:
        data: The directory that `inorder run --data` wrote, `.inorder` unless another was given.

    Raises:
        OperatorError: There is no such directory, or an earlier version has written it.

    >>> import inorder, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, inorder.open(folder) as data:
    ...     data.chunks()
    Traceback (most recent call last):
    inorder.errors.OperatorError: no library in ...; make one with `inorder run SRC`
    """
    return Dataset(data)


class Dataset:
    """DATA as a dataset: documents, chunks and vectors, one by one or as columns, and search. Thread-safe.

    >>> import inorder
    >>> def list_titles(folder: str) -> list[str]:
    ...     with inorder.open(folder) as data:
    ...         return [document.name for document in data.documents()]
    """

    def __init__(self, data: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        require_posix("datasets")
        self.path = os.path.abspath(os.fsdecode(data))
        """The directory."""
        self._is_closed = False
        if not os.path.isdir(self.path):
            require_directory(self.path)
            raise OperatorError(f"no DATA directory at {os.fsdecode(data)}; run `inorder run SRC --data DIR` first")
        require_current_data(self.path)

    def __repr__(self) -> str:
        return f"inorder.open({self.path!r})"

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the dataset. Further calls raise `OperatorError`. Idempotent."""
        self._is_closed = True

    def documents(self) -> Rows[DatasetDocument]:
        """Return the documents, in the order of their ids. Raises OperatorError if DATA has none."""
        return Rows(self._require_open(), DocumentTable(self._find_chunks, self._find_copies))

    def chunks(self) -> Rows[Chunk]:
        """Return the chunks of all documents. Raises OperatorError if DATA has none."""
        return Rows(self._require_open(), ChunkTable())

    def tables(self) -> Rows[ContentTable]:
        """Return the tables in all documents, as columns and rows of text. Raises OperatorError if DATA has no
        documents."""
        return Rows(self._require_open(), TableOfTables())

    def extracted(self, name: str) -> Rows[ExtractedFields]:
        """Return what `inorder extract` has found under this name, in the order of the documents. Documents that have
        changed since have no rows. Raises OperatorError if nothing was extracted."""
        return Rows(self._require_open(), ExtractTable(name))

    @overload
    def vectors(self, family: Literal["dense"] = "dense") -> Rows[DenseVector]: ...
    @overload
    def vectors(self, family: Literal["sparse"]) -> Rows[SparseTerms]: ...
    @overload
    def vectors(self, family: Literal["lexical"]) -> Rows[LexicalTerms]: ...
    def vectors(self, family: str = "dense") -> "Rows[DenseVector] | Rows[SparseTerms] | Rows[LexicalTerms]":
        """Return the vectors of all chunks in one family. Raises OperatorError if DATA has none."""
        require(family in FAMILIES, f"the family of vectors must be one of {', '.join(FAMILIES)}; got {family!r}")
        return Rows(self._require_open(), VECTOR_TABLES[family])

    def statistics(self) -> Any:
        """Return the terms of the index as a `pyarrow.Table`: for each term, the number of chunks that contain it and
        how often they do. Raises OperatorError if there is no index."""
        return make_statistics(self._require_open())

    def get(self, doc_id: str) -> DatasetDocument:
        """Return one document by its id. Raises OperatorError if DATA does not have it."""
        loaded = self._load_document(spell(doc_id))
        if loaded is None:
            self.documents()  # says so if there are none at all
            raise OperatorError(f"no document '{doc_id}' in {self.path}{self._explain(spell(doc_id))}")
        return DatasetDocument(loaded, self._find_chunks, self._find_copies)

    def find(self, text: str) -> DatasetDocument:
        """Return one document by its id, by the path of its source file, or by an ending of its id that no other
        document has. Raises OperatorError if there is none, or more than one."""
        data = self._require_open()
        roots = read_source_roots(data).get(DOCUMENT, {})
        paths = dict.fromkeys((text, read_spelling(text)))
        given, text = text, spell(text)
        for doc_id in (text, *(each for path in paths for each in identify_file(roots, path))):
            loaded = self._load_document(doc_id)
            if loaded is not None:
                return DatasetDocument(loaded, self._find_chunks, self._find_copies)
        ending = f"/{text.lstrip('/')}"
        with open_data(data) as reader:
            ids = (result.doc_id for result in reader.open(DOCUMENT_FORMAT).iterate())
            found = list(islice((doc_id for doc_id in ids if doc_id.endswith(ending)), _SUGGESTIONS + 1))
        if len(found) > 1:
            shown = ", ".join([*map(repr, found[:_SUGGESTIONS]), *(["..."] if len(found) > _SUGGESTIONS else [])])
            raise OperatorError(f"several documents in {self.path} end with '{given}': {shown}; give more of the id")
        return self.get(found[0] if found else given)

    def _explain(self, doc_id: str) -> str:
        """Say what else is known by this id, or suggest other ids, as the end of a message."""
        with closing(LibraryReader(self.path)) as library:
            file, failure = library.get_file(doc_id), library.find_failure(doc_id)
        if file is None:
            return self._suggest_ids(doc_id)
        if failure is not None:
            return f": the file has failed: {failure.message}"
        if file.reason:
            return f": the file is not read: {file.reason}"
        return ": it is source code; `inorder search` shows its parts" if file.kind.startswith("code") else ""

    def _suggest_ids(self, doc_id: str) -> str:
        """The ids of documents that are spelled like this one, as the end of a message; empty: there are none."""
        with open_data(self.path) as reader:
            results = reader.open(DOCUMENT_FORMAT)
            ids = [result.doc_id for result in islice(results.iterate(), _COMPARED_MAX)]
        names = {each.rpartition("/")[2].casefold(): each for each in ids}
        close = difflib.get_close_matches(doc_id, ids, _SUGGESTIONS)
        alike = difflib.get_close_matches(doc_id.rpartition("/")[2].casefold(), names, _SUGGESTIONS)
        found = list(dict.fromkeys([*(names[each] for each in alike), *close]))[:_SUGGESTIONS]
        return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""

    def search(
        self,
        question: str,
        k: int = 10,
        mode: str | None = None,
        where: SearchWhere | None = None,
        context: int = 0,
    ) -> SearchAnswer:
        """Search documents and code, as `inorder search` does.

        Arguments:
            question: Words; or a name: `sym:Kernel.step`, `def:step`, `ref:step`, `imports:msgspec`.
            k: The number of results.
            mode: By words (`lexical`), by vectors (`dense`), or by both. Default: as `inorder search`.
            where: Conditions that a chunk must meet, as in `{"path": "docs/*", "language": "en"}`.
            context: How many chunks of the file to add before and after each hit, up to 20.

        Returns:
            The answer: `hits` are the chunks that match, best first, and `files` the same by file; `places` what a
            lookup by name found.

        Raises:
            OperatorError: There is no index, the question has no words, or an option is wrong.
        """
        require(1 <= k <= 1000, f"k must be between 1 and 1000; got {k!r}")
        conditions: dict[str, Any] = dict(where or {})
        known = SearchWhere.__annotations__
        unknown = [name for name in conditions if name not in known]
        require(not unknown, f"unknown condition {', '.join(unknown)}; conditions: {', '.join(known)}")
        if mode is not None:
            conditions["mode"] = mode
        options = SearchOptions(count=k, context=context, **conditions)
        return search(find_index(self._require_open()), question, options)

    async def search_async(
        self,
        question: str,
        k: int = 10,
        mode: str | None = None,
        where: SearchWhere | None = None,
        context: int = 0,
    ) -> SearchAnswer:
        """Search as `search` does, in another thread, so that the event loop continues."""
        return await asyncio.to_thread(self.search, question, k, mode, where, context)

    def find_boxes(self, hit: Hit) -> list[PageBox]:
        """Return where the text of a hit is on the pages of its document; empty for one without pages, and for code.
        The document is read for it. Raises OperatorError if DATA does not have the document any longer."""
        if not hit.pages:
            return []
        document = self.get(hit.item_id)
        refs = next((chunk.refs for chunk in document.chunks if chunk.chunk_id == hit.chunk_id), [])
        return list(find_boxes(document.json, refs))

    def export(
        self,
        to: str | os.PathLike[str],
        what: Literal["documents", "chunks", "vectors", "tables", "all"] | str = "all",
        format: Literal["parquet", "jsonl", "files"] | None = None,
        shard_bytes: int = SHARD_BYTES,
    ) -> ExportOutcome:
        """Export tables for other tools, as `inorder export` does. The same documents give the same bytes; files that
        are there already with the same content are not written again.

        Arguments:
            to: The folder, or the address of an object store such as `s3://bucket/prefix`: a new one, or that of an
                earlier export.
            what: Which tables: `all` are documents, chunks and vectors; `tables` are those in the documents;
                `extract:NAME` has the fields of an extraction.
            format: Sharded Parquet, sharded JSON lines, or one set of files per document. Default: Parquet; for
                `tables` in a folder, files: a CSV and a Parquet file for each.
            shard_bytes: Shards have half to twice this size.

        Raises:
            OperatorError: DATA has no such results, or the folder holds something else.
            BusyError: Another process exports to this folder.
            InfrastructureError: The disk or the store is full, or failed. A folder has no manifest then; a store still
                has the earlier export.
        """
        place = os.fspath(to)
        chosen = choose_format(what, place) if format is None else format
        options = ExportOptions(what=what, to=place, format=chosen, shard_bytes=shard_bytes)
        return export_data(self._require_open(), options)

    def _find_chunks(self, doc_id: str) -> list[Chunk]:
        with open_data(self._require_open()) as reader:
            loaded = reader.open(CHUNK_FORMAT).load(doc_id)
            return [] if loaded is None else loaded.value

    def _find_copies(self, doc_id: str) -> list[str]:
        with open_data(self._require_open()) as reader:
            return [copy for copy, _ in reader.list_copies([doc_id])]

    def _load_document(self, item_id: str) -> LoadedResult | None:
        """The document with this id, or the one that a file with this id is a copy of; None: there is none."""
        with open_data(self._require_open()) as reader:
            documents = reader.open(DOCUMENT_FORMAT)
            loaded = documents.load(item_id)
            if loaded is None and (original := reader.find_original(item_id)) is not None:
                loaded = documents.load(original)
            return loaded

    def _require_open(self) -> str:
        require(not self._is_closed, f"the dataset {self.path} is closed")
        return self.path
