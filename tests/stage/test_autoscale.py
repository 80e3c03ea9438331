"""How many workers there are may follow the load. What comes of the items does not."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.engines.pool import PoolEngine
from inorder.stage import autoscale
from inorder.stage.autoscale import AutoscaleRule, LoadSample, StageAutoscaler
from tests.stage.jobs import Place, steady
from tests.support.gates import Gate, no_thread_leaks


def sample(rate: float, *, failures: int = 0, p95_ms: float = 10.0, is_saturated: bool = True) -> LoadSample:
    """A hundred items at this rate, which take as long as p95 says."""
    return LoadSample(100, failures, rate, p95_ms, p95_ms, is_saturated)


def play(rule: AutoscaleRule, measure: Any, count: int) -> list[int]:
    """The numbers of workers after so many measurements, each of which depends on the present number."""
    return [rule.decide(measure(rule.workers)) for _ in range(count)]


@pytest.mark.req("RUN-11")
def test_it_rises_by_half_while_throughput_rises_up_to_its_bound_and_stays_there() -> None:
    rule = AutoscaleRule(12)
    assert rule.workers == 6
    assert play(rule, lambda workers: sample(10 * workers), 40) == [9, *[12] * 39]


@pytest.mark.req("RUN-11")
def test_where_more_workers_bring_nothing_it_falls_to_as_many_as_are_served() -> None:
    rule = AutoscaleRule(12)
    seen = play(rule, lambda workers: sample(10 * min(2, workers), p95_ms=5.0 * max(2, workers)), 60)
    assert seen[:6] == [9, 6, 4, 2, 1, 2]
    assert max(seen[6:]) == 3
    assert seen[6:].count(2) > 45


@pytest.mark.req("RUN-11")
def test_trials_that_change_nothing_become_rarer() -> None:
    rule = AutoscaleRule(12)
    seen = play(rule, lambda workers: sample(10 * min(2, workers)), 200)
    trials = [number for number, workers in enumerate(seen) if workers == 3]
    gaps = [later - earlier for earlier, later in pairwise(trials)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 60


@pytest.mark.req("RUN-11")
def test_a_step_up_is_taken_back_if_items_take_much_longer_or_fail() -> None:
    for spoilt in ({"p95_ms": 16.0}, {"failures": 11}):
        rule = AutoscaleRule(12)
        rule.decide(sample(60))
        assert rule.decide(sample(90, **spoilt)) == 6


@pytest.mark.req("RUN-11")
def test_a_step_up_that_was_compared_with_a_lucky_measurement_is_taken_again() -> None:
    rule = AutoscaleRule(12)
    assert [rule.decide(sample(rate)) for rate in (90, 90, 60, 90, 120)] == [9, 6, 9, 12, 12]


@pytest.mark.req("RUN-11")
def test_it_falls_by_a_third_when_items_take_longer_and_throughput_drops_down_to_one() -> None:
    rule = AutoscaleRule(12)
    play(rule, lambda workers: sample(10 * workers), 10)
    assert rule.decide(sample(60, p95_ms=100.0)) == 8


@pytest.mark.req("RUN-11")
def test_long_items_alone_are_no_spike() -> None:
    rule = AutoscaleRule(12)
    play(rule, lambda workers: sample(10 * workers), 10)
    assert rule.decide(sample(120, p95_ms=100.0)) == 12
    assert rule.decide(sample(10, p95_ms=10.0)) == 12


@pytest.mark.req("RUN-11")
def test_after_a_spike_it_rises_again_if_throughput_does() -> None:
    rule = AutoscaleRule(12)
    play(rule, lambda workers: sample(10 * workers), 10)
    rule.decide(sample(60, p95_ms=20.0))
    assert play(rule, lambda workers: sample(5 * workers, p95_ms=20.0), 4)[-1] == 12


@pytest.mark.req("RUN-11")
def test_it_falls_while_fewer_workers_make_failures_rarer() -> None:
    rule = AutoscaleRule(12)
    assert play(rule, lambda workers: sample(20, failures=(workers - 2) * 8), 3) == [4, 2, 3]


@pytest.mark.req("RUN-11")
def test_failures_that_do_not_depend_on_the_number_of_workers_do_not_hold_it_down() -> None:
    rule = AutoscaleRule(12)
    assert play(rule, lambda workers: sample(8 * workers, failures=20), 5) == [4, 6, 9, 12, 12]
    assert rule.decide(sample(90, failures=31)) == 8


@pytest.mark.req("RUN-11")
def test_failures_of_the_last_worker_are_usual() -> None:
    rule = AutoscaleRule(2)
    assert play(rule, lambda workers: sample(5 * workers, failures=60), 4) == [1, 2, 2, 2]


@pytest.mark.req("RUN-11")
def test_it_does_not_rise_while_a_worker_is_idle() -> None:
    rule = AutoscaleRule(12)
    assert play(rule, lambda workers: sample(10 * workers, is_saturated=False), 3) == [6, 6, 6]


@pytest.mark.req("RUN-11")
def test_when_throughput_rises_by_itself_it_tries_more_workers_soon() -> None:
    rule = AutoscaleRule(12)
    play(rule, lambda workers: sample(10 * min(2, workers)), 100)
    assert rule.workers == 2
    assert play(rule, lambda workers: sample(20 * workers), 8)[-1] == 12


def test_a_bound_of_one_is_one() -> None:
    assert play(AutoscaleRule(1), lambda workers: sample(10), 30) == [1] * 30


def test_numbers_stay_within_the_bounds_whatever_is_measured() -> None:
    rng = Random(1)
    for workers_max in (1, 2, 3, 7, 12):
        rule = AutoscaleRule(workers_max)
        for _ in range(500):
            measured = sample(rng.uniform(0, 100), failures=rng.choice((0, 0, 50, 100)), p95_ms=rng.uniform(1, 100))
            assert 1 <= rule.decide(measured) <= workers_max


class Engine:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def resize(self, count: int) -> None:
        self.sizes.append(count)


def deliver(autoscaler: StageAutoscaler, count: int, now_ms: int, *, exec_ms: float = 10.0, outcome: int = 3) -> None:
    """Every worker delivers so many items in turn."""
    for number in range(count):
        worker = number % autoscaler.workers
        autoscaler.record(worker, [Envelope(number, 0, outcome, exec_ms=exec_ms)], now_ms)


def make_autoscaler(workers_max: int, *, is_saturated: bool = True) -> tuple[StageAutoscaler, Engine]:
    engine = Engine()
    return StageAutoscaler(engine, workers_max, lambda: is_saturated, now_ms=0), engine  # type: ignore[arg-type]


@pytest.mark.req("RUN-11")
def test_a_measurement_begins_when_every_worker_has_delivered_and_takes_enough_items_and_time() -> None:
    autoscaler, engine = make_autoscaler(8)
    deliver(autoscaler, 4, 1000)
    deliver(autoscaler, 19, 1400)
    autoscaler.adjust(1600)
    assert engine.sizes == [4]
    deliver(autoscaler, 1, 1450)
    autoscaler.adjust(1499)
    assert engine.sizes == [4]
    autoscaler.adjust(1500)
    assert engine.sizes == [4, 6]


@pytest.mark.req("RUN-11")
def test_a_worker_that_does_not_deliver_does_not_hold_up_the_measurement() -> None:
    autoscaler, engine = make_autoscaler(8)
    for number in range(40):
        autoscaler.record(number % 2, [Envelope(number, 0, 3, exec_ms=10.0)], 1000)
    autoscaler.adjust(2000)
    assert engine.sizes == [4, 6]


@pytest.mark.req("RUN-11")
def test_items_of_which_some_are_long_are_measured_until_the_mean_is_exact_or_for_five_seconds() -> None:
    for long_ms, count, decided_ms in ((11.0, 30, 500), (1000.0, 30, 5000), (1000.0, 4000, 500)):
        autoscaler, engine = make_autoscaler(8)
        deliver(autoscaler, 4, 0)
        for _ in range(count // 10):
            deliver(autoscaler, 9, 0)
            deliver(autoscaler, 1, 0, exec_ms=long_ms)
        autoscaler.adjust(decided_ms - 1)
        assert engine.sizes == [4]
        autoscaler.adjust(decided_ms)
        assert engine.sizes == [4, 6]


@pytest.mark.req("RUN-11")
def test_items_that_are_skipped_say_nothing() -> None:
    autoscaler, engine = make_autoscaler(8, is_saturated=False)
    deliver(autoscaler, 100, 1000, outcome=int(State.TERMINAL_SKIP))
    autoscaler.adjust(2000)
    assert engine.sizes == [4]


@pytest.mark.req("RUN-11")
def test_until_an_item_is_done_it_rises_by_one_per_second_while_every_worker_is_busy() -> None:
    for is_saturated, sizes in ((True, [4, 5, 6, 7, 8]), (False, [4])):
        autoscaler, engine = make_autoscaler(8, is_saturated=is_saturated)
        for now_ms in range(0, 9000, 500):
            autoscaler.adjust(now_ms)
        assert engine.sizes == sizes
    autoscaler, engine = make_autoscaler(8)
    autoscaler.adjust(1000)
    deliver(autoscaler, 1, 1500)
    autoscaler.adjust(9000)
    assert engine.sizes == [4, 5]


@pytest.mark.req("RUN-11")
def test_a_run_of_slow_items_comes_to_use_all_its_workers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autoscale, "BLIND_MS", 0)
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
    for name, value in (("DECISION_MS", 0), ("ITEMS_MIN", 1), ("ITEMS_PER_WORKER", 0), ("ERROR_MAX", 1e9)):
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
