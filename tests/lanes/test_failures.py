"""Tasks that raise: counted and reported to their callers, and the lane continues."""

import gc
import weakref

import pytest

from inorder.lanes import TaskState
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import start_waiting
from tests.support.gates import GUARD_S, Gate

pytestmark = pytest.mark.req("LAN-7")


def raising(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        StopIteration(1),
        MemoryError(),
        BaseException("bare"),
    ],
    ids=repr,
)
def test_whatever_a_task_raises_is_counted_and_the_same_worker_goes_on(
    make_lane: MakeLane, error: BaseException
) -> None:
    lane = make_lane(max_concurrency=1)
    ticket = lane.submit(raising, error)
    assert ticket.exception(GUARD_S) is error
    assert ticket.state is TaskState.FAILED
    assert lane.submit(int).result(GUARD_S) == 0
    counted = lane.statistics()
    assert (counted.failed, counted.completed, counted.workers) == (1, 1, 1)


def test_the_result_of_a_failed_task_raises_what_the_task_raised(make_lane: MakeLane) -> None:
    ticket = make_lane().submit(raising, LookupError("nothing there"))
    for _ in range(2):
        with pytest.raises(LookupError, match="nothing there"):
            ticket.result(GUARD_S)


def test_the_traceback_begins_in_the_task(make_lane: MakeLane) -> None:
    error = make_lane().submit(raising, LookupError()).exception(GUARD_S)
    assert error is not None
    assert error.__traceback__ is not None
    assert error.__traceback__.tb_frame.f_code.co_name == "raising"


@pytest.mark.slow
def test_a_failed_task_is_freed_without_the_garbage_collector(make_lane: MakeLane) -> None:
    class Story(Exception):
        pass

    lane = make_lane()

    def fail() -> None:
        raise Story

    gc.collect()
    gc.disable()
    try:
        ticket = lane.submit(fail)
        try:
            ticket.result(GUARD_S)
        except Story as error:
            story = weakref.ref(error)
        lane.submit(int).result(GUARD_S)
        del ticket
        assert story() is None
    finally:
        gc.enable()


def test_a_function_called_with_wrong_arguments_has_failed(make_lane: MakeLane) -> None:
    ticket = make_lane().submit(int, 1, 2, 3)
    assert isinstance(ticket.exception(GUARD_S), TypeError)


def test_a_coroutine_function_submitted_from_a_thread_fails_with_advice(make_lane: MakeLane) -> None:
    async def coroutine() -> int:
        return 1

    ticket = make_lane().submit(coroutine)
    with pytest.raises(TypeError, match="submit_async"):
        ticket.result(GUARD_S)


def test_failures_among_successes_are_counted_apart(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=3)
    for number in range(30):
        lane.submit(raising, ValueError()) if number % 3 == 0 else lane.submit(int)
    lane.close()
    counted = lane.statistics()
    assert (counted.accepted, counted.completed, counted.failed, counted.cancelled) == (30, 20, 10, 0)
    assert counted.run_s.count == 30


def test_a_failure_lets_the_next_caller_in(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)

    def fail_later() -> None:
        gate.hold()
        raise ValueError

    lane.submit(fail_later)
    caller = start_waiting(lane.submit, int)
    gate.open()
    assert caller.answer().result(GUARD_S) == 0
