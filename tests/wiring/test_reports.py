"""What a user sets on an item, and what a run reports about items, beside the table of options."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.engines import attempt
from tests.wiring.doors import Door, WiredRun

pytestmark = pytest.mark.req("REA-1")


@pytest.fixture
def wired(tmp_path: Path) -> Iterator[WiredRun]:
    """A run with nothing special set."""
    with pytest.MonkeyPatch.context() as patch:
        run = WiredRun(tmp_path, patch, Door.STAGE_OPTIONS, "workers", 1)
        yield run
        run.close()


@pytest.mark.req("RUN-8")
def test_the_percentiles_of_an_outcome_are_those_of_the_durations(wired: WiredRun) -> None:
    now_s = 0.0

    def read_clock() -> float:
        return now_s

    def work(item: inorder.WorkItem) -> None:
        nonlocal now_s
        now_s += item.meta["ms"] / 1000

    wired.patch.setattr(attempt, "perf_counter", read_clock)
    plan = [inorder.WorkItem(item_id=str(ms), meta={"ms": ms}) for ms in range(1, 101)]
    outcome = wired.run_stage(plan, work)
    assert outcome is not None
    assert outcome.exec_p50_ms == pytest.approx(50, rel=0.03)
    assert outcome.exec_p95_ms == pytest.approx(95, rel=0.03)
    [*_, snapshot] = [line for line in wired.lines("telemetry") if line["event"] == "snapshot"]
    reported = snapshot["item_exec_ms"]
    assert [reported["p50"], reported["p95"], reported["p99"]] == pytest.approx([50, 95, 99], rel=0.03)
    assert (reported["count"], reported["max"]) == (100, pytest.approx(100))


def test_the_median_wait_in_the_queue_is_that_of_virtual_time(wired: WiredRun) -> None:
    """Nine items are read at once and take a second each: the fifth has waited for four seconds."""
    plan = [inorder.WorkItem(item_id=str(number)) for number in range(9)]
    outcome = wired.run_stage(plan, lambda item: wired.time.advance(1))
    assert outcome is not None
    assert outcome.queue_p50_ms == pytest.approx(4000, rel=0.03)


@pytest.mark.req("CMP-3")
@pytest.mark.parametrize(
    ("keys", "order"), [("abab", ["a0", "a2", "b1", "b3"]), (["", "", "", ""], ["0", "1", "2", "3"])], ids=str
)
def test_items_with_the_same_batch_key_run_one_after_the_other(wired: WiredRun, keys: Any, order: list[str]) -> None:
    started: list[str] = []
    plan = [inorder.WorkItem(item_id=f"{key}{number}", batch_key=key) for number, key in enumerate(keys)]
    wired.run_stage(plan, lambda item: started.append(item.item_id))
    assert started == order
