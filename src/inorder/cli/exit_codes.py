"""Exit codes: how a command ended, for scripts and schedulers that read no text; and the signals that end one.

At SIGINT or SIGTERM the process ends at once, with one line. An exception would be raised wherever the program happens
to be: in an import, in a destructor, while a thread starts; and what is committed is safe at any moment. A run replaces
the handlers by its own (`stage.signals`), and a command that has something to end asks for the exception
(`raise_interrupts`).
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inorder.pipeline.outcome import RunOutcome
    from inorder.stage.contracts import StageOutcome


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"
"""A progress bar hides it."""


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
    """More items failed than the error budget allows (see `inorder failures`), or a limit on tokens or money was
    reached, and the run stopped. Run the same command again to resume."""
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
    if outcome.stop_kind in ("error budget", "budget"):
        return Exit.BUDGET_EXCEEDED
    if outcome.stop_kind is not None:
        return Exit.FAILED
    return Exit.ITEMS_FAILED if outcome.failed else Exit.DONE


def exit_on_signals() -> None:
    """End the process at a signal, unless it was started to ignore it."""
    _install(_end)


def ignore_signals() -> None:
    """Let the process end with the code that it has."""
    _install(signal.SIG_IGN)


@contextlib.contextmanager
def raise_interrupts() -> Iterator[None]:
    """Raise `Interrupted` at a signal inside the block."""
    before = _install(_raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _install(handler: Callable[[int, FrameType | None], Any] | signal.Handlers) -> dict[int, Any]:
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heard}


def _end(number: int, frame: FrameType | None) -> None:
    shown = _SHOW_CURSOR if os.isatty(2) else ""
    interrupted = Interrupted(number)
    with contextlib.suppress(OSError):
        os.write(2, f"{shown}inorder: {interrupted}\n".encode())
    os._exit(interrupted.exit_code)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)
