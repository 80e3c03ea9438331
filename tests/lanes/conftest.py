"""Lanes that are closed and audited after each test, on a clock that stands still."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inorder.lanes import Lane, LaneConfig, close_order
from inorder.lanes import lane as lane_module
from tests.lanes.doubles import WatchedWaker, check_books, lane_threads
from tests.support.gates import Gate, ManualTime, wait_for_end

MakeLane = Callable[..., Lane]


@pytest.fixture(autouse=True)
def no_complaints() -> Iterator[None]:
    """No callback of a lane may have raised: a lane only warns of it, because it must go on."""
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        yield
    assert [str(complaint.message) for complaint in complaints if "lane" in str(complaint.message)] == []


@pytest.fixture
def time() -> ManualTime:
    return ManualTime()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def make_lane(time: ManualTime, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeLane]:
    """Makes lanes. Afterwards every one of them is closed, its books add up, and its threads have ended."""
    monkeypatch.setattr(lane_module, "ThreadWaker", WatchedWaker)
    made: list[Lane] = []

    def make(name: str = "lane", **options: Any) -> Lane:
        find = options.pop("find", lambda wanted: {lane.name: lane for lane in made}.get(wanted))
        lane = Lane(LaneConfig(name=name, **options), time, find=find)
        made.append(lane)
        return lane

    yield make
    gate.open()
    for lane in made:
        assert lane.close(drain=False)
    assert close_order._waits_for == {}
    for lane in made:
        check_books(lane.statistics())
        assert wait_for_end(lane_threads(lane.name)), f"lane {lane.name} left threads behind"
    while WatchedWaker.waits.acquire(blocking=False):
        pass
