"""Many threads use lanes at random: the counts of every lane always add up."""

import asyncio
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from inorder.lanes import CancelToken, Lane, LaneManager, LaneStatistics, Outcome, Ticket
from tests.lanes.doubles import check_books, lane_config, lane_threads
from tests.support.gates import wait_for_end

THREADS = 32
STEPS = 120
LATE = 100
"""Lanes are closed only in the last steps, so that there is something to close."""
GUARD_S = 60.0


def lanes() -> LaneManager:
    """Every strategy, fixed and dynamic, limited and not, redirecting into each other."""
    shared = {"waiting_max": 8}
    return LaneManager(
        lane_config(
            "front",
            max_concurrency=2,
            capacity=3,
            strategy="redirect",
            redirect_to="back",
            **shared,
        ),
        lane_config(
            "back",
            min_concurrency=1,
            max_concurrency=4,
            capacity=2,
            strategy="redirect",
            redirect_to="last",
            scale_up_after_s=0,
            scale_down_after_s=0,
            **shared,
        ),
        lane_config("last", max_concurrency=1, capacity=1, **shared),
        lane_config("limited", max_concurrency=2, capacity=2, rate_per_s=5000, burst=5, **shared),
        lane_config("dropping", max_concurrency=1, capacity=0, strategy="drop"),
        lane_config("rejecting", min_concurrency=1, max_concurrency=3, capacity=1, strategy="reject"),
    )


NAMES = ("front", "back", "last", "limited", "dropping", "rejecting")


class Crowd:
    """32 threads with dice of their own."""

    def __init__(self, seed: int) -> None:
        self.manager = lanes()
        self.lanes = {name: self.manager.lane(name) for name in NAMES}
        self.together = threading.Barrier(THREADS)
        self.troubles: list[BaseException] = []
        self.nested: list[Ticket[Any]] = []
        self.tickets: list[list[Ticket[Any]]] = [[] for _ in range(THREADS)]
        self.calls = [0] * THREADS
        self.threads = [
            threading.Thread(target=self._live, args=(number, random.Random(seed * 1000 + number)), daemon=True)
            for number in range(THREADS)
        ]

    def run(self) -> None:
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join(GUARD_S)
        assert not any(thread.is_alive() for thread in self.threads), "a thread never came back"
        if self.troubles:
            raise self.troubles[0]

    def _live(self, number: int, dice: random.Random) -> None:
        try:
            self.together.wait(GUARD_S)
            for step in range(STEPS):
                self._act(number, dice, late=step >= LATE)
        except BaseException as error:
            self.troubles.append(error)

    def _act(self, number: int, dice: random.Random, *, late: bool) -> None:
        lane = self.lanes[dice.choice(NAMES)]
        match dice.randrange(100):
            case roll if roll < 70:
                self._submit(number, lane, dice, late=late)
            case roll if roll < 78:
                check_books(lane.statistics(), at_rest=False)
            case roll if roll < 83:
                check_books(self.manager.aggregate(), at_rest=False)
            case roll if roll < 88 and self.tickets[number]:
                dice.choice(self.tickets[number]).cancel()
            case roll if roll < 92 and self.tickets[number]:
                lane.abandon(dice.choice(self.tickets[number]))
            case roll if roll < 97:
                lane.tick()
            case roll if roll < 99:
                asyncio.run(self._submit_async(number, lane, dice))
            case _ if late:
                lane.close(drain=dice.random() < 0.5, timeout_s=dice.choice([None, 0.0]))

    def _submit(self, number: int, lane: Lane, dice: random.Random, *, late: bool) -> None:
        cancel = CancelToken() if dice.random() < 0.2 else None
        if cancel is not None and dice.random() < 0.5:
            timer = threading.Thread(target=cancel.set, daemon=True)
            timer.start()
        self.calls[number] += 1
        options: dict[str, Any] = {"priority": dice.randrange(3), "cancel": cancel}
        kind = dice.randrange(0 if late else 1, 10)
        if dice.random() < 0.5:
            ticket = lane.try_submit(self._task, kind, **options)
        else:
            ticket = lane.submit(self._task, kind, deadline_s=dice.choice([0, 0.005]), **options)
        assert ticket.outcome is not None
        self.tickets[number].append(ticket)

    async def _submit_async(self, number: int, lane: Lane, dice: random.Random) -> None:
        async def coroutine() -> None:
            await asyncio.sleep(0)

        waiting = [
            asyncio.create_task(lane.submit_async(coroutine, deadline_s=0.005 if dice.random() < 0.5 else 0.05))
            for _ in range(4)
        ]
        self.calls[number] += 4
        await asyncio.sleep(0)
        waiting[dice.randrange(4)].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def _task(self, kind: int) -> None:
        if kind == 0:
            self.lanes["last"].close(drain=False)
        elif kind == 1:
            raise ValueError
        elif kind == 2:
            self.nested.append(self.lanes["dropping"].try_submit(int))
        else:
            sum(range(3000 * kind))  # some work, so that lanes fill up


def totals(counted: list[LaneStatistics], name: str) -> int:
    return sum(getattr(each, name) for each in counted)


@pytest.fixture(params=[0.005, 1e-5], ids=["calm", "hectic"])
def switching(request: pytest.FixtureRequest) -> Iterator[None]:
    """How soon one thread is interrupted by another."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(request.param)
    yield
    sys.setswitchinterval(before)


@pytest.mark.slow
@pytest.mark.usefixtures("switching")
@pytest.mark.req("LAN-1", "LAN-4", "LAN-5", "LAN-6", "LAN-8", "LAN-9")
@pytest.mark.parametrize("seed", range(3))
def test_whatever_a_crowd_does_the_books_add_up(seed: int) -> None:
    crowd = Crowd(seed)
    crowd.run()
    assert crowd.manager.close(drain=seed % 2 == 0)
    for name in NAMES:
        assert wait_for_end(lane_threads(name))
    counted = [lane.statistics() for lane in crowd.lanes.values()]
    for each in counted:
        check_books(each)
        assert each.workers == 0
    check_books(crowd.manager.aggregate())
    # Every call is there, once; and what one lane passed on is what another received.
    assert totals(counted, "submitted") - totals(counted, "received") == sum(crowd.calls) + len(crowd.nested)
    assert totals(counted, "received") >= totals(counted, "redirected")
    tickets = [ticket for row in crowd.tickets for ticket in row]
    assert all(ticket.done for ticket in tickets)
    assert {ticket.outcome for ticket in tickets} == set(Outcome)
    assert min(totals(counted, name) for name in ("completed", "failed", "cancelled")) > 0
