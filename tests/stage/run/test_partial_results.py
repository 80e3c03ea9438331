"""What a worker hands over before its item fails: it reaches the sinks with the failure, once, and the next attempt."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.runtime.result_log import ResultLog
from inorder.sinks.base import Entry, Sink
from inorder.sinks.memory import MemorySink
from inorder.sinks.sqlite import SqliteSink
from inorder.stage.context import StageContext
from tests.stage.jobs import STAGE, Place, to_pass_item
from tests.stage.workers import note

SCHEMA = "CREATE TABLE IF NOT EXISTS parts (name TEXT PRIMARY KEY, value TEXT, is_partial INTEGER)"


def write(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    rows = [(entry.item.item_id, entry.payload, not entry.is_success) for entry in entries]
    connection.executemany("INSERT INTO parts VALUES (?, ?, ?)", rows)


def visit(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Read, hand over, and then do what the item says."""
    note(item)
    do, name = item.meta["do"], item.item_id
    ctx.begin_step("read")
    if do != "fail at once":
        ctx.hand_over(f"half of {name}" if ctx.partial is None else f"{ctx.partial}, again")
    ctx.begin_step("count", timeout_s=0.4 if do == "hang" else None)
    if do in ("fail", "fail at once"):
        raise ValueError(f"{name} cannot be counted")
    if do == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if do == "hang":
        threading.Event().wait()
    if do == "skip":
        return inorder.Skip("nothing to count")
    if do == "busy":
        raise ConnectionError("the server is busy")
    ctx.deliver(f"all of {name}")
    return None


def run(
    place: Place, items: list[inorder.WorkItem], worker: Callable[..., Any] = visit, **options: Any
) -> inorder.StageOutcome:
    place.data.mkdir(exist_ok=True)
    sink = SqliteSink(str(place.data / "parts.sqlite"), SCHEMA, write)
    return inorder.run_stage(inorder.StagePlan(STAGE, items), worker, place.options(**options), sinks=[sink])


def make_items(place: Place, **do: str) -> list[inorder.WorkItem]:
    return [place.item(name, what.replace("_", " "), outputs={}) for name, what in do.items()]


def parts(place: Place) -> dict[str, tuple[str, int]]:
    connection = sqlite3.connect(place.data / "parts.sqlite")
    found = connection.execute("SELECT name, value, is_partial FROM parts ORDER BY rowid").fetchall()
    connection.close()
    return {name: (value, is_partial) for name, value, is_partial in found}


@pytest.mark.process
@pytest.mark.req("COM-2", "RTY-3", "RTY-4", "HBT-1")
@pytest.mark.parametrize("workers", [1, 3])
def test_a_visit_that_ends_in_whatever_way_leaves_what_it_had_made_under_the_name_of_its_step(
    place: Place, workers: int
) -> None:
    # what ends its process comes first: results that are not yet sent from there would be computed again
    items = make_items(place, a="ok", c="kill", d="hang", b="fail", e="skip", f="fail_at_once", g="ok")
    outcome = run(place, items, policy="cpu", workers=workers, timeout_s=60)
    assert (outcome.succeeded, outcome.failed, outcome.skipped) == (2, 4, 1)
    assert parts(place) == {
        "a": ("all of a", 0),
        "b": ("half of b", 1),
        "c": ("half of c, again", 1),
        "d": ("half of d", 1),
        "g": ("all of g", 0),
    }
    errors = {name: row["error"] for name, row in place.rows().items() if row["error"] is not None}
    assert {name: error["step"] for name, error in errors.items()} == dict.fromkeys("bcdf", "count")
    assert errors["d"]["message"] == "step 'count' took longer than 0.4 s"
    assert place.row("b")["input_sha256"] == ""
    assert place.staged() == []


@pytest.mark.req("COM-2", "RTY-4", "HBT-1")
def test_threads_hand_over_too_and_their_steps_have_time_limits(place: Place) -> None:
    items = make_items(place, a="ok", b="fail", d="hang")
    outcome = run(place, items, policy="io")
    assert (outcome.succeeded, outcome.failed) == (1, 2)
    assert parts(place) == {"a": ("all of a", 0), "b": ("half of b", 1), "d": ("half of d", 1)}
    assert place.row("d")["error"]["step"] == "count"


@pytest.mark.req("COM-2", "RTY-2")
def test_a_retry_is_offered_what_the_attempt_before_it_handed_over(place: Place) -> None:
    run(place, make_items(place, a="busy"), retries=2)
    assert place.called() == ["a", "a", "a"]
    assert parts(place) == {"a": ("half of a, again, again", 1)}


@pytest.mark.req("COM-2")
def test_after_item_gets_the_failure_and_not_what_was_handed_over(place: Place) -> None:
    seen: list[Any] = []
    hooks = inorder.StageHooks(after_item=lambda item, result, ctx: seen.append(result))
    inorder.run_stage(place.plan(make_items(place, a="fail")), visit, place.options(), hooks)
    assert [(type(each), each.step) for each in seen] == [(inorder.Failure, "count")]


@pytest.mark.req("COM-2")
@pytest.mark.parametrize("value", [None, object(), (1, 2), {1: 2}, 2**70, "\ud800", {"a": {"b": set()}}])
def test_only_plain_data_can_be_handed_over(place: Place, value: Any) -> None:
    def work(item: inorder.WorkItem, ctx: StageContext) -> None:
        ctx.hand_over(value)

    assert place.run(make_items(place, a="ok"), work).failed == 1
    assert "hand_over takes plain data" in place.row("a")["error"]["message"]


@pytest.mark.req("COM-2", "RUN-17")
def test_what_was_made_from_an_input_that_has_changed_cannot_be_handed_over(place: Place) -> None:
    def work(item: inorder.WorkItem, ctx: StageContext) -> None:
        place.source("a", "other text, which is longer")
        ctx.hand_over("half")

    assert place.run(make_items(place, a="ok"), work).failed == 1
    assert "changed while it was read" in place.row("a")["error"]["message"]


@pytest.mark.req("HBT-1")
@pytest.mark.parametrize(("name", "timeout_s"), [("", None), ("a", -1.0), ("a", float("inf")), ("a", float("nan"))])
def test_a_step_needs_a_name_and_a_limit_that_can_be_reached(place: Place, name: str, timeout_s: float | None) -> None:
    def work(item: inorder.WorkItem, ctx: StageContext) -> None:
        ctx.begin_step(name, timeout_s)

    assert place.run(make_items(place, a="ok"), work).failed == 1
    assert place.row("a")["error"]["message"].startswith("ValueError: ")


@pytest.mark.req("RTY-4", "HBT-1")
def test_the_time_limit_of_a_step_counts_from_its_start_and_0_means_none(place: Place) -> None:
    def work(item: inorder.WorkItem, ctx: StageContext) -> None:
        for number in range(12):
            ctx.begin_step(f"step {number}")
            threading.Event().wait(0.1)
        ctx.begin_step("the last step", 0)
        threading.Event().wait(1.1)

    outcome = place.run(make_items(place, a="ok"), work, timeout_s=1.0)
    assert outcome.succeeded == 1


@pytest.mark.req("COM-2", "HBT-1")
def test_outside_an_engine_a_step_and_a_hand_over_do_nothing(place: Place) -> None:
    found: list[Any] = []

    def before(ctx: StageContext) -> None:
        ctx.begin_step("load")
        ctx.hand_over("half")
        found.append(ctx.partial)

    hooks = inorder.StageHooks(before_stage=before)
    assert inorder.run_stage(place.plan([]), visit, place.options(), hooks).warnings == []
    assert found == [None]


def make_known(place: Place, names: str, identity: str = "") -> list[inorder.WorkItem]:
    """Items that state their identity: their text, unless it is given."""
    paths = [place.item(name).inputs["text"] for name in names]
    texts = [Path(path).read_text(encoding="utf-8") for path in paths]
    return [
        to_pass_item(place.item(name, "ok", outputs={}), identity=identity or text)
        for name, text in zip(names, texts, strict=True)
    ]


class Crashed(BaseException):
    """Stands in for the end of the process."""


def crash_after_hand_over(
    place: Place, monkeypatch: pytest.MonkeyPatch, sinks: Sequence[Sink] = (), identity: str = ""
) -> None:
    """Run two items of which the second hands over, and end the driver when that is logged."""
    log = ResultLog.append
    gate = threading.Event()

    def append(self: ResultLog, frames: Any, last_seq: int) -> None:
        log(self, frames, last_seq)
        if last_seq == 1:
            raise Crashed

    def work(item: inorder.WorkItem, ctx: StageContext) -> Any:
        if item.item_id == "b":
            ctx.hand_over({"half": item.item_id})
        gate.wait()

    with monkeypatch.context() as patch:
        patch.setattr(ResultLog, "append", append)
        plan = place.plan(make_known(place, "ab", identity))
        with pytest.raises(Crashed):
            inorder.run_stage(plan, work, place.options(cancel_grace_s=0), sinks=sinks)
    gate.set()


@pytest.mark.req("COM-2", "JRN-8")
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_what_was_handed_over_survives_the_driver_and_is_offered_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    crash_after_hand_over(place, monkeypatch, [MemorySink()])
    offered: dict[str, Any] = {}
    applied: list[Any] = []

    class Watching(MemorySink):
        def apply(self, entries: Sequence[Entry]) -> Any:
            applied.extend((entry.item.item_id, entry.payload) for entry in entries if entry.applies)
            return super().apply(entries)

    def work(item: inorder.WorkItem, ctx: StageContext) -> None:
        offered[item.item_id] = ctx.partial
        if outcome == "failure":
            raise ValueError("it cannot be counted")

    plan = place.plan(make_known(place, "ab"))
    inorder.run_stage(plan, work, place.options(), sinks=[Watching()])
    assert offered == {"a": None, "b": {"half": "b"}}
    assert applied == ([("a", None), ("b", None)] if outcome == "success" else [("b", {"half": "b"})])
    assert place.staged() == []


@pytest.mark.req("COM-2", "JRN-8", "RUN-17")
@pytest.mark.parametrize("identity", ["", "the same"])
def test_what_was_made_from_another_text_is_not_offered(
    place: Place, monkeypatch: pytest.MonkeyPatch, identity: str
) -> None:
    crash_after_hand_over(place, monkeypatch, identity=identity)
    place.source("b", "other text, which is longer")
    offered: dict[str, Any] = {}

    def work(item: inorder.WorkItem, ctx: StageContext) -> None:
        offered[item.item_id] = ctx.partial

    place.run(make_known(place, "ab", identity), work)
    assert offered == {"a": None, "b": None}


@pytest.mark.req("COM-2", "JRN-8")
def test_a_run_by_force_is_offered_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_after_hand_over(place, monkeypatch)
    offered: list[Any] = []
    place.run(make_known(place, "ab"), lambda item, ctx: offered.append(ctx.partial), force=True)
    assert offered == [None, None]
