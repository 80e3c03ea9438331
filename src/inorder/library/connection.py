"""Where the library lies, how it is opened, and what its errors are for a user."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from inorder.errors import InorderError, IntegrityError, OperatorError
from inorder.host.database import connect_to_read
from inorder.host.os_errors import translate_os_errors
from inorder.host.regular_file import require_regular_database
from inorder.host.spelling import spell
from inorder.index.block_sums import DamagedFile, find_damage_before_reading, find_damaged_files
from inorder.index.locations import locate
from inorder.index.rows import CODE, DOCUMENT
from inorder.sinks.sqlite import translate_sqlite_error
from inorder.stage.data_layout import require_current_data

from .contents import read_roots, register_texts, take_text_error
from .schema import APPLICATION_ID, FORMAT

NAME = "library.sqlite"
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_MAKE_AGAIN = "run `inorder run SRC` again: everything is made again from the sources"
_REBUILD = f"remove it and {_MAKE_AGAIN}"
WRITE_AGAIN = "run `inorder run SRC` again, which writes it"
"""What mends a file with vectors."""
_LOCKED_S = 5.0
"""For how long a reader waits for a program that has locked the whole library. A run never does, except for a moment
when it begins after a crash."""


def require_library_file(data: str) -> None:
    """Raise IntegrityError if the library is missing or empty although the pipeline has run in DATA."""
    path = library_path(data)
    if os.path.exists(f"{data}/journal/run.journal"):
        if not os.path.exists(path):
            raise IntegrityError(f"{path} is missing; restore it from a backup, or {_MAKE_AGAIN}")
        if os.path.isfile(path) and not os.path.getsize(path):
            raise IntegrityError(f"{path} is empty; restore it from a backup, or {_MAKE_AGAIN}")


def library_path(data: str) -> str:
    """Return the path of the library of DATA."""
    return f"{data}/{NAME}"


class LibraryConnection(sqlite3.Connection):
    """A connection to a library that only reads.

    Queries may call `chunk_text(file, number)`, as the view `chunks` does, and `location(kind, item_id, path)`: where a
    row of `files` lies, as seen from the current folder. What both know of the library is read again by `refresh`.
    """

    uri: str
    """With which it was opened."""
    locking_mode: str
    """With which it is read."""
    _version = -1
    _forget_texts: Callable[[], None] | None = None

    def refresh(self) -> None:
        """Notice what was written since the last time. To be called in the transaction that reads."""
        [version] = self.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        if self._forget_texts is None:
            self._forget_texts = register_texts(self)
        self._forget_texts()
        roots = read_roots(self)
        self.create_function("location", 3, partial(_locate, {CODE: roots, DOCUMENT: roots}))
        self._version = version


def _locate(roots: Mapping[str, Mapping[str, str]], kind: str, item_id: str, path: str | bytes) -> str:
    """Return the path of a file as `locate` does, as text that SQLite can return: a name may not be valid Unicode."""
    return spell(locate(roots, kind, item_id, os.fsdecode(path)))


@contextmanager
def translate_library_errors(path: str, doing: str = "it cannot be read") -> Iterator[None]:
    """Raise an error of SQLite in the body as ours. What else makes no sense is an error of the library, too, if it
    differs from its checksums."""
    try:
        yield
    except InorderError:
        raise
    except Exception as error:
        if (damage := take_text_error()) is not None:
            raise IntegrityError(f"{path}: {damage}") from error
        _require_whole(path, find_damaged_files(os.path.dirname(path)), error)
        if not isinstance(error, sqlite3.Error):
            raise
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED:
            raise IntegrityError(f"{path} is damaged ({error}); {_REBUILD}") from error
        if isinstance(error, sqlite3.OperationalError) and str(error).startswith("no such"):
            raise IntegrityError(f"{path} is not a whole library ({error}); {_REBUILD}") from error
        raise translate_sqlite_error(error, path, doing) from error


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether a library was made here. A run that is killed while it makes one can leave a file without tables."""
    [count] = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return bool(count)


def _require_whole(path: str, damaged: Sequence[DamagedFile], cause: Exception | None = None) -> None:
    """Raise IntegrityError if the library is among these files."""
    for name, problem in damaged:
        if name == NAME:
            raise IntegrityError(f"{path} is damaged ({problem}); {_REBUILD}") from cause


def require_whole_library(data: str) -> list[str]:
    """Raise IntegrityError if the library differs from its checksums. Returns the paths of files with vectors that
    do."""
    with translate_os_errors(f"cannot read {data}"):
        found = find_damaged_files(data)
    _require_whole(library_path(data), found)
    return [f"{data}/{name}" for name, _ in found]


def find_library_problem(data: str) -> InorderError | None:
    """Return why the library of DATA, or a file with vectors, cannot be read or differs from its checksums; None: it is
    whole, or there is none."""
    try:
        require_library_file(data)
        if not os.path.exists(library_path(data)):
            return None
        connect_library(data).close()
        damaged = require_whole_library(data)
    except InorderError as error:
        return error
    return IntegrityError(f"{damaged[0]} is damaged; {WRITE_AGAIN}") if damaged else None


def check_format(connection: sqlite3.Connection, path: str) -> None:
    """Raise OperatorError unless this is a library of a format that can be read."""
    [application], [version] = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != APPLICATION_ID:
        raise OperatorError(f"{path} is a database, but not a library of inorder; move it away")
    if version > FORMAT:
        raise OperatorError(
            f"{path} was written by a newer version of inorder (format {version}, supported {FORMAT}); upgrade inorder"
        )
    if version < FORMAT:
        raise OperatorError(f"{path} has format {version}, which this version of inorder cannot read; {_REBUILD}")


def connect_library(data: str) -> LibraryConnection:
    """Return a connection that only reads the library of DATA, also from a medium that cannot be written.

    Raises OperatorError for a library that is missing, of another format, or no library, and IntegrityError for a
    damaged one.
    """
    path = library_path(data)
    require_library_file(data)
    if not os.path.exists(path):
        require_current_data(data)
        raise OperatorError(f"no library in {data}; make one with `inorder run SRC`")
    with translate_os_errors(f"{path} cannot be opened"):
        require_regular_database(path)
        _require_whole(path, find_damage_before_reading(data))
    with translate_library_errors(path):
        return connect_to_read(path, partial(_connect, path))


def _connect(path: str, uri: str, locking_mode: str) -> LibraryConnection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=_LOCKED_S, isolation_level=None, check_same_thread=False, factory=LibraryConnection
    )
    connection.uri, connection.locking_mode = uri, locking_mode
    try:
        connection.execute(f"PRAGMA locking_mode={locking_mode}")
        if not has_tables(connection):
            raise OperatorError(f"no library in {os.path.dirname(path)}; make one with `inorder run SRC`")
        check_format(connection, path)
        connection.execute("SELECT epoch FROM generation").fetchone()
        connection.refresh()
    except BaseException:
        connection.close()
        raise
    return connection
