"""Requests to one server, through a lane.

The lane bounds how many are under way and how often one starts; every attempt goes through it, so a retry takes a token
like any other request. Between two attempts nothing is held. When the server asks to be left alone, everybody who talks
to it waits, not only the caller who was told.
"""

import threading
import time
from collections.abc import Callable

from inorder.lanes import CancelToken, Lane, LaneConfig, LaneStatistics, NotAdmitted, Reason, TaskCancelled, Ticket
from inorder.stage.contracts import StageError

from .http import Trouble
from .server_limits import ServerLimits

Send = Callable[[bytes, float], bytes]
"""One attempt: a body, and the seconds it may take."""

_CLOSE_S = 1.0
"""How long closing waits for requests under way; then they are given up."""


class Call:
    """A body on its way, with all its attempts."""

    def __init__(self, body: bytes, deadline_at_s: float) -> None:
        self.body = body
        self.deadline_at_s = deadline_at_s
        self.attempts = 0
        self.ticket: Ticket[bytes] | None = None


class Calls:
    """Safe for any number of threads. A call is begun, and later finished by the same caller."""

    def __init__(
        self,
        name: str,
        send: Send,
        limits: ServerLimits,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._send = send
        self._limits = limits
        self._clock = clock
        self._closing = threading.Event()
        self._cancel = CancelToken()
        self._wait = wait or self._closing.wait
        self._not_before_s = clock()
        self._lane = Lane(
            LaneConfig(
                name=name,
                max_concurrency=limits.in_flight,
                capacity=limits.in_flight,
                rate_per_s=limits.rate_per_s,
                burst=limits.burst,
            ),
            clock,
        )

    def begin(self, body: bytes) -> Call:
        """Start a call. Waits for its turn."""
        call = Call(body, self._clock() + self._limits.deadline_s)
        self._submit(call)
        return call

    def finish(self, call: Call) -> bytes:
        """The answer, after as many attempts as it takes and the limits allow."""
        while True:
            try:
                return self._answer(call)
            except Trouble as trouble:
                self._hold_off(call, trouble)
            self._submit(call)

    def statistics(self) -> LaneStatistics:
        """Of the lane."""
        return self._lane.statistics()

    def close(self) -> None:
        """Nothing is asked any more; those who wait are told."""
        self._closing.set()
        self._cancel.set()
        self._lane.close(drain=False, timeout_s=_CLOSE_S)

    def _submit(self, call: Call) -> None:
        pause_s = self._not_before_s - self._clock()
        if pause_s > 0:
            self._check_time(call, pause_s, "the server wants to be left alone for longer than that")
            self._wait(pause_s)
        call.attempts += 1
        left_s = call.deadline_at_s - self._clock()
        call.ticket = self._lane.submit(self._attempt, call, deadline_s=left_s, cancel=self._cancel)

    def _attempt(self, call: Call) -> bytes:
        """The task in the lane."""
        left_s = call.deadline_at_s - self._clock()
        if left_s <= 0:
            raise Trouble("its turn came too late")
        return self._send(call.body, left_s)

    def _answer(self, call: Call) -> bytes:
        ticket = call.ticket
        if ticket is None:
            raise ValueError("the call was not begun")
        try:
            return ticket.result(max(0.0, call.deadline_at_s - self._clock()))
        except TimeoutError:
            self._lane.abandon(ticket)
            raise self._too_late(call, "no answer came") from None
        except NotAdmitted as error:
            if error.reason is Reason.DEADLINE:
                raise self._too_late(call, "its turn did not come") from None
            raise _closed() from None
        except TaskCancelled:
            raise _closed() from None

    def _hold_off(self, call: Call, trouble: Trouble) -> None:
        """Wait before the next attempt, or give up where there is none."""
        limits = self._limits
        wait_s = min(limits.backoff_s * 2 ** (call.attempts - 1), limits.backoff_s_max)
        if trouble.wait_s is not None:
            wait_s = trouble.wait_s
            self._not_before_s = max(self._not_before_s, self._clock() + wait_s)
        if call.attempts >= limits.attempts_max:
            raise StageError(f"gave up after {call.attempts} attempts: {trouble}", category="provider", retryable=True)
        self._check_time(call, wait_s, str(trouble))
        self._wait(wait_s)

    def _check_time(self, call: Call, wait_s: float, why: str) -> None:
        if self._clock() + wait_s >= call.deadline_at_s:
            raise self._too_late(call, why)

    def _too_late(self, call: Call, why: str) -> StageError:
        story = f"not done within {self._limits.deadline_s:g} s, in attempt {max(call.attempts, 1)}: {why}"
        return StageError(story, category="provider", retryable=True)


def _closed() -> StageError:
    return StageError("the provider was closed", category="provider")
