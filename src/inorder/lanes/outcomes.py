"""The words of a lane: how a submission ended, why, and what became of the task.

A submission and a task are two things. A *submission* has exactly one outcome, decided before `submit` returns. A
*task* exists only where a submission was accepted, by this lane or by the one it was redirected to, and it has a state.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """How a submission ended. Exactly one of the four, always."""

    ACCEPTED = "accepted"
    """The lane took the task: it will run here, or be cancelled and counted so."""
    REJECTED = "rejected"
    """The task was refused before admission, or its caller gave up waiting."""
    REDIRECTED = "redirected"
    """This lane was full and another one took the task."""
    DROPPED = "dropped"
    """This lane was full and nobody took the task."""


class Reason(StrEnum):
    """Why a submission was not accepted."""

    FULL = "full"
    """Every place is taken and the strategy, or the caller, does not wait."""
    LIMITED = "rate limit"
    """No token is there and the lane, or the caller, does not wait for one."""
    CLOSED = "closed"
    """The lane was closed before the submission got in."""
    CANCELLED = "cancelled"
    """The caller gave up."""
    DEADLINE = "deadline"
    """The caller's deadline passed while the submission waited."""
    CROWDED = "too many waiting"
    """`waiting_max` submissions wait already."""
    CYCLE = "redirect cycle"
    """The redirect leads back to a lane that this submission has visited."""
    NO_TARGET = "no redirect target"
    """The lane to redirect to is not registered any more."""
    TARGET = "redirect refused"
    """The lane to redirect to did not take the task."""


class TaskState(StrEnum):
    """Where a task is."""

    REFUSED = "refused"
    """There is no task: the submission was rejected or dropped, or has not been decided."""
    QUEUED = "queued"
    """It is accepted and waits to run."""
    RUNNING = "running"
    """It has begun."""
    COMPLETED = "completed"
    """It returned."""
    FAILED = "failed"
    """It raised."""
    CANCELLED = "cancelled"
    """It was taken back while queued, or given up while it ran."""


CALLER_GAVE_UP = frozenset({Reason.CANCELLED, Reason.DEADLINE})
"""Reasons that are the caller's own doing: a redirect that ends so is rejected, not dropped."""
