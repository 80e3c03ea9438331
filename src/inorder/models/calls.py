"""Calls to one server, through a lane.

The lane bounds how many requests are in flight and how often one starts. Every attempt goes through it, so a retry
takes a token like any other request. A limit on the tokens of texts delays a request before it enters the lane; this
wait does not count against its deadline. Between two attempts a call holds no place in the lane. When the server sends
`Retry-After`, all callers wait, not only the one that received it.

When a call has used all its attempts, the server is asked something harmless. If it answers, the texts of the call are
to blame. If it does not, it is down: the error names it, so that the run waits for it, and further calls end at once
with the same error until it has answered the harmless question.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from inorder.errors import StageError
from inorder.lanes import CancelToken, Lane, LaneConfig, LaneStatistics, NotAdmitted, Reason, TaskCancelled, Ticket

from .http import RetryableError
from .limits import Reservation, ServerLimits, TokenPacer, read_rate_limits
from .waits import WaitReason, Waits

Send = Callable[[bytes, float], bytes]
"""Sends one attempt: the body, and its timeout in seconds."""

_CHECK_S = 0.5
"""A server that is down is not asked more often than this whether it is back."""
_RESET_S_MAX = 60.0
"""How long a server without tokens or requests left is waited for. Then it says itself whether that was enough."""
_CLOSE_S = 1.0
"""How long `close` waits for requests in flight."""


class _NoAnswerError(StageError):
    """A call was given up because the server did not answer it."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message, category="provider", retryable=True, retry_after_s=wait_s)


class ServerCall:
    """A request with all its attempts."""

    def __init__(self, body: bytes, tokens: int, deadline_at_s: float, priority: int = 0) -> None:
        self.body = body
        self.tokens = tokens
        self.deadline_at_s = deadline_at_s
        self.priority = priority
        self.attempts = 0
        self.reservation: Reservation | None = None
        self.seconds = 0.0
        """How long the last attempt took."""
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
        *,
        url: str = "",
        question: bytes = b"",
        on_retry: Callable[[], object] = lambda: None,
    ) -> None:
        """`question` is the harmless request, and `url` the name of the server. `on_retry` is called for every attempt
        after the first."""
        self._send = send
        self._url = url
        self._question = question
        self._on_retry = on_retry
        self._checking = threading.Lock()
        self._checked_s = float("-inf")
        self._outage: StageError | None = None
        """Why the last call was given up, if the server was down then."""
        self.waits = Waits(clock)
        self._limits = limits
        self._clock = clock
        self._closing = threading.Event()
        self._cancel = CancelToken()
        self._wait = wait or self._closing.wait
        self._not_before_s = clock()
        self._pacer = TokenPacer(limits.tokens_per_minute, limits.tokens_charged)
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
    def outage(self) -> str:
        """Why the server is held to be down; empty: it is not."""
        outage = self._outage
        return "" if outage is None else outage.message

    @property
    def must_wait(self) -> bool:
        """Whether the next call waits for its turn."""
        return not self._pacer.is_free(self._clock())

    def begin(self, body: bytes, tokens: int = 0, priority: int = 0) -> ServerCall:
        """Start a call that declares `tokens` tokens. Waits for a place in the lane; a call with a higher priority gets
        one first."""
        if self._outage is not None:
            self._require_answer(self._outage)
        call = ServerCall(body, tokens, self._clock() + self._limits.deadline_s, priority)
        try:
            self._submit(call)
        except _NoAnswerError as error:
            self._require_answer(error)
            raise
        return call

    def settle(self, call: ServerCall, used_tokens: int) -> None:
        """Note how many tokens a call has used, of those that it declared."""
        if call.reservation is not None:
            self._pacer.settle(call.reservation, call.tokens, used_tokens)

    def note_headers(self, headers: Any) -> None:
        """Mind what a response says of the server's limits. A limit that the user has set is not changed by it."""
        found = read_rate_limits(headers)
        now_s = self._clock()
        if found.tokens and self._limits.tokens_per_minute is None and found.tokens != self._pacer.limit:
            self._pacer.change(found.tokens)
        if found.requests and self._limits.rate_per_s is None:
            rate_per_s = found.requests / 60
            if rate_per_s != self._lane.config.rate_per_s:
                self._lane.change(rate_per_s=rate_per_s, burst=max(1, found.requests // 60))
        if found.tokens_left == 0 and found.tokens_reset_s:
            self._pacer.pause(now_s + min(found.tokens_reset_s, _RESET_S_MAX))
        if found.requests_left == 0 and found.requests_reset_s:
            self._not_before_s = max(self._not_before_s, now_s + min(found.requests_reset_s, _RESET_S_MAX))

    def finish(self, call: ServerCall) -> bytes:
        """The response, after as many attempts as needed and allowed."""
        try:
            while True:
                try:
                    return self._wait_for_response(call)
                except RetryableError as error:
                    self._back_off(call, error)
                self._on_retry()
                self._submit(call)
        except _NoAnswerError as error:
            self._require_answer(error)
            raise

    @property
    def limits(self) -> ServerLimits:
        """The limits that hold now: the user's, or those that the server states."""
        return msgspec.structs.replace(
            self._limits, tokens_per_minute=self._pacer.limit, rate_per_s=self._lane.config.rate_per_s
        )

    def statistics(self) -> LaneStatistics:
        """Statistics of the lane."""
        return self._lane.statistics()

    def close(self) -> None:
        """Send no further requests, and fail the calls that wait. Idempotent."""
        self._closing.set()
        self._cancel.set()
        self._lane.close(drain=False, timeout_s=_CLOSE_S)

    def _require_answer(self, error: StageError) -> None:
        """Raise the error, as an outage, unless the server answers the harmless question."""
        with self._checking:
            if self._clock() - self._checked_s >= _CHECK_S or self._outage is None:
                self._note_outage(None if self._answers() else _make_outage(error, self._url))
                self._checked_s = self._clock()
            if self._outage is not None:
                left_s = max(0.0, self._not_before_s - self._clock())
                raise _make_outage(self._outage, self._url, left_s)

    def _note_outage(self, outage: StageError | None) -> None:
        if (outage is None) != (self._outage is None):
            (self.waits.end if outage is None else self.waits.begin)("down")
        self._outage = outage

    def _answers(self) -> bool:
        """Whether the server answers the harmless question. It is not asked while it wants to be left alone."""
        if self._not_before_s > self._clock():
            return False
        call = ServerCall(self._question, 1, self._clock() + min(self._limits.check_s, self._limits.deadline_s))
        try:
            self._submit(call)
            self._wait_for_response(call)
        except RetryableError as error:
            if error.wait_s is not None:
                self._not_before_s = max(self._not_before_s, self._clock() + error.wait_s)
            return False
        except _NoAnswerError:
            return False
        except StageError:
            return True
        return True

    def _submit(self, call: ServerCall) -> None:
        pause_s = self._not_before_s - self._clock()
        if pause_s > 0:
            self._check_deadline(call, pause_s, "the server asked for a longer pause")
            self._hold("pause", pause_s)
        call.reservation = self._pacer.reserve(call.tokens, self._clock())
        turn_s = call.reservation.starts_s - self._clock()
        if turn_s > 0:
            call.deadline_at_s += turn_s
            self._hold("tokens", turn_s)
        call.attempts += 1
        left_s = call.deadline_at_s - self._clock()
        call.ticket = self._lane.submit(
            self._attempt, call, priority=call.priority, deadline_s=left_s, cancel=self._cancel
        )

    def _attempt(self, call: ServerCall) -> bytes:
        """The task of the lane."""
        left_s = call.deadline_at_s - self._clock()
        if left_s <= 0:
            raise RetryableError("the request was queued for too long")
        began_s = self._clock()
        try:
            return self._send(call.body, left_s)
        finally:
            call.seconds = self._clock() - began_s

    def _wait_for_response(self, call: ServerCall) -> bytes:
        ticket = call.ticket
        if ticket is None:
            raise ValueError("the call was not started")
        try:
            return ticket.result(max(0.0, call.deadline_at_s - self._clock()))
        except TimeoutError:
            self._lane.abandon(ticket)
            raise _NoAnswerError(self._describe_deadline(call, "no response")) from None
        except NotAdmitted as error:
            if error.reason is Reason.DEADLINE:
                raise self._describe_queue(call) from None
            raise _make_closed_error() from None
        except TaskCancelled:
            raise _make_closed_error() from None

    def _describe_queue(self, call: ServerCall) -> StageError:
        """Why a call was not sent: it had to wait for the rate, or for calls that the server does not answer."""
        reason = self._describe_deadline(call, "the request was still queued")
        found = self._lane.statistics()
        if self._lane.config.rate_per_s is not None and found.running < found.concurrency:
            return StageError(reason, category="provider", retryable=True)
        return _NoAnswerError(reason)

    def _back_off(self, call: ServerCall, error: RetryableError) -> None:
        """Wait before the next attempt. Raises StageError if there is none."""
        limits = self._limits
        wait_s = min(limits.backoff_s * 2 ** (call.attempts - 1), limits.backoff_s_max)
        if error.wait_s is not None:
            wait_s = error.wait_s
            self._not_before_s = max(self._not_before_s, self._clock() + wait_s)
        if call.attempts >= limits.attempts_max:
            raise _NoAnswerError(f"gave up after {call.attempts} attempts: {error}", error.wait_s or 0.0)
        self._check_deadline(call, wait_s, str(error))
        self._hold("retry" if error.wait_s is None else "pause", wait_s)

    def _hold(self, reason: WaitReason, seconds: float) -> None:
        with self.waits.note(reason):
            self._wait(seconds)

    def _check_deadline(self, call: ServerCall, wait_s: float, reason: str) -> None:
        if self._clock() + wait_s >= call.deadline_at_s:
            reason = f"{reason}; the next attempt must wait {wait_s:g} s"
            raise _NoAnswerError(self._describe_deadline(call, reason), wait_s)

    def _describe_deadline(self, call: ServerCall, reason: str) -> str:
        return f"not completed within {self._limits.deadline_s:g} s, in attempt {max(call.attempts, 1)}: {reason}"


def _make_outage(error: StageError, url: str, wait_s: float = 0.0) -> StageError:
    return StageError(error.message, category="provider", retryable=True, retry_after_s=wait_s, outage=url)


def _make_closed_error() -> StageError:
    return StageError("the provider was closed", category="provider")
