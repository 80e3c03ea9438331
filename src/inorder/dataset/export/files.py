"""Export as one set of files per document, for tools that read files:

    doctags/<doc id>.doctags, <doc id>.docling.json
    chunks/<doc id>.parquet
    vectors/<family>/<doc id>.parquet

A name that is too long for a filesystem is cut, and ends with `~` and a hash of the id. A file that has the right
content is not written again, and one of a document that is gone is removed.
"""

import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from inorder.dataset.reader import DataReader
from inorder.dataset.results import LoadedResult
from inorder.dataset.tables import CHUNKS, DOCUMENTS, TABLES, DataTable, make_batch
from inorder.documents.parquet import write_table

from .folder import ExportFolder
from .manifest import TableEntry
from .options import TableExport

_DOCTAGS_FOLDER = "doctags"
_DOCTAGS, _RECORD, _PARQUET = ".doctags", ".docling.json", ".parquet"
_NEW = ".new"
"""Ends the name of a file that is not complete."""
_NAME_BYTES_MAX = 255 - len(_RECORD) - len(_NEW)
"""Of a name without its endings."""


def export_files(
    reader: DataReader, table: DataTable[Any, Any], folder: ExportFolder, progress: TableExport
) -> TableEntry:
    """Write the files of one table."""
    digest = hashlib.sha256()
    results = table.open(reader)
    for result in results.iterate():
        loaded = results.load(result.doc_id)
        if loaded is None:
            continue
        decoded = table.decode(loaded)
        for path, content in _list_contents(table, loaded, decoded):
            digest.update(os.fsencode(f"{path}\0{hashlib.sha256(content).hexdigest()}\n"))
            _put_file(folder, path, content, progress)
        progress.documents += 1
        progress.read += 1
        progress.rows += sum(1 for _ in table.list_rows(result.doc_id, decoded))
    return TableEntry(documents=progress.documents, rows=progress.rows, bytes=progress.bytes, sha256=digest.hexdigest())


def finish_files(reader: DataReader, tables: Iterable[str], folder: ExportFolder) -> int:
    """Remove the files of these tables that belong to no document any more, and what an interrupted export has left.
    Make everything durable. Returns the number of removed files."""
    removed = 0
    for name in tables:
        for path in _list_stale(reader, TABLES[name], folder):
            folder.begin()
            folder.filesystem.unlink(f"{folder.root}/{path}")
            removed += 1
    if folder.is_begun:
        folder.filesystem.sync_all(folder.root)
    return removed


def _list_stale(reader: DataReader, table: DataTable[Any, Any], folder: ExportFolder) -> Iterator[str]:
    top = _DOCTAGS_FOLDER if table.name == DOCUMENTS else table.name
    suffixes = (_DOCTAGS, _RECORD) if table.name == DOCUMENTS else (_PARQUET,)
    results = table.open(reader)
    shortened: set[str] | None = None
    """The names of all documents, if there is a file whose name may be a cut one."""
    for path in _list_files(folder, top):
        suffix = next((each for each in suffixes if path.removesuffix(_NEW).endswith(each)), None)
        if suffix is None:
            continue
        name = path.removeprefix(f"{top}/").removesuffix(suffix)
        if "~" in name and shortened is None:
            shortened = {_name_files(result.doc_id) for result in results.iterate()}
        if path.endswith(_NEW) or not (results.has(name) if "~" not in name else name in (shortened or ())):
            yield path


def _list_files(folder: ExportFolder, top: str) -> Iterator[str]:
    """Every file below a folder of the export."""
    pending = [top]
    while pending:
        path = pending.pop()
        found = folder.filesystem.stat(f"{folder.root}/{path}")
        if found is None:
            continue
        if found.is_directory:
            pending += [f"{path}/{name}" for name in reversed(folder.filesystem.list(f"{folder.root}/{path}"))]
        else:
            yield path


def _put_file(folder: ExportFolder, path: str, content: bytes, progress: TableExport) -> None:
    """Write a file, unless it has this content."""
    progress.bytes += len(content)
    if folder.read(path) == content:
        progress.kept += 1
    else:
        _write_file(folder, path, content)
        progress.written += 1


def _write_file(folder: ExportFolder, path: str, content: bytes) -> None:
    """Write a file atomically. `finish_files` makes all of them durable at once."""
    folder.begin()
    place = f"{folder.root}/{path}"
    folder.filesystem.make_directory(os.path.dirname(place))
    temporary = f"{place}{_NEW}"
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


def _name_files(doc_id: str) -> str:
    """The path of the files of a document, without their endings: the id, with names that are not too long."""
    parts = doc_id.split("/")
    if max(len(os.fsencode(part)) for part in parts) <= _NAME_BYTES_MAX:
        return doc_id
    mark = f"~{hashlib.sha256(os.fsencode(doc_id)).hexdigest()[:16]}"
    return "/".join(_cut_name(part, mark) for part in parts)


def _cut_name(part: str, mark: str) -> str:
    name = os.fsencode(part)
    if len(name) <= _NAME_BYTES_MAX:
        return part
    return name[: _NAME_BYTES_MAX - len(mark)].decode("utf-8", "ignore") + mark


def _list_contents(table: DataTable[Any, Any], loaded: LoadedResult, decoded: Any) -> Iterator[tuple[str, bytes]]:
    """The files of one document, with their paths."""
    if table.name == DOCUMENTS:
        base = f"{_DOCTAGS_FOLDER}/{_name_files(loaded.doc_id)}"
        yield f"{base}{_DOCTAGS}", decoded.write_doctags()
        yield f"{base}{_RECORD}", decoded.write_record()
    else:
        yield f"{table.name}/{_name_files(loaded.doc_id)}{_PARQUET}", write_rows(table, loaded, decoded)


def write_rows(table: DataTable[Any, Any], loaded: LoadedResult, decoded: Any) -> bytes:
    """The rows of one document as a Parquet file. Those of vectors have no columns that the path tells."""
    schema = table.make_schema(decoded)
    schema = schema.with_metadata({**schema.metadata, b"inorder.cfg_hash": loaded.cfg_hash.encode()})
    rows = pa.Table.from_batches([make_batch(table, [(loaded.doc_id, decoded)], schema)])
    buffer = io.BytesIO()
    write_table(buffer, rows if table.name == CHUNKS else rows.drop_columns(["doc_id", "number"]))
    return buffer.getvalue()
