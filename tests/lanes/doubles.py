"""What tests of lanes use instead of sleeping: a `Caller` is a thread that submits; a test continues once it waits."""

import threading
from collections.abc import Callable
from typing import Any

from inorder.lanes import Lane, LaneConfig, LaneStatistics
from inorder.lanes.waiters import ThreadWaker
from tests.support.gates import GUARD_S


class WatchedWaker(ThreadWaker):
    """Signals when its caller is about to wait."""

    waits = threading.Semaphore(0)

    def wait(self, timeout_s: float) -> None:
        WatchedWaker.waits.release()
        super().wait(timeout_s)


class InterruptedWaker(ThreadWaker):
    """Interrupts its caller with KeyboardInterrupt instead of waiting."""

    def wait(self, timeout_s: float) -> None:
        raise KeyboardInterrupt


class Caller:
    """A thread that makes one call, for the answer or the exception."""

    def __init__(self, function: Callable[..., Any], *args: Any, **options: Any) -> None:
        self._answer: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(function, args, options), daemon=True)
        self._thread.start()

    def _run(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
        try:
            self._answer = function(*args, **options)
        except BaseException as error:
            self._error = error

    @property
    def is_waiting(self) -> bool:
        return self._thread.is_alive()

    def answer(self) -> Any:
        """What the call returned; raises what it raised."""
        self._thread.join(GUARD_S)
        assert not self._thread.is_alive(), "the call never came back"
        if self._error is not None:
            raise self._error
        return self._answer


def waits(count: int = 1) -> None:
    """Go on once so many more callers wait inside `submit`."""
    for _ in range(count):
        assert WatchedWaker.waits.acquire(timeout=GUARD_S), "no caller waits"


def start_waiting(function: Callable[..., Any], *args: Any, **options: Any) -> Caller:
    """A caller that has come to wait inside `submit`."""
    caller = Caller(function, *args, **options)
    waits()
    return caller


def lane_threads(name: str) -> list[threading.Thread]:
    """The worker threads of the lane of this name that are alive."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(f"inorder-lane-{name}-")]


def outcomes(lane: Lane) -> tuple[int, int, int, int]:
    """Accepted, rejected, redirected and dropped."""
    counted = lane.statistics()
    return counted.accepted, counted.rejected, counted.redirected, counted.dropped


def check_books(counted: LaneStatistics, *, at_rest: bool = True) -> None:
    """What always adds up, and what does so once nothing is under way."""
    decided = counted.accepted + counted.rejected + counted.redirected + counted.dropped
    over = counted.completed + counted.failed + counted.cancelled
    assert min(getattr(counted, name) for name in counted.__struct_fields__[:-2]) >= 0
    assert decided <= counted.submitted
    assert counted.accepted == over + counted.depth + counted.running
    assert counted.running <= counted.concurrency
    if at_rest:
        assert decided == counted.submitted
        assert (counted.depth, counted.running, counted.waiting) == (0, 0, 0)
        assert counted.accepted == over


def lane_config(name: str = "lane", **options: Any) -> LaneConfig:
    return LaneConfig(name=name, **options)
