"""An SQLite sink after a power loss: whatever was synced is there, and rows and position always agree."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from inorder.core.transitions import State
from inorder.errors import IntegrityError
from inorder.sinks.base import Entry, Position
from inorder.sinks.sqlite import SqliteSink
from tests.support.recorded_disk import RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

SCHEMA = "CREATE TABLE IF NOT EXISTS results (seq INTEGER PRIMARY KEY, result TEXT);"
LARGE = "x" * 3000


class Content(NamedTuple):
    """What a reader finds: the seqs of the rows, and the position."""

    seqs: list[int]
    position: tuple[int, ...]


EMPTY = Content([], (0, 0, 0))


class Step(NamedTuple):
    """What a sink held after a step of a program."""

    events: int
    """How many system calls had been made."""
    content: Content
    is_synced: bool


def write(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    connection.executemany("INSERT INTO results VALUES (?, ?)", [(entry.seq, entry.payload) for entry in entries])


def open_sink(folder: Path) -> SqliteSink:
    return SqliteSink(str(folder / "db"), SCHEMA, write)


def run_of(start: int, end: int) -> list[Entry]:
    return [Entry(seq, State.TERMINAL_SUCCESS, payload=LARGE) for seq in range(start, end)]


def read(folder: Path) -> Content:
    """What is in the database, which must not be damaged. Nothing, if it is not there."""
    connection = sqlite3.connect(folder / "db")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if "inorder_position" not in tables:
            return EMPTY
        seqs = [seq for (seq,) in connection.execute("SELECT seq FROM results ORDER BY seq")]
        position = connection.execute('SELECT "end", "offset", checksum FROM inorder_position').fetchone()
        return Content(seqs, position or (0, 0, 0))
    finally:
        connection.close()


class Program:
    """Uses a sink, and notes after each step what a reader finds and how many system calls were made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        folder.mkdir()
        self.calls = SystemCalls(monkeypatch, folder)
        SqliteCalls(self.calls, monkeypatch)
        self.steps = [Step(0, EMPTY, True)]
        self.sink = open_sink(folder)
        self.note()
        self.sink.roll_back(Position(), ())

    def note(self, *, is_synced: bool = False) -> None:
        position = self.sink.position()
        seqs = [seq for (seq,) in self.sink._connection.execute("SELECT seq FROM results ORDER BY seq")]
        stored = (position.end, position.offset, position.checksum)
        self.steps.append(Step(len(self.calls.events), Content(seqs, stored), is_synced))

    def apply(self, start: int, end: int) -> Position:
        position = self.sink.apply(run_of(start, end))
        self.note()
        return position

    def sync(self) -> None:
        self.sink.sync()
        self.note(is_synced=True)

    def empty(self) -> None:
        self.sink.roll_back(Position(), ())
        self.note()

    def allowed_at(self, moment: int) -> list[Content]:
        """What may be found after a power loss at this event: anything from the latest sync on."""
        ended = [number for number, step in enumerate(self.steps) if step.events <= moment]
        synced = max(number for number in ended if self.steps[number].is_synced)
        return [step.content for step in self.steps[synced : ended[-1] + 2]]


def grow(program: Program) -> None:
    program.apply(0, 3)
    program.apply(3, 4)
    program.sync()
    program.apply(4, 9)
    program.sync()
    program.apply(9, 10)
    program.sink._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    program.apply(10, 11)


def start_over(program: Program) -> None:
    program.apply(0, 3)
    program.sync()
    program.empty()
    program.sync()
    program.apply(0, 1)
    program.sync()


@pytest.mark.slow
@pytest.mark.req("JRN-7")
@pytest.mark.parametrize("steps", [grow, start_over], ids=["grows", "starts over"])
def test_what_was_synced_survives_a_power_loss_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: Callable[[Program], None]
) -> None:
    program = Program(tmp_path / "before", monkeypatch)
    steps(program)
    events = [*program.calls.events]
    program.sink.close()
    monkeypatch.undo()
    count = 0
    for lost in RecordedDisk(events).lose_power(phase=lambda moment: str(program.allowed_at(moment))):
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        lost.restore(folder)
        assert read(folder) in program.allowed_at(lost.moment), lost.description
    assert count > 30


def test_a_sync_waits_for_the_disk_and_a_commit_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path / "db", monkeypatch)
    begun = len(program.calls.log)
    program.apply(0, 2)
    assert "sync" not in {name for name, _ in program.calls.log[begun:]}
    program.sync()
    assert program.calls.log[-1] == ("sync", "db-wal")
    begun = len(program.calls.log)
    program.sync()
    assert program.calls.log[begun:] == []
    program.sink.close()


def test_a_commit_after_a_sync_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path / "db", monkeypatch)
    program.apply(0, 2)
    program.sync()
    begun = len(program.calls.log)
    program.apply(2, 4)
    assert "sync" not in {name for name, _ in program.calls.log[begun:]}
    program.sink.close()


@pytest.mark.req("JRN-3")
def test_ahead_by_exactly_one_run_it_still_compares_the_outcomes(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    before = sink.apply(run_of(0, 2))
    sink.apply(run_of(2, 4))
    sink.close()
    again = open_sink(tmp_path)
    assert again.holds(before, ())
    again.roll_back(before, ())
    with pytest.raises(IntegrityError, match="differ from those of this run"):
        again.apply([Entry(2, State.TERMINAL_SUCCESS, payload=LARGE), Entry(3, State.TERMINAL_FAIL)])
    again.close()
