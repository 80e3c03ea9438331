"""A harness per sink, for the conformance rules and for the tests of each sink."""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from inorder.core.transitions import State
from inorder.host.filesystem import Filesystem, SystemFile, SystemFilesystem
from inorder.host.lock import Lock
from inorder.sinks.base import Entry, Output, Sink
from inorder.sinks.manifest import ManifestSink, complete_lines
from inorder.sinks.memory import MemorySink
from inorder.sinks.outputs import OutputsSink
from inorder.sinks.sqlite import DatabaseSink, SqliteSink, Write
from inorder.sinks.testing import SinkHarness

HEAD = ({"row": "__config__", "cfg_hash": "c0ffee"},)
SCHEMA = "CREATE TABLE IF NOT EXISTS results (seq INTEGER PRIMARY KEY, result TEXT NOT NULL);"


class MemoryHarness(SinkHarness):
    """What is in memory dies with the sink."""

    survives_death = False

    def __init__(self) -> None:
        self.sink = MemorySink()

    def open(self) -> Sink:
        self.sink = MemorySink()
        return self.sink

    def content(self) -> object:
        return list(self.sink.entries)

    def applied_seqs(self) -> list[int]:
        return [entry.seq for entry in self.sink.entries if entry.payload is not None]

    def damage(self) -> None:
        del self.sink.entries[2]


class CountedFile(SystemFile):
    """Counts its appends."""

    appends = 0

    def append(self, data: bytes) -> None:
        self.appends += 1
        super().append(data)


class CountedFilesystem(SystemFilesystem):
    """Keeps the files it has opened."""

    def __init__(self) -> None:
        self.files: list[CountedFile] = []

    def open(self, path: str) -> CountedFile:
        self.files.append(CountedFile(path))
        return self.files[-1]


def row_of(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "status": State(entry.outcome).name,
        "attempts": entry.attempts,
        "extras": {"result": entry.payload, "item": entry.item},
    }


class ManifestHarness(SinkHarness):
    """A manifest on real files, locked as in real life."""

    is_exclusive = True

    def __init__(self, folder: Path) -> None:
        self.filesystem = CountedFilesystem()
        self.path = folder / "manifest.jsonl"

    def open(self) -> Sink:
        lock = Lock(f"{self.path}.lock", str(self.path))
        return ManifestSink(self.filesystem, str(self.path), row_of, head=HEAD, lock=lock)

    def content(self) -> object:
        return self.path.read_bytes()

    def applied_seqs(self) -> list[int]:
        rows = map(msgspec.json.decode, complete_lines(self.path.read_bytes())[len(HEAD) :])
        return [row["seq"] for row in rows if row["extras"]["result"] is not None]

    def damage(self) -> None:
        self.path.write_bytes(self.path.read_bytes().replace(b"result 4", b"result 5"))

    def write_count(self) -> int:
        return sum(file.appends for file in self.filesystem.files)


class OutputsHarness(SinkHarness):
    """A root and a staging area beside it, on any filesystem."""

    applies_payloads = False

    def __init__(self, filesystem: Filesystem, folder: str) -> None:
        self.filesystem = filesystem
        self.root = f"{folder}/root"
        self.staging = f"{folder}/root.staging"

    def open(self) -> Sink:
        return OutputsSink(self.filesystem, self.root)

    def content(self) -> object:
        return dict(published(self.filesystem, self.root))

    def applied_seqs(self) -> list[int]:
        paths = (path for path, _ in published(self.filesystem, self.root) if path.endswith("/text"))
        return sorted(int(path.split("/")[1]) for path in paths)

    def entry(self, seq: int, outcome: State) -> Entry:
        entry = super().entry(seq, outcome)
        if outcome is not State.TERMINAL_SUCCESS:
            return entry
        staging = f"{self.staging}/{seq}-1"
        texts = {f"group-{seq % 3}/{seq}/text": f"result {seq}".encode() * seq, f"flat-{seq}": b""}
        outputs = [stage(self.filesystem, staging, path, data) for path, data in texts.items()]
        return msgspec.structs.replace(entry, outputs=outputs, staging=staging)

    def damage(self) -> None:
        file = self.filesystem.open(f"{self.root}/group-0/12/text")
        data = file.read(0, file.size)
        file.truncate(0)
        file.append(data.replace(b"2", b"3"))
        file.close()


class SqliteHarness(SinkHarness):
    """A database with one table. Transactions are counted from the first one that writes a row."""

    is_exclusive = True
    stays_ahead = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.sqlite"
        self.statements: list[str] = []

    def open(self) -> Sink:
        return SqliteSink(str(self.path), SCHEMA, self._write)

    def _write(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        connection.set_trace_callback(self.statements.append)
        insert_results(connection, entries)

    def content(self) -> object:
        with closing(sqlite3.connect(self.path)) as reader:
            return list(reader.iterdump())

    def applied_seqs(self) -> list[int]:
        with closing(sqlite3.connect(self.path)) as reader:
            return [seq for (seq,) in reader.execute("SELECT seq FROM results ORDER BY rowid")]

    def damage(self) -> None:
        with closing(sqlite3.connect(self.path)) as writer, writer:
            writer.execute("UPDATE inorder_position SET checksum = checksum + 1")

    def write_count(self) -> int:
        return self.statements.count("COMMIT")


class KeepingSink(DatabaseSink):
    """A sink that keeps the rows of earlier runs, as the library does."""

    def __init__(self, path: str, schema: str, write: Write) -> None:
        self._write = write
        super().__init__(path, schema, keeps=True)

    def _write_entries(self, entries: Sequence[Entry]) -> None:
        self._write(self._connection, [entry for entry in entries if entry.applies])


class KeepingHarness(SqliteHarness):
    """The same, with a sink that keeps the rows of earlier runs."""

    def open(self) -> Sink:
        return KeepingSink(str(self.path), SCHEMA, self._write)


def insert_results(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """One row a success. A second one for the same seq would be refused."""
    connection.executemany("INSERT INTO results VALUES (?, ?)", [(entry.seq, entry.payload) for entry in entries])


def stage(filesystem: Filesystem, staging: str, path: str, data: bytes) -> Output:
    """Write a file as a worker does, in the staging folder of its attempt."""
    place = f"{staging}/{path}"
    filesystem.make_directory(place.rpartition("/")[0])
    file = filesystem.open(place)
    file.truncate(0)
    file.append(data)
    file.close()
    return Output(path, len(data), zlib.crc32(data))


def published(filesystem: Filesystem, root: str, folder: str = "") -> Iterator[tuple[str, bytes]]:
    """Every file beneath a root, by its path from there."""
    if filesystem.stat(root) is None:
        return
    for name in filesystem.list(f"{root}/{folder}" if folder else root):
        path = f"{folder}/{name}" if folder else name
        info = filesystem.stat(f"{root}/{path}")
        if info is not None and info.is_directory:
            yield from published(filesystem, root, path)
        else:
            yield path, filesystem.read(f"{root}/{path}")
