"""Export as one set of files per document: the layout of `--layout files`, written by the same code.

    doctags/<doc id>.doctags, <doc id>.docling.json
    chunks/<doc id>.parquet
    vectors/<family>/<doc id>.parquet

A file that has the right content is not written again.
"""

import hashlib
import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from inorder.dataset.columns import LexicalColumns
from inorder.dataset.document import DatasetDocument
from inorder.dataset.results import DataReader, LoadedResult
from inorder.dataset.tables import CHUNKS, DOCUMENTS, DataTable
from inorder.documents.chunk.storage import write_chunks
from inorder.documents.embed.storage import write_dense, write_sparse
from inorder.documents.layout import CHUNK_SUFFIXES, DOCTAGS_SUFFIX, RECORD_SUFFIX, list_outputs
from inorder.documents.parquet import write_table

from .folder import ExportFolder
from .manifest import TableEntry
from .options import TableExport

_DOCTAGS_FOLDER = "doctags"
_PARQUET = CHUNK_SUFFIXES["parquet"]
Write = Callable[[io.BytesIO, LoadedResult, Any], object]


def export_files(
    reader: DataReader, table: DataTable[Any, Any], folder: ExportFolder, progress: TableExport
) -> TableEntry:
    """Write the files of one table, and remove those of documents that are gone."""
    digest = hashlib.sha256()
    results = table.open(reader)
    for result in results.iterate():
        loaded = results.load(result.doc_id)
        if loaded is None:
            continue
        decoded = table.decode(loaded)
        for path, content in _list_contents(table.name, loaded, decoded):
            digest.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
            _put_file(folder, path, content, progress)
        progress.documents += 1
        progress.read += 1
        progress.rows += sum(1 for _ in table.list_rows(result.doc_id, decoded))
    name = _DOCTAGS_FOLDER if table.name == DOCUMENTS else table.name
    for suffix in (DOCTAGS_SUFFIX, RECORD_SUFFIX) if table.name == DOCUMENTS else (_PARQUET,):
        for file in list_outputs(folder.root, name, suffix):
            if not results.has(file.doc_id):
                folder.begin()
                folder.filesystem.unlink(file.path)
    if folder.is_begun:
        folder.filesystem.sync_all(folder.root)
    return TableEntry(documents=progress.documents, rows=progress.rows, bytes=progress.bytes, sha256=digest.hexdigest())


def _put_file(folder: ExportFolder, path: str, content: bytes, progress: TableExport) -> None:
    """Write a file, unless it has this content."""
    progress.bytes += len(content)
    if folder.read(path) == content:
        progress.kept += 1
    else:
        _write_file(folder, path, content)
        progress.written += 1


def _write_file(folder: ExportFolder, path: str, content: bytes) -> None:
    """Write a file atomically. `export_files` makes all of them durable at once."""
    folder.begin()
    place = f"{folder.root}/{path}"
    folder.filesystem.make_directory(os.path.dirname(place))
    temporary = f"{place}.new"
    with suppress(FileNotFoundError):
        folder.filesystem.unlink(temporary)
    file = folder.filesystem.open(temporary)
    try:
        file.append(content)
    except BaseException:
        folder.filesystem.unlink(temporary)
        raise
    finally:
        file.close()
    folder.filesystem.rename(temporary, place)


def _list_contents(table: str, loaded: LoadedResult, decoded: Any) -> Iterator[tuple[str, bytes]]:
    """The files of one document, with their paths."""
    if table == DOCUMENTS:
        yield from _list_forms(decoded)
        return
    path = f"{table}/{loaded.doc_id}{_PARQUET}"
    if loaded.path.endswith(_PARQUET):
        yield path, Path(loaded.path).read_bytes()
        return
    buffer = io.BytesIO()
    _WRITERS[table](buffer, loaded, decoded)
    yield path, buffer.getvalue()


def _list_forms(document: DatasetDocument) -> Iterator[tuple[str, bytes]]:
    base = f"{_DOCTAGS_FOLDER}/{document.doc_id}"
    yield f"{base}{DOCTAGS_SUFFIX}", document.write_doctags()
    yield f"{base}{RECORD_SUFFIX}", document.write_record()


def _write_dense(buffer: io.BytesIO, loaded: LoadedResult, decoded: Any) -> object:
    return write_dense(buffer, decoded.ids, decoded.matrix, decoded.provider, decoded.spec, loaded.cfg_hash)


def _write_sparse(buffer: io.BytesIO, loaded: LoadedResult, decoded: Any) -> object:
    return write_sparse(buffer, decoded.ids, decoded.vectors, decoded.provider, decoded.vocabulary, loaded.cfg_hash)


def _write_lexical(buffer: io.BytesIO, loaded: LoadedResult, decoded: Any) -> object:
    columns = LexicalColumns(decoded.facts)
    columns.add(decoded.item_id, decoded)
    return write_table(buffer, pa.Table.from_batches([columns.finish()]).drop_columns(["doc_id", "number"]))


_WRITERS: dict[str, Write] = {
    CHUNKS: lambda buffer, loaded, decoded: write_chunks(buffer, "parquet", decoded, loaded.cfg_hash),
    "vectors/dense": _write_dense,
    "vectors/sparse": _write_sparse,
    "vectors/lexical": _write_lexical,
}
