"""A library after a power loss or a kill at any moment: readers find a generation whole, what was synced is there, and
the next run ends with the same library."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from inorder.library.connection import connect_library, library_path
from inorder.library.rows import FileResult
from inorder.library.sink import LibrarySink
from inorder.library.whole.verify import verify_library
from inorder.sinks.base import Position
from tests.library.libraries import NOT_NAMED, commit, describe, opened, reading, write
from tests.library.making import make_code, make_document, make_removal, success
from tests.support.recorded_disk import LostPower, RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

QUESTIONS = ("lamp", "moon")
BEFORE = (
    make_document("docs/a", "yellow lamp", spec="hash:4"),
    make_document("docs/b", "green lamp", spec="hash:4"),
    make_code("src/c.py", "def lamp(): pass", "lamp"),
)
CHANGES: tuple[tuple[FileResult, ...], ...] = (
    (make_document("docs/a", "pale moon", "second part", spec="hash:4"), make_removal("src/c.py")),
    (make_document("docs/b", "green", "lamp", settings="s2", spec="hash:4", is_held=True),),
    (make_document("docs/d", "new moon", spec="hash:4"),),
)


class Program(NamedTuple):
    """A run, with its system calls and what was visible after each of its publications."""

    files: dict[str, bytes]
    """Before it."""
    events: list[tuple[Any, ...]]
    visible: list[tuple[int, dict[str, Any]]]
    """The number of events before which it was visible, and what it was."""
    synced: list[tuple[int, Position]]
    """The number of events after which a position was synced."""


def run(data: Path, note: Callable[[str, LibrarySink], None] = lambda what, sink: None) -> None:
    """Apply all changes, publish twice, and end."""
    with opened(data) as sink:
        start = 0
        for at, results in enumerate(CHANGES):
            sink.apply([success(start + number, result) for number, result in enumerate(results)])
            start += len(results)
            sink.sync()
            note("synced", sink)
            if at == 1:
                sink.publish()
                note("published", sink)
        sink.publish(with_held=True)
        note("published", sink)
        sink.finish()
    note("ended", sink)


def record(data: Path) -> Program:
    write(data, *BEFORE)
    files = {path.name: path.read_bytes() for path in data.iterdir() if path.is_file()}
    visible = [(0, describe(data, *QUESTIONS))]
    synced: list[tuple[int, Position]] = []
    with pytest.MonkeyPatch.context() as patch:
        calls = SystemCalls(patch, data)
        SqliteCalls(calls, patch)

        def note(what: str, sink: LibrarySink) -> None:
            if what == "synced":
                synced.append((len(calls.events), sink.position()))
            elif what == "published":
                visible.append((len(calls.events), {}))

        run(data, note)
    return Program(files, calls.events, visible, synced)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    found = record(tmp_path_factory.mktemp("recorded"))
    states = list_states(tmp_path_factory.mktemp("states"))
    visible = [(moment, state) for (moment, _), state in zip(found.visible, states, strict=True)]
    return found._replace(visible=visible)


def list_states(data: Path) -> list[dict[str, Any]]:
    """What is visible at first and after each publication."""
    write(data, *BEFORE)
    states = [describe(data, *QUESTIONS)]

    def note(what: str, sink: LibrarySink) -> None:
        if what == "published":
            states.append(describe(data, *QUESTIONS))

    run(data, note)
    return states


def restore(lost: LostPower, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lost.restore(folder)
    return folder


def finish_run(data: Path) -> None:
    """What the next run does: all changes again, as its plan finds them due, and an end."""
    with opened(data) as sink:
        for results in CHANGES:
            commit(sink, *results)
        sink.finish()


@pytest.mark.slow
def test_readers_find_a_generation_whole_and_what_was_synced_is_there(program: Program, tmp_path: Path) -> None:
    states = [state for _, state in program.visible]
    found = set()
    for lost in RecordedDisk(program.events, program.files).lose_power(samples=1):
        data = restore(lost, tmp_path / "found")
        with closing(LibrarySink(str(data))) as sink:  # recovers the log
            for moment, position in program.synced:
                assert lost.moment < moment or sink.holds(position, ()), lost.description
        state = describe(data, *QUESTIONS, may_be_found=NOT_NAMED)
        assert state in states, lost.description
        found.add(states.index(state))
    assert found == set(range(len(states)))


@pytest.mark.slow
def test_the_next_run_ends_with_the_same_library(program: Program, tmp_path: Path) -> None:
    expected = program.visible[-1][1]
    for lost in RecordedDisk(program.events, program.files).lose_power(samples=0):
        data = restore(lost, tmp_path / "found")
        finish_run(data)
        assert describe(data, *QUESTIONS) == expected, lost.description
        with closing(connect_library(str(data))) as connection:
            files = [name for (name,) in connection.execute("SELECT name FROM vector_files")]
            assert connection.execute("SELECT COUNT(*) FROM pending").fetchone() == (0,)
        assert sorted(name for name in os.listdir(data) if name.endswith(".f32")) == sorted(files)


@pytest.mark.slow
def test_a_process_that_is_killed_at_any_moment_leaves_what_it_has_committed(tmp_path: Path, program: Program) -> None:
    expected = program.visible[-1][1]
    states = [state for _, state in program.visible]
    moments = range(0, len(program.events), max(1, len(program.events) // 40))
    for moment in moments:
        data = tmp_path / str(moment)
        data.mkdir()
        for name, content in program.files.items():
            (data / name).write_bytes(content)
        child = os.fork()
        if child == 0:
            try:
                die_at(data, moment)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -9
        with reading(data) as reader:
            assert reader.read_totals().content_hash in {state["hash"] for state in states}
        finish_run(data)
        assert describe(data, *QUESTIONS) == expected
        shutil.rmtree(data)


def die_at(data: Path, moment: int) -> None:
    """Kill this process before the system call with this number."""
    patch = pytest.MonkeyPatch()
    calls = SystemCalls(patch, data)
    SqliteCalls(calls, patch)

    def die(operation: tuple[str, str]) -> None:
        if len(calls.log) > moment:
            os.kill(os.getpid(), 9)

    calls.before = die
    run(data)


def test_old_files_with_vectors_are_removed_after_it_is_durable_that_nothing_names_them(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    with pytest.MonkeyPatch.context() as patch:
        calls = SystemCalls(patch, tmp_path)
        SqliteCalls(calls, patch)
        with opened(tmp_path) as sink:
            commit(sink, make_document("docs/a", "pale moon", spec="hash:4"))
            begun = len(calls.log)
            sink.publish()
            log = calls.log[begun:]
    [removed] = [at for at, (name, path) in enumerate(log) if name == "unlink" and path.endswith(".f32")]
    assert log[:removed][-1] == ("sync", "library.sqlite-wal")


@pytest.mark.process
def test_terms_that_were_lost_with_the_process_are_counted_again(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            with opened(tmp_path) as sink:
                commit(sink, *BEFORE)
                os.kill(os.getpid(), 9)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/z", "another lamp"))
        sink.finish()
    assert len(describe(tmp_path, "lamp")["answers"][0]) == 4
    assert list(verify_library(str(tmp_path))) == []


def test_a_transaction_that_fails_leaves_the_writer_as_it_was(tmp_path: Path) -> None:
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "yellow lamp"))
        broken = make_document("docs/b", "green lamp")
        broken.steps[0].output = None  # type: ignore[assignment]
        with pytest.raises(Exception, match=r".+"):
            commit(sink, make_document("docs/c", "moon lamp"), broken)
        commit(sink, make_document("docs/b", "green lamp"))
        sink.finish()
    assert {item for item, _, _ in describe(tmp_path, "lamp")["answers"][0]} == {"docs/a", "docs/b"}


def test_a_library_without_a_write_ahead_log_is_left(tmp_path: Path) -> None:
    write(tmp_path, *BEFORE)
    assert not os.path.exists(f"{library_path(str(tmp_path))}-wal")
