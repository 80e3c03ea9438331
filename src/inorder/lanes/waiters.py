"""Waiting submissions: the request of a caller, and its place in the queue of each lane that it visits.

A request is made once per submission and goes with it from lane to lane. It holds the caller's deadline, its cancel
signal, its waker, and the lanes visited. A waiter is that request at one lane. Its decision is written under the lane's
lock, often by the worker that freed a slot, and is read by the caller once it is awake.
"""

import math
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from inorder.errors import require

from .cancel import POLL_S, CancelSignal, CancelToken
from .outcomes import Reason
from .ticket import AnyTicket

if TYPE_CHECKING:
    from .locked import LockedLane


class Admission(Enum):
    """Decisions that let a task in."""

    ADMITTED = auto()
    """It is queued."""
    RESERVED = auto()
    """A slot and a token are held for it until the caller claims them or gives them back."""


class Waker(Protocol):
    """How one waiting caller is woken."""

    must_claim: bool
    """Whether the caller claims its slot itself, because its wait can be cancelled at any moment."""

    def wake(self) -> bool:
        """Wake the caller. May be called repeatedly, from any thread. False: the caller no longer exists."""


class ThreadWaker:
    """Wakes a thread that waits inside `submit`."""

    must_claim = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout_s: float) -> None:
        """Wait until woken, or until the timeout has passed."""
        self._lock.acquire(timeout=min(max(timeout_s, 0.0), threading.TIMEOUT_MAX))

    def wake(self) -> bool:
        """Wake the thread. Idempotent until it has woken up."""
        with suppress(RuntimeError):
            self._lock.release()
        return True


class Request:
    """The caller's side of a submission: waker, deadline, cancel signal, and the lanes visited."""

    __slots__ = ("cancel", "deadline_at_s", "waiters", "waker")

    def __init__(
        self, waker: Waker | None, *, deadline_at_s: float | None = None, cancel: CancelSignal | None = None
    ) -> None:
        require(cancel is None or hasattr(cancel, "is_set"), f"cancel must have a method is_set(), got {cancel!r}")
        self.waker = waker
        """None: the caller does not wait."""
        self.deadline_at_s = deadline_at_s
        self.cancel = cancel
        self.waiters: list[Waiter] = []
        """One per lane that the submission has visited."""

    def is_cancelled(self) -> bool:
        """Whether the caller has cancelled. A signal that raises counts as set, because other threads ask it too."""
        try:
            return self.cancel is not None and self.cancel.is_set()
        except Exception:
            return True

    def stop_reason(self, now_s: float) -> Reason | None:
        """Return why the caller stops waiting: it cancelled, or its deadline has passed. None: it waits."""
        if self.is_cancelled():
            return Reason.CANCELLED
        if self.deadline_at_s is not None and now_s >= self.deadline_at_s:
            return Reason.DEADLINE
        return None

    def wait_s_max(self, now_s: float) -> float:
        """Return how long to wait at most before checking the deadline and the cancel signal again."""
        poll_s = math.inf if self.cancel is None or isinstance(self.cancel, CancelToken) else POLL_S
        return poll_s if self.deadline_at_s is None else min(poll_s, self.deadline_at_s - now_s)


class Waiter:
    """One submission at one lane. Compared by identity."""

    __slots__ = ("decision", "is_recorded", "lane", "request", "ticket")

    def __init__(self, lane: "LockedLane", ticket: AnyTicket, request: Request) -> None:
        self.lane = lane
        self.ticket = ticket
        self.request = request
        request.waiters.append(self)
        self.decision: Admission | Reason | None = None
        """None: it waits."""
        self.is_recorded = False
        """Whether this lane has counted its outcome."""

    def wake(self) -> None:
        """Wake the caller; if it no longer exists, withdraw from every lane. The lane's lock must not be held."""
        if self.request.waker is not None and not self.request.waker.wake():
            for waiter in self.request.waiters:
                waiter.lane.withdraw(waiter)

    def listen(self) -> Callable[[], object]:
        """Wake the caller when its cancel signal is set, if that can notify. Returns a function that ends this."""
        cancel = self.request.cancel
        return cancel.listen(self.wake) if isinstance(cancel, CancelToken) else (lambda: None)
