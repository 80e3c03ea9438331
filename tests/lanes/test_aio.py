"""The asyncio interface: awaited submissions, and tasks that are coroutines. Counts stay exact under cancellation."""

import asyncio
import contextvars
import functools
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from inorder.lanes import CancelToken, Lane, LaneConfig, Outcome, Reason, TaskCancelled, TaskState, Ticket, aio
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import outcomes
from tests.support.gates import GUARD_S, Gate, ManualTime

pytestmark = pytest.mark.req("LAN-11")


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine function on a loop of its own, under a guard."""
    return asyncio.run(asyncio.wait_for(main(), GUARD_S))


async def started(work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    """A task that has run up to its first wait."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    return task


async def elsewhere(function: Callable[..., Any], *args: Any) -> Any:
    """Call something that blocks without blocking the loop."""
    return await asyncio.to_thread(function, *args)


async def nothing() -> str:
    return "nothing"


class Latch:
    """Holds coroutine tasks, and counts those it holds."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.arrived = asyncio.Semaphore(0)
        self.inside = self.inside_max = 0

    async def hold(self, value: Any = None) -> Any:
        self.inside += 1
        self.inside_max = max(self.inside, self.inside_max)
        self.arrived.release()
        try:
            await self.opened.wait()
        finally:
            self.inside -= 1
        return value

    async def await_arrivals(self, count: int = 1) -> None:
        for _ in range(count):
            await self.arrived.acquire()


# Plain functions


def test_a_function_runs_on_a_worker_thread_and_its_ticket_can_be_awaited(make_lane: MakeLane) -> None:
    lane = make_lane()

    async def main() -> None:
        ticket = await lane.submit_async(threading.get_ident)
        assert ticket.outcome is Outcome.ACCEPTED
        assert await ticket != threading.get_ident()
        assert await ticket == ticket.result(0)

    run(main)


def test_an_awaited_ticket_raises_what_the_task_raised(make_lane: MakeLane) -> None:
    lane = make_lane()

    async def main() -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            await (await lane.submit_async(int, "x"))

    run(main)


def test_a_ticket_from_a_thread_can_be_awaited_too(make_lane: MakeLane, gate: Gate) -> None:
    ticket = make_lane().submit(gate.hold, "from a thread")

    async def main() -> str:
        waiting = await started(_result(ticket))
        gate.open()
        return str(await waiting)

    assert run(main) == "from a thread"


async def _result(ticket: Awaitable[Any]) -> Any:
    return await ticket


def test_to_cancel_the_wait_for_a_result_leaves_the_task_alone(make_lane: MakeLane, gate: Gate) -> None:
    ticket = make_lane().submit(gate.hold, "unharmed")

    async def main() -> None:
        waiting = await started(_result(ticket))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(main)
    assert ticket._callbacks is None
    gate.open()
    assert ticket.result(GUARD_S) == "unharmed"


# Waiting for admission


def test_waiting_for_a_place_does_not_block_the_loop(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)

    async def main() -> None:
        await lane.submit_async(gate.hold)
        waiting = await started(lane.submit_async(int))
        assert not waiting.done()
        assert lane.statistics().waiting == 1
        gate.open()
        assert await (await waiting) == 0

    run(main)
    assert outcomes(lane) == (2, 0, 0, 0)


def test_a_cancelled_wait_is_rejected(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    ran: list[int] = []

    async def main() -> None:
        await lane.submit_async(gate.hold)
        waiting = await started(lane.submit_async(ran.append, 1))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (lane.statistics().waiting, outcomes(lane)) == (0, (1, 1, 0, 0))

    run(main)
    gate.open()
    lane.close()
    assert ran == []


def test_a_wait_cancelled_in_the_moment_of_its_grant_is_rejected_and_gives_place_and_token_back(
    make_lane: MakeLane, gate: Gate
) -> None:
    lane = make_lane(max_concurrency=1, capacity=0, rate_per_s=0.001, burst=3)
    ran: list[str] = []

    async def main() -> Ticket[Any]:
        held = await lane.submit_async(gate.hold)
        waiting = await started(lane.submit_async(ran.append, "cancelled"))
        gate.open()
        assert held.wait(GUARD_S)  # blocks the loop: the grant is made, and cannot be taken yet
        assert lane._locked.state.reserved == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (lane._locked.state.reserved, lane._locked.state.slots_used) == (0, 0)
        return await lane.submit_async(ran.append, "next")

    run(main).result(GUARD_S)
    assert ran == ["next"]
    assert outcomes(lane) == (2, 1, 0, 0)
    assert [lane.try_submit(int).outcome for _ in range(2)].count(Outcome.ACCEPTED) == 1


def test_a_place_given_back_goes_to_the_next_in_line(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)

    async def main() -> Any:
        held = await lane.submit_async(gate.hold)
        first = await started(lane.submit_async(str))
        second = await started(lane.submit_async(int))
        gate.open()
        assert held.wait(GUARD_S)
        first.cancel()
        return await (await second)

    assert run(main) == 0
    assert outcomes(lane) == (2, 1, 0, 0)


def test_a_place_that_is_reserved_is_not_given_twice(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0, strategy="block")

    async def main() -> None:
        held = await lane.submit_async(gate.hold)
        waiting = await started(lane.submit_async(int))
        gate.open()
        assert held.wait(GUARD_S)
        assert lane.try_submit(int).reason is Reason.FULL
        assert await (await waiting) == 0

    run(main)


def test_a_lane_closed_between_grant_and_claim_rejects(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)

    async def main() -> None:
        held = await lane.submit_async(gate.hold)
        waiting = await started(lane.submit_async(int))
        gate.open()
        assert held.wait(GUARD_S)
        assert lane.close()
        ticket = await waiting
        assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.CLOSED)

    run(main)
    assert outcomes(lane) == (1, 1, 0, 0)


@pytest.mark.parametrize("by", ["token", "event", "deadline", "close"])
def test_a_wait_can_be_called_off_like_that_of_a_thread(
    make_lane: MakeLane, gate: Gate, time: ManualTime, by: str
) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    cancel = CancelToken() if by == "token" else threading.Event()

    async def main() -> Ticket[Any]:
        await lane.submit_async(gate.hold)
        deadline_s = 5.0 if by == "deadline" else None
        waiting = await started(lane.submit_async(int, cancel=cancel, deadline_s=deadline_s))
        if by == "deadline":
            time.advance(5)
            lane.tick()
        elif by == "close":
            lane._locked.begin_close(drain=True)
        else:
            cancel.set()
        return await waiting  # type: ignore[no-any-return]

    reason = {"deadline": Reason.DEADLINE, "close": Reason.CLOSED}.get(by, Reason.CANCELLED)
    ticket = run(main)
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, reason)


def test_waiting_for_a_token_ends_when_it_is_there() -> None:
    lane = Lane(LaneConfig(name="real", rate_per_s=200, burst=1))

    async def main() -> list[Outcome | None]:
        tickets = await asyncio.gather(*(lane.submit_async(int) for _ in range(4)))
        return [ticket.outcome for ticket in tickets]

    assert run(main) == [Outcome.ACCEPTED] * 4
    assert lane.close()


def test_one_who_is_woken_for_nothing_waits_on_quietly(
    make_lane: MakeLane, time: ManualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counted(aio.LoopWaker):
        looks = 0

        async def wait(self, timeout_s: float) -> None:
            Counted.looks += 1
            assert Counted.looks < 20, "it does not wait, it spins"
            await super().wait(timeout_s)

    monkeypatch.setattr(aio, "LoopWaker", Counted)
    lane = make_lane(rate_per_s=0.1, burst=1)

    async def main() -> None:
        await lane.submit_async(int)
        first, second = await started(lane.submit_async(int)), await started(lane.submit_async(int))
        time.advance(10)
        lane.tick()
        await first
        for _ in range(20):
            await asyncio.sleep(0)
        assert not second.done()
        time.advance(10)
        lane.tick()
        await second

    run(main)


def test_a_cancelled_redirect_is_rejected_everywhere(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane("lane", max_concurrency=1, capacity=0, strategy="redirect", redirect_to="spare")
    spare = make_lane("spare", max_concurrency=1, capacity=0)

    async def main() -> None:
        await lane.submit_async(gate.hold)
        await spare.submit_async(gate.hold)
        waiting = await started(lane.submit_async(int))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(main)
    assert (outcomes(lane), outcomes(spare)) == ((1, 1, 0, 0), (1, 1, 0, 0))


def test_a_caller_whose_loop_was_closed_under_it_is_rejected_everywhere(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane("lane", max_concurrency=1, capacity=0, strategy="redirect", redirect_to="spare")
    spare = make_lane("spare", max_concurrency=1, capacity=0)
    lane.submit(gate.hold)
    held = spare.submit(gate.hold)
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(lane.submit_async(int))
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert spare.statistics().waiting == 1
    loop.close()
    gate.open()
    held.result(GUARD_S)
    assert spare.submit(int).result(GUARD_S) == 0
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]
    assert (outcomes(lane), outcomes(spare)) == ((1, 1, 0, 0), (2, 1, 0, 0))


# Coroutine tasks


def test_a_coroutine_runs_on_the_loop_of_its_caller(make_lane: MakeLane) -> None:
    lane = make_lane()

    async def where() -> tuple[int, asyncio.AbstractEventLoop]:
        return threading.get_ident(), asyncio.get_running_loop()

    async def main() -> None:
        ticket = await lane.submit_async(where)
        assert await ticket == (threading.get_ident(), asyncio.get_running_loop())

    run(main)
    counted = lane.statistics()
    assert (counted.completed, counted.workers) == (1, 0)
    assert (counted.wait_s.count, counted.run_s.count) == (1, 1)


class Greeter:
    async def __call__(self, name: str) -> str:
        return f"hello {name}"

    async def greet(self, name: str) -> str:
        return f"hello {name}"


@pytest.mark.parametrize("function", [Greeter(), Greeter().greet, functools.partial(Greeter().greet)])
def test_every_kind_of_coroutine_function_is_known_as_one(make_lane: MakeLane, function: Any) -> None:
    lane = make_lane()

    async def main() -> Any:
        return await (await lane.submit_async(function, "you"))

    assert run(main) == "hello you"
    assert lane.statistics().workers == 0


def test_no_more_coroutines_run_at_once_than_allowed(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=3)

    async def main() -> None:
        latch = Latch()
        tickets = [await lane.submit_async(latch.hold, number) for number in range(10)]
        await latch.await_arrivals(3)
        assert (lane.statistics().running, lane.statistics().depth) == (3, 7)
        latch.opened.set()
        assert await asyncio.gather(*tickets) == list(range(10))
        assert latch.inside_max == 3

    run(main)
    assert lane.statistics().workers == 0


def test_coroutines_and_functions_share_the_places_and_the_order(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    ran: list[str] = []

    async def note(name: str) -> None:
        ran.append(name)

    async def main() -> None:
        await lane.submit_async(gate.hold)
        tickets = [
            await lane.submit_async(note, "coroutine"),
            await lane.submit_async(ran.append, "function"),
            await lane.submit_async(note, "urgent coroutine", priority=1),
            await lane.submit_async(ran.append, "urgent function", priority=1),
            await lane.submit_async(note, "last coroutine"),
        ]
        gate.open()
        await asyncio.gather(*tickets)

    run(main)
    assert ran == ["urgent coroutine", "urgent function", "coroutine", "function", "last coroutine"]


def test_a_coroutine_behind_a_function_begins_while_that_runs(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=2)

    async def main() -> None:
        function = await lane.submit_async(gate.hold)
        assert await (await lane.submit_async(nothing)) == "nothing"
        assert not function.done
        gate.open()
        await function

    run(main)


def test_a_coroutine_that_raises_has_failed_and_the_lane_goes_on(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=1)

    async def fail(error: BaseException) -> None:
        raise error

    async def main() -> None:
        for error in (ValueError("bad"), SystemExit(3), KeyboardInterrupt()):
            ticket = await lane.submit_async(fail, error)
            with pytest.raises(type(error)):
                await ticket
            assert ticket.state is TaskState.FAILED
        assert await (await lane.submit_async(nothing)) == "nothing"

    run(main)
    assert (lane.statistics().failed, lane.statistics().completed) == (3, 1)


def test_a_coroutine_sees_the_context_of_its_caller(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    variable = contextvars.ContextVar("variable", default="nobody's")

    async def read() -> str:
        return variable.get()

    async def main() -> str:
        await lane.submit_async(gate.hold)
        variable.set("the caller's")
        ticket = await lane.submit_async(read)
        variable.set("changed later")
        gate.open()
        return await ticket

    assert run(main) == "the caller's"


def test_a_running_coroutine_that_is_given_up_is_cancelled(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=1)

    async def main() -> None:
        latch = Latch()
        ticket = await lane.submit_async(latch.hold)
        await latch.await_arrivals()
        behind = await lane.submit_async(nothing)
        assert lane.abandon(ticket)
        assert ticket.state is TaskState.CANCELLED
        assert await behind == "nothing"
        assert latch.inside == 0
        with pytest.raises(TaskCancelled):
            await ticket

    run(main)
    assert (lane.statistics().cancelled, lane.statistics().completed) == (1, 1)


def test_a_coroutine_given_up_before_its_first_step_never_runs(make_lane: MakeLane) -> None:
    lane = make_lane()
    ran: list[int] = []

    async def note() -> None:
        ran.append(1)

    async def main() -> None:
        ticket = await lane.submit_async(note)
        assert ticket.state is TaskState.RUNNING
        assert lane.abandon(ticket)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    run(main)
    assert ran == []
    assert lane.statistics().cancelled == 1


def test_a_coroutine_given_up_before_the_lane_came_to_begin_it_never_runs(make_lane: MakeLane) -> None:
    lane = make_lane()
    ran: list[int] = []

    async def note() -> None:
        ran.append(1)

    async def main() -> None:
        ticket = await lane.submit_async(note)
        assert ticket._async_task is not None
        lane.abandon(ticket)
        ticket._async_task.begin()  # a slow thread that had been told to begin it before
        for _ in range(3):
            await asyncio.sleep(0)

    run(main)
    assert ran == []


def test_a_coroutine_that_was_cancelled_from_within_counts_as_cancelled(make_lane: MakeLane) -> None:
    lane = make_lane()

    async def cancel_myself() -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        ticket = await lane.submit_async(cancel_myself)
        with pytest.raises(TaskCancelled):
            await ticket

    run(main)
    assert (lane.statistics().cancelled, lane.statistics().abandoned) == (1, 0)


def test_a_queued_coroutine_can_be_taken_back(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)

    async def main() -> None:
        await lane.submit_async(gate.hold)
        ticket = await lane.submit_async(nothing)
        assert ticket.cancel()
        with pytest.raises(TaskCancelled):
            await ticket

    run(main)


# The end


def test_closing_awaits_coroutines(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=2)

    async def main() -> None:
        latch = Latch()
        tickets = [await lane.submit_async(latch.hold, number) for number in range(4)]
        closing = asyncio.create_task(lane.close_async())
        await latch.await_arrivals(2)
        latch.opened.set()
        assert await closing is True
        assert [ticket.result(0) for ticket in tickets] == [0, 1, 2, 3]

    run(main)


def test_closing_on_the_loop_that_the_coroutines_need_does_not_wait(make_lane: MakeLane) -> None:
    lane = make_lane()

    async def main() -> None:
        ticket = await lane.submit_async(nothing)
        assert lane.close() is False
        assert await ticket == "nothing"
        assert lane.close() is True

    run(main)


def test_a_coroutine_may_close_its_own_lane(make_lane: MakeLane) -> None:
    lane = make_lane()

    async def close() -> tuple[bool, bool]:
        return lane.close(), await lane.close_async()

    async def main() -> None:
        assert await (await lane.submit_async(close)) == (False, False)
        assert await lane.close_async()

    run(main)


def test_out_of_patience_coroutines_are_cancelled(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=1)

    async def main() -> None:
        latch = Latch()
        tickets = [await lane.submit_async(latch.hold) for _ in range(3)]
        await latch.await_arrivals()
        assert await lane.close_async(timeout_s=0)
        assert {ticket.state for ticket in tickets} == {TaskState.CANCELLED}
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert latch.inside == 0

    run(main)


def test_a_loop_that_ends_takes_its_coroutines_with_it_and_the_lane_goes_on(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=2)
    tickets: list[Ticket[Any]] = []

    async def main() -> None:
        latch = Latch()
        tickets.extend([await lane.submit_async(latch.hold) for _ in range(4)])
        await latch.await_arrivals(2)

    run(main)
    assert {ticket.state for ticket in tickets} == {TaskState.CANCELLED}
    assert lane.submit(int).result(GUARD_S) == 0
    assert lane.statistics().cancelled == 4


def on_a_loop_that_is_closed(lane: Lane) -> Ticket[Any]:
    """A coroutine task whose loop was closed right after the submission, without any ceremony."""
    loop = asyncio.new_event_loop()

    async def main() -> Ticket[Any]:
        loop.stop()
        return await lane.submit_async(nothing)

    submitting = loop.create_task(main())
    loop.run_forever()
    loop.close()
    return submitting.result()


def test_a_queued_coroutine_whose_loop_is_closed_is_cancelled_when_its_turn_comes(
    make_lane: MakeLane, gate: Gate
) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    gate.await_arrivals()
    ticket = on_a_loop_that_is_closed(lane)
    behind = lane.submit(int)
    gate.open()
    assert behind.result(GUARD_S) == 0
    assert ticket.state is TaskState.CANCELLED


def test_a_coroutine_whose_loop_is_closed_can_be_given_up(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=1)
    ticket = on_a_loop_that_is_closed(lane)
    assert lane.abandon(ticket)
    assert lane.submit(int).result(GUARD_S) == 0


@pytest.mark.parametrize("notice", ["close", "tick"])
def test_a_loop_closed_before_the_coroutine_began_is_noticed(make_lane: MakeLane, notice: str) -> None:
    lane = make_lane(max_concurrency=1)
    ticket = on_a_loop_that_is_closed(lane)
    assert ticket.state is TaskState.RUNNING
    if notice == "close":
        assert lane.close()
    else:
        lane.tick()
    assert ticket.state is TaskState.CANCELLED


@pytest.mark.process
def test_importing_lanes_does_not_import_asyncio() -> None:
    heavy = "{'asyncio', 'concurrent.futures', 'multiprocessing', 'logging'}"
    program = f"import sys; import inorder.lanes; print(sorted({heavy} & set(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert finished.stdout.strip() == "[]"
