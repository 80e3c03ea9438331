"""The ticket of a submission: its outcome, and for an accepted task its state and result.

The lane that owns the task writes to the ticket under its lock. A caller reads without a lock, because the state is
written last and an ended task never changes again. A ticket has no lock and no event of its own, only a list of
callbacks, which is created for the first one. So waiting costs nothing until a caller waits.
"""

import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from inorder.errors import InorderError, require

from .outcomes import Outcome, Reason, TaskState

if TYPE_CHECKING:
    from .aio import CoroutineTask
    from .locked import LockedLane

Result = TypeVar("Result")

_QUEUED = TaskState.QUEUED
_RUNNING = TaskState.RUNNING


class NotAdmitted(InorderError):
    """Raised by `Ticket.result` when no lane accepted the task. `outcome` and `reason` say how and why.

    >>> from inorder.lanes import Lane, LaneConfig, NotAdmitted
    >>> lane = Lane(LaneConfig(name="calls"))
    >>> _ = lane.close()
    >>> try:
    ...     lane.submit(len, "abc").result()
    ... except NotAdmitted as error:
    ...     print(error)
    lane 'calls' did not accept the task: rejected (closed)
    """

    def __init__(self, lane: str, outcome: Outcome | None, reason: Reason | None) -> None:
        super().__init__(f"lane {lane!r} did not accept the task: {outcome} ({reason})")
        self.outcome = outcome
        self.reason = reason


class TaskCancelled(InorderError):
    """Raised by `Ticket.result` when the task was cancelled while queued or abandoned while it ran.

    >>> from inorder.lanes import Lane, LaneConfig, TaskCancelled
    >>> from threading import Event
    >>> release = Event()
    >>> with Lane(LaneConfig(name="calls", max_concurrency=1)) as lane:
    ...     running, queued = lane.submit(release.wait), lane.submit(len, "abc")
    ...     is_cancelled = queued.cancel()
    ...     release.set()
    >>> try:
    ...     queued.result()
    ... except TaskCancelled as error:
    ...     print(error)
    the task in lane 'calls' was cancelled
    """


class Ticket(msgspec.Struct, Generic[Result], eq=False):
    """One submission: its outcome, and for an accepted task its state and result.

    Returned by `Lane.submit`. Compared by identity. Callers read the fields and never write them. In a coroutine,
    `await ticket` waits for the result without blocking the event loop.

    >>> from inorder.lanes import Lane, LaneConfig
    >>> with Lane(LaneConfig(name="calls")) as lane:
    ...     ticket = lane.submit(len, "abc")
    ...     print(ticket.outcome, ticket.result())
    accepted 3
    """

    _owner: "LockedLane"
    _function: Callable[..., Any] | None
    _args: tuple[Any, ...]
    priority: int
    submitted_s: float
    state: TaskState = TaskState.REFUSED
    outcome: Outcome | None = None
    """How the submission ended. None only before `submit` has returned."""
    reason: Reason | None = None
    """Why the lane it was submitted to did not accept it."""
    started_s: float = 0.0
    _async_task: "CoroutineTask | None" = None
    """The coroutine, if the task does not run on a thread of the lane."""
    _value: Any = None
    _error: BaseException | None = None
    _callbacks: list[Callable[[], object]] | None = None

    def __repr__(self) -> str:
        # Without the arguments: they may be large or secret.
        return f"<Ticket in lane {self.lane!r}: {self.outcome}, {self.state}>"

    @property
    def lane(self) -> str:
        """The name of the lane that owns the task; after a redirect, the target lane."""
        return self._owner.name

    @property
    def admitted(self) -> bool:
        """Whether a lane accepted the task."""
        return self.outcome is Outcome.ACCEPTED or self.outcome is Outcome.REDIRECTED

    @property
    def done(self) -> bool:
        """Whether the task has ended, or was never accepted."""
        return self.state is not _QUEUED and self.state is not _RUNNING

    def cancel(self) -> bool:
        """Cancel the task if it is still queued. Returns whether it was cancelled."""
        return self._owner.cancel(self)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the task has ended. False if it has not ended after `timeout_s`; None waits without limit."""
        if self.done:
            return True
        ended = threading.Lock()
        ended.acquire()
        if not self._owner.subscribe(self, ended.release):
            return True
        if timeout_s is None:
            return ended.acquire()
        if ended.acquire(timeout=min(max(timeout_s, 0.0), threading.TIMEOUT_MAX)):
            return True
        self._owner.unsubscribe(self, ended.release)
        return self.done

    def result(self, timeout_s: float | None = None) -> Result:
        """Wait for the task and return its value.

        Raises the task's own exception, `TaskCancelled`, `NotAdmitted`, or `TimeoutError` after `timeout_s`.
        """
        error = self.exception(timeout_s)
        if error is None:
            return self._value  # type: ignore[no-any-return]
        try:
            raise error
        finally:
            del error, self  # breaks a reference cycle: the traceback holds this frame

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """Wait for the task and return the exception that `result` would raise, or None. Raises only `TimeoutError`."""
        if not self.wait(timeout_s):
            raise TimeoutError(f"the task in lane {self.lane!r} is still {self.state} after {timeout_s} s")
        if self.state is TaskState.REFUSED:
            return NotAdmitted(self.lane, self.outcome, self.reason)
        if self.state is TaskState.CANCELLED:
            return TaskCancelled(f"the task in lane {self.lane!r} was cancelled")
        return self._error

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call `callback` once the task has ended, on the thread that ended it; at once if it has ended already.

        It must be fast and must not raise; an exception becomes a warning.
        """
        if self.done or not self._owner.subscribe(self, callback):
            callback()

    def __await__(self) -> Generator[Any, None, Result]:
        from .aio import wait_for_result

        return wait_for_result(self).__await__()


AnyTicket = Ticket[Any]


def require_priority(priority: object) -> None:
    """Reject a priority that cannot be ordered, before it is in a queue."""
    require(isinstance(priority, int), f"priority must be an integer, got {priority!r}")
