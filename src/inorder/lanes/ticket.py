"""What a caller holds of its submission: the outcome, and where there is a task, its state and result.

The lane that holds the task writes here under its own lock; a caller reads without one, because the state is written
last and an ended task never changes again. Waiting for the end costs nothing until somebody waits: a ticket has no lock
and no event of its own, only a list of those to be told, and that only once there is one.
"""

import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from inorder.errors import require

from .outcomes import Outcome, Reason, TaskState

Result = TypeVar("Result")

_QUEUED = TaskState.QUEUED
_RUNNING = TaskState.RUNNING


class NotAdmitted(Exception):
    """There is no result, because no lane took the task. `outcome` and `reason` say how and why."""

    def __init__(self, lane: str, outcome: Outcome | None, reason: Reason | None) -> None:
        super().__init__(f"lane {lane!r} did not take the task: {outcome} ({reason})")
        self.outcome = outcome
        self.reason = reason


class TaskCancelled(Exception):
    """There is no result, because the task was taken back while queued or given up while it ran."""


class Holder(Protocol):
    """The lane that a task is in, as its ticket knows it."""

    @property
    def name(self) -> str:
        """The lane's name."""
        ...

    def cancel(self, ticket: "AnyTicket") -> bool:
        """Take a queued task back."""
        ...

    def abandon(self, ticket: "AnyTicket") -> bool:
        """Give a task up, also one that runs."""
        ...

    def end_job(self, ticket: "AnyTicket", value: object, error: BaseException | None, *, cancelled: bool) -> None:
        """A task that ran elsewhere has ended."""
        ...

    def subscribe(self, ticket: "AnyTicket", callback: Callable[[], object]) -> bool:
        """Have a callback called once the task has ended; False if it has."""
        ...

    def unsubscribe(self, ticket: "AnyTicket", callback: Callable[[], object]) -> None:
        """Call it no more."""
        ...


class Job(Protocol):
    """A task that runs elsewhere than on a worker thread of the lane: a coroutine on its caller's event loop."""

    @property
    def thread(self) -> int:
        """The thread that must be free for the job to go on."""
        ...

    def begin(self) -> None:
        """Start it. Called without a lock held, from any thread."""
        ...

    def give_up(self) -> None:
        """Stop it if that is possible; its outcome is not wanted any more."""
        ...

    def is_lost(self) -> bool:
        """Whether it can never end by itself, because what it ran on is gone."""
        ...


class Ticket(msgspec.Struct, Generic[Result], eq=False):
    """One submission. Known by identity. Fields are to be read, never written, by the caller."""

    _holder: Holder
    _function: Callable[..., Any] | None
    _args: tuple[Any, ...]
    priority: int
    submitted_s: float
    state: TaskState = TaskState.REFUSED
    outcome: Outcome | None = None
    """None only while the submission is not decided."""
    reason: Reason | None = None
    """Why it was not accepted by the lane it was submitted to."""
    started_s: float = 0.0
    _job: Job | None = None
    _value: Any = None
    _error: BaseException | None = None
    _callbacks: list[Callable[[], object]] | None = None

    def __repr__(self) -> str:
        # Arguments may be large or secret: they are not shown.
        return f"<Ticket in lane {self.lane!r}: {self.outcome}, {self.state}>"

    @property
    def lane(self) -> str:
        """The name of the lane that holds the task; after a redirect, the other one."""
        return self._holder.name

    @property
    def admitted(self) -> bool:
        """Whether there is a task."""
        return self.outcome is Outcome.ACCEPTED or self.outcome is Outcome.REDIRECTED

    @property
    def done(self) -> bool:
        """Whether nothing more will happen: the task has ended, or there is none."""
        return self.state is not _QUEUED and self.state is not _RUNNING

    def cancel(self) -> bool:
        """Take the task back if it is still queued; whether that was done."""
        return self._holder.cancel(self)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the task; False if it has not come in time."""
        if self.done:
            return True
        ended = threading.Lock()
        ended.acquire()
        if not self._holder.subscribe(self, ended.release):
            return True
        if timeout_s is None:
            return ended.acquire()
        if ended.acquire(timeout=min(max(timeout_s, 0.0), threading.TIMEOUT_MAX)):
            return True
        self._holder.unsubscribe(self, ended.release)
        return self.done

    def result(self, timeout_s: float | None = None) -> Result:
        """What the task returned. Raises what it raised, `TaskCancelled`, `NotAdmitted`, or `TimeoutError`."""
        error = self.exception(timeout_s)
        if error is None:
            return self._value  # type: ignore[no-any-return]
        try:
            raise error
        finally:
            del error, self  # the traceback holds this frame, and the frame would hold what holds the error

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """What `result` would raise, or None. Raises only `TimeoutError`."""
        if not self.wait(timeout_s):
            raise TimeoutError(f"the task in lane {self.lane!r} is still {self.state} after {timeout_s} s")
        if self.state is TaskState.REFUSED:
            return NotAdmitted(self.lane, self.outcome, self.reason)
        if self.state is TaskState.CANCELLED:
            return TaskCancelled(f"the task in lane {self.lane!r} was cancelled")
        return self._error

    def when_done(self, callback: Callable[[], object]) -> None:
        """Have `callback` called once the task has ended, on the thread that ends it; at once if it has.

        It must be quick and must not raise; an exception becomes a warning.
        """
        if self.done or not self._holder.subscribe(self, callback):
            callback()

    def __await__(self) -> Generator[Any, None, Result]:
        from .aio import result_of

        return result_of(self).__await__()


AnyTicket = Ticket[Any]


def require_priority(priority: object) -> None:
    """Refuse what cannot be ordered, before it is in a queue."""
    require(isinstance(priority, int), f"priority must be a whole number, got {priority!r}")
