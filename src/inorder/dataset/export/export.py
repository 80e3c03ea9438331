"""Export DATA: the one function behind the command line and `Dataset.export`.

Shards are prepared first: those that are there already with the same content are kept, the others are written beside
the export. Then all of them are published at once, and the manifest is written last.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pyarrow as pa

from inorder.dataset.extracted import ExtractTable, count_outdated
from inorder.dataset.reader import DataReader, open_data
from inorder.dataset.results import LibraryResults
from inorder.dataset.tables import (
    ATTEMPTS,
    TABLES,
    DataTable,
    LexicalTable,
    changes_meanwhile,
    list_table_names,
)
from inorder.dataset.terms import IndexChangedError
from inorder.errors import OperatorError, require
from inorder.files.addresses import StoreAddress, parse_address, strip_file_protocol
from inorder.files.object_store import ObjectStore
from inorder.host.filesystem import Filesystem, SystemFilesystem
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors
from inorder.host.temporary_folder import TemporaryFolder, remove_abandoned_folders
from inorder.library.connection import require_whole_library
from inorder.version import __version__

from .files import ExportedFiles
from .folder import HIDDEN, ExportFolder, make_durable_directory, require_export_folder
from .lease import ExportLease
from .manifest import ExportManifest, ShardEntry, TableEntry, combine_shards
from .one_file import SUFFIX, export_to_file
from .options import EXTRACTED, ExportOptions, ExportOutcome, TableExport
from .shards import Shard, ShardKey, plan_shards
from .stored import StoredExport, require_export_store
from .writing import write_shard

OnProgress = Callable[[str, TableExport], None]
_SHARES = {"chunks": 0.4, "tables": 0.2}
"""About the size of a shard as a part of the size of its results in the store, where it is not the same."""
_REPORT_EVERY = 100


def export_data(
    data: str,
    options: ExportOptions,
    on_progress: OnProgress = lambda name, table: None,
    filesystem: Filesystem | None = None,
) -> ExportOutcome:
    """Export tables of DATA. Raises OperatorError for a folder that cannot be used and for tables that DATA does not
    have, BusyError if another process exports to the same folder, InfrastructureError if the disk fails, and
    IntegrityError if the library is damaged: then nothing is changed."""
    require_whole_library(data)
    address = parse_address(options.to)
    if address is not None:
        return _export_to_store(data, address, options, on_progress)
    root = os.path.abspath(strip_file_protocol(options.to))
    require(not _contains(os.path.abspath(data), root), f"--to must not be a folder of DATA ({data})")
    if options.what.startswith(EXTRACTED) and root.endswith(SUFFIX) and not os.path.isdir(root):
        return _export_to_file(data, root, options)
    require_export_folder(root)
    tables = select_tables(data, options.what)
    disk = filesystem or SystemFilesystem()
    with translate_os_errors(f"the export to {root} failed"):
        make_durable_directory(disk, f"{root}/{HIDDEN}")
        lock = None if filesystem else Lock(f"{root}/{HIDDEN}/lock", f"the export {root}")
        try:
            return _export_one_state(data, lambda: ExportFolder(root, disk), options, on_progress, tables)
        finally:
            if lock is not None:
                lock.release()


def _export_to_file(data: str, path: str, options: ExportOptions) -> ExportOutcome:
    require(options.format == "parquet", f"{path} is a Parquet file; leave out --format, or name a folder")
    [table] = select_tables(data, options.what)
    with open_data(data) as reader:
        documents = sum(1 for _ in table.open(reader).iterate())
        outdated = count_outdated(reader, table)
    written = export_to_file(data, path, table)
    sizes = {"rows": written.rows, "bytes": written.bytes, "written": 1}
    done = TableExport(documents=documents, read=documents, outdated=outdated, **sizes)
    return ExportOutcome(to=path, format=options.format, tables={table.name: done})


def check_store(to: str) -> None:
    """Raise what an export to an object store would raise about its address, where that can be told without DATA."""
    address = parse_address(to)
    if address is None:
        raise OperatorError(f"{to!r} is not the address of an object store")
    require_export_store(ObjectStore(address, by="--to"))


def _export_to_store(
    data: str, address: StoreAddress, options: ExportOptions, on_progress: OnProgress
) -> ExportOutcome:
    require(options.format != "files", "--format files needs a local folder; choose parquet or jsonl")
    tables = select_tables(data, options.what)
    store = ObjectStore(address, by="--to")
    require_export_store(store)
    lease = ExportLease(store, f"the export {address}")
    try:
        remove_abandoned_folders()
        with translate_os_errors("a shard could not be written"), TemporaryFolder() as scratch:
            return _export_one_state(data, lambda: StoredExport(store, lease, scratch), options, on_progress, tables)
    finally:
        lease.release()


def _export_one_state(
    data: str,
    open_target: Callable[[], ExportFolder | StoredExport],
    options: ExportOptions,
    on_progress: OnProgress,
    tables: list[DataTable[Any, Any]],
) -> ExportOutcome:
    """Export tables as they are at one moment. If a run changes one of them meanwhile, nothing is published, and all
    are exported again; shards that are still the same are kept."""
    has_terms = any(isinstance(table, LexicalTable) for table in tables)
    for attempt in range(ATTEMPTS):
        with open_data(data) as reader, suppress(IndexChangedError):
            if has_terms and attempt:
                reader.terms.weigh()  # before anything else, because runs publish while this export goes on
            outcome = _Export(reader, open_target(), options, on_progress).run(tables)
            if outcome is not None:
                return outcome
    raise changes_meanwhile(data)


def _read_versions(reader: DataReader, tables: list[DataTable[Any, Any]]) -> list[object]:
    """The states of what these tables are made of."""
    return [table.open(reader).read_version() for table in tables]


def select_tables(data: str, what: str) -> list[DataTable[Any, Any]]:
    """The tables that DATA has, of those that were asked for. Raises OperatorError if there are none."""
    wanted = _list_tables(what)
    with open_data(data) as reader:
        found = [table for table in wanted if next(table.open(reader).iterate(), None) is not None]
    if not found:
        command = wanted[0].made_by if what != "all" else "run SRC"
        raise OperatorError(f"no {'results' if what == 'all' else what} in {data}; run `inorder {command}` first")
    return found


def _list_tables(what: str) -> list[DataTable[Any, Any]]:
    if what.startswith(EXTRACTED):
        return [ExtractTable(what.removeprefix(EXTRACTED))]
    return [TABLES[name] for name in list_table_names(what)]


def _contains(outer: str, inner: str) -> bool:
    return os.path.commonpath([os.path.realpath(outer), os.path.realpath(inner)]) == os.path.realpath(outer)


class _Export:
    """One export, under way."""

    def __init__(
        self, reader: DataReader, target: ExportFolder | StoredExport, options: ExportOptions, on_progress: OnProgress
    ) -> None:
        self._reader = reader
        self._options = options
        self._on_progress = on_progress
        self._target = target
        self._outcome = ExportOutcome(to=target.root, format=options.format, tables={})
        previous = target.previous
        if previous is not None and previous.format != options.format:
            raise OperatorError(
                f"{target.root} holds an export in the format {previous.format};"
                " choose it with --format, or another folder"
            )

    def run(self, tables: list[DataTable[Any, Any]]) -> ExportOutcome | None:
        """Prepare and publish the tables. Those that were not asked for stay as they are. None: a run has changed
        results meanwhile, and nothing is published."""
        versions = _read_versions(self._reader, tables)
        previous = self._target.previous
        entries = {} if previous is None else dict(previous.tables)
        replaced = list_table_names(self._options.what)
        for name in replaced:
            entries.pop(name, None)
        target = self._target
        files = None
        if isinstance(target, ExportFolder) and self._options.format == "files":
            files = ExportedFiles(self._reader, target)
        for table in tables:
            outdated = count_outdated(self._reader, table)
            progress = self._outcome.tables[table.name] = TableExport(outdated=outdated)
            if files is not None:
                entries[table.name] = files.export(table, progress)
            else:
                entries[table.name] = self._prepare(table, progress)
            self._on_progress(table.name, progress)
        if files is not None:
            self._outcome.removed = files.finish(replaced)
        if _read_versions(self._reader, tables) != versions:
            return None
        names = [*TABLES, *sorted(set(entries) - set(TABLES))]
        ordered = {name: entries[name] for name in names if name in entries}
        manifest = ExportManifest(generator=f"inorder {__version__}", format=self._options.format, tables=ordered)
        self._outcome.removed += self._target.finish(manifest, replaced)
        return self._outcome

    def _prepare(self, table: DataTable[Any, Any], progress: TableExport) -> TableEntry:
        """Keep or write the shards of a table. If a run changes documents meanwhile, their shard is planned again."""
        version = f"{self._options.format} {table.name} inorder {__version__} pyarrow {pa.__version__}"
        size, share = self._options.shard_bytes, _SHARES.get(table.name, 1.0)
        entries: list[ShardEntry] = []
        after = ""
        results = table.open(self._reader)
        for _ in range(ATTEMPTS):
            planned = results.iterate(after)
            for shard in plan_shards(planned, after, version=version, target_bytes=size, share=share):
                entry = self._reuse(table, shard, len(entries), progress)
                if entry is None:
                    entry = self._write(table, results, shard, version, len(entries), progress)
                if entry is None:
                    break
                entries.append(entry)
                after = shard.last
                self._on_progress(table.name, progress)
            else:
                return combine_shards(table.name, table.made_by, entries)
        raise changes_meanwhile(self._reader.data)

    def _reuse(self, table: DataTable[Any, Any], shard: Shard, number: int, progress: TableExport) -> ShardEntry | None:
        found = self._target.reuse(shard.key)
        if found is None:
            return None
        progress.kept += 1
        return self._place(table, number, *found, progress)

    def _write(
        self,
        table: DataTable[Any, Any],
        results: LibraryResults,
        shard: Shard,
        version: str,
        number: int,
        progress: TableExport,
    ) -> ShardEntry | None:
        """Write a shard beside the export; None: its documents are not those that were planned."""
        target, key, path = self._target, ShardKey(version), self._target.stage(shard.key)
        documents = self._count(table.name, _decode_documents(table, results, shard, key), progress)
        try:
            written = write_shard(target.filesystem, path, self._options.format, table, documents)
        except BaseException:
            target.discard(shard.key)
            raise
        if key.finish() != shard.key:
            target.discard(shard.key)
            return None
        entry = msgspec.structs.replace(written, documents=shard.documents, key=shard.key)
        progress.written += 1
        return self._place(table, number, entry, target.keep(entry), progress)

    def _count(
        self, name: str, documents: Iterator[tuple[str, Any]], progress: TableExport
    ) -> Iterator[tuple[str, Any]]:
        for document in documents:
            yield document
            progress.read += 1
            if progress.read % _REPORT_EVERY == 0:
                self._on_progress(name, progress)

    def _place(
        self, table: DataTable[Any, Any], number: int, entry: ShardEntry, now: str, progress: TableExport
    ) -> ShardEntry:
        """Give a shard its final path."""
        final = f"{table.name}/part-{number:05}.{self._options.format}"
        path = self._target.place(final, entry, now)
        progress.documents += entry.documents
        progress.rows += entry.rows
        progress.bytes += entry.bytes
        return msgspec.structs.replace(entry, path=path)


def _decode_documents(
    table: DataTable[Any, Any], results: LibraryResults, shard: Shard, key: ShardKey
) -> Iterator[tuple[str, Any]]:
    """The documents of a shard as they are now. They are added to `key`."""
    for result in results.iterate(shard.after):
        if result.doc_id > shard.last:
            return
        loaded = results.load(result.doc_id)
        if loaded is not None:
            key.add(loaded.doc_id, loaded.sha256)
            yield loaded.doc_id, table.decode(loaded)
