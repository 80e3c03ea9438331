"""What a worker reports of its items: it is in telemetry, and in no manifest."""

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import inorder
from inorder.stage.monitor.gpu import add_gpu_process, remove_gpu_process
from inorder.stage.monitor.measures import GROUPS_MAX, NAMES_MAX
from tests.stage.jobs import Place, Row
from tests.support.gates import GUARD_S


def read_pages(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
    ctx.output("loud").write_text("READ")
    ctx.measure(provider="hash", pages=item.meta["pages"], lines=10)
    ctx.measure(pages=1)


def last_snapshot(place: Place, outcome: inorder.StageOutcome) -> Row:
    return [line for line in place.telemetry(outcome) if line["event"] == "snapshot"][-1]


def items_with_pages(place: Place, *pages: int) -> list[inorder.WorkItem]:
    return [
        place.item(f"item-{number}", meta={"pages": count}, batch_key="pdf" if count > 1 else "text")
        for number, count in enumerate(pages)
    ]


@pytest.mark.req("RUN-10")
@pytest.mark.parametrize("policy", ["io", pytest.param("cpu", marks=pytest.mark.process)])
def test_numbers_of_a_worker_are_summed_up_in_all_and_per_batch_key(place: Place, policy: str) -> None:
    outcome = place.run(items_with_pages(place, 3, 1, 5), read_pages, policy=policy)
    snapshot = last_snapshot(place, outcome)
    assert snapshot["measures"] == {"lines": 30, "pages": 12}
    groups = snapshot["groups"]
    assert {name: (group["items"], group["pages"]) for name, group in groups.items()} == {
        "pdf": (2, 10),
        "text": (1, 2),
    }
    assert all(group["exec_ms"] > 0 for group in groups.values())


@pytest.mark.req("RUN-10")
def test_throughput_is_given_in_bytes_lines_and_pages_per_second(place: Place) -> None:
    outcome = place.run(items_with_pages(place, 3, 1), read_pages)
    snapshot = last_snapshot(place, outcome)
    assert snapshot["input_bytes"] == sum(path.stat().st_size for path in place.sources.iterdir())
    rates = {unit: snapshot[f"{unit}_per_s"] for unit in ("bytes", "lines", "pages")}
    elapsed_s = snapshot["measures"]["lines"] / rates["lines"]
    assert rates["pages"] == pytest.approx(6 / elapsed_s, rel=0.01)
    assert rates["bytes"] == pytest.approx(snapshot["input_bytes"] / elapsed_s, rel=0.01)


@pytest.mark.req("RUN-10")
def test_an_item_that_was_not_processed_adds_nothing(place: Place) -> None:
    items = items_with_pages(place, 3)
    place.run(items, read_pages)
    outcome = place.run([*items, place.item("bad", "fail"), place.item("none", "skip")])
    snapshot = last_snapshot(place, outcome)
    assert (snapshot["measures"], snapshot["groups"], snapshot["input_bytes"]) == ({}, {}, 0)


@pytest.mark.req("RUN-10")
def test_an_attempt_that_failed_adds_nothing(place: Place) -> None:
    seen: list[int] = []

    def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
        seen.append(1)
        ctx.measure(pages=7)
        if len(seen) == 1:
            raise inorder.StageError("busy", category="provider", retryable=True)

    outcome = place.run([inorder.WorkItem(item_id="a")], worker, retries=1)
    assert len(seen) == 2
    assert last_snapshot(place, outcome)["measures"] == {"pages": 7}


@pytest.mark.req("RUN-16")
def test_measures_are_in_no_row_of_the_manifest(place: Place) -> None:
    place.run(items_with_pages(place, 3), read_pages)
    assert not {"pages", "lines", "provider", "measures"} & place.row("item-0").keys()


@pytest.mark.parametrize("value", [None, b"x", [1], -1, float("nan"), float("inf")])
def test_what_cannot_be_summed_up_is_refused(place: Place, value: Any) -> None:
    def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
        ctx.measure(pages=value)

    outcome = place.run([inorder.WorkItem(item_id="a")], worker)
    assert outcome.failed == 1
    assert "pages" in outcome.errors[0].message


def test_names_and_groups_have_a_limit(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
        ctx.measure(**{f"name-{item.item_id}": 1})

    count = max(GROUPS_MAX, NAMES_MAX) + 5
    items = [inorder.WorkItem(item_id=str(number), batch_key=f"key-{number}") for number in range(count)]
    snapshot = last_snapshot(place, place.run(items, worker))
    assert len(snapshot["measures"]) == NAMES_MAX
    assert len(snapshot["groups"]) == GROUPS_MAX + 1
    assert snapshot["groups"]["(other)"]["items"] == count - GROUPS_MAX


@pytest.mark.req("RUN-10")
def test_a_snapshot_tells_the_item_that_the_cursor_waits_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from inorder.stage.monitor import monitor

    monkeypatch.setattr(monitor, "_GAUGES_S", 0.0)
    seen: list[Row] = []
    gate = threading.Event()
    write = monitor.RunMonitor._write_snapshot

    def writing(self: Any, progress: Any, **options: Any) -> None:
        gauges = dict(self._gauges)  # the thread of the run replaces them at any moment
        seen.append(gauges)
        write(self, progress, **options)
        if gauges.get("terminal_lag") == 3:
            gate.set()

    monkeypatch.setattr(monitor.RunMonitor, "_write_snapshot", writing)

    def worker(item: inorder.WorkItem) -> None:
        if item.item_id == "0":
            assert gate.wait(GUARD_S)

    items = [inorder.WorkItem(item_id=str(number)) for number in range(3)]
    place.run(items, worker, diagnostics_interval_s=0.01)
    [waiting, *_] = [gauges for gauges in seen if gauges.get("terminal_lag") == 3]
    assert (waiting["oldest_blocked_seq"], waiting["oldest_blocked_state"]) == (0, "IN_FLIGHT")
    assert waiting["commit_lag"] == 3
    assert "seq 0" in waiting["waiting_for"]
    assert (seen[-1]["oldest_blocked_seq"], seen[-1]["oldest_blocked_state"], seen[-1]["terminal_lag"]) == (
        None,
        None,
        0,
    )


@pytest.mark.req("RUN-10")
def test_gpu_memory_is_read_only_where_torch_already_uses_a_gpu(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [inorder.WorkItem(item_id="a")]
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert last_snapshot(place, place.run(items, lambda item: None))["gpu_memory_bytes"] is None
    assert "torch" not in sys.modules
    is_initialized = [False]
    cuda = SimpleNamespace(
        is_initialized=lambda: is_initialized[0], device_count=lambda: 2, memory_reserved=lambda device: 100 + device
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert last_snapshot(place, place.run(items, lambda item: None))["gpu_memory_bytes"] is None
    is_initialized[0] = True
    assert last_snapshot(place, place.run(items, lambda item: None))["gpu_memory_bytes"] == 201


@pytest.mark.req("RUN-10", "DAT-4")
def test_gpu_memory_of_the_process_of_the_providers_counts(place: Place) -> None:
    def read() -> int | None:
        return 300

    items = [inorder.WorkItem(item_id="a")]
    add_gpu_process(read)
    try:
        assert last_snapshot(place, place.run(items, lambda item: None))["gpu_memory_bytes"] == 300
    finally:
        remove_gpu_process(read)
    assert last_snapshot(place, place.run(items, lambda item: None))["gpu_memory_bytes"] is None
