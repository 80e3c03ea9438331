"""Export as one set of files per document, for tools that read files:

    doctags/<doc id>.doctags, <doc id>.docling.json
    chunks/<doc id>.parquet
    vectors/<family>/<doc id>.parquet
    tables/<doc id>.<number>.csv, <doc id>.<number>.parquet

A name that is too long for a filesystem is cut, and ends with `~` and a hash of the id. A file that has the right
content is not written again, and one of a document that is gone is removed.
"""

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from inorder.dataset.content_tables import ContentTable
from inorder.dataset.reader import DataReader
from inorder.dataset.results import LoadedResult
from inorder.dataset.tables import CHUNKS, CONTENT_TABLES, DOCUMENTS, TABLES, DataTable, make_batch
from inorder.documents.parquet import make_schema, write_table

from .folder import ExportFolder
from .manifest import TableEntry
from .options import TableExport

_DOCTAGS_FOLDER = "doctags"
_DOCTAGS, _RECORD, _PARQUET = ".doctags", ".docling.json", ".parquet"
_NEW = ".new"
"""Ends the name of a file that is not complete."""
_NAME_BYTES_MAX = 255 - len(_RECORD) - len(_NEW)
"""Of a name without its endings."""
_CSV = ".csv"
_TABLE_BYTES_MAX = 255 - len(".1000000") - len(_PARQUET) - len(_NEW)
_TABLE_FILE = re.compile(rf"{CONTENT_TABLES}/(.+)\.(\d{{1,7}})(?:{_CSV}|{_PARQUET})(?:{_NEW})?", re.DOTALL)
"""A file of a table in a document: the name of the document, and the number."""


class ExportedFiles:
    """An export of files, under way."""

    def __init__(self, reader: DataReader, folder: ExportFolder) -> None:
        self._reader = reader
        self._folder = folder
        self._counts: dict[str, int] = {}
        """How many tables a document has, by the name of its files; only of those that have some."""

    def export(self, table: DataTable[Any, Any], progress: TableExport) -> TableEntry:
        """Write the files of one table."""
        digest = hashlib.sha256()
        results = table.open(self._reader)
        for result in results.iterate():
            loaded = results.load(result.doc_id)
            if loaded is None:
                continue
            decoded = table.decode(loaded)
            for path, content in _list_contents(table, loaded, decoded):
                digest.update(os.fsencode(f"{path}\0{hashlib.sha256(content).hexdigest()}\n"))
                _put_file(self._folder, path, content, progress)
            rows = sum(1 for _ in table.list_rows(result.doc_id, decoded))
            if rows and table.name == CONTENT_TABLES:
                self._counts[_name_files(result.doc_id, _TABLE_BYTES_MAX)] = rows
            progress.documents += 1
            progress.read += 1
            progress.rows += rows
        return TableEntry(
            documents=progress.documents, rows=progress.rows, bytes=progress.bytes, sha256=digest.hexdigest()
        )

    def finish(self, tables: Iterable[str]) -> int:
        """Remove the files of these tables that belong to no document any more, and what an interrupted export has
        left. Make everything durable. Returns the number of removed files."""
        removed, folder = 0, self._folder
        for name in tables:
            stale = self._list_stale_tables() if name == CONTENT_TABLES else self._list_stale(TABLES[name])
            for path in stale:
                folder.begin()
                folder.filesystem.unlink(f"{folder.root}/{path}")
                removed += 1
        if folder.is_begun:
            folder.filesystem.sync_all(folder.root)
        return removed

    def _list_stale(self, table: DataTable[Any, Any]) -> Iterator[str]:
        top = _DOCTAGS_FOLDER if table.name == DOCUMENTS else table.name
        suffixes = (_DOCTAGS, _RECORD) if table.name == DOCUMENTS else (_PARQUET,)
        results = table.open(self._reader)
        shortened: set[str] | None = None
        """The names of all documents, if there is a file whose name may be a cut one."""
        for path in _list_files(self._folder, top):
            suffix = next((each for each in suffixes if path.removesuffix(_NEW).endswith(each)), None)
            if suffix is None:
                continue
            name = path.removeprefix(f"{top}/").removesuffix(suffix)
            if "~" in name and shortened is None:
                shortened = {_name_files(result.doc_id) for result in results.iterate()}
            if path.endswith(_NEW) or not (results.has(name) if "~" not in name else name in (shortened or ())):
                yield path

    def _list_stale_tables(self) -> Iterator[str]:
        for path in _list_files(self._folder, CONTENT_TABLES):
            found = _TABLE_FILE.fullmatch(path)
            if found is not None and (path.endswith(_NEW) or int(found[2]) > self._counts.get(found[1], 0)):
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


def _name_files(doc_id: str, bytes_max: int = _NAME_BYTES_MAX) -> str:
    """The path of the files of a document, without their endings: the id, with names that are not too long."""
    parts = doc_id.split("/")
    if max(len(os.fsencode(part)) for part in parts) <= bytes_max:
        return doc_id
    mark = f"~{hashlib.sha256(os.fsencode(doc_id)).hexdigest()[:16]}"
    return "/".join(_cut_name(part, mark, bytes_max) for part in parts)


def _cut_name(part: str, mark: str, bytes_max: int) -> str:
    name = os.fsencode(part)
    if len(name) <= bytes_max:
        return part
    return name[: bytes_max - len(mark)].decode("utf-8", "ignore") + mark


def _list_contents(table: DataTable[Any, Any], loaded: LoadedResult, decoded: Any) -> Iterator[tuple[str, bytes]]:
    """The files of one document, with their paths."""
    if table.name == DOCUMENTS:
        base = f"{_DOCTAGS_FOLDER}/{_name_files(loaded.doc_id)}"
        yield f"{base}{_DOCTAGS}", decoded.write_doctags()
        yield f"{base}{_RECORD}", decoded.write_record()
    elif table.name == CONTENT_TABLES:
        name = _name_files(loaded.doc_id, _TABLE_BYTES_MAX)
        for found in decoded.tables:
            base = f"{CONTENT_TABLES}/{name}.{found.number}"
            yield f"{base}{_CSV}", found.to_csv().encode()
            yield f"{base}{_PARQUET}", _write_columns(found)
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


def _write_columns(table: ContentTable) -> bytes:
    """A table in a document as a Parquet file with its own columns, all of them text."""
    facts = {"doc_id": table.doc_id, "number": str(table.number), "page": str(table.page), "caption": table.caption}
    schema = make_schema([(name, pa.string()) for name in table.columns], {"schema": "inorder.table", **facts})
    columns = [pa.array([row[place] for row in table.rows], pa.string()) for place in range(len(table.columns))]
    buffer = io.BytesIO()
    write_table(buffer, pa.Table.from_arrays(columns, schema=schema))
    return buffer.getvalue()
