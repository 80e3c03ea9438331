"""Ctrl-C and SIGTERM: the first asks a run to stop, a second Ctrl-C makes it."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

Cancel = Callable[[str, int | None], None]
"""Given the reason, and the grace in milliseconds; None: the grace of the options."""


@contextlib.contextmanager
def cancelling(cancel: Cancel) -> Iterator[list[int]]:
    """While this lasts, signals cancel. The numbers of those that came are in the list. Outside of the main thread,
    where Python handles no signals, it does nothing."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def handle(number: int, frame: FrameType | None) -> None:
        came.append(number)
        is_second = number == signal.SIGINT and came.count(number) > 1
        name = signal.Signals(number).name
        cancel(f"{name} came a second time" if is_second else f"{name} came", 0 if is_second else None)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: not set from Python
