"""The path of one submission through a lane, or through several when it is redirected.

It is written once, as a generator that yields the longest useful wait whenever the caller has to wait. A thread waits
on its `ThreadWaker`, the asyncio interface awaits its `LoopWaker`. When a wait is interrupted (by a signal, by a
cancelled await), the exception is thrown into the generator, and every lane on the path counts the submission as
rejected.
"""

from collections.abc import Generator

from .locked import LockedLane
from .outcomes import CALLER_GAVE_UP, Outcome, Reason
from .ticket import AnyTicket
from .waiters import Request, ThreadWaker, Waiter

Steps = Generator[float, None, None]


def submit_blocking(lane: LockedLane, ticket: AnyTicket, request: Request, waker: ThreadWaker | None) -> None:
    """Run a submission to its outcome, blocking the calling thread while it waits."""
    steps = run_submission(lane, ticket, request)
    for wait_s_max in steps:
        if waker is not None:
            try:
                waker.wait(wait_s_max)
            except BaseException as error:
                steps.throw(error)  # raises it again once every lane has counted the submission


def run_submission(lane: LockedLane, ticket: AnyTicket, request: Request) -> Steps:
    """Run a submission until its outcome is on the ticket. Yields the longest useful wait at every wait."""
    ticket._owner = lane
    waiter = Waiter(lane, ticket, request)
    wait_s_max = lane.admit_or_wait(waiter)
    if wait_s_max is not None:
        stop_listening = waiter.listen()
        try:
            while wait_s_max is not None:
                yield wait_s_max
                wait_s_max = lane.recheck(waiter)
        except BaseException:
            lane.withdraw(waiter)
            raise
        finally:
            stop_listening()
    if waiter.decision is Reason.FULL and lane.config.strategy == "redirect":
        yield from _redirect(lane, waiter)


def _redirect(lane: LockedLane, waiter: Waiter) -> Steps:
    """Try the target lane. In any case this lane counts one outcome, after the target has counted its own."""
    ticket, request = waiter.ticket, waiter.request
    target = lane.find_target()
    reason: Reason | None = None
    try:
        if target is None:
            reason = Reason.NO_TARGET
        elif any(earlier.lane is target for earlier in request.waiters):
            reason = Reason.CYCLE
        else:
            yield from run_submission(target, ticket, request)
            if not ticket.admitted:
                reason = ticket.reason if ticket.reason in CALLER_GAVE_UP else Reason.TARGET
    except BaseException:
        reason = None if ticket.admitted else Reason.CANCELLED
        raise
    finally:
        if reason is None:
            lane.record_outcome(waiter, Outcome.REDIRECTED, None)
        else:
            ticket._owner = lane
            lane.record_outcome(waiter, Outcome.REJECTED if reason in CALLER_GAVE_UP else Outcome.DROPPED, reason)
