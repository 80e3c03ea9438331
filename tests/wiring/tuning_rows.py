"""Options of a stage that tune its windows and budgets."""

import threading
from functools import partial
from typing import Any

import inorder
from inorder import Windows
from inorder.engines import threads
from inorder.runtime import memory_probe
from tests.support.gates import GUARD_S, FixedSizer
from tests.wiring.doors import WiredRun
from tests.wiring.row import OptionRow, index_rows
from tests.wiring.workers import fail, items

BIG = 64 * 1024


def count_ahead(size: int = 0, base: dict[str, Any] | None = None, **fields: Any) -> Any:
    """How many items are run while the first one is not done."""

    base = base or {}

    def probe(run: WiredRun) -> int:
        ended: list[str] = []
        seen: list[int] = []

        def work(item: inorder.WorkItem) -> dict[str, str]:
            if item.item_id == "item-0":
                run.gate.hold()
            ended.append(item.item_id)
            return {"text": "x" * size}

        run.time.on_quiet = lambda: (seen.append(len(ended)), run.gate.open())
        run.patch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
        run.run_stage(items(40, **fields), work, **({"workers": 2, "buffered_bytes_max": 2**30} | base))
        return seen[0]

    return probe


def list_targets(run: WiredRun) -> list[int]:
    return [line["target_entries"] for line in run.lines("telemetry") if line["event"] == "window_opened"]


def size_after_idle_workers(**windows: Any) -> Any:
    """The third window of a run whose first two windows have too few items for its workers."""

    def probe(run: WiredRun) -> int:
        all_busy, first_closed = threading.Event(), threading.Event()

        def work(item: inorder.WorkItem) -> None:
            number = int(item.item_id.removeprefix("item-"))
            for event, trigger, waiting in ((all_busy, 3, (0, 1)), (first_closed, 4, (2, 3))):
                if number == trigger:
                    event.set()
                if number in waiting:
                    assert event.wait(GUARD_S), "the item that lets this one end was never started"

        known = Windows(**({"entries": 2} | windows))
        run.run_stage(items(20), work, workers=6, max_queue=4, windows=known)
        return list_targets(run)[2]

    return probe


def size_after_retries(run: WiredRun) -> int:
    """The third window of a run in which every item of the first window is tried twice."""
    tried: set[str] = set()

    def work(item: inorder.WorkItem) -> None:
        if item.item_id not in tried:
            tried.add(item.item_id)
            raise ConnectionError("busy")

    options = {"workers": 1, "retries": 1, "retry_backoff_s": 0, "commit_thread": False}
    run.run_stage(items(40), work, windows=Windows(entries=8, adaptive=True), **options)
    return list_targets(run)[2]


def list_starts(run: WiredRun) -> list[str]:
    """The order in which items start where the cheapest is the first."""
    started: list[str] = []
    plan = [inorder.WorkItem(item_id=str(cost), cost_hint=cost) for cost in (3, 1, 2)]
    run.run_stage(plan, lambda item: started.append(item.item_id), schedule="sjf", workers=1)
    return started


def count_attempts(run: WiredRun) -> int:
    """Attempts at six items that always fail."""
    run.run_stage(items(6), fail, retries=1)
    return sum(row["attempts"] for row in run.rows())


def count_ran_after_release(run: WiredRun) -> int:
    """How many items run behind the first one once the memory has fallen to 60 % of its limit."""
    resident = [1001]
    run.patch.setattr(memory_probe, "read_resident_bytes", lambda: resident[0])
    ended: list[str] = []
    seen: list[int] = []

    def work(item: inorder.WorkItem) -> None:
        if item.item_id == "item-0":
            run.gate.hold()
        ended.append(item.item_id)

    def release() -> None:
        assert ended == []
        resident[0] = 600
        run.time.advance(2)
        run.time.on_quiet = lambda: (seen.append(len(ended)), run.gate.open())

    run.time.on_quiet = release
    budgets = inorder.Budgets(resident_bytes_soft=1000, resident_bytes_hard=1000)
    run.run_stage(items(20), work, workers=2, budgets=budgets)
    return seen[0]


TUNING_ROWS = index_rows(
    OptionRow("windows.entries", count_ahead(), [(4, 7), (9, 17)]),
    OptionRow("windows.adaptive", size_after_idle_workers(), [(False, 2), (True, 4)]),
    OptionRow("windows.entries_min", size_after_retries, [(2, 4), (6, 6)]),
    OptionRow("windows.entries_max", size_after_idle_workers(adaptive=True), [(3, 3), (8, 4)]),
    OptionRow("windows.cost_max", count_ahead(cost_hint=2.0), [(6.0, 5), (12.0, 11)]),
    OptionRow("windows.bytes_max", count_ahead(size_hint=10), [(30, 5), (60, 11)]),
    OptionRow("windows.retries_max", count_attempts, [(None, 12), (2, 8)]),
    OptionRow("windows.aged_s", list_starts, [(60.0, ["1", "2", "3"]), (0.0, ["3", "1", "2"])]),
    OptionRow("budgets.buffered_bytes_soft", count_ahead(BIG), [(4 * BIG, 3), (10 * BIG, 9)]),
    OptionRow("budgets.window_bytes_soft", count_ahead(BIG), [(4 * BIG, 3), (10 * BIG, 9)]),
    OptionRow("budgets.window_bytes_hard", count_ahead(BIG), [(8 * BIG, 5), (16 * BIG, 11)]),
    OptionRow(
        "budgets.prefetch_bytes_max",
        count_ahead(BIG, {"windows": Windows(entries=10)}),
        [(4 * BIG, 12), (8 * BIG, 16)],
    ),
    OptionRow("budgets.commit_lag_soft", count_ahead(), [(5, 5), (10, 10)]),
    OptionRow("budgets.commit_lag_hard", count_ahead(), [(8, 6), (16, 12)]),
    OptionRow("budgets.resident_bytes_soft", count_ahead(), [(1, 0), (2**50, 39)]),
    OptionRow("budgets.resident_bytes_hard", count_ahead(base={"workers": 4}), [(1, 0), (2**50, 39)]),
    OptionRow("budgets.release_percent", count_ran_after_release, [(50, 0), (80, 19)]),
)
"""Every option of `Windows` and `Budgets`."""
