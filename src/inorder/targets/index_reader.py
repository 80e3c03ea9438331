"""Reads the documents of a published index for an export."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.errors import OperatorError
from inorder.index.place import IndexConnection
from inorder.index.rows import DOCUMENT
from inorder.index.schema import read_meta
from inorder.index.vectors.matrix import VectorMatrix
from inorder.library.opening import find_index
from inorder.stage.store.texts import TextReader

from .base import ExportedChunk, ExportedDocument, ListedDocument, TargetLayout

VERSION = "1"
"""TargetChanges whenever the same index is exported in another way: then all documents are written again."""
_SEPARATOR = " > "
_CHUNKS = (
    'SELECT id, number, chunk_id, kind, name, context, start, "end", pages, text FROM chunks WHERE file = ? '
    "ORDER BY number"
)


class IndexReader:
    """The published index of DATA, for any number of threads. What a run publishes meanwhile is noticed. Raises
    OperatorError if there is none, or if its vectors cannot be read."""

    def __init__(self, data: str) -> None:
        self._place = find_index(data)
        self._lock = RLock()
        self._version: object = None
        self._opened = IndexConnection(self._place)
        self._connection: sqlite3.Connection = self._opened.connection
        self._texts = TextReader(self._connection)

    def read_layout(self) -> TargetLayout:
        """What a target must know about the index."""
        with self._snapshot():
            return self._layout

    def count(self) -> int:
        """How many documents and source files there are."""
        with self._snapshot():
            [count] = self._connection.execute("SELECT COUNT(*) FROM files").fetchone()
        return int(count)

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """The first documents whose ids follow `after`, with their hashes."""
        query = f"SELECT item_id, {self._place.digest}, kind FROM files WHERE item_id > ? ORDER BY item_id LIMIT ?"
        with self._snapshot():
            rows = self._connection.execute(query, (after, count)).fetchall()
            return [ListedDocument(item_id, self._hash(digest, kind)) for item_id, digest, kind in rows]

    def read(self, doc_id: str) -> ExportedDocument | None:
        """A document with its chunks and vectors; None: the index does not have it."""
        query = f"SELECT id, kind, language, lines, {self._place.digest} FROM files WHERE item_id = ?"
        with self._snapshot():
            row = self._connection.execute(query, (doc_id,)).fetchone()
            if row is None:
                return None
            file, kind, language, lines, digest = row
            rows = self._connection.execute(_CHUNKS, (file,)).fetchall()
            vectors = self._read_vectors([each[0] for each in rows]) if kind == DOCUMENT else [b""] * len(rows)
            chunks = [self._make_chunk(kind, each, vector) for each, vector in zip(rows, vectors, strict=True)]
            return ExportedDocument(doc_id, self._hash(digest, kind), kind, language, lines, chunks)

    def _hash(self, digest: str, kind: str) -> str:
        """What the target stores as the hash of a document. The digest covers the content of the vectors."""
        provider = self._layout.provider if kind == DOCUMENT else ""
        return blake2b(f"{VERSION}\0{digest}\0{provider}".encode(), digest_size=16).hexdigest()

    def _make_chunk(self, file_kind: str, row: Sequence[Any], vector: bytes) -> ExportedChunk:
        _, number, chunk_id, kind, name, context, start, end, pages, text = row
        return ExportedChunk(
            number,
            chunk_id,
            kind,
            name,
            context,
            context.rpartition(_SEPARATOR)[0] if file_kind == DOCUMENT else "",
            start,
            end,
            [int(page) for page in pages.split() if page.isdecimal()],
            self._texts.read(text),
            vector,
        )

    def _read_vectors(self, chunks: Sequence[int]) -> list[bytes]:
        matrix = self._matrix
        if not matrix.is_available or not chunks:
            return [b""] * len(chunks)
        at = np.searchsorted(matrix.chunks, chunks, sorter=self._by_chunk)
        rows = self._by_chunk[np.minimum(at, len(self._by_chunk) - 1)]
        has_vector = (matrix.chunks[rows] == np.array(chunks)).tolist()
        return [raw if has else b"" for raw, has in zip(matrix.read(rows), has_vector, strict=True)]

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Let all queries in the body see one state of the index and its vectors."""
        with self._lock, self._opened.snapshot():
            if self._opened.version != self._version:
                self._open_matrix()
                self._version = self._opened.version
            yield

    def _open_matrix(self) -> None:
        self._matrix = matrix = VectorMatrix(self._connection, self._place.data)
        if matrix.problem:
            raise OperatorError(matrix.problem)
        self._by_chunk: npt.NDArray[np.int64] = np.argsort(matrix.chunks)
        self._layout = TargetLayout(dimensions=0, provider="")
        if matrix.is_available:
            width = int(read_meta(self._connection, "vectors_width"))
            self._layout = TargetLayout(dimensions=width, provider=matrix.provider)

    def close(self) -> None:
        """Close the database. Idempotent."""
        self._opened.close()
