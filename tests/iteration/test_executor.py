"""`Executor`: the interface of `concurrent.futures`, with what `imap` promises."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import pytest

import inorder
from inorder import Executor, ItemError
from tests.support.gates import GUARD_S, Gate

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.req("API-1")]


def leave(code: int) -> None:
    os._exit(code)


def stay() -> None:
    threading.Event().wait()


@pytest.mark.process
def test_a_call_that_crashes_or_hangs_fails_alone() -> None:
    with Executor(workers=2, timeout_s=2) as executor:
        crashed, hung = executor.submit(leave, 3), executor.submit(stay)
        others = [executor.submit(pow, 2, number) for number in range(20)]
        assert [future.result(GUARD_S) for future in others] == [2**number for number in range(20)]
        with pytest.raises(ItemError, match="the process exited with status 3"):
            crashed.result(GUARD_S)
        with pytest.raises(ItemError, match="exceeded its time limit of 2000 ms"):
            hung.result(GUARD_S)


def test_a_future_raises_what_its_function_raised() -> None:
    with Executor(workers=1, where="threads") as executor:
        future = executor.submit(int, "seven")
        with pytest.raises(ValueError, match="seven") as caught:
            future.result(GUARD_S)
    assert isinstance(caught.value.__cause__, ItemError)
    assert "Traceback" in caught.value.__cause__.traceback


def test_map_keeps_the_order() -> None:
    with Executor(workers=3, where="threads") as executor:
        assert list(executor.map(divmod, range(50), [7] * 50)) == [divmod(number, 7) for number in range(50)]


def test_a_call_is_tried_again() -> None:
    tried: list[int] = []

    def function() -> str:
        tried.append(1)
        if len(tried) < 3:
            raise ConnectionError("reset")
        return "done"

    options = inorder.RunOptions(retry_backoff_s=0)
    with Executor(workers=1, where="threads", retries=2, options=options) as executor:
        assert executor.submit(function).result(GUARD_S) == "done"


def test_shutdown_runs_what_was_submitted_and_takes_nothing_more() -> None:
    executor = Executor(workers=1, where="threads")
    futures = [executor.submit(abs, -number) for number in range(30)]
    executor.shutdown()
    assert [future.result(0) for future in futures] == list(range(30))
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, 1)
    executor.shutdown()


def begin_to_wait(executor: Executor, hold: threading.Event) -> Future[bool]:
    """Occupy the only worker of an executor."""
    first = executor.submit(hold.wait, GUARD_S)
    while not first.running():
        wait([first], 0.001)
    return first


def test_shutdown_can_cancel_what_waits() -> None:
    hold = threading.Event()
    executor = Executor(workers=1, where="threads")
    first = begin_to_wait(executor, hold)
    others = [executor.submit(abs, -number) for number in range(100)]
    executor.shutdown(wait=False, cancel_futures=True)
    assert not wait(others, GUARD_S).not_done
    hold.set()
    executor.shutdown()
    assert first.result(0) is True
    assert all(future.cancelled() for future in others)


def test_a_call_can_be_cancelled_until_a_worker_gets_it() -> None:
    with Executor(workers=2, where="threads") as executor, Gate() as gate:
        futures = [executor.submit(gate.hold, number) for number in range(20)]
        gate.await_arrivals(2)
        assert [future.running() for future in futures] == [True] * 2 + [False] * 18
        assert [future.cancel() for future in futures] == [False] * 2 + [True] * 18
        gate.open()
        assert not wait(futures, GUARD_S).not_done
    assert [future.result(0) for future in futures[:2]] == [0, 1]
    assert gate.arrivals == 2
    with pytest.raises(CancelledError):
        futures[2].result(0)


EVERY_CALL = """
import sys, inorder
executor = inorder.Executor(workers=2, where=sys.argv[1])
for number in range(30):
    executor.submit(pow, number, 2).add_done_callback(lambda future: print(future.result(), flush=True))
"""


@pytest.mark.process
@pytest.mark.parametrize("where", ["processes", "threads"])
def test_the_program_waits_for_what_was_submitted(where: str) -> None:
    command = [sys.executable, "-c", EVERY_CALL, where]
    done = subprocess.run(command, capture_output=True, timeout=GUARD_S, check=True, text=True)
    assert sorted(map(int, done.stdout.split())) == [number**2 for number in range(30)]
    assert done.stderr == ""


def find_run() -> threading.Thread:
    """The thread of the only executor."""
    return next(thread for thread in threading.enumerate() if thread.name == "inorder-executor")


def drop_it(executor: Executor) -> None:
    """Leave the executor to the caller, who drops it."""


def drop_it_in_a_cycle(executor: Executor) -> None:
    """Leave the executor to the garbage collector."""
    executor.own = executor  # type: ignore[attr-defined]


@pytest.mark.process
@pytest.mark.parametrize("where", ["processes", "threads"])
@pytest.mark.parametrize("drop", [drop_it, drop_it_in_a_cycle])
def test_the_workers_of_a_dropped_executor_end_after_its_calls(
    where: Any, drop: Callable[[Executor], None], young_garbage: None
) -> None:
    executor = Executor(workers=2, where=where)
    futures = [executor.submit(abs, -number) for number in range(30)]
    run = find_run()
    drop(executor)
    del executor
    gc.collect()
    run.join(GUARD_S)
    assert not run.is_alive()
    assert [future.result(0) for future in futures] == list(range(30))


def test_calls_may_be_submitted_from_many_threads() -> None:
    found: list[int] = []
    with Executor(workers=2, where="threads") as executor:

        def submit(start: int) -> None:
            futures = [executor.submit(abs, -number) for number in range(start, start + 50)]
            found.extend(future.result(GUARD_S) for future in futures)

        threads = [threading.Thread(target=submit, args=(100 * number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GUARD_S)
    assert sorted(found) == [100 * number + each for number in range(4) for each in range(50)]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"where": "inline"}, "an executor has workers; where must be one of processes, threads, ray"),
        ({"workers": 0}, "workers must be between 1 and 1024, got 0"),
        ({"retries": -1}, "retries must be between 0 and 1000, got -1"),
        ({"options": inorder.RunOptions(schedule="sjf")}, "schedule has no meaning for an executor"),
        ({"options": inorder.RunOptions(fsync="off")}, "fsync has no meaning for an executor"),
        ({"options": inorder.RunOptions(stall_warning_s=1)}, "stall_warning_s has no meaning for an executor"),
    ],
    ids=["where", "workers", "retries", "schedule", "fsync", "stall_warning_s"],
)
def test_a_bad_option_is_refused_by_name(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        Executor(**options)
    assert str(caught.value) == complaint


def test_above_the_limit_of_resident_memory_one_call_runs_at_a_time() -> None:
    pair = threading.Barrier(2)
    options = inorder.RunOptions(budgets=inorder.Budgets(resident_bytes_hard=1))
    with Executor(workers=2, where="threads", options=options) as executor:
        executor.submit(abs, 0).result(GUARD_S)
        alone = [executor.submit(pair.wait, 0.05) for _ in range(2)]
        assert [type(future.exception(GUARD_S)) for future in alone] == [threading.BrokenBarrierError] * 2


def test_the_number_of_workers_may_be_left_to_the_executor() -> None:
    with Executor(workers="auto", where="threads") as executor:
        assert executor.submit(abs, -1).result(GUARD_S) == 1


def test_an_executor_that_was_never_used_can_be_shut_down() -> None:
    Executor().shutdown()
