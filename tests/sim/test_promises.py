"""Promises of the kernel, shown on scenarios made for them."""

import msgspec
import pytest

from inorder.core.commands import Summary
from inorder.core.options import KernelOptions, PressureOptions, WindowOptions
from inorder.core.transitions import State
from inorder.sim.scenario import Fate, Faults, Scenario, SimItem, draw_scenario
from inorder.sim.world import run_scenario

WORKERS = (1, 2, 7, 32)


def _summaries(scenario: Scenario) -> list[Summary | None]:
    """The same plan with other numbers of workers and, through another seed, other timings."""
    changed = [
        msgspec.structs.replace(scenario, workers=workers, seed=scenario.seed + shift, announces_total=True)
        for workers in WORKERS
        for shift in (0, 1000)
    ]
    reports = [run_scenario(each) for each in changed]
    assert [report.broken_promise for report in reports] == [None] * len(reports)
    return [report.summary for report in reports]


def _budgeted(seed: int) -> Scenario:
    """The items of a seed, under an error budget, in a world that delays and shuffles but does not stop runs."""
    drawn = draw_scenario(seed)
    options = msgspec.structs.replace(drawn.options, error_budget=seed % 4, infrastructure_budget=10**6)
    return msgspec.structs.replace(
        drawn,
        options=options,
        faults=Faults(delay=50, shuffle=50, hoard=30, die=10, machine_loss=10, retire=10, slow_commit=50, zombie=50),
        timeout_ms=60,
        cancel_at_ms=None,
        clock_jumps=(),
    )


@pytest.mark.slow
@pytest.mark.req("CAN-3")
def test_an_error_budget_gives_the_same_summary_for_any_number_of_workers_and_any_timing() -> None:
    stopped = 0
    for seed in range(120):
        summaries = _summaries(_budgeted(seed))
        assert len(set(map(repr, summaries))) == 1, f"seed {seed}: {summaries}"
        stopped += summaries[0] is not None and summaries[0].stop_kind == "error budget"
    assert stopped > 20


@pytest.mark.req("BPR-3")
@pytest.mark.parametrize("workers", WORKERS)
def test_a_budget_smaller_than_one_item_slows_the_run_but_ends_it_in_order(workers: int) -> None:
    tiny = PressureOptions(buffered_bytes_soft=1, buffered_bytes_hard=1, window_bytes_soft=1, window_bytes_hard=1)
    items = tuple(SimItem(item_id=f"item-{n}", result_bytes=1000, duration_ms=n % 7) for n in range(40))
    options = KernelOptions(pressure=tiny, windows=WindowOptions(entries=8, entries_min=1))
    report = run_scenario(Scenario(seed=1, items=items, options=options, workers=workers))
    assert report.broken_promise is None
    assert report.books.outcomes == [State.TERMINAL_SUCCESS] * 40
    assert report.statistics.cursor_admissions >= 39


@pytest.mark.req("LED-7")
def test_lost_workers_do_not_spend_the_retries_of_items() -> None:
    items = tuple(SimItem(item_id=f"item-{n}") for n in range(50))
    options = KernelOptions(infrastructure_budget=10**6)
    report = run_scenario(
        Scenario(seed=3, items=items, options=options, faults=Faults(machine_loss=50, die=30), workers=4)
    )
    assert report.broken_promise is None
    assert report.statistics.lost_workers > 20
    assert report.summary is not None
    assert (report.summary.succeeded, report.summary.retries) == (50, 0)


@pytest.mark.req("LED-7")
def test_when_the_machine_never_gets_better_the_run_stops_and_can_be_resumed() -> None:
    items = tuple(SimItem(item_id=f"item-{n}") for n in range(50))
    options = KernelOptions(infrastructure_budget=5)
    report = run_scenario(Scenario(seed=3, items=items, options=options, faults=Faults(machine_loss=100), workers=2))
    assert report.broken_promise is None
    assert report.summary is not None
    assert report.summary.stop_kind == "infrastructure"
    assert report.summary.failed == 0


def test_one_hostile_item_costs_only_itself() -> None:
    items = tuple(SimItem(item_id=f"item-{n}", fate=Fate.HOSTILE if n == 17 else Fate.OK) for n in range(60))
    report = run_scenario(Scenario(seed=5, items=items, options=KernelOptions(), workers=3, batch_limit=8))
    assert report.broken_promise is None
    assert [seq for seq, outcome in enumerate(report.books.outcomes) if outcome != State.TERMINAL_SUCCESS] == [17]
