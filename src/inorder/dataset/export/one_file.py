"""Export one table to one Parquet file."""

import os
from contextlib import suppress
from typing import Any

from inorder.dataset.tables import DataTable
from inorder.errors import OperatorError, require
from inorder.host.filesystem import SystemFilesystem
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors
from inorder.host.regular_file import open_regular

from .folder import make_durable_directory
from .manifest import ShardEntry
from .writing import write_shard

SUFFIX = ".parquet"
"""The end of the name of a file. What else is named is a folder."""
_NEW = ".new"
_MAGIC = b"PAR1"


def export_to_file(data: str, path: str, table: DataTable[Any, Any]) -> ShardEntry:
    """Write the rows of a table to a new Parquet file, or replace one, durably and at once. Raises OperatorError if
    there is something else in its place."""
    folder, name = os.path.split(path)
    disk = SystemFilesystem()
    with translate_os_errors(f"the export to {path} failed"):
        _require_replaceable(path)
        make_durable_directory(disk, folder)
        lock = Lock(f"{folder}/.{name}.lock", f"the export {path}")
        try:
            with suppress(FileNotFoundError):
                disk.unlink(path + _NEW)
            entry = write_shard(disk, path + _NEW, "parquet", table, table.read(data))
            disk.rename(path + _NEW, path)
            disk.sync_directory(folder)
        finally:
            lock.release()
    return entry


def _require_replaceable(path: str) -> None:
    if os.path.lexists(path):
        require(os.path.isfile(path), f"{path} is no file")
        with open_regular(path) as file:
            if file.read(len(_MAGIC)) not in (_MAGIC, b""):
                raise OperatorError(f"{path} is not a Parquet file; choose another name")
