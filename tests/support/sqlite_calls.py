"""Records the writes, truncations, syncs and removals that SQLite makes, at the level of its VFS.

SQLite calls the operating system through a table of functions, its VFS. Four of them are replaced here, in the very
library that the module `sqlite3` uses, so that the code under test runs unchanged. A wrapper of another SQLite (apsw)
would test another library through another interface, and tracing system calls needs a tracer. Where Python is linked
with SQLite statically, there is no library to patch, and the tests are skipped.
"""

import ctypes
import os
from errno import ENOSPC
from typing import Any

import pytest

from tests.support.system_calls import SystemCalls, WriteFault

_CREATE, _SYNCS_FOLDER = 0x4, 0x800 | 0x4000 | 0x80000
"""Flags of an opened file: it may be created; it is a journal or a log, whose first sync also syncs its folder."""
_FULL, _IO_WRITE, _IO_SYNC, _IO_TRUNCATE, _IO_DELETE, _CANNOT_OPEN = 13, 778, 1034, 1546, 2570, 14
"""What SQLite is told of an error of the disk."""
_METHODS = 19
"""Words in the table of a file: its version and eighteen functions."""
_WRITE, _TRUNCATE, _SYNC = 3, 4, 5
_OPEN_AT, _DELETE_AT = 40, 48
"""Offsets in the table of a VFS."""

_Open = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_Delete = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_Write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
_Truncate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)

_kept: list[Any] = []
"""Functions and tables that open files may still use."""


class SqliteCalls:
    """Adds what SQLite does to the events of `calls`, until the test ends."""

    def __init__(self, calls: SystemCalls, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls = calls
        self._paths: dict[int, str] = {}
        """By the address of an open file."""
        self._is_new_journal: dict[int, bool] = {}
        table = _find_vfs()
        open_, delete = (ctypes.c_void_p.from_address(table + at) for at in (_OPEN_AT, _DELETE_AT))
        self._real_open, self._real_delete = _Open(open_.value), _Delete(delete.value)  # type: ignore[arg-type]
        mine = _Open(self._open), _Delete(self._delete)
        _kept.extend((self, *mine))
        for field, function in zip((open_, delete), mine, strict=True):
            monkeypatch.setattr(field, "value", ctypes.cast(function, ctypes.c_void_p).value)

    def _open(self, vfs: int, name: int | None, file: int, flags: int, out_flags: int | None) -> int:
        path = os.fsdecode(ctypes.string_at(name)) if name else ""
        is_new = bool(path and flags & _CREATE and not os.path.exists(path))
        code: int = self._real_open(vfs, name, file, flags, out_flags)
        if code == 0 and path:
            try:
                if is_new:
                    self._calls.add("create", path)
            except OSError:
                os.unlink(path)
                return _CANNOT_OPEN
            self._paths[file] = path
            self._is_new_journal[file] = is_new and bool(flags & _SYNCS_FOLDER)
            self._replace_methods(file)
        return code

    def _delete(self, vfs: int, name: int, syncs_folder: int) -> int:
        path = os.fsdecode(ctypes.string_at(name))
        try:
            if os.path.exists(path):
                self._calls.add("unlink", path)
            code: int = self._real_delete(vfs, name, syncs_folder)
            if code == 0 and syncs_folder:
                self._calls.add("sync_directory", os.path.dirname(path))
        except OSError:
            return _IO_DELETE
        return code

    def _replace_methods(self, file: int) -> None:
        """Give an open file a table of its own, with three functions replaced."""
        pointer = ctypes.c_void_p.from_address(file)
        words = ctypes.c_void_p * _METHODS
        table = words.from_buffer_copy(words.from_address(pointer.value or 0))
        write = _Write(table[_WRITE])  # type: ignore[arg-type]
        truncate = _Truncate(table[_TRUNCATE])  # type: ignore[arg-type]
        sync = _Sync(table[_SYNC])  # type: ignore[arg-type]

        def on_write(file: int, data: int, size: int, offset: int) -> int:
            try:
                self._calls.add("write", self._paths[file], offset, ctypes.string_at(data, size))
            except OSError as error:
                if isinstance(error, WriteFault):
                    write(file, data, error.keep(size), offset)
                if error.errno:
                    return _FULL if error.errno == ENOSPC else _IO_WRITE
            return int(write(file, data, size, offset))

        def on_truncate(file: int, size: int) -> int:
            try:
                self._calls.add("truncate", self._paths[file], size)
            except OSError:
                return _IO_TRUNCATE
            return int(truncate(file, size))

        def on_sync(file: int, flags: int) -> int:
            code = int(sync(file, flags))
            try:
                self._calls.add("sync", self._paths[file])
                if self._is_new_journal.pop(file, False):
                    self._calls.add("sync_directory", os.path.dirname(self._paths[file]))
            except OSError:
                return _IO_SYNC
            return code

        replaced = (_Write(on_write), _Truncate(on_truncate), _Sync(on_sync))
        for index, function in zip((_WRITE, _TRUNCATE, _SYNC), replaced, strict=True):
            table[index] = ctypes.cast(function, ctypes.c_void_p).value
        _kept.extend((table, replaced))
        pointer.value = ctypes.addressof(table)


def _find_vfs() -> int:
    """The address of the table of the default VFS. Skips the test if SQLite is not a library of its own."""
    import sqlite3

    sqlite3.connect(":memory:").close()
    with open("/proc/self/maps", encoding="utf-8") as file:
        libraries = {line.split()[-1] for line in file if "libsqlite3" in line}
    if len(libraries) != 1:
        pytest.skip("Python is linked with SQLite statically")
    find = ctypes.CDLL(libraries.pop()).sqlite3_vfs_find
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return int(find(None))
