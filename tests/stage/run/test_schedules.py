"""First come first served, or the cheapest first: what waits how long differs, what comes of it does not."""

import statistics
import threading
from collections.abc import Iterator

import pytest

import inorder
from tests.stage.jobs import Place, steady
from tests.support.gates import GUARD_S

COSTS = [97 * number % 31 + 1 for number in range(40)]


def started_in_order(place: Place, schedule: str) -> list[int]:
    """The costs of the items in the order in which one worker has started them, once all of them were in sight."""
    all_in_sight = threading.Event()
    started: list[int] = []

    def items() -> Iterator[inorder.WorkItem]:
        yield inorder.WorkItem(item_id="first", cost_hint=0.0)
        for number, cost in enumerate(COSTS):
            yield inorder.WorkItem(item_id=f"item-{number}", cost_hint=float(cost), meta={"cost": cost})
        all_in_sight.set()

    def worker(item: inorder.WorkItem) -> None:
        if item.item_id == "first":
            assert all_in_sight.wait(GUARD_S)
        else:
            started.append(item.meta["cost"])

    place.run(items(), worker, schedule=schedule, workers=1)
    return started


def median_wait(started: list[int]) -> float:
    """If every item took as long as it costs."""
    return statistics.median(sum(started[:place]) for place in range(len(started)))


@pytest.mark.req("CMP-4")
def test_the_cheapest_first_waits_less_in_the_median_and_the_rows_are_the_same(place: Place) -> None:
    fifo = started_in_order(place, "fifo")
    sjf = started_in_order(place, "sjf")
    assert fifo == COSTS
    assert sjf == sorted(COSTS)
    assert median_wait(sjf) < 0.7 * median_wait(fifo)
    first, second = place.runs()
    assert steady(first[1:]) == steady(second[1:])


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_items_of_one_kind_go_to_a_worker_together_and_stay_in_their_places(place: Place, policy: str) -> None:
    items = [place.item(f"item-{n:03}", batch_key="abc"[n % 3]) for n in range(90)]
    assert place.run(items, policy=policy).succeeded == 90
    assert list(place.rows()) == [f"item-{n:03}" for n in range(90)]
