"""SQLite sinks: transactions, staying ahead, clearing, syncing, and errors of SQLite."""

import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.core.transitions import State
from inorder.errors import BusyError, InfrastructureError, IntegrityError, InvariantViolation, OperatorError
from inorder.sinks import sqlite as module
from inorder.sinks.base import Entry, Position
from inorder.sinks.sqlite import SqliteSink, Write
from inorder.sinks.testing import RUN_LENGTHS, ReferenceRun, choose_outcome
from tests.sinks.harnesses import SCHEMA, SqliteHarness, insert_results


def entries(start: int, end: int) -> list[Entry]:
    return [make_entry(seq, choose_outcome(seq), f"result {seq}") for seq in range(start, end)]


def make_entry(seq: int, outcome: State, payload: str) -> Entry:
    return Entry(seq, outcome, payload=payload if outcome is State.TERMINAL_SUCCESS else None)


def sink_at(path: Path, write: Write = insert_results, **options: Any) -> SqliteSink:
    return SqliteSink(str(path), SCHEMA, write, **options)


def ask(path: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as reader:
        return reader.execute(question).fetchall()


def results(path: Path) -> list[int]:
    return [seq for (seq,) in ask(path, "SELECT seq FROM results ORDER BY seq")]


def successes(end: int) -> list[int]:
    return [seq for seq in range(end) if choose_outcome(seq) is State.TERMINAL_SUCCESS]


def trace(sink: SqliteSink) -> list[str]:
    """The statements it runs from now on, each by its first two words."""
    log: list[str] = []
    sink._connection.set_trace_callback(lambda said: log.append(" ".join(said.split()[:2])))
    return log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


# ---- transactions


@pytest.mark.req("COM-1")
def test_a_run_is_one_transaction_with_its_rows_and_its_position(path: Path) -> None:
    sink = sink_at(path)
    log = trace(sink)
    sink.apply(entries(0, 3))
    assert log == ["BEGIN IMMEDIATE;", "INSERT INTO", "INSERT INTO", "INSERT OR", "COMMIT"]
    sink.close()


@pytest.mark.req("COM-2")
def test_a_run_without_a_success_writes_nothing_but_its_position(path: Path) -> None:
    sink = sink_at(path)
    sink.apply(entries(0, 1))
    log = trace(sink)
    assert sink.apply(entries(1, 2)).end == 2
    assert log == ["BEGIN IMMEDIATE;", "INSERT OR", "COMMIT"]
    assert ask(path, 'SELECT "end", "offset" FROM inorder_position') == [(2, 1)]
    sink.close()


def test_a_reader_in_the_middle_of_a_run_sees_nothing_of_it(path: Path) -> None:
    seen = []

    def write(connection: sqlite3.Connection, run: Sequence[Entry]) -> None:
        insert_results(connection, run)
        seen.append(results(path))

    sink = sink_at(path, write)
    sink.apply(entries(0, 3))
    sink.apply(entries(3, 6))
    assert seen == [[], successes(3)]
    sink.close()


def test_a_write_that_fails_leaves_nothing_behind(path: Path) -> None:
    mistakes = [KeyError("a mistake")]

    def write(connection: sqlite3.Connection, run: Sequence[Entry]) -> None:
        insert_results(connection, run)
        if mistakes:
            raise mistakes.pop()

    sink = sink_at(path, write)
    with pytest.raises(KeyError):
        sink.apply(entries(0, 3))
    assert results(path) == []
    assert sink.position() == Position()
    assert ask(path, "SELECT * FROM inorder_position") == []
    sink.apply(entries(0, 3))
    assert results(path) == successes(3)
    sink.close()


@pytest.mark.parametrize(
    "end_it",
    [lambda connection: connection.commit(), lambda connection: connection.executescript("SELECT 1")],
    ids=["commit", "executescript"],
)
def test_a_write_that_ends_the_transaction_is_refused(
    path: Path, end_it: Callable[[sqlite3.Connection], object]
) -> None:
    sink = sink_at(path, lambda connection, run: end_it(connection) and None)
    with pytest.raises(OperatorError, match="the SQL of sink sqlite ended its transaction"):
        sink.apply(entries(0, 1))
    sink.close()


# ---- deaths


def _die_at_statement(harness: SqliteHarness, number: int) -> bool:
    """Whether a process that does everything from the opening to the last run comes so far; there it is killed."""
    child = os.fork()
    if child == 0:
        try:
            _kill_at_statement(number)
            reference = ReferenceRun(harness, harness.open())
            for count in RUN_LENGTHS:
                reference.apply(count)
                reference.sync()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def _kill_at_statement(number: int) -> None:
    """Have every connection that is made from now on kill the process before its n-th statement."""
    connect, seen = sqlite3.connect, iter(range(1_000_000))

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(
            lambda said: os.kill(os.getpid(), signal.SIGKILL) if next(seen) == number else None
        )
        return connection

    module.sqlite3.connect = watched  # type: ignore[assignment]


class Untraced(SqliteHarness):
    """Leaves the trace to somebody else."""

    def open(self) -> SqliteSink:
        return sink_at(self.path)


@pytest.mark.process
@pytest.mark.req("JRN-2")
def test_killed_at_any_statement_it_is_whole_and_goes_on_where_it_was(tmp_path: Path) -> None:
    def fresh(name: str) -> Untraced:
        (tmp_path / name).mkdir()
        return Untraced(tmp_path / name)

    reference = fresh("reference")
    with ReferenceRun.open(reference) as whole:
        whole.apply_all()
    number = 0
    while _die_at_statement(harness := fresh(str(number)), number):
        with ReferenceRun.open(harness) as run:
            position = run.sink.position()
            assert position in whole.positions
            assert results(harness.path) == successes(position.end)
            runs = whole.positions.index(position)
            run.positions, run.runs = whole.positions[: max(runs, 1)], whole.runs[:runs]
            run.recover()
            run.apply_all(RUN_LENGTHS[len(run.positions) - 1 :])
            assert harness.content() == reference.content()
        number += 1
    assert number > 40


# ---- staying ahead


@pytest.mark.req("COM-1")
def test_ahead_of_the_journal_it_skips_what_it_has_and_writes_the_rest_once(path: Path) -> None:
    first = sink_at(path)
    journaled = first.apply(entries(0, 4))
    first.apply(entries(4, 11))
    first.close()
    written: list[int] = []

    def write(connection: sqlite3.Connection, run: Sequence[Entry]) -> None:
        written.extend(entry.seq for entry in run)
        insert_results(connection, run)

    sink = sink_at(path, write)
    assert sink.holds(journaled, ())
    sink.roll_back(journaled, ())
    assert sink.position() == journaled
    assert sink.apply(entries(4, 9)).end == 9
    assert written == []
    last = sink.apply(entries(9, 20))
    assert written == [seq for seq in successes(20) if seq >= 11]
    assert results(path) == successes(20)
    sink.close()
    undisturbed = sink_at(path.with_name("other.sqlite"))
    assert undisturbed.apply(entries(0, 20)) == last
    undisturbed.close()


@pytest.mark.parametrize("outcome", [State.TERMINAL_SUCCESS, State.TERMINAL_SKIP])
def test_a_run_that_catches_up_with_other_outcomes_is_stopped(path: Path, outcome: State) -> None:
    sink = sink_at(path)
    journaled = sink.apply(entries(0, 2))
    sink.apply(entries(2, 5))
    sink.roll_back(journaled, ())
    others = [make_entry(seq, outcome if seq == 3 else choose_outcome(seq), "") for seq in range(2, 8)]
    sink.apply(others[:2])
    with pytest.raises(
        IntegrityError, match="stored outcomes of seqs below 5 differ from those of this run; start the run over"
    ):
        sink.apply(others[2:])
    assert results(path) == successes(5)
    sink.close()


def test_a_position_it_has_lost_or_never_had_is_not_held(path: Path) -> None:
    sink = sink_at(path)
    position = sink.apply(entries(0, 4))
    for other in (Position(5, position.offset, position.checksum), Position(4, 0, position.checksum)):
        assert not sink.holds(other, ())
        with pytest.raises(InvariantViolation, match="does not hold"):
            sink.roll_back(other, ())
    sink.close()


# ---- emptying

WIDE_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (seq INTEGER PRIMARY KEY AUTOINCREMENT, result TEXT);
CREATE TABLE IF NOT EXISTS "odd ""name" (x);
CREATE INDEX IF NOT EXISTS by_result ON results (result);
CREATE VIEW IF NOT EXISTS short AS SELECT seq FROM results;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (result);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON results BEGIN INSERT INTO words VALUES (new.result); END;
"""


def test_at_position_0_everything_the_schema_makes_is_made_anew_and_nothing_else_is_touched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as foreigner, foreigner:
        foreigner.execute("CREATE TABLE foreign_table AS SELECT 1")
    sink = SqliteSink(str(path), WIDE_SCHEMA, insert_results)
    empty = ask(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name")
    sink.apply(entries(0, 8))
    assert len(ask(path, "SELECT * FROM words WHERE words MATCH 'result'")) == len(successes(8))
    sink.roll_back(Position(), ())
    assert ask(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name") == empty
    assert ask(path, "SELECT * FROM short UNION ALL SELECT * FROM words") == []
    assert ask(path, "SELECT * FROM foreign_table") == [(1,)]
    sink.apply(entries(0, 8))
    assert results(path) == successes(8)
    sink.close()


def test_emptying_that_fails_changes_nothing(path: Path) -> None:
    sink = sink_at(path, wait_s=0.0)
    position = sink.apply(entries(0, 8))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyError, match="it cannot be cleared: another program has locked it"):
            sink.roll_back(Position(), ())
    assert results(path) == successes(8)
    assert sink.position() == position
    sink.close()


def test_sinks_of_different_names_share_a_database_each_with_its_own_position(path: Path) -> None:
    other = SqliteSink(str(path), "CREATE TABLE IF NOT EXISTS others (seq);", lambda *_: None, name="other")
    sink = sink_at(path)
    other.apply(entries(0, 7))
    sink.apply(entries(0, 3))
    sink.roll_back(Position(), ())
    other.close()
    again = SqliteSink(str(path), "", lambda *_: None, name="other")
    assert again.position().end == 7
    again.close()
    sink.close()


# ---- syncing


def test_sync_commits_once_more_with_the_log_synced_and_only_if_something_came(path: Path) -> None:
    sink = sink_at(path)
    log = trace(sink)
    sink.sync()
    assert log == []
    sink.apply(entries(0, 2))
    log.clear()
    sink.sync()
    assert log == ["PRAGMA synchronous=FULL", "BEGIN IMMEDIATE;", "INSERT OR", "COMMIT", "PRAGMA synchronous=NORMAL"]
    log.clear()
    sink.sync()
    assert log == []
    sink.close()
    again = sink_at(path)
    log = trace(again)
    again.sync()
    assert "PRAGMA synchronous=FULL" in log
    again.close()


def test_a_reader_that_stays_does_not_keep_it_from_syncing(path: Path) -> None:
    sink = sink_at(path, wait_s=0)
    sink.apply(entries(0, 2))
    log = path.with_name(f"{path.name}-wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM results").fetchall()
        sink.apply(entries(2, 4))
        before = log.stat().st_size
        sink.sync()
        assert log.stat().st_size > before
    sink.close()


# ---- what SQLite says


def test_a_file_that_is_no_database_is_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"this is a letter to my mother, and not a database at all " * 100)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(OperatorError, match=r"results\.sqlite is not an SQLite database; it was not changed"):
            sink_at(path)
    assert path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused(path: Path) -> None:
    sink_at(path, version=2).close()
    with pytest.raises(OperatorError, match="has schema version 2, written by a newer program; this one knows 1"):
        sink_at(path, version=1)
    sink_at(path, version=3).close()
    assert ask(path, "PRAGMA user_version") == [(3,)]


def test_a_database_that_another_program_writes_to_is_busy(path: Path) -> None:
    sink = sink_at(path, wait_s=0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyError, match="seqs 0 to 1 cannot be written: another program has locked it"):
            sink.apply(entries(0, 2))
    sink.apply(entries(0, 2))
    sink.close()


def test_a_place_that_cannot_be_opened_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"cannot be locked: .*No such file"):
        sink_at(tmp_path / "missing" / "results.sqlite")
    with pytest.raises(InfrastructureError, match="cannot be opened: Is a directory"):
        SqliteSink(str(tmp_path), SCHEMA, insert_results)


def test_a_full_disk_is_the_machines_fault_and_leaves_nothing_of_the_run(path: Path) -> None:
    def write(connection: sqlite3.Connection, run: Sequence[Entry]) -> None:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages}")
        connection.executemany("INSERT INTO results VALUES (?, ?)", [(entry.seq, "x" * 10_000) for entry in run])

    sink = sink_at(path, write)
    with pytest.raises(InfrastructureError, match="seqs 0 to 9 cannot be written: database or disk is full"):
        sink.apply(entries(0, 10))
    assert results(path) == []
    sink.close()


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("INSERT INTO nowhere VALUES (1)", "SQL failed: no such table: nowhere"),
        ("INSERT INTO results VALUES (1, NULL)", "SQL failed: NOT NULL constraint failed: results.result"),
        ("INSERT OR ROLLBACK INTO results VALUES (1, NULL)", "SQL failed: NOT NULL constraint failed"),
    ],
)
def test_sql_that_fails_is_the_operators_and_is_named_with_its_run(path: Path, statement: str, complaint: str) -> None:
    sink = sink_at(path, lambda connection, run: connection.execute(statement) and None)
    with pytest.raises(OperatorError, match=f"seqs 0 to 2 cannot be written: {complaint}"):
        sink.apply(entries(0, 3))
    assert ask(path, "SELECT * FROM inorder_position") == []
    sink.close()


def test_a_schema_that_fails_makes_nothing(path: Path) -> None:
    with pytest.raises(OperatorError, match="its schema cannot be created: SQL failed"):
        SqliteSink(str(path), f"{SCHEMA} CREATE NONSENSE", insert_results)
    assert ask(path, "SELECT * FROM sqlite_master") == []


def test_where_there_can_be_no_log_there_is_no_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InfrastructureError, match="no write-ahead log is possible here, only 'memory'"):
        SqliteSink(":memory:", SCHEMA, insert_results)


def test_a_damaged_database_is_an_error_that_says_what_to_do(path: Path) -> None:
    sink = sink_at(path)
    sink.apply(entries(0, 2000))
    sink.close()
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 6] = b"\xff" * (4096 * 3)
    path.write_bytes(data)
    sink = sink_at(path, lambda connection, run: connection.execute("SELECT sum(seq) FROM results") and None)
    with pytest.raises(IntegrityError, match=r"results\.sqlite is damaged \(.*\); remove it and run again"):
        sink.apply(entries(2000, 2001))
    sink.close()
