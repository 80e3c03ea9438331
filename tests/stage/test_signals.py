"""Signals and everything that ends a run before its time: it is cut at one item, and goes on there."""

import contextlib
import errno
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import inorder
from inorder.core.commands import Stopping
from inorder.stage.monitor.monitor import RunMonitor
from inorder.stage.signals import cancel_on_signals
from tests.stage.jobs import Place
from tests.stage.workers import obey, shout
from tests.support.gates import GUARD_S, Gate, no_thread_leaks


def signalling(number: int, at: str = "item-0002") -> inorder.StageHooks:
    """Hooks that send this process a signal when an item is committed."""

    def after_item(item: inorder.WorkItem, result: object, ctx: object) -> None:
        if item.item_id == at:
            os.kill(os.getpid(), number)

    return inorder.StageHooks(after_item=after_item)


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("CAN-1", "CAN-2", "RUN-8")
def test_a_signal_cuts_the_run_at_one_item_and_the_next_run_goes_on_there(
    place: Place, policy: str, number: signal.Signals
) -> None:
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    pipe = place.folder / "pipe"
    os.mkfifo(pipe)
    items = place.items(400)
    items[100] = place.item("item-0100", "wait and fail", meta={"pipe": str(pipe)})
    with no_thread_leaks():
        first = place.run(items, obey, signalling(number), policy=policy, cancel_grace_s=0.2)
        with contextlib.suppress(OSError):  # a thread may wait there, a process does not any more
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    assert {each: signal.getsignal(each) for each in before} == before
    assert (first.stop_kind, first.stop_signal, first.was_cancelled) == ("cancelled", number, True)
    assert first.cancel_reason == f"received {number.name}"
    committed = list(place.rows())
    assert 3 <= len(committed) <= 100
    assert committed == [f"item-{n:04}" for n in range(len(committed))]
    assert (first.succeeded, first.cancelled, first.scheduled) == (len(committed), 400 - len(committed), 400)
    assert len(place.published()) == 2 * len(committed)
    place.called()
    second = place.run(place.items(400), obey, policy=policy)
    assert (second.resumed_at, second.succeeded, second.stop_kind) == (len(committed), 400, None)
    called = place.called()
    assert set(called) <= {f"item-{n:04}" for n in range(len(committed), 400)}
    assert len(called) + second.adopted == 400 - len(committed)
    assert place.staged() == []
    assert [row["seq"] for row in place.rows().values()] == list(range(400))
    assert len(place.runs()) == 1


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Is set once a run has taken note that it is to stop."""
    to_record = threading.Event()
    observe = RunMonitor.observe

    def observing(self: RunMonitor, now_ms: int, event: Any, commands: Any) -> None:
        observe(self, now_ms, event, commands)
        if any(isinstance(command, Stopping) for command in commands or ()):
            to_record.set()

    monkeypatch.setattr(RunMonitor, "observe", observing)
    return to_record


@pytest.mark.req("CAN-1")
def test_work_in_flight_has_its_grace(place: Place, stopping: threading.Event) -> None:
    """An item that ends within the grace counts."""

    def worker(item: inorder.WorkItem, ctx: Any) -> Any:
        if item.item_id == "item-0001":
            os.kill(os.getpid(), signal.SIGTERM)
            assert stopping.wait(GUARD_S)
        return shout(item, ctx)

    outcome = place.run(place.items(200), worker, workers=1, cancel_grace_s=1000)
    assert place.row("item-0001")["status"] == "success"
    assert outcome.cancelled > 0
    assert outcome.succeeded + outcome.cancelled == 200


@pytest.mark.req("CAN-1", "CAN-2")
def test_a_second_interrupt_waits_for_nobody(place: Place, stopping: threading.Event) -> None:
    with Gate() as gate:

        def worker(item: inorder.WorkItem, ctx: Any) -> Any:
            if item.item_id == "b":
                gate.hold()
            return shout(item, ctx)

        def interrupt_twice() -> None:
            gate.await_arrivals()
            os.kill(os.getpid(), signal.SIGINT)
            assert stopping.wait(GUARD_S)
            os.kill(os.getpid(), signal.SIGINT)

        both = threading.Thread(target=interrupt_twice)
        both.start()
        outcome = place.run([place.item(name) for name in "ab"], worker, workers=1, cancel_grace_s=1000)
        both.join()
    assert (outcome.succeeded, outcome.cancelled, outcome.stop_signal) == (1, 1, signal.SIGINT)
    assert place.run([place.item(name) for name in "ab"]).resumed_at == 1


@pytest.mark.req("CAN-1")
def test_what_does_not_end_within_the_grace_is_cancelled(place: Place) -> None:
    with Gate() as gate:

        def worker(item: inorder.WorkItem, ctx: Any) -> Any:
            os.kill(os.getpid(), signal.SIGINT)
            gate.hold()

        outcome = place.run([place.item("a")], worker, workers=1, cancel_grace_s=0.1)
    assert (outcome.succeeded, outcome.cancelled) == (0, 1)
    assert place.lines() == []
    assert place.staged() == []


def test_a_stage_in_a_thread_leaves_signals_alone(place: Place) -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[Any] = []

    def run() -> None:
        seen.append(place.run([place.item("a")], lambda item: seen.append(signal.getsignal(signal.SIGINT))))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen[0] is before
    assert seen[1].failed == 1


def test_a_handler_that_was_not_set_from_python_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`signal.signal` answers None for it, and takes no None."""
    handlers: dict[int, Any] = {signal.SIGINT: None, signal.SIGTERM: None}
    set_handler = signal.signal

    def setting(number: int, handler: Any) -> Any:
        if number not in handlers:
            return set_handler(number, handler)
        if handler is None:
            raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
        before, handlers[number] = handlers[number], handler
        return before

    monkeypatch.setattr(signal, "signal", setting)
    with cancel_on_signals(lambda reason, grace_ms: None):
        assert callable(handlers[signal.SIGINT])
    assert handlers == {signal.SIGINT: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL}


@pytest.mark.req("CAN-3", "CAN-4", "JRN-3")
def test_after_an_exceeded_budget_the_next_run_begins_anew_and_skips_or_adopts_what_is_done(place: Place) -> None:
    items = [place.item("a"), place.item("b", "fail"), place.item("c"), place.item("d")]
    place.run(items, error_budget=0)
    place.called()
    outcome = place.run(items)
    assert (outcome.resumed_at, outcome.succeeded, outcome.skipped, outcome.failed) == (None, 2, 1, 1)
    called = place.called()
    assert "a" not in called
    assert len([name for name in called if name != "b"]) == 2 - outcome.adopted


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_a_disk_that_fails_stops_the_run_which_goes_on_once_it_is_mended(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inorder.sinks.outputs import OutputsSink

    apply = OutputsSink.apply

    def failing(self: OutputsSink, entries: Any) -> Any:
        if any(entry.seq >= 30 for entry in entries):
            raise inorder.InfrastructureError("no space left")
        return apply(self, entries)

    def slowly() -> Iterator[inorder.WorkItem]:
        yield from place.items(60)

    with monkeypatch.context() as patch:
        patch.setattr(OutputsSink, "apply", failing)
        with no_thread_leaks(), pytest.raises(inorder.InfrastructureError, match="no space left"):
            place.run(slowly(), max_queue=4)
    committed = len(place.rows()) if place.lines() else 0
    assert committed <= 30
    place.called()
    outcome = place.run(slowly())
    assert (outcome.succeeded, outcome.resumed_at) == (60, committed or None)
    assert len(place.called()) + outcome.adopted == 60 - committed
    assert len(place.published()) == 120
    assert place.staged() == []


@pytest.mark.req("CAN-2")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_the_process_ignores_stays_ignored(number: signal.Signals) -> None:
    """As in the background of a script, or under a supervisor."""
    before = signal.signal(number, signal.SIG_IGN)
    reasons: list[str] = []
    try:
        with cancel_on_signals(lambda reason, grace_ms: reasons.append(reason)) as received:
            os.kill(os.getpid(), number)
            assert signal.getsignal(number) is signal.SIG_IGN
        assert (reasons, received) == ([], [])
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.req("RUN-8")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_or_quota_stops_the_run_and_is_no_fault_of_the_item(place: Place, number: int) -> None:
    def fill(item: inorder.WorkItem) -> None:
        raise OSError(number, os.strerror(number))

    plan = inorder.StagePlan("full", [inorder.WorkItem(item_id="a"), inorder.WorkItem(item_id="b")])
    options = inorder.StageOptions(data=place.folder / "full", progress="none", workers=1, error_budget=None)
    with pytest.raises(inorder.InfrastructureError, match=r"found the disk full.*free some space"):
        inorder.run_stage(plan, fill, options)
    manifest = place.folder / "full" / "manifests" / "full.jsonl"
    assert not manifest.exists() or b"failure" not in manifest.read_bytes()
