"""The enumerations of a lane: how a submission ended, why, and the state of the task.

A submission and a task are two things. A *submission* has exactly one outcome, decided before `submit` returns. A
*task* exists only where a submission was accepted, by this lane or by the one it was redirected to, and it has a state.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """How a submission ended. Each submission has exactly one outcome.

    >>> from inorder.lanes import Lane, LaneConfig, Outcome
    >>> with Lane(LaneConfig(name="calls")) as lane:
    ...     lane.submit(len, "abc").outcome is Outcome.ACCEPTED
    True
    """

    ACCEPTED = "accepted"
    """The lane accepted the task: it will run in this lane, or be cancelled and counted as such."""
    REJECTED = "rejected"
    """The task was refused, or its caller stopped waiting."""
    REDIRECTED = "redirected"
    """This lane was full and another lane accepted the task."""
    DROPPED = "dropped"
    """This lane was full and no lane accepted the task."""


class Reason(StrEnum):
    """Why a submission was not accepted.

    >>> from inorder.lanes import Lane, LaneConfig, Reason
    >>> lane = Lane(LaneConfig(name="calls"))
    >>> _ = lane.close()
    >>> lane.submit(len, "abc").reason is Reason.CLOSED
    True
    """

    FULL = "full"
    """Every slot is taken and the strategy, or the caller, does not wait."""
    LIMITED = "rate limit"
    """No token is available and the lane, or the caller, does not wait for one."""
    CLOSED = "closed"
    """The lane was closed before the submission was admitted."""
    CANCELLED = "cancelled"
    """The caller cancelled."""
    DEADLINE = "deadline"
    """The caller's deadline passed while the submission waited."""
    CROWDED = "too many waiting"
    """`waiting_max` submissions are waiting already."""
    CYCLE = "redirect cycle"
    """The redirect leads back to a lane that this submission has visited."""
    NO_TARGET = "no redirect target"
    """The redirect target is no longer registered."""
    TARGET = "redirect refused"
    """The redirect target did not accept the task."""


class TaskState(StrEnum):
    """The state of a task.

    >>> from inorder.lanes import Lane, LaneConfig, TaskState
    >>> with Lane(LaneConfig(name="calls")) as lane:
    ...     ticket = lane.submit(len, "abc")
    >>> ticket.state is TaskState.COMPLETED
    True
    """

    REFUSED = "refused"
    """There is no task: the submission was rejected or dropped, or is still waiting."""
    QUEUED = "queued"
    """It is accepted and has not started."""
    RUNNING = "running"
    """It has started."""
    COMPLETED = "completed"
    """It returned."""
    FAILED = "failed"
    """It raised."""
    CANCELLED = "cancelled"
    """It was cancelled while queued, or abandoned while it ran."""


CALLER_GAVE_UP = frozenset({Reason.CANCELLED, Reason.DEADLINE})
"""Reasons that lie with the caller: a redirect that ends with one of them is rejected, not dropped."""
