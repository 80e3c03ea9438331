"""A plan that is a remainder: it has what is left to do, so an interrupted run of it is recovered and planned again."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.journal.writer import JournalWriter
from inorder.runtime.commit import CommitJournal
from inorder.runtime.result_log import ResultLog
from inorder.sinks.base import Entry
from inorder.sinks.sqlite import DatabaseSink
from inorder.stage.context import StageContext
from inorder.stage.contracts import PassPlan
from inorder.stage.run import run_pass
from tests.sinks.harnesses import KeepingSink
from tests.stage.jobs import STAGE, Place, to_pass_item
from tests.stage.workers import note

SCHEMA = "CREATE TABLE IF NOT EXISTS library (name TEXT PRIMARY KEY, value TEXT, is_partial INTEGER)"
NAMES = [f"item-{number}" for number in range(8)]


class Crashed(BaseException):
    """Stands in for the end of the process."""


def write(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    rows = [(entry.item.item_id, entry.payload, not entry.is_success) for entry in entries]
    connection.executemany("INSERT INTO library VALUES (?, ?, ?)", rows)


def read(place: Place) -> dict[str, str]:
    path = place.data / "library.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT name, value FROM library ORDER BY rowid").fetchall())
    connection.close()
    return found


def work(item: inorder.WorkItem, ctx: StageContext) -> None:
    note(item)
    if item.meta["do"] == "fail":
        ctx.hand_over(f"half of {item.item_id}")
        raise ValueError("it cannot be counted")
    ctx.deliver(f"all of {item.item_id}")


def run(
    place: Place, worker: Callable[..., Any] = work, names: Sequence[str] = NAMES, failing: str = "", **options: Any
) -> inorder.StageOutcome:
    """Run what the library does not hold yet."""
    place.data.mkdir(exist_ok=True)
    done = read(place)
    paths = {name: place.item(name).inputs["text"] for name in names}
    items = [
        to_pass_item(
            place.item(name, "fail" if name == failing else "ok", outputs={}),
            identity=Path(path).read_text(encoding="utf-8"),
        )
        for name, path in paths.items()
        if name not in done
    ]
    plan = PassPlan(STAGE, items, is_remainder=True)
    sink = KeepingSink(str(place.data / "library.sqlite"), SCHEMA, write)
    return run_pass(plan, worker, place.options(**options), inorder.StageHooks(), sinks=[sink])


def committed(place: Place) -> list[str]:
    """The items that have a row in the manifest, in order."""
    return [row["doc_id"] for row in place.lines() if row["doc_id"] != "__config__"]


@pytest.mark.req("RUN-7", "JRN-7")
@pytest.mark.parametrize("moment", ["before the library", "after the library", "after the journal"])
def test_an_interrupted_run_leaves_one_row_for_each_item_of_the_library(
    place: Place, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    apply, commit = DatabaseSink.apply, CommitJournal.write_commit

    def crash(self: DatabaseSink, entries: Sequence[Entry]) -> Any:
        if moment == "before the library":
            raise Crashed
        apply(self, entries)
        raise Crashed

    def crash_later(self: CommitJournal, *arguments: Any) -> None:
        commit(self, *arguments)
        raise Crashed

    with monkeypatch.context() as patch:
        if moment == "after the journal":
            patch.setattr(CommitJournal, "write_commit", crash_later)
        else:
            patch.setattr(DatabaseSink, "apply", crash)
        with pytest.raises(Crashed):
            run(place, workers=1, cancel_grace_s=0)
    held = list(read(place))
    assert bool(held) == (moment != "before the library")
    outcome = run(place)
    assert outcome.resumed_at is None
    assert outcome.scheduled == len(NAMES) - len(held)
    assert outcome.warnings == []
    assert list(read(place)) == committed(place) == NAMES
    assert place.staged() == []


def crash_when_logged(place: Place, monkeypatch: pytest.MonkeyPatch, count: int, worker: Callable[..., Any]) -> None:
    """Run until so many results or partial results are logged; the first item has none."""
    log, logged, gate = ResultLog.append, 0, threading.Event()

    def append(self: ResultLog, frames: Any, last_seq: int) -> None:
        nonlocal logged
        log(self, frames, last_seq)
        logged += len(frames)
        if logged >= count:
            raise Crashed

    def hold_head(item: inorder.WorkItem, ctx: StageContext) -> Any:
        if item.item_id == NAMES[0]:
            gate.wait()
            return None
        return worker(item, ctx)

    with monkeypatch.context() as patch:
        patch.setattr(ResultLog, "append", append)
        with pytest.raises(Crashed):
            run(place, hold_head, cancel_grace_s=0)
    gate.set()
    place.called()


@pytest.mark.req("JRN-8")
def test_results_are_adopted_by_identity_in_a_plan_that_has_changed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_when_logged(place, monkeypatch, 7, work)
    place.source(NAMES[3], "another text\n")
    names = [NAMES[0], "new", *reversed(NAMES[2:])]
    outcome = run(place, names=names)
    assert outcome.adopted == 5
    assert place.called() == sorted([NAMES[0], "new", NAMES[3]])
    assert list(read(place)) == committed(place) == names
    assert place.staged() == []


@pytest.mark.req("JRN-8")
def test_adopted_results_survive_a_second_interruption(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_when_logged(place, monkeypatch, 4, work)

    def crash(*arguments: Any) -> None:
        raise Crashed

    with monkeypatch.context() as patch:
        patch.setattr(JournalWriter, "append", crash)
        with pytest.raises(Crashed):
            run(place, cancel_grace_s=0)
    outcome = run(place)
    assert outcome.adopted >= 4
    assert list(read(place)) == committed(place) == NAMES


@pytest.mark.req("COM-2", "JRN-8")
def test_a_visit_goes_on_after_what_it_had_handed_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()

    def hang(item: inorder.WorkItem, ctx: StageContext) -> None:
        ctx.hand_over(["document", item.item_id])
        waiting.wait()

    crash_when_logged(place, monkeypatch, 1, hang)
    waiting.set()
    offered: dict[str, Any] = {}

    def go_on(item: inorder.WorkItem, ctx: StageContext) -> None:
        offered[item.item_id] = ctx.partial
        ctx.deliver("all")

    run(place, go_on, names=["new", *NAMES])
    assert offered.pop(NAMES[1]) == ["document", NAMES[1]]
    assert set(offered.values()) == {None}


@pytest.mark.req("CAN-4", "JRN-8")
@pytest.mark.parametrize("on_budget", ["drain", "stop"])
def test_what_was_computed_when_the_error_budget_was_exceeded_is_adopted_by_the_next_run(
    place: Place, on_budget: str
) -> None:
    others = threading.Event()

    def fail_last(item: inorder.WorkItem, ctx: StageContext) -> None:
        if item.item_id == NAMES[0]:
            others.wait()
        elif item.item_id == NAMES[-1]:
            others.set()
        work(item, ctx)

    outcome = run(place, fail_last, failing=NAMES[0], error_budget=0, on_budget=on_budget, cancel_grace_s=60)
    assert (outcome.stop_kind, outcome.failed, outcome.succeeded) == ("error budget", 1, 0)
    assert read(place) == {NAMES[0]: f"half of {NAMES[0]}"}
    place.called()
    outcome = run(place)
    assert outcome.adopted == 7
    assert place.called() == []
    assert list(read(place)) == committed(place) == NAMES
    assert place.staged() == []


@pytest.mark.req("JRN-8")
def test_a_run_by_force_adopts_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_when_logged(place, monkeypatch, 7, work)
    assert run(place, force=True).adopted == 0
    assert place.called() == NAMES
