"""The error budget: what becomes of items that are running when it is exceeded."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.stage.context import StageContext
from tests.stage.jobs import Place
from tests.stage.workers import note, shout
from tests.support.gates import GUARD_S, Gate, wait_for_end


class Race:
    """Item `bad` fails once item `slow` is running. `slow` ends when the failure is committed or the gate opens."""

    def __init__(self, gate: Gate, *, releases: bool = True) -> None:
        self.gate = gate
        self.ended: list[str] = []
        self.threads: list[threading.Thread] = []
        self.hooks = inorder.StageHooks(after_item=self._after_item if releases else None)

    def work(self, item: inorder.WorkItem, ctx: StageContext) -> dict[str, Any]:
        if item.item_id == "bad":
            self.gate.await_arrivals()
            raise ValueError("this one is bad")
        if item.item_id == "slow":
            self.threads.append(threading.current_thread())
            self.gate.hold()
        self.ended.append(item.item_id)
        return shout(item, ctx)

    def _after_item(self, item: inorder.WorkItem, result: object, ctx: StageContext) -> None:
        if item.item_id == "bad":
            self.gate.open()


def race(place: Place) -> list[inorder.WorkItem]:
    return [place.item(name) for name in ("bad", "slow", *"cdefgh")]


@pytest.mark.req("CAN-4", "CAN-3")
def test_an_item_that_runs_when_the_budget_is_exceeded_ends_before_the_stage_returns(place: Place) -> None:
    with Gate() as gate:
        story = Race(gate)
        outcome = place.run(race(place), story.work, story.hooks, error_budget=0, cancel_grace_s=GUARD_S)
    assert story.ended == ["slow"]
    assert outcome.warnings == []
    assert (outcome.stop_kind, outcome.failed, outcome.succeeded, outcome.cancelled) == ("error budget", 1, 0, 7)
    assert place.statuses() == {"bad": "failure"}
    assert place.published() == {}
    place.called()
    outcome = place.run(race(place))
    assert (outcome.succeeded, outcome.adopted) == (8, 1)
    assert "slow" not in place.called()
    assert place.staged() == []


@pytest.mark.req("CAN-4")
def test_a_thread_that_outlasts_its_grace_is_named_in_a_warning(place: Place) -> None:
    with Gate() as gate:
        story = Race(gate, releases=False)
        outcome = place.run(race(place), story.work, story.hooks, error_budget=0, cancel_grace_s=0)
        assert outcome.warnings == ["still running in threads, which cannot be killed: slow"]
        assert gate.inside == 1
    assert wait_for_end(story.threads)
    assert place.published() == {}


@pytest.mark.req("CAN-4", "REA-1")
def test_drain_lets_running_items_end_however_long_they_take(place: Place) -> None:
    with Gate() as gate:
        story = Race(gate)
        outcome = place.run(race(place), story.work, story.hooks, error_budget=0, cancel_grace_s=0, on_budget="drain")
    assert (story.ended, outcome.warnings) == (["slow"], [])
    assert (outcome.stop_kind, outcome.cancelled) == ("error budget", 7)
    assert place.published() == {}


def hang_with_pid(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Leave the pid in a pipe that the failing item reads, then hang."""
    note(item)
    pipe = Path(item.meta["pipe"])
    if item.item_id == "bad":
        Path(item.meta["pid"]).write_text(pipe.read_text())
        raise ValueError("this one is bad")
    pipe.write_text(str(os.getpid()))
    threading.Event().wait()


@pytest.mark.process
@pytest.mark.req("CAN-4")
def test_a_process_that_outlasts_its_grace_is_killed(place: Place) -> None:
    os.mkfifo(place.folder / "pipe")
    meta = {"pipe": str(place.folder / "pipe"), "pid": str(place.folder / "pid")}
    items = [place.item(name, meta=meta) for name in ("bad", "slow")]
    outcome = place.run(items, hang_with_pid, policy="cpu", error_budget=0, cancel_grace_s=0.05)
    assert (outcome.stop_kind, outcome.failed, outcome.cancelled, outcome.warnings) == ("error budget", 1, 1, [])
    with pytest.raises(ProcessLookupError):
        os.kill(int((place.folder / "pid").read_text()), 0)


@pytest.mark.req("CAN-4")
def test_a_stage_that_raises_waits_for_running_items_and_names_the_others(place: Place) -> None:
    def full_disk(gate: Gate) -> Callable[..., Any]:
        def work(item: inorder.WorkItem, ctx: StageContext) -> None:
            if item.item_id == "a":
                gate.await_arrivals()
                raise OSError(28, "no space left on device")
            gate.hold()

        return work

    items = [place.item(name) for name in "ab"]
    with Gate() as gate, pytest.raises(inorder.InfrastructureError, match="disk full") as caught:
        place.run(items, full_disk(gate), cancel_grace_s=0)
    assert caught.value.__notes__ == ["still running in threads, which cannot be killed: b"]


@pytest.mark.req("CAN-4", "RTY-4")
def test_a_thread_whose_item_timed_out_is_named_too_and_nobody_waits_for_it(place: Place) -> None:
    with Gate() as gate:

        def work(item: inorder.WorkItem, ctx: StageContext) -> Any:
            return gate.hold() if item.item_id == "a" else shout(item, ctx)

        items = [place.item(name) for name in "abc"]
        outcome = place.run(items, work, timeout_s=0.05, cancel_grace_s=10**6)
        assert outcome.warnings == ["still running in threads, which cannot be killed: a"]
    assert (outcome.failed, outcome.succeeded) == (1, 2)
