"""SIGINT and SIGTERM: the first one cancels a run with grace, a second SIGINT cancels it at once."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

Cancel = Callable[[str, int | None], None]
"""Called with the reason and the grace in milliseconds; None: the grace of the options."""


@contextlib.contextmanager
def cancel_on_signals(cancel: Cancel) -> Iterator[list[int]]:
    """Call `cancel` for every signal that is received inside the block; yields the list of their numbers. Outside of
    the main thread, where Python handles no signals, it does nothing."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        is_second = number == signal.SIGINT and received.count(number) > 1
        name = signal.Signals(number).name
        cancel(f"received {name} twice" if is_second else f"received {name}", 0 if is_second else None)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: not installed from Python
