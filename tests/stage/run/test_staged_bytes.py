"""The byte budget counts outputs that are staged and not yet published."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.core.commands import PressureChanged
from inorder.stage.context import StageContext
from inorder.stage.monitor.monitor import RunMonitor
from tests.stage.jobs import Place
from tests.support.gates import GUARD_S, Gate

BUDGET = 1_000_000
SIZE = 200_000
COUNT = 40
pytestmark = pytest.mark.req("BPR-1", "REA-1")


class Observed:
    """Opens the way of the head item when dispatch is slowed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: Place, release: Any) -> None:
        self.staged_bytes: list[int] = []
        observe = RunMonitor.observe

        def observe_pressure(monitor: RunMonitor, now_ms: int, event: Any, commands: Sequence[Any] | None) -> None:
            observe(monitor, now_ms, event, commands)
            if any(isinstance(command, PressureChanged) for command in commands or ()):
                self.staged_bytes.append(measure(place.data / ".staging"))
                if len(self.staged_bytes) == 1:
                    release()

        monkeypatch.setattr(RunMonitor, "observe", observe_pressure)


def measure(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_outputs_behind_a_slow_item_pause_dispatch(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    before_head: list[int] = []
    with Gate() as gate:
        observed = Observed(monkeypatch, place, gate.open)

        def work(item: inorder.WorkItem, ctx: StageContext) -> None:
            if item.item_id == "item-0000":
                gate.hold()
                before_head.append(len(made))
            else:
                made.append(item.item_id)
                if len(made) == COUNT - 1:  # dispatch was never paused
                    gate.open()
            ctx.output("loud").write_bytes(b"x" * SIZE)

        outcome = place.run(place.items(COUNT), work, buffered_bytes_max=BUDGET)
    assert outcome.succeeded == COUNT
    [event, *_] = [line for line in place.telemetry(outcome) if line["event"] == "pressure_changed"]
    assert event["reason"].startswith("buffered bytes ")
    assert before_head[0] <= BUDGET // SIZE + 2
    assert 0 < observed.staged_bytes[0] <= BUDGET + 2 * SIZE


def write_or_wait(item: inorder.WorkItem, ctx: StageContext) -> None:
    """The head waits until somebody writes into its pipe."""
    if item.item_id == "item-0000":
        Path(item.meta["pipe"]).read_text()
    ctx.output("loud").write_bytes(b"x" * SIZE)


@pytest.mark.process
def test_outputs_of_processes_pause_dispatch_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = place.folder / "pipe"
    os.mkfifo(pipe)
    items = place.items(COUNT)
    items[0] = place.item("item-0000", meta={"pipe": str(pipe)})
    observed = Observed(monkeypatch, place, lambda: pipe.write_text("go"))
    outcome = place.run(items, write_or_wait, policy="cpu", buffered_bytes_max=BUDGET, timeout_s=GUARD_S)
    assert outcome.succeeded == COUNT
    assert observed.staged_bytes[0] <= BUDGET + 2 * SIZE
