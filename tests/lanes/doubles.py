"""What tests of lanes use instead of sleeping.

Time stands still unless the test moves it. A `Gate` blocks a task until the test opens it. A `Caller` is a thread that
submits; a test continues once it waits. Every wait of a test is limited by `GUARD_S`, which no passing test uses up.
"""

import threading
from collections.abc import Callable
from typing import Any

from inorder.lanes import Lane, LaneConfig, LaneStatistics
from inorder.lanes.waiters import ThreadWaker

GUARD_S = 20.0


class ManualTime:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def pass_by(self, seconds: float) -> None:
        self.now_s += seconds


class Gate:
    """Holds tasks until it is opened, and counts those it holds."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._arrived = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.inside = 0
        self.inside_max = 0

    def hold(self, value: Any = None) -> Any:
        """The task: stay here until the gate opens, then return the value."""
        with self._lock:
            self.inside += 1
            self.inside_max = max(self.inside_max, self.inside)
        self._arrived.release()
        try:
            if not self._open.wait(3 * GUARD_S):  # longer than any test waits for what the gate holds back
                raise AssertionError("the gate was never opened")
        finally:
            with self._lock:
                self.inside -= 1
        return value

    def has_visitors(self, count: int = 1) -> None:
        """Go on once so many more tasks are held."""
        for _ in range(count):
            assert self._arrived.acquire(timeout=GUARD_S), "no task came to the gate"

    def has_no_further_visitor(self) -> None:
        """No task has come that the test has not counted."""
        assert not self._arrived.acquire(blocking=False)

    def open(self) -> None:
        """Release every task, now and from now on."""
        self._open.set()


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


def ended(threads: list[threading.Thread]) -> bool:
    """Whether all of these have ended, once they have been given the time for it."""
    for thread in threads:
        thread.join(GUARD_S)
    return not any(thread.is_alive() for thread in threads)


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
