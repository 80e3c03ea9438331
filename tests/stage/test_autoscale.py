"""How many workers there are may follow the load. What comes of the items does not."""

from typing import Any

import pytest

from inorder.engines.pool import PoolEngine
from inorder.stage import autoscale
from inorder.stage.autoscale import AutoscaleRule, LoadSample, StageAutoscaler
from tests.stage.jobs import Place, steady
from tests.support.gates import Gate, no_thread_leaks

QUIET = LoadSample(items=100, failures=0, p95_ms=10.0)


@pytest.mark.req("RUN-11")
def test_it_rises_by_one_while_all_is_well_up_to_its_bound() -> None:
    rule = AutoscaleRule(6)
    assert [rule.workers, *(rule.decide(QUIET) for _ in range(5))] == [3, 4, 5, 6, 6, 6]


@pytest.mark.req("RUN-11")
def test_it_falls_by_a_third_when_items_take_much_longer_down_to_one() -> None:
    rule = AutoscaleRule(12)
    rule.decide(QUIET)
    spike = QUIET._replace(p95_ms=100.0)
    assert [rule.decide(spike) for _ in range(5)] == [4, 2, 1, 1, 1]


@pytest.mark.req("RUN-11")
def test_it_falls_when_failures_are_frequent_and_not_when_they_are_rare() -> None:
    rule = AutoscaleRule(12)
    assert rule.decide(QUIET._replace(failures=10)) == 7
    assert rule.decide(QUIET._replace(failures=11)) == 4


@pytest.mark.req("RUN-11")
def test_it_stays_where_items_take_a_little_longer_or_too_few_were_seen() -> None:
    rule = AutoscaleRule(12)
    rule.decide(QUIET)
    assert rule.decide(QUIET._replace(p95_ms=13.0)) == 7
    assert rule.decide(LoadSample(items=19, failures=19, p95_ms=1000.0)) == 7


def test_one_lucky_interval_does_not_hold_it_down_for_good() -> None:
    rule = AutoscaleRule(8)
    rule.decide(QUIET._replace(p95_ms=1.0))
    seen = [rule.decide(QUIET) for _ in range(60)]
    assert min(seen) == 1
    assert seen[-1] == 8


def test_a_bound_of_one_is_one() -> None:
    assert AutoscaleRule(1).decide(QUIET) == 1


class Engine:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def resize(self, count: int) -> None:
        self.sizes.append(count)


def test_decisions_are_taken_once_a_second_from_what_came_since() -> None:
    engine = Engine()
    autoscaler = StageAutoscaler(engine, 8, lambda: False, now_ms=500)

    def items(count: int, exec_ms: float, *, is_failure: bool = False) -> None:
        for _ in range(count):
            autoscaler.record(exec_ms, is_failure=is_failure)

    items(100, 10.0)
    autoscaler.adjust(1499)
    assert autoscaler.workers == 4
    autoscaler.adjust(1500)
    assert autoscaler.workers == 5
    items(100, 10.0, is_failure=True)
    autoscaler.adjust(2500)
    assert autoscaler.workers == 3
    autoscaler.adjust(3500)
    assert autoscaler.workers == 3
    assert engine.sizes == [4, 5, 3]


def slow_ramp(
    workers_max: int, item_ms: int, seconds: int, *, is_saturated: bool = True, failure_every: int = 0
) -> list[int]:
    """The number of workers after each second, with items that take this long on every worker."""
    autoscaler = StageAutoscaler(Engine(), workers_max, lambda: is_saturated, now_ms=0)
    ramp = [autoscaler.workers]
    finished = 0
    progress_ms = 0
    for second in range(1, seconds + 1):
        progress_ms += 1000 * autoscaler.workers
        while progress_ms >= item_ms:
            progress_ms -= item_ms
            finished += 1
            autoscaler.record(float(item_ms), is_failure=failure_every > 0 and finished % failure_every == 0)
        autoscaler.adjust(1000 * second)
        ramp.append(autoscaler.workers)
    return ramp


@pytest.mark.req("RUN-11")
def test_it_rises_for_items_of_half_a_second_and_for_items_of_minutes() -> None:
    assert slow_ramp(8, 500, 6) == [4, 5, 6, 7, 8, 8, 8]
    assert slow_ramp(8, 120_000, 6) == [4, 5, 6, 7, 8, 8, 8]


@pytest.mark.req("RUN-11")
def test_it_does_not_rise_for_slow_items_while_a_worker_is_idle_or_failures_are_frequent() -> None:
    assert slow_ramp(8, 500, 6, is_saturated=False)[:3] == [4, 4, 4]
    assert max(slow_ramp(8, 500, 6, failure_every=2)) == 4


@pytest.mark.req("RUN-11")
def test_few_items_per_second_are_judged_once_there_are_enough_of_them() -> None:
    engine = Engine()
    autoscaler = StageAutoscaler(engine, 8, lambda: False, now_ms=0)
    for second in range(1, 4):
        for _ in range(8):
            autoscaler.record(500.0, is_failure=True)
        autoscaler.adjust(1000 * second)
    assert engine.sizes == [4, 2]


@pytest.mark.req("RUN-11")
def test_a_run_of_slow_items_comes_to_use_all_its_workers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autoscale, "DECISION_MS", 0)
    with Gate() as gate:
        gate.on_arrival = lambda: gate.arrivals == 8 and gate.open()
        items = [place.item(f"item-{n}", outputs={}) for n in range(64)]
        assert place.run(items, lambda item: gate.hold(), workers=8, adaptive=True).succeeded == 64
        assert gate.inside_max == 8


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-11")
def test_a_run_whose_workers_come_and_go_gives_what_a_fixed_one_does(
    place: Place, policy: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any
) -> None:
    fixed = Place(tmp_path_factory.mktemp("fixed"))
    fixed.run(fixed.items(300), workers=4)
    for name, value in (("DECISION_MS", 0), ("ITEMS_MIN", 1)):
        monkeypatch.setattr(autoscale, name, value)
    patience = 15 if policy == "cpu" else 1  # processes take long to start
    wanted = (size for _ in range(10_000) for size in (4, 1, 3, 2) for _ in range(patience))

    def decide(self: AutoscaleRule, seen: LoadSample) -> int:
        self.workers = next(wanted)
        return self.workers

    monkeypatch.setattr(AutoscaleRule, "decide", decide)
    sizes: list[int] = []
    resize = PoolEngine.resize

    def resizing(self: PoolEngine, count: int) -> None:
        sizes.append(count)
        resize(self, count)

    monkeypatch.setattr(PoolEngine, "resize", resizing)
    with no_thread_leaks():
        outcome = place.run(place.items(300), workers=4, policy=policy, adaptive=True)
    assert outcome.succeeded == 300
    assert {1, 2, 4} <= set(sizes)
    assert place.published() == fixed.published()
    rows, expected = steady(place.runs()[0][1:]), steady(fixed.runs()[0][1:])
    assert [row | {"input_path": ""} for row in rows] == [row | {"input_path": ""} for row in expected]


@pytest.mark.req("RUN-11")
def test_it_is_off_unless_it_is_asked_for_and_says_how_many_there_are(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def workers_of(outcome: Any) -> int:
        [snapshot] = [line for line in place.telemetry(outcome) if line["event"] == "snapshot"]
        return int(snapshot["workers"])

    assert not place.options().adaptive
    assert workers_of(place.run(place.items(3), workers=6)) == 6
    assert workers_of(place.run(place.items(3), workers=6, adaptive=True, force=True)) == 3
