"""A real run on real files, in a process that kills itself at one of its durable operations.

The operations are counted by its filesystem: the journal, the manifest, the published files and, where this process is
itself the worker, the staged ones. Rows of a database count too, from within the transaction that writes them.
"""

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import msgspec

from inorder.core.events import Envelope
from inorder.core.options import KernelOptions, RetryOptions, WindowOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Engine
from inorder.engines.inline import InlineEngine
from inorder.engines.process.engine import ProcessEngine
from inorder.engines.threads import ThreadEngine
from inorder.host.filesystem import SystemFile, SystemFilesystem
from inorder.journal.records import Header
from inorder.journal.writer import FsyncPolicy, JournalOptions
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.sinks.base import Entry, Output, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink, clear_staging
from inorder.sinks.sqlite import SqliteSink
from tests.crash.worker import ITEMS, STAGING, work

HEAD = ({"row": "__config__"},)
SCHEMA = "CREATE TABLE IF NOT EXISTS results (seq INTEGER PRIMARY KEY, files INTEGER NOT NULL);"
OPTIONS = KernelOptions(
    windows=WindowOptions(entries=4, entries_min=1, entries_max=4),
    retry=RetryOptions(retries_max=3, backoff_ms=0, backoff_ms_max=0),
    batch_max=2,
    commit_run_max=2,
)
SUCCESS = int(State.TERMINAL_SUCCESS)


class Errand(msgspec.Struct, kw_only=True):
    """What one process is to do, and when it is to die."""

    folder: str
    life: int = 0
    engine: str = "inline"
    fsync: FsyncPolicy = "batch"
    commit_thread: bool = False
    has_database: bool = False
    kill_at: int = -1
    """The number of the operation; below 0: it lives."""
    moment: str = "before"
    """`before` the operation, `after` it, or `within`: an append has then written a part of its bytes."""


class Reaper:
    """Counts durable operations, and ends the process at one of them."""

    def __init__(self, kill_at: int, moment: str) -> None:
        self._kill_at = kill_at
        self._moment = moment
        self._count = 0
        self._lock = threading.Lock()

    @contextmanager
    def operation(self) -> Iterator[bool]:
        """Around an operation. Whether it is to be left half done."""
        with self._lock:
            is_last = self._count == self._kill_at
            self._count += 1
        if is_last and self._moment == "before":
            self._kill()
        try:
            yield is_last and self._moment == "within"
        finally:
            if is_last:
                self._kill()

    def _kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
        threading.Event().wait()


class MortalFile(SystemFile):
    """A file whose operations are counted."""

    def __init__(self, path: str, reaper: Reaper) -> None:
        self._reaper = reaper
        with nullcontext() if os.path.exists(path) else reaper.operation():
            super().__init__(path)

    def append(self, data: bytes) -> None:
        with self._reaper.operation() as is_half:
            super().append(data[: len(data) // 2] if is_half else data)

    def truncate(self, size: int) -> None:
        with self._reaper.operation():
            super().truncate(size)

    def sync(self) -> None:
        with self._reaper.operation():
            super().sync()


class MortalFilesystem(SystemFilesystem):
    """The operating system's files, for a process that is about to die."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper

    def open(self, path: str) -> SystemFile:
        return MortalFile(path, self._reaper)

    def rename(self, old: str, new: str) -> None:
        with self._reaper.operation():
            super().rename(old, new)

    def unlink(self, path: str) -> None:
        with self._reaper.operation():
            super().unlink(path)

    def make_directory(self, path: str) -> None:
        with nullcontext() if os.path.exists(path) else self._reaper.operation():
            super().make_directory(path)

    def sync_directory(self, path: str) -> None:
        with self._reaper.operation():
            super().sync_directory(path)


class TickingClock:
    """A millisecond passes with every look at it: checkpoints come as often on a slow machine as on a fast one."""

    def __init__(self) -> None:
        self._now_ms = 0

    def now_ms(self) -> int:
        self._now_ms += 1
        return self._now_ms

    def wall_ms(self) -> int:
        return self._now_ms


def described(envelope: Envelope, item: int, attempts: int) -> Entry:
    """An item at its end. How often it was tried depends on who died when, and is not kept."""
    if envelope.outcome != SUCCESS:
        return Entry(envelope.seq, envelope.outcome, item=item, failure=envelope.failure)
    made = envelope.payload
    outputs = [Output(*output) for output in made.outputs]
    return Entry(envelope.seq, envelope.outcome, item=item, outputs=outputs, staging=made.staging)


def row_of(entry: Entry) -> dict[str, Any]:
    """A line of the manifest."""
    return {"seq": entry.seq, "item": entry.item, "status": State(entry.outcome).name, "outputs": entry.outputs}


def insert(reaper: Reaper, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """A row for each success; the process may die before it or after, and the transaction is open all the while."""
    for entry in entries:
        with reaper.operation():
            connection.execute("INSERT INTO results VALUES (?, ?)", (entry.seq, len(entry.outputs)))


def engine_of(errand: Errand, filesystem: SystemFilesystem) -> Engine:
    """Threads and this process stage their files through the filesystem that counts, other processes do not."""
    if errand.engine == "processes":
        return ProcessEngine(partial(work, errand.folder, errand.life), 2, timeout_s=None)
    function = partial(work, errand.folder, errand.life, filesystem=filesystem)
    if errand.engine == "threads":
        return ThreadEngine(function, 3, timeout_s=None)
    return InlineEngine(function)


def run(errand: Errand) -> None:
    """Begin, or go on; to the end, or to death."""
    folder = errand.folder
    reaper = Reaper(errand.kill_at, errand.moment)
    filesystem = MortalFilesystem(reaper)
    clear_staging(filesystem, f"{folder}/{STAGING}")
    sinks: list[Sink] = [
        ManifestSink(filesystem, f"{folder}/manifest.jsonl", row_of, head=HEAD),
        OutputsSink(filesystem, f"{folder}/out", staging=f"{folder}/{STAGING}"),
    ]
    if errand.has_database:
        sinks.append(SqliteSink(f"{folder}/results.sqlite", SCHEMA, partial(insert, reaper)))
    job = DurableJob(
        filesystem=filesystem,
        path=f"{folder}/run.journal",
        header=Header("killed", "", "", [sink.name for sink in sinks]),
        sinks=sinks,
        describe=described,
        options=JournalOptions(fsync=errand.fsync, checkpoint_ms=20, compact_bytes=500),
        commit_thread=errand.commit_thread,
    )
    plan = [(PlanItem(), item) for item in range(ITEMS)]
    DurableRun(job, job.open(), plan, engine_of(errand, filesystem), TickingClock(), OPTIONS, total=ITEMS).run()
