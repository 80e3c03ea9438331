"""Exit codes: how a command ended, for scripts and schedulers that read no text."""

import signal
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inorder.pipeline.outcome import RunOutcome
    from inorder.stage.contracts import StageOutcome


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    """Everything is done, or was up to date."""
    FAILED = 1
    """The machine, the disk or a program failed; no item is to blame. Fix it and run the same command again: committed
    results are kept."""
    USAGE = 2
    """An option, a setting, a path, a stage, its plan or a missing extra is at fault; the message says which."""
    ITEMS_FAILED = 3
    """The run completed; some items failed, within the error budget. See `inorder failures`, then `inorder retry`."""
    BUDGET_EXCEEDED = 4
    """More items failed than the error budget allows, and the run stopped. See `inorder failures`; run the same command
    again to resume."""
    IN_USE = 5
    """Another run holds the lock of this stage; the message names its process. Wait for it, or stop it."""
    INTEGRITY = 6
    """The data on disk differ from what was written, or an internal invariant is violated. Nothing was repaired. See
    `inorder verify`."""
    INTERRUPTED = 128 + signal.SIGINT
    """Received SIGINT (Ctrl-C). Committed results are kept; run the same command again to resume."""
    TERMINATED = 128 + signal.SIGTERM
    """Received SIGTERM. Otherwise as for SIGINT."""


class Interrupted(BaseException):
    """A signal arrived while no run was active."""

    def __init__(self, number: int) -> None:
        super().__init__(f"received {signal.Signals(number).name}; run the same command again to resume")
        self.exit_code = Exit(128 + number)


def exit_code_of(outcome: "StageOutcome | RunOutcome") -> Exit:
    """The exit code for the outcome of a stage, or of a run of the pipeline."""
    if outcome.stop_kind == "cancelled":
        return Exit(128 + outcome.stop_signal) if outcome.stop_signal else Exit.FAILED
    if outcome.stop_kind == "error budget":
        return Exit.BUDGET_EXCEEDED
    if outcome.stop_kind is not None:
        return Exit.FAILED
    return Exit.ITEMS_FAILED if outcome.failed else Exit.DONE
