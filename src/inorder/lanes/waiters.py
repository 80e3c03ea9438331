"""Those who want in: one request of a caller, and its stay at the door of one lane.

A request is made once for a submission and goes with it from lane to lane: the caller's patience, its way of being
woken, and the lanes visited. An applicant is that request in front of one lane. Its verdict is written under the
lane's lock by whoever decides it, often the worker that freed a place, and read by the caller once it is awake.
"""

import math
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Protocol

from inorder.errors import require

from .cancel import LOOK_S, CancelSignal, CancelToken
from .outcomes import Reason
from .ticket import AnyTicket


class Admission(Enum):
    """Verdicts that let a task in."""

    ADMITTED = auto()
    """It is queued."""
    RESERVED = auto()
    """A place and a token are held for it until the caller claims them or gives them back."""


class Gate(Protocol):
    """How one waiting caller is woken."""

    reserves: bool
    """Whether the caller claims its place itself, because its wait can be torn away from it at any moment."""

    def wake(self) -> bool:
        """Let the caller look again. May come more than once, from any thread. False: there is nobody to wake."""
        ...


class ThreadGate:
    """Wakes a thread that waits inside `submit`."""

    reserves = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout_s: float) -> None:
        """Wait to be woken, at most so long."""
        self._lock.acquire(timeout=min(max(timeout_s, 0.0), threading.TIMEOUT_MAX))

    def wake(self) -> bool:
        """Let the thread go on; being woken twice is being woken."""
        with suppress(RuntimeError):
            self._lock.release()
        return True


class Request:
    """What the caller asked for, besides the task."""

    __slots__ = ("cancel", "deadline_at_s", "gate", "trail")

    def __init__(
        self, gate: Gate | None, *, deadline_at_s: float | None = None, cancel: CancelSignal | None = None
    ) -> None:
        require(cancel is None or hasattr(cancel, "is_set"), f"cancel must have is_set(), got {cancel!r}")
        self.gate = gate
        """None: the caller does not wait."""
        self.deadline_at_s = deadline_at_s
        self.cancel = cancel
        self.trail: list[Applicant] = []
        """Its stays, one for each lane it has come to."""

    def is_cancelled(self) -> bool:
        """Whether the caller has called it off. A signal that raises is taken for set: this is asked by others too."""
        try:
            return self.cancel is not None and self.cancel.is_set()
        except Exception:
            return True

    def given_up(self, now_s: float) -> Reason | None:
        """Whether the caller wants no more, and why."""
        if self.is_cancelled():
            return Reason.CANCELLED
        if self.deadline_at_s is not None and now_s >= self.deadline_at_s:
            return Reason.DEADLINE
        return None

    def patience_s(self, now_s: float) -> float:
        """How long to wait at most before looking again on the caller's behalf."""
        look_s = math.inf if self.cancel is None or isinstance(self.cancel, CancelToken) else LOOK_S
        return look_s if self.deadline_at_s is None else min(look_s, self.deadline_at_s - now_s)


class Door(Protocol):
    """The lane, as an applicant knows it."""

    def withdraw(self, applicant: "Applicant") -> None:
        """Turn an applicant away whose caller is gone."""
        ...


class Applicant:
    """One submission in front of one lane. Known by identity."""

    __slots__ = ("door", "request", "settled", "ticket", "verdict")

    def __init__(self, door: Door, ticket: AnyTicket, request: Request) -> None:
        self.door = door
        self.ticket = ticket
        self.request = request
        request.trail.append(self)
        self.verdict: Admission | Reason | None = None
        """None: it waits."""
        self.settled = False
        """Whether its outcome is in the books of this lane."""

    def wake(self) -> None:
        """Let the caller look again. Not under a lock: a caller that is gone is taken out of the books everywhere."""
        if self.request.gate is not None and not self.request.gate.wake():
            for stay in self.request.trail:
                stay.door.withdraw(stay)

    def listen(self) -> Callable[[], object]:
        """Be woken when the caller cancels, where its signal can tell; the answer ends that."""
        cancel = self.request.cancel
        return cancel.listen(self.wake) if isinstance(cancel, CancelToken) else (lambda: None)
