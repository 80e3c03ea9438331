"""Calls to one server, through a lane.

The lane bounds how many requests are in flight and how often one starts. Every attempt goes through it, so a retry
takes a token like any other request. A limit on the tokens of texts delays a request before it enters the lane; this
wait does not count against its deadline. Between two attempts a call holds no place in the lane. When the server sends
`Retry-After`, all callers wait, not only the one that received it.
"""

import threading
import time
from collections.abc import Callable

from inorder.errors import StageError
from inorder.lanes import CancelToken, Lane, LaneConfig, LaneStatistics, NotAdmitted, Reason, TaskCancelled, Ticket

from .http import RetryableError
from .limits import ServerLimits, TokenPacer

Send = Callable[[bytes, float], bytes]
"""Sends one attempt: the body, and its timeout in seconds."""

_CLOSE_S = 1.0
"""How long `close` waits for requests in flight."""


class ServerCall:
    """A request with all its attempts."""

    def __init__(self, body: bytes, tokens: int, deadline_at_s: float) -> None:
        self.body = body
        self.tokens = tokens
        self.deadline_at_s = deadline_at_s
        self.attempts = 0
        self.ticket: Ticket[bytes] | None = None


class ServerCalls:
    """Calls that are started with `begin` and later completed with `finish` by the same caller. Thread-safe."""

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
        self._pacer = TokenPacer(limits.tokens_per_minute)
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

    @property
    def must_wait(self) -> bool:
        """Whether the next call waits for its turn."""
        return not self._pacer.is_free(self._clock())

    def begin(self, body: bytes, tokens: int = 0) -> ServerCall:
        """Start a call with texts of `tokens` tokens. Waits for a place in the lane."""
        call = ServerCall(body, tokens, self._clock() + self._limits.deadline_s)
        self._submit(call)
        return call

    def finish(self, call: ServerCall) -> bytes:
        """The response, after as many attempts as needed and allowed."""
        while True:
            try:
                return self._wait_for_response(call)
            except RetryableError as error:
                self._back_off(call, error)
            self._submit(call)

    def statistics(self) -> LaneStatistics:
        """Statistics of the lane."""
        return self._lane.statistics()

    def close(self) -> None:
        """Send no further requests, and fail the calls that wait. Idempotent."""
        self._closing.set()
        self._cancel.set()
        self._lane.close(drain=False, timeout_s=_CLOSE_S)

    def _submit(self, call: ServerCall) -> None:
        pause_s = self._not_before_s - self._clock()
        if pause_s > 0:
            self._check_deadline(call, pause_s, "the server asked for a longer pause")
            self._wait(pause_s)
        turn_s = self._pacer.reserve(call.tokens, self._clock())
        if turn_s > 0:
            call.deadline_at_s += turn_s
            self._wait(turn_s)
        call.attempts += 1
        left_s = call.deadline_at_s - self._clock()
        call.ticket = self._lane.submit(self._attempt, call, deadline_s=left_s, cancel=self._cancel)

    def _attempt(self, call: ServerCall) -> bytes:
        """The task of the lane."""
        left_s = call.deadline_at_s - self._clock()
        if left_s <= 0:
            raise RetryableError("the request was queued for too long")
        return self._send(call.body, left_s)

    def _wait_for_response(self, call: ServerCall) -> bytes:
        ticket = call.ticket
        if ticket is None:
            raise ValueError("the call was not started")
        try:
            return ticket.result(max(0.0, call.deadline_at_s - self._clock()))
        except TimeoutError:
            self._lane.abandon(ticket)
            raise self._make_deadline_error(call, "no response") from None
        except NotAdmitted as error:
            if error.reason is Reason.DEADLINE:
                raise self._make_deadline_error(call, "the request was still queued") from None
            raise _make_closed_error() from None
        except TaskCancelled:
            raise _make_closed_error() from None

    def _back_off(self, call: ServerCall, error: RetryableError) -> None:
        """Wait before the next attempt. Raises StageError if there is none."""
        limits = self._limits
        wait_s = min(limits.backoff_s * 2 ** (call.attempts - 1), limits.backoff_s_max)
        if error.wait_s is not None:
            wait_s = error.wait_s
            self._not_before_s = max(self._not_before_s, self._clock() + wait_s)
        if call.attempts >= limits.attempts_max:
            raise StageError(
                f"gave up after {call.attempts} attempts: {error}",
                category="provider",
                retryable=True,
                retry_after_s=error.wait_s or 0.0,
            )
        self._check_deadline(call, wait_s, str(error))
        self._wait(wait_s)

    def _check_deadline(self, call: ServerCall, wait_s: float, reason: str) -> None:
        if self._clock() + wait_s >= call.deadline_at_s:
            raise self._make_deadline_error(call, f"{reason}; the next attempt must wait {wait_s:g} s", wait_s)

    def _make_deadline_error(self, call: ServerCall, reason: str, wait_s: float = 0.0) -> StageError:
        message = f"not completed within {self._limits.deadline_s:g} s, in attempt {max(call.attempts, 1)}: {reason}"
        return StageError(message, category="provider", retryable=True, retry_after_s=wait_s)


def _make_closed_error() -> StageError:
    return StageError("the provider was closed", category="provider")
