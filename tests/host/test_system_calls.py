"""The real filesystem makes the system calls that the simulated disk is told.

Every promise about a power loss is proven on the simulated disk. It holds on a real one only if the real class writes,
syncs and renames the same files in the same order. So each program here runs on both, and the two logs are compared.
"""

import os
import zlib
from collections.abc import Callable
from errno import EIO
from pathlib import Path

import pytest

from inorder.core.transitions import State
from inorder.errors import SyncError
from inorder.host.filesystem import Filesystem, SystemFilesystem, write_atomic
from inorder.journal.writer import FSYNC_POLICIES, JournalOptions
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from inorder.sinks.base import AppliedRun, Entry, Output, Position
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import SYNC_EACH_MAX, OutputsSink
from tests.journal.jobs import PATH, Session
from tests.support.system_calls import Operation, SystemCalls

Program = Callable[[Filesystem], object]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SystemCalls:
    """The calls of a program in an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return SystemCalls(monkeypatch, tmp_path)


def simulate(program: Program, faults: DiskFaults | None = None) -> list[Operation]:
    """What the simulated disk is told, with paths relative to its root."""
    log: list[Operation] = []
    disk = Disk(
        on_operation=lambda number, name, path: log.append((name, os.path.relpath(f"/{path}", "/"))),
        faults=faults or DiskFaults(),
    )
    program(disk)
    return log


def make(filesystem: Filesystem, path: str, data: bytes = b"data") -> None:
    file = filesystem.open(path)
    file.append(data)
    file.close()


# ---- Programs


def sync_a_file(filesystem: Filesystem) -> None:
    file = filesystem.open("file")
    file.append(b"0123")
    file.sync()
    file.append(b"45")
    file.truncate(2)
    file.sync()
    file.close()


def change_names(filesystem: Filesystem) -> None:
    filesystem.make_directory("a/b")
    make(filesystem, "a/old")
    filesystem.rename("a/old", "a/b/new")
    filesystem.sync_directory("a/b")
    filesystem.unlink("a/b/new")
    filesystem.sync_directory("a")
    filesystem.sync_directory(".")


def sync_everything(filesystem: Filesystem) -> None:
    filesystem.make_directory("a")
    make(filesystem, "a/file")
    filesystem.sync_all("a")


def write_atomically(filesystem: Filesystem) -> None:
    filesystem.make_directory("a")
    write_atomic(filesystem, "a/file", b"old")
    make(filesystem, "a/file.new", b"left behind")
    write_atomic(filesystem, "a/file", b"new")
    write_atomic(filesystem, "here", b"new")


def publish_files(count: int) -> Program:
    """A sink of files that publishes so many, syncs them, removes one and is rolled back."""

    def program(filesystem: Filesystem) -> None:
        sink = OutputsSink(filesystem, "out")
        sink.roll_back(Position(), ())
        entries = []
        for seq in range(count):
            filesystem.make_directory("out.staging")
            make(filesystem, f"out.staging/{seq}")
            output = Output(f"deep/{seq % 3}/{seq}", 4, zlib.crc32(b"data"))
            staged = [f"out.staging/{seq}"]
            entries.append(Entry(seq, State.TERMINAL_SUCCESS, outputs=[output], staged=staged))
        position = sink.apply(entries)
        sink.sync()
        sink.sync()
        sink.apply([Entry(count, State.TERMINAL_FAIL, removals=["deep/0/0"])])
        sink.sync()
        undone = AppliedRun(0, 1, {1: [Output("deep/1/1", 4, 0)]})
        sink.roll_back(position, [undone])

    return program


def write_rows(filesystem: Filesystem) -> None:
    filesystem.make_directory("rows")
    sink = ManifestSink(filesystem, "rows/rows.jsonl", lambda entry: {"seq": entry.seq})
    position = sink.apply([Entry(0, State.TERMINAL_SUCCESS)])
    sink.sync()
    sink.apply([Entry(1, State.TERMINAL_SUCCESS)])
    sink.sync()
    sink.roll_back(position, ())
    sink.close()


def run_a_job(fsync: str) -> Program:
    """A job with a manifest and files, killed, resumed, killed and started over: its journal is compacted too."""

    def program(filesystem: Filesystem) -> None:
        options = JournalOptions(fsync=fsync, checkpoint_ms=150, compact_bytes=700)  # type: ignore[arg-type]
        Session(filesystem, options=options, dies_at=20).run()
        Session(filesystem, options=options, dies_at=3).run()
        Session(filesystem, options=options).run()

    return program


PROGRAMS: dict[str, Program] = {
    "a file is synced": sync_a_file,
    "names are synced": change_names,
    "a whole disk is synced": sync_everything,
    "a file is written atomically": write_atomically,
    "no file is published": publish_files(0),
    "a few files are published": publish_files(4),
    "many files are published": publish_files(SYNC_EACH_MAX + 2),
    "rows are written": write_rows,
    **{f"a job is run, fsync {fsync}": run_a_job(fsync) for fsync in FSYNC_POLICIES},
}


@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_real_filesystem_makes_the_calls_that_the_simulated_one_is_told(calls: SystemCalls, name: str) -> None:
    program = PROGRAMS[name]
    program(SystemFilesystem())
    assert calls.log == simulate(program)


# ---- The order that durability depends on, in words


def test_an_atomic_write_syncs_the_bytes_then_renames_then_syncs_the_folder(calls: SystemCalls) -> None:
    write_atomic(SystemFilesystem(), "file", b"data")
    assert calls.log == [
        ("create", "file.new"),
        ("append", "file.new"),
        ("sync", "file.new"),
        ("rename", "file"),
        ("sync_directory", "."),
    ]


def test_files_are_published_by_a_rename_and_become_durable_with_their_folders(calls: SystemCalls) -> None:
    publish_files(1)(SystemFilesystem())
    renamed = calls.log.index(("rename", "out/deep/0/0"))
    assert calls.log[renamed : renamed + 6] == [
        ("rename", "out/deep/0/0"),
        ("sync", "out/deep/0/0"),
        ("sync_directory", "out/deep/0"),
        ("sync_directory", "out/deep"),
        ("sync_directory", "out"),
        ("unlink", "out/deep/0/0"),
    ]


def test_many_files_become_durable_in_one_call(calls: SystemCalls) -> None:
    publish_files(SYNC_EACH_MAX + 1)(SystemFilesystem())
    renames = [at for at, (name, _) in enumerate(calls.log) if name == "rename"]
    assert calls.log[renames[-1] + 1] == ("sync_all", "out")
    assert calls.log.count(("sync_all", "out")) == 1


def test_the_name_of_a_new_manifest_becomes_durable_with_its_first_rows(calls: SystemCalls) -> None:
    write_rows(SystemFilesystem())
    path = "rows/rows.jsonl"
    synced = [("append", path), ("sync", path), ("sync_directory", "rows"), ("append", path), ("sync", path)]
    assert calls.log[2:7] == synced


def test_a_cut_manifest_is_synced_before_it_goes_on(calls: SystemCalls) -> None:
    write_rows(SystemFilesystem())
    assert calls.log[-2:] == [("truncate", "rows/rows.jsonl"), ("sync", "rows/rows.jsonl")]


# ---- Errors of the system


@pytest.mark.parametrize("name", ["a file is synced", "names are synced", "a whole disk is synced"])
def test_an_error_of_any_call_is_raised_and_not_swallowed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAMS[name]
    for number in range(len(simulate(program))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            SystemCalls(patch, folder).fail_at(number)
            with pytest.raises(OSError, match=os.strerror(EIO)) as caught:
                program(SystemFilesystem())
            assert caught.value.errno == EIO


@pytest.mark.req("JRN-2", "JRN-3")
def test_a_failed_sync_of_a_real_file_stops_the_run_and_is_noted_on_disk(calls: SystemCalls) -> None:
    log = simulate(lambda disk: Session(disk).run())
    begun = log.index(("append", PATH))
    calls.fail_at(log.index(("sync", PATH), begun))
    with pytest.raises(SyncError):
        Session(SystemFilesystem()).run()
    assert os.path.exists(f"{PATH}.distrusted")
    calls.before = lambda operation: None
    Session(SystemFilesystem()).run()
    assert not os.path.exists(f"{PATH}.distrusted")


def test_a_disk_that_cannot_be_synced_alone_is_synced_with_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr("inorder.host.filesystem.ctypes.CDLL", lambda *arguments, **options: object())
    monkeypatch.setattr(os, "sync", lambda: synced.append("all"))
    SystemFilesystem().sync_all(str(tmp_path))
    assert synced == ["all"]
