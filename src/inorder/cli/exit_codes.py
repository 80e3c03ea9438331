"""Exit codes: what a script, a scheduler or a shell learns from a command without reading a word of it."""

import signal
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inorder.stage.contracts import StageOutcome


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    """Everything was done, or was done already."""
    FAILED = 1
    """The machine, the disk or a program under it failed, and no item is to blame. Mend that and run the same again:
    what is committed stays."""
    USAGE = 2
    """An option, a setting, a path, a stage or its plan is wrong, and the line says which."""
    ITEMS_FAILED = 3
    """The run went to its end; some items failed, within the error budget. See `inorder failures`, then `inorder
    retry`."""
    BUDGET_EXCEEDED = 4
    """More items failed than the error budget allows, and the run stopped there. See `inorder failures`; run the same
    again to go on."""
    IN_USE = 5
    """Another run has this stage of DATA; the line names its process. Wait for it, or stop it."""
    INTEGRITY = 6
    """What is on the disk is not what was written there, or an invariant of inorder itself is broken. Nothing was
    mended. See `inorder verify`."""
    INTERRUPTED = 128 + signal.SIGINT
    """Ctrl-C came. What is committed stays; run the same again to go on."""
    TERMINATED = 128 + signal.SIGTERM
    """SIGTERM came. The same as Ctrl-C."""


class Interrupted(BaseException):
    """A signal came while no run was there to be asked to stop."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted; run the same again to go on")
        self.exit_code = Exit(128 + number)


def code_of(outcome: "StageOutcome") -> Exit:
    """What the outcome of a stage means to whoever started it."""
    if outcome.stop_kind == "cancelled":
        return Exit(128 + outcome.stop_signal) if outcome.stop_signal else Exit.FAILED
    if outcome.stop_kind == "error budget":
        return Exit.BUDGET_EXCEEDED
    if outcome.stop_kind is not None:
        return Exit.FAILED
    return Exit.ITEMS_FAILED if outcome.failed else Exit.DONE
