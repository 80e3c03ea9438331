"""Lanes: bounded, rate-limited, prioritised queues with workers behind them. Every submission has one outcome."""

from .cancel import CancelToken
from .config import LaneConfig
from .lane import Lane
from .manager import LaneManager
from .outcomes import Outcome, Reason, TaskState
from .statistics import DurationStatistics, LaneStatistics
from .ticket import NotAdmitted, TaskCancelled, Ticket

__all__ = [
    "CancelToken",
    "DurationStatistics",
    "Lane",
    "LaneConfig",
    "LaneManager",
    "LaneStatistics",
    "NotAdmitted",
    "Outcome",
    "Reason",
    "TaskCancelled",
    "TaskState",
    "Ticket",
]


def __dir__() -> list[str]:
    return sorted(__all__)
