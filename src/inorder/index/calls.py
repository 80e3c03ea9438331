"""The calls in source code: those of a file are in one row, and the names that it calls are in rows of their own.

A file makes many calls of few names. One row for each call would be most of the rows of an index, and most of the time
to write it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from inorder.code.model import CallSite

from .lexical.schema import DamagedIndexError


class PackedCalls(msgspec.Struct, array_like=True, gc=False):
    """The calls of a file as they are stored."""

    data: bytes
    callees: list[str]
    """The different names that are called."""


_Groups = list[tuple[str, list[tuple[str, int, int]]]]
"""Each caller, with the callee, the line and the column of each of its consecutive calls."""
_DECODER = msgspec.msgpack.Decoder(_Groups)


def pack_calls(calls: Sequence[CallSite]) -> PackedCalls:
    """Encode the calls of a file: consecutive calls of one caller together; empty if there are none."""
    groups: _Groups = []
    for site in calls:
        if not groups or groups[-1][0] != site.caller:
            groups.append((site.caller, []))
        groups[-1][1].append((site.callee, site.line, site.column))
    callees = list(dict.fromkeys([site.callee for site in calls]))
    return PackedCalls(msgspec.msgpack.encode(groups) if groups else b"", callees)


def unpack_calls(data: bytes) -> list[CallSite]:
    """The inverse of `pack_calls`. Raises DamagedIndexError for other data."""
    try:
        groups = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedIndexError(f"the calls of a file cannot be decoded: {error}") from None
    return [CallSite(caller, *site) for caller, sites in groups for site in sites]


def insert_calls(connection: sqlite3.Connection, file: int, packed: PackedCalls) -> None:
    """Write the calls of a file."""
    if packed.data:
        connection.execute("INSERT INTO calls VALUES (?, ?)", (file, packed.data))
        connection.executemany("INSERT INTO callees VALUES (?, ?)", [(file, name) for name in packed.callees])


def read_calls(connection: sqlite3.Connection, file: int) -> list[CallSite]:
    """The calls of a file, in their order."""
    found = connection.execute("SELECT data FROM calls WHERE file = ?", (file,)).fetchone()
    return unpack_calls(found[0]) if found else []


def read_callees(connection: sqlite3.Connection, file: int) -> list[str]:
    """The different names that a file calls, in no particular order."""
    return [name for (name,) in connection.execute("SELECT name FROM callees WHERE file = ?", (file,))]


def find_sites(connection: sqlite3.Connection, callee: str, count: int) -> Iterator[tuple[int, CallSite]]:
    """The first calls of a name in any case, each with the number of its file, in the order of files and places."""
    files = connection.execute(
        "SELECT DISTINCT files.id, item_id FROM callees JOIN files ON files.id = file "
        "WHERE name = ? COLLATE NOCASE ORDER BY item_id",
        (callee,),
    ).fetchall()
    wanted = _fold(callee)
    for file, _ in files:
        for call in sort_calls(call for call in read_calls(connection, file) if _fold(call.callee) == wanted):
            if count <= 0:
                return
            count -= 1
            yield file, call


def sort_calls(calls: Iterable[CallSite]) -> Sequence[CallSite]:
    """Calls of one file in the order of their places."""
    return sorted(calls, key=lambda call: (call.line, call.column))


def _fold(name: str) -> bytes:
    """As SQLite compares names without regard to case: only that of ASCII letters."""
    return name.encode("utf-8", "surrogatepass").lower()
