"""Copy what a search needs of a library: no documents, no states, only what is visible."""

import os
import shutil
import sqlite3
from contextlib import closing, suppress

from inorder.errors import IntegrityError, OperatorError
from inorder.host.filesystem import SystemFilesystem, make_directories
from inorder.host.os_errors import translate_os_errors
from inorder.index.block_sums import BlockSums
from inorder.index.vectors.table import list_matrix_files
from inorder.library.connection import (
    WRITE_AGAIN,
    connect_library,
    library_path,
    require_whole_library,
    translate_library_errors,
)
from inorder.library.removal import OWNED_TABLES
from inorder.library.schema import (
    APPLICATION_ID,
    FORMAT,
    LATE_INDEXES,
    PAGE_BYTES,
    SEARCH_COPY,
    TABLES,
    TEXT_BLOCKS_MAX,
)

_VISIBLE = (
    "SELECT id FROM source.searchable WHERE since <= (SELECT epoch FROM source.generation) "
    "AND until > (SELECT epoch FROM source.generation)"
)
_OWNERS = "SELECT DISTINCT texts FROM main.searchable"
_WHOLE = (
    "meta",
    "generation",
    "totals",
    "sources",
    "steps",
    "segments",
    "term_blocks",
    "hidden",
    "vector_files",
    "vectors",
)


def export_search_copy(data: str, target: str) -> None:
    """Write a copy for search alone to the folder `target`: `library.sqlite` and the files with vectors.

    It has one generation, whole. It is read in one transaction, so that the log of a run that writes the library at the
    same time grows meanwhile. Raises OperatorError if the folder has a library already, and IntegrityError if what is
    copied is damaged.
    """
    path = library_path(target)
    if os.path.exists(path):
        raise OperatorError(f"{path} exists; choose another folder")
    with translate_os_errors(f"cannot write {target}"), translate_library_errors(path, "it cannot be written"):
        make_directories(target)
        connect_library(data).close()  # which says what is wrong with it
        if damaged := require_whole_library(data):
            raise IntegrityError(f"{damaged[0]} is damaged; {WRITE_AGAIN}")
        try:
            _copy(data, target, f"{path}.new")
            filesystem = SystemFilesystem()
            filesystem.sync_all(target)
            filesystem.rename(f"{path}.new", path)
            filesystem.sync_directory(target)
            BlockSums(target).write()
        finally:
            with suppress(FileNotFoundError):
                os.unlink(f"{path}.new")


def _copy(data: str, target: str, path: str) -> None:
    with closing(connect_library(data)) as library:
        uri, locking_mode = library.uri, library.locking_mode
    with closing(sqlite3.connect(path, isolation_level=None, uri=True)) as connection:
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA user_version={FORMAT}")
        connection.execute(f"PRAGMA locking_mode={locking_mode}")  # of what is attached from now on, too
        connection.execute("ATTACH ? AS source", (uri,))
        connection.execute("BEGIN")
        for table in _WHOLE:
            connection.execute(f"DELETE FROM main.{table}")
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM source.{table}")
        connection.execute(f"INSERT INTO main.searchable SELECT * FROM source.searchable WHERE id IN ({_VISIBLE})")
        for table in OWNED_TABLES:
            connection.execute(
                f"INSERT INTO main.{table} SELECT * FROM source.{table} WHERE file IN (SELECT id FROM main.searchable)"
            )
        connection.execute(
            f"INSERT INTO main.texts SELECT texts.* FROM ({_OWNERS}) AS owners JOIN source.texts ON texts.id "
            f"BETWEEN owners.texts * {TEXT_BLOCKS_MAX} AND owners.texts * {TEXT_BLOCKS_MAX} + {TEXT_BLOCKS_MAX - 1}"
        )
        connection.execute(
            "INSERT INTO main.items SELECT * FROM source.items WHERE id IN (SELECT item FROM main.searchable)"
        )
        connection.execute("INSERT OR REPLACE INTO main.meta VALUES (?, '1')", (SEARCH_COPY,))
        for file in list_matrix_files(connection, data):
            shutil.copyfile(file.path, f"{target}/{file.name}")
        connection.execute("COMMIT")
        connection.execute("DETACH source")
        for name, columns in LATE_INDEXES.items():
            connection.execute(f"CREATE INDEX {name} ON {columns}")
