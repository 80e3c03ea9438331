"""The way of one submission through a lane, or through several when it is redirected.

It is written once, as a generator that yields the longest useful wait whenever the caller has to wait. A thread waits
on a gate of its own; the asyncio front awaits. When the wait is torn away (an interrupt, a cancelled await), the
exception is thrown into the generator, and every lane on the way books the submission as rejected.
"""

from collections.abc import Generator

from .locked import Shell
from .outcomes import CALLER_GAVE_UP, Outcome, Reason
from .ticket import AnyTicket
from .waiters import Applicant, Request, ThreadGate

Steps = Generator[float, None, None]


def walk(shell: Shell, ticket: AnyTicket, request: Request, gate: ThreadGate | None) -> None:
    """Take a submission through, waiting as a thread waits."""
    steps = steps_through(shell, ticket, request)
    for patience_s in steps:
        if gate is not None:
            try:
                gate.wait(patience_s)
            except BaseException as error:
                steps.throw(error)  # which raises it again, once the books are right


def steps_through(shell: Shell, ticket: AnyTicket, request: Request) -> Steps:
    """Every stop of a submission from its arrival until its outcome is on the ticket."""
    ticket._holder = shell
    applicant = Applicant(shell, ticket, request)
    patience_s = shell.arrive(applicant)
    if patience_s is not None:
        stop_listening = applicant.listen()
        try:
            while patience_s is not None:
                yield patience_s
                patience_s = shell.look_again(applicant)
        except BaseException:
            shell.withdraw(applicant)
            raise
        finally:
            stop_listening()
    if applicant.verdict is Reason.FULL and shell.config.strategy == "redirect":
        yield from _redirect(shell, applicant)


def _redirect(shell: Shell, applicant: Applicant) -> Steps:
    """Try the other lane. Whatever happens, this lane books one outcome, after the other has booked its own."""
    ticket, request = applicant.ticket, applicant.request
    target = shell.find_target()
    reason: Reason | None = None
    try:
        if target is None:
            reason = Reason.NO_TARGET
        elif any(stay.door is target for stay in request.trail):
            reason = Reason.CYCLE
        else:
            yield from steps_through(target, ticket, request)
            if not ticket.admitted:
                reason = ticket.reason if ticket.reason in CALLER_GAVE_UP else Reason.TARGET
    except BaseException:
        reason = None if ticket.admitted else Reason.CANCELLED
        raise
    finally:
        if reason is None:
            shell.settle(applicant, Outcome.REDIRECTED, None)
        else:
            ticket._holder = shell
            shell.settle(applicant, Outcome.REJECTED if reason in CALLER_GAVE_UP else Outcome.DROPPED, reason)
