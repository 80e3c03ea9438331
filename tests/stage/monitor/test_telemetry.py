"""What is written down about a run while it goes on: events, and numbers."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.core.commands import PressureChanged, Reclaimed, ResultRefused, RetryScheduled, Stopping, WindowClosed
from inorder.core.events import Committed, Envelope, Finished, Loss, Planned, Pulled, Tick, WorkerLost
from inorder.core.kernel import Kernel
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.errors import Category, Failure, InvariantViolation
from inorder.host.filesystem import SystemFilesystem
from inorder.stage.monitor.metrics import METRICS, RunMetrics
from inorder.stage.monitor.telemetry import EVENTS, RUN_EVENTS, Telemetry
from tests.stage.jobs import Place, read_lines
from tests.stage.workers import nothing, shout
from tests.support.gates import GUARD_S


def events_of(lines: list[dict[str, Any]]) -> list[str]:
    return [line["event"] for line in lines]


@pytest.mark.req("RUN-10")
def test_a_run_begins_and_ends_with_an_event_and_has_a_time_in_every_line(place: Place) -> None:
    outcome = place.run(place.items(3))
    lines = place.telemetry(outcome)
    assert (lines[0]["event"], lines[0]["stage"], lines[0]["run_id"]) == ("run_started", "shout", outcome.run_id)
    assert lines[0]["resumed_at"] is None
    assert events_of(lines)[-2:] == ["snapshot", "run_ended"]
    assert lines[-1]["outcome"]["succeeded"] == 3
    times = [line["time"] for line in lines]
    assert times == sorted(times)


@pytest.mark.req("RUN-10")
def test_a_snapshot_has_every_metric_and_nothing_else(place: Place) -> None:
    outcome = place.run([place.item("a"), place.item("b", "fail"), place.item("c", "flaky")], retries=1)
    [snapshot] = [line for line in place.telemetry(outcome) if line["event"] == "snapshot"]
    assert snapshot.keys() - {"time", "event"} == METRICS.keys()
    assert {name: snapshot[name] for name in METRICS if name.startswith("items_") and name != "items_per_s"} == {
        "items_total": 3,
        "items_succeeded": 2,
        "items_skipped": 0,
        "items_failed": 1,
        "items_adopted": 0,
    }
    assert (snapshot["retries"], snapshot["errors"], snapshot["invariant_violations"]) == (1, {"runtime": 1}, 0)
    assert snapshot["output_bytes"] == sum(map(len, place.published().values()))
    assert snapshot["items_per_s"] > 0
    assert (snapshot["workers"], snapshot["next_commit_seq"], snapshot["max_seen_seq"]) == (2, 3, 2)
    for name in ("in_flight", "queue_depth", "pending_results", "buffered_bytes", "commit_lag"):
        assert snapshot[name] == 0
    assert snapshot["windows"] == []
    histograms = {name: snapshot[name]["count"] for name, (kind, _) in METRICS.items() if kind == "histogram"}
    assert histograms.pop("commit_ms") >= 1
    assert histograms == {"item_queue_ms": 3, "item_start_ms": 3, "item_exec_ms": 3, "item_wait_ms": 3}
    assert snapshot["item_exec_ms"].keys() == {"count", "p50", "p95", "p99", "max", "sum"}


@pytest.mark.req("RUN-10")
def test_snapshots_come_while_a_run_goes_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = threading.Event()
    emit = Telemetry.emit

    def emitting(self: Telemetry, event: str, **fields: Any) -> None:
        emit(self, event, **fields)
        if event == "snapshot":
            taken.set()

    monkeypatch.setattr(Telemetry, "emit", emitting)

    def worker(item: inorder.WorkItem) -> None:
        assert taken.wait(GUARD_S)

    outcome = place.run([inorder.WorkItem(item_id="a")], worker, diagnostics_interval_s=0.01)
    assert events_of(place.telemetry(outcome)).count("snapshot") >= 2


@pytest.mark.process
@pytest.mark.req("RUN-10")
def test_events_of_the_kernel_are_told_as_they_are(place: Place) -> None:
    items = [place.item("a", "flaky"), place.item("b", "hang"), place.item("c", "kill"), place.item("d", "fail")]
    outcome = place.run(items, policy="cpu", retries=1, timeout_s=4.0, error_budget=2)
    lines = place.telemetry(outcome)
    told = set(events_of(lines))
    assert told >= {
        "window_opened",
        "window_sealed",
        "retry_scheduled",
        "worker_lost",
        "overran",
        "reclaimed",
        "stopping",
    }
    [retry] = [line for line in lines if line["event"] == "retry_scheduled"]
    assert (retry["seq"], retry["attempt"], retry["retries"]) == (0, 1, 1)
    assert retry["failure"]["category"] == "provider"
    [overran] = [line for line in lines if line["event"] == "overran"]
    assert (overran["seq"], overran["limit_ms"]) == (1, 4000)


@pytest.mark.slow
@pytest.mark.req("RUN-10")
def test_a_window_that_closes_is_told(place: Place) -> None:
    items = (inorder.WorkItem(item_id=str(number)) for number in range(1100))
    told = events_of(place.telemetry(place.run(items, nothing)))
    assert (told.count("window_opened"), told.count("window_sealed"), told.count("window_closed")) == (2, 2, 2)


ONE_OF_EACH = [
    PressureChanged("hard", "buffered bytes", 5, 0, 0),
    ResultRefused(1, 2, 3),
    Reclaimed(1, 2, 3, False, "worker gone"),
    RetryScheduled(1, 2, 3, Failure(category=Category.IO, message="disk", retryable=True), 1),
    Stopping("received SIGINT", 7),
    WindowClosed(1, 9),
    WorkerLost(1, Loss.DIED, 4, "killed"),
]


@pytest.mark.parametrize("one", ONE_OF_EACH, ids=lambda one: type(one).__name__)
@pytest.mark.req("RUN-10")
def test_an_event_is_a_line_with_all_of_its_fields(tmp_path: Path, one: Any) -> None:
    stream = Telemetry(SystemFilesystem(), str(tmp_path / "telemetry.jsonl"))
    stream.observe(one if isinstance(one, WorkerLost) else Tick(), [] if isinstance(one, WorkerLost) else [one])
    stream.close()
    [line] = read_lines(tmp_path / "telemetry.jsonl")
    assert line["event"] == EVENTS[type(one)]
    assert line.keys() - {"time", "event"} == set(one.__struct_fields__)


@pytest.mark.req("RUN-10")
def test_a_run_that_breaks_off_says_why(place: Place) -> None:
    with pytest.raises(inorder.OperatorError):
        place.run([place.item("a"), place.item("a")])
    [path] = (place.data / "telemetry").iterdir()
    last = read_lines(path)[-1]
    assert (last["event"], last["error"]) == ("run_failed", "OperatorError")
    assert "repeats an earlier id" in last["message"]


@pytest.mark.req("RUN-10")
def test_a_violated_invariant_is_told_with_its_snapshot(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Kernel.step

    def broken(self: Kernel, now_ms: int, event: Any) -> Any:
        if isinstance(event, Finished):
            event = Finished(event.worker, [*event.envelopes, *event.envelopes])
        return step(self, now_ms, event)

    monkeypatch.setattr(Kernel, "step", broken)
    with pytest.raises(InvariantViolation):
        place.run([place.item("a")])
    [path] = (place.data / "telemetry").iterdir()
    last = read_lines(path)[-1]
    assert (last["event"], last["error"]) == ("run_failed", "InvariantViolation")
    assert "next_commit_seq" in last["message"]
    assert last["kernel"]["oldest_blocked_seq"] == 0
    assert read_lines(path)[-2]["invariant_violations"] == 1


def test_every_event_of_a_run_has_a_name_of_its_own() -> None:
    assert len({*EVENTS.values(), *RUN_EVENTS}) == len(EVENTS) + len(RUN_EVENTS)


def test_without_telemetry_nothing_is_written(place: Place) -> None:
    place.run(place.items(2), telemetry=False)
    assert not (place.data / "telemetry").exists()


def test_a_place_that_cannot_be_written_stops_no_run(place: Place) -> None:
    place.data.mkdir()
    (place.data / "telemetry").write_text("a file where a folder should be")
    assert place.run(place.items(2), attempts_log=True).succeeded == 2


def test_a_disk_that_fills_up_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Telemetry(SystemFilesystem(), str(tmp_path / "telemetry.jsonl"))
    stream.emit("first")
    stream.flush()

    def full(data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stream._file, "append", full)
    stream.emit("second")
    stream.flush()
    stream.emit("third")
    stream.close()
    assert events_of(read_lines(tmp_path / "telemetry.jsonl")) == ["first"]


@pytest.mark.req("RUN-10")
def test_lines_of_several_threads_are_each_there_once(tmp_path: Path) -> None:
    stream = Telemetry(SystemFilesystem(), str(tmp_path / "telemetry.jsonl"))

    def emit(thread: int) -> None:
        for number in range(2000):
            stream.emit("line", thread=thread, number=number)
            if number % 7 == 0:
                stream.flush()

    threads = [threading.Thread(target=emit, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.close()
    found = [(line["thread"], line["number"]) for line in read_lines(tmp_path / "telemetry.jsonl")]
    assert sorted(found) == [(thread, number) for thread in range(4) for number in range(2000)]


class Driven:
    """A kernel whose steps are shown to the metrics, at times that the test says."""

    def __init__(self) -> None:
        self.kernel = Kernel(KernelOptions())
        self.queued: list[float] = []
        self.metrics = RunMetrics(on_queued=self.queued.append)

    def step(self, now_ms: int, event: Any) -> None:
        self.metrics.observe(now_ms, event, self.kernel.step(now_ms, event))

    @property
    def gauges(self) -> dict[str, Any]:
        return self.metrics.read_gauges(self.kernel)


def test_waits_and_commits_are_timed_where_they_happen() -> None:
    driven = Driven()
    success = int(State.TERMINAL_SUCCESS)
    for now_ms, event in (
        (0, Tick()),
        (10, Planned([PlanItem()] * 3, ended=True)),
        (30, Pulled(1)),
        (35, Pulled(2)),
    ):
        driven.step(now_ms, event)
    assert (driven.queued, driven.metrics.queue_ms.count) == ([20, 25], 2)
    assert (driven.gauges["active_workers"], driven.gauges["queue_depth"]) == (2, 1)
    driven.step(50, Finished(2, [Envelope(1, 1, success)]))
    driven.step(50, Pulled(2))
    assert driven.gauges["pending_results"] == 1
    driven.step(90, Finished(1, [Envelope(0, 1, success)]))
    assert (driven.metrics.wait_ms.largest, driven.metrics.wait_ms.count) == (40, 2)
    driven.step(97, Committed(2))
    assert (driven.metrics.commit_ms.largest, driven.metrics.commit_ms.count) == (7, 1)
    assert (driven.gauges["pending_results"], driven.gauges["next_commit_seq"]) == (0, 2)
    driven.step(98, WorkerLost(2, Loss.RETIRED))
    assert driven.gauges["active_workers"] == 1
    assert json.dumps(driven.gauges)


def test_the_time_between_dispatch_and_start_is_that_of_the_final_attempt() -> None:
    driven = Driven()
    for event in (Tick(), Planned([PlanItem()] * 2, ended=True)):
        driven.step(0, event)
    driven.step(10, Pulled(1, limit=1))
    driven.step(40, WorkerLost(1, Loss.RETIRED))
    driven.step(50, Pulled(2, limit=1))
    driven.step(80, Finished(2, [Envelope(0, 2, int(State.TERMINAL_SUCCESS), exec_ms=25.0)]))
    assert (driven.metrics.start_ms.count, driven.metrics.start_ms.largest) == (1, 5.0)


@pytest.mark.req("RUN-10")
def test_terminal_lag_leaves_out_what_only_waits_for_its_commit() -> None:
    driven = Driven()
    success = int(State.TERMINAL_SUCCESS)
    for event in (Tick(), Planned([PlanItem()] * 3, ended=True), Pulled(1), Pulled(2), Pulled(3)):
        driven.step(0, event)
    driven.step(1, Finished(3, [Envelope(2, 1, success)]))
    assert (driven.gauges["commit_lag"], driven.gauges["terminal_lag"]) == (3, 3)
    assert (driven.gauges["oldest_blocked_seq"], driven.gauges["oldest_blocked_state"]) == (0, "IN_FLIGHT")
    driven.step(2, Finished(1, [Envelope(0, 1, success)]))
    assert (driven.gauges["commit_lag"], driven.gauges["terminal_lag"]) == (3, 2)
    assert driven.gauges["oldest_blocked_seq"] == 1
    driven.step(3, Finished(2, [Envelope(1, 1, success)]))
    assert (driven.gauges["commit_lag"], driven.gauges["terminal_lag"]) == (3, 0)
    assert driven.gauges["oldest_blocked_seq"] is None
    assert driven.gauges["waiting_for"].startswith("the commit lane")


def test_a_worker_in_flight_is_seen_in_the_gauges(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from inorder.stage.monitor import monitor

    monkeypatch.setattr(monitor, "_GAUGES_S", 0.0)
    seen: list[int] = []
    read_gauges = RunMetrics.read_gauges

    def noting(self: RunMetrics, kernel: Kernel) -> dict[str, Any]:
        found = read_gauges(self, kernel)
        seen.append(found["active_workers"])
        return found

    monkeypatch.setattr(RunMetrics, "read_gauges", noting)
    place.run(place.items(20), shout)
    assert max(seen) == 2
